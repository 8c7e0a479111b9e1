// Short news at the foot of the page, read aloud by screen readers.
import { h } from "./dom.js";

/** Show a line, with an action where one is given ({label, act}). */
export function toast(text, { action, trouble = false, seconds = trouble ? 12 : 5 } = {}) {
  const box = h("div", { class: trouble ? "toast trouble" : "toast" }, h("span", {}, text));
  if (action) box.append(h("button", { type: "button", onclick: () => (box.remove(), action.act()) }, action.label));
  const toasts = document.querySelector(".toasts");
  [...toasts.children].find((shown) => shown.firstChild.textContent === text)?.remove(); // news is told once
  toasts.append(box);
  while (toasts.childElementCount > 3) toasts.firstElementChild.remove();
  setTimeout(() => box.remove(), 1000 * seconds);
  return box;
}

/** Tell an error: what happened, and what to do. */
export function tell(error) {
  if (error.name === "AbortError") return;
  toast([error.message, error.hint].filter(Boolean).join(" "), { trouble: true });
}
