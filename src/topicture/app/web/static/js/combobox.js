// Words offered while one types: a combobox as screen readers know it.
import { get } from "./api.js";
import { count, h } from "./dom.js";

let boxes = 0;

const allOf = (text) => ({ typed: text.trim(), replace: (word) => word });

/**
 * Offer words below a text field.
 *
 * `part(text, caret)` says which part of the text is being typed and what the text becomes when a word is picked:
 * {typed, replace(word)}, or null for none; by default all of it. `picked(word)` is called afterwards.
 */
export function offerWords(input, { picked = () => {}, part = allOf, whenEmpty = true } = {}) {
  const id = `words-${++boxes}`;
  const list = h("ul", { class: "offered plain", role: "listbox", id, "aria-label": "Words", hidden: true });
  input.after(list);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": id, "aria-expanded": "false", autocomplete: "off", spellcheck: "false" })) input.setAttribute(name, value);
  let words = [], active = -1, abort, timer;

  function close() {
    list.hidden = true;
    active = -1;
    clearTimeout(timer);
    abort?.abort();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(index) {
    active = index;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    if (active < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `${id}-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }

  function pick(index) {
    const now = part(input.value, input.selectionStart), { word } = words[index];
    if (now) input.value = now.replace(word);
    close();
    picked(word);
  }

  async function look() {
    const now = part(input.value, input.selectionStart);
    if (!now || (!now.typed && !whenEmpty)) return close();
    abort?.abort();
    abort = new AbortController();
    try {
      const found = await get("complete", { q: now.typed, limit: 8 }, abort);
      show(found.words, now.typed);
    } catch {
      // The field works without it.
    }
  }

  /** What somebody has marked stays marked, also where the list comes late. */
  function show(some, typed) {
    const marked = words[active]?.word;
    words = some;
    if (document.activeElement !== input || !words.length || (words.length === 1 && words[0].word === typed)) return close();
    list.replaceChildren(...words.map(({ word, photos }, i) => h("li", { role: "option", id: `${id}-${i}`, "aria-selected": "false", onpointerdown: (event) => (event.preventDefault(), pick(i)) },
      h("span", { dir: "auto" }, word), h("span", { class: "soft number" }, count(photos)))));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(words.findIndex(({ word }) => word === marked));
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    // Until the answer comes, nothing stays that has nothing of what is typed now.
    const typed = part(input.value, input.selectionStart)?.typed.toLowerCase() ?? "";
    if (!list.hidden) show(words.filter(({ word }) => word.toLowerCase().includes(typed)), typed);
    timer = setTimeout(look, 60);
  });
  input.addEventListener("focus", () => !input.value && whenEmpty && look());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) {
      if (event.key === "ArrowDown") (event.preventDefault(), look());
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) mark(((active + step + 1 + words.length + 1) % (words.length + 1)) - 1);
    else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) pick(active);
    else if (event.key === "Escape") close();
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopImmediatePropagation();
  });
  return { close };
}
