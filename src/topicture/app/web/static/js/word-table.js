// The table of words: a list that can be sorted, or the tree.
import { count, h, icon, percent } from "./dom.js";

const COLUMNS = [
  ["word", "Word"],
  ["photos", "Photos"],
  ["by_machine", "By machine"],
  ["rejected", "Rejected"],
  ["suggestions", "Suggested"],
  ["precision", "Precision"],
];

/** The words to show, in order; in a tree, children follow their parent. Each gets its `level` and `children`. */
export function orderWords({ words, sort, descending, tree, collapsed }, wanted) {
  const sign = descending ? -1 : 1;
  const compare = (a, b) =>
    (sort === "word" ? sign * a.word.localeCompare(b.word) : sign * ((a[sort] ?? -1) - (b[sort] ?? -1))) || a.word.localeCompare(b.word);
  const fits = words.filter((each) => each.word.toLowerCase().includes(wanted));
  if (!tree) return fits.sort(compare).map((each) => ({ ...each, level: 1, children: 0 }));
  const byName = new Map(words.map((each) => [each.word, each]));
  const kept = new Set(fits);
  for (const each of fits) {
    for (let above = byName.get(each.parent); above && !kept.has(above); above = byName.get(above.parent)) kept.add(above);
  }
  const children = new Map();
  for (const each of kept) {
    const parent = byName.has(each.parent) ? each.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), each]);
  }
  const rows = [];
  (function add(parent, level) {
    for (const each of (children.get(parent) ?? []).sort(compare)) {
      const below = children.get(each.word)?.length ?? 0;
      rows.push({ ...each, level, children: below });
      if (below && (wanted || !collapsed.has(each.word))) add(each.word, level + 1);
    }
  })(null, 1);
  return rows;
}

/** The table; `actions` are called with words. */
export function wordTable(rows, state, actions) {
  const head = h("tr", { role: "row" },
    h("th", { role: "columnheader" }, h("span", { class: "visually-hidden" }, "Choose")),
    ...COLUMNS.map(([name, title]) => {
      const sorted = state.sort === name ? (state.descending ? "descending" : "ascending") : undefined;
      return h("th", { role: "columnheader", scope: "col", class: `${name === "word" ? "" : "number "}column-${name}`, "aria-sort": sorted },
        h("button", { type: "button", class: "quiet sorter", "data-key": `sort ${name}`, onclick: () => actions.sort(name) }, title, h("span", { "aria-hidden": "true" }, sorted ? (state.descending ? "↓" : "↑") : "")));
    }),
    h("th", { role: "columnheader", scope: "col" }, "Suggestions of it"));
  return h("table", { class: "plain", role: state.tree ? "treegrid" : "table", "aria-label": "Words" },
    h("thead", { role: "rowgroup" }, head),
    h("tbody", { role: "rowgroup" }, ...rows.map((each) => row(each, state, actions))));
}

function row(each, state, actions) {
  const { word } = each;
  const chosen = state.chosen.has(word);
  const line = h("tr", {
    role: "row", "data-word": word, class: [chosen ? "chosen" : "", state.open === word ? "open" : ""].join(" "),
    "aria-level": state.tree ? String(each.level) : undefined,
    "aria-expanded": state.tree && each.children ? String(!state.collapsed.has(word)) : undefined,
  },
    h("td", { role: "cell" }, h("input", { type: "checkbox", checked: chosen, "data-key": `choose ${word}`, "aria-label": `Choose ${word}`, onchange: (event) => actions.select(word, event.target.checked) })),
    h("td", { role: "cell", class: "cell-word" }, state.editing === word ? editor(word, actions) : name(each, state, actions)),
    number(each.photos, "photos"),
    number(each.by_machine, "by_machine"),
    number(each.rejected, "rejected"),
    number(each.suggestions, "suggestions"),
    h("td", { role: "cell", class: "number column-precision", "data-label": "Precision" }, precision(each.precision)),
    h("td", { role: "cell", class: "column-policy" }, policyField(each, actions)));
  if (state.tree) line.style.setProperty("--level", each.level - 1);
  return line;
}

const number = (n, column) =>
  h("td", { role: "cell", class: `number column-${column}${n ? "" : " none"}`, "data-label": COLUMNS.find(([name]) => name === column)[1] }, n ? count(n) : "–");

function precision(value) {
  if (value === null) return h("span", { class: "soft", title: "Not known: learn first, or tag more photos with it" }, "–");
  const bar = h("i");
  bar.style.width = percent(value);
  return h("span", { class: "precision", title: "Of the hidden tags that it was suggested for, so many were right" }, h("span", { class: "meter", "aria-hidden": "true" }, bar), percent(value));
}

function name(each, state, actions) {
  const fold = state.tree && each.children
    ? h("button", { type: "button", class: "quiet icon fold", "data-key": `fold ${each.word}`, "aria-label": `${state.collapsed.has(each.word) ? "Unfold" : "Fold"} ${each.word}`, onclick: () => actions.toggle(each.word) }, icon(state.collapsed.has(each.word) ? "m9 6 6 6-6 6" : "m6 9 6 6 6-6"))
    : state.tree && h("span", { class: "fold" });
  return h("div", {},
    fold,
    h("button", { type: "button", class: "quiet word-name", "data-word": each.word, "data-key": `word ${each.word}`, "aria-expanded": String(state.open === each.word), onclick: () => actions.open(each.word), ondblclick: () => actions.edit(each.word) }, each.word),
    h("button", { type: "button", class: "quiet icon rename", "data-key": `rename ${each.word}`, title: "Rename (e)", "aria-label": `Rename ${each.word}`, onclick: () => actions.edit(each.word) }, icon("m4 20 1-4L16 5l3 3L8 19z")));
}

function editor(word, actions) {
  let done = false;
  const finish = (text) => {
    if (!done) actions.rename(word, text);
    done = true;
  };
  const field = h("input", { type: "text", value: word, "aria-label": `New name of ${word}`, onblur: () => finish(word), onkeydown: (event) => {
    if (event.key === "Enter") finish(field.value);
    if (event.key === "Escape") finish(word);
  } });
  requestAnimationFrame(() => (field.focus(), field.select()));
  return field;
}

/** What to do with suggestions of a word. */
export function policyField(each, actions, key = "policy") {
  const precise = each.accept_from ?? 0.95;
  return h("select", { "aria-label": `Suggestions of ${each.word}`, "data-key": `${key} ${each.word}`, onchange: (event) => {
    const [policy, least] = event.target.value.split(" ");
    actions.policy(each.word, policy, least ? Number(least) : null);
  } },
    h("option", { value: "suggest", selected: each.policy === "suggest" }, "Suggest"),
    ...[...new Set([0.8, 0.9, 0.95, 0.99, precise])].sort().map((least) => h("option", { value: `accept ${least}`, selected: each.policy === "accept" && least === precise }, `Accept from ${percent(least)}`)),
    h("option", { value: "never", selected: each.policy === "never" }, "Never"));
}
