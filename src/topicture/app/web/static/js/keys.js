// Keyboard shortcuts: registered with a sentence each, listed by "?".
import { h } from "./dom.js";

const shortcuts = [];

/** Do `act` when `key` is pressed outside text fields; `keys` may list several, "Shift+x" for modifiers. */
export function shortcut(keys, sentence, act) {
  shortcuts.push({ keys: [keys].flat(), sentence, act });
}

const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]");

export function pressed(event) {
  const name = event.key === " " ? "Space" : event.key;
  const modifiers = [event.ctrlKey || event.metaKey ? "Ctrl+" : "", event.altKey ? "Alt+" : "", event.shiftKey && name.length > 1 ? "Shift+" : ""];
  return modifiers.join("") + name;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || typing(event.target) || document.querySelector("dialog[open]")) return;
  const name = pressed(event);
  // Space and Enter belong to the button that has the focus.
  if ((name === "Space" || name === "Enter") && event.target.closest?.("button, a, summary, input, [role=button]")) return;
  const found = shortcuts.findLast((each) => each.keys.includes(name));
  if (!found) return;
  event.preventDefault();
  found.act(event);
});

/** The list of all shortcuts of this page. */
export function showShortcuts() {
  const rows = shortcuts.filter((each) => each.sentence).map((each) =>
    h("tr", {}, h("td", {}, ...each.keys.flatMap((key, i) => [i ? " " : "", h("kbd", {}, key)])), h("td", {}, each.sentence)));
  const dialog = h("dialog", { "aria-label": "Keyboard shortcuts", onclose: () => dialog.remove() },
    h("h2", {}, "Keyboard shortcuts"),
    h("table", { class: "plain" }, h("tbody", {}, ...rows)),
    h("form", { method: "dialog" }, h("button", { class: "primary" }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}
shortcut("?", "Show this list", showShortcuts);
