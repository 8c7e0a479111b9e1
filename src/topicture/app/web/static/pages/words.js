// Words: counts, names, places in the tree, policies; merges proposed on top, one word in detail beside.
import { get, post } from "../js/api.js";
import { h, plural } from "../js/dom.js";
import { undo } from "../js/frame.js";
import { shortcut } from "../js/keys.js";
import { tell, toast } from "../js/toasts.js";
import { showDetail } from "../js/word-detail.js";
import { proposalCards } from "../js/word-proposals.js";
import { orderWords, wordTable } from "../js/word-table.js";

const SHOWN = 400; // rows before "show all": more would make every keystroke slow

const state = { words: [], chosen: new Set(), sort: "photos", descending: true, tree: false, collapsed: new Set(), all: false, open: null, editing: null };
const main = document.querySelector("#main");
const amount = h("span", { class: "soft small number", role: "status" });
const filter = h("input", { type: "search", placeholder: "Filter words", "aria-label": "Filter words", oninput: draw });
const views = ["List", "Tree"].map((title) =>
  h("button", { type: "button", "aria-pressed": "false", onclick: () => ((state.tree = title === "Tree"), draw()) }, title));
const proposals = h("section", { class: "proposals", "aria-label": "Words that may be one", hidden: true });
const late = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => ((proposals.hidden = false), (late.hidden = true)) }, "Merges proposed");
const tableBox = h("div", { class: "words-table" });
const detail = h("aside", { class: "word-detail card", "aria-label": "The chosen word", hidden: true });
const selection = h("div", { class: "selection-bar", role: "region", "aria-label": "Chosen words", hidden: true });
main.append(
  h("div", { class: "page-head" }, h("h1", {}, "Words"), amount, late, h("span", { class: "spring" }), filter, h("div", { class: "row segmented", role: "group", "aria-label": "View" }, views)),
  proposals,
  h("div", { class: "words-body" }, tableBox, detail),
  selection,
);

/** Do something to words, tell it with a way back, and show what has come of it. */
async function change(path, body, { focus } = {}) {
  try {
    const done = await post(`words/${path}`, body);
    const action = done.step ? { label: "Undo", act: () => undo(done) } : undefined;
    toast(`${done.text}${done.photos ? ` (${plural(done.photos, "photo")})` : ""}.`, { action, seconds: 8 });
    await load();
    if (focus) focusWord(focus);
    return done;
  } catch (error) {
    tell(error);
    return null;
  }
}

const actions = {
  select(word, on) {
    if (on ?? !state.chosen.has(word)) state.chosen.add(word);
    else state.chosen.delete(word);
    draw();
  },
  sort(column) {
    state.descending = state.sort === column ? !state.descending : column !== "word";
    state.sort = column;
    draw();
  },
  toggle(word) {
    if (!state.collapsed.delete(word)) state.collapsed.add(word);
    draw();
    focusWord(word);
  },
  open(word) {
    state.open = word;
    draw();
  },
  edit(word) {
    if (matchMedia("(max-width: 860px)").matches) state.open = null; // the details lie over the list there
    state.editing = word;
    draw();
  },
  async rename(word, to) {
    state.editing = null;
    draw();
    if (!to.trim() || to.trim() === word) return focusWord(word);
    if (state.words.some((each) => each.word === to.trim())) {
      toast(`There is a word “${to.trim()}” already.`, { action: { label: `Merge ${word} into it`, act: () => change("merge", { words: [word], into: to.trim() }) }, seconds: 10 });
      return focusWord(word);
    }
    if (state.open === word) state.open = to.trim();
    await change("rename", { word, to }, { focus: to.trim() });
  },
  remove: (word) => change("delete", { word }),
  merge: (words, into) => change("merge", { words, into }),
  parent: (word, parent) => change("parent", { word, parent }, { focus: word }),
  policy: (word, policy, precision) => change("policy", { word, policy, precision }),
};

function shown() {
  const wanted = filter.value.trim().toLowerCase();
  return orderWords(state, wanted);
}

function draw() {
  const focused = document.activeElement?.closest?.(".words-table") ? document.activeElement.dataset.key : null;
  const rows = shown();
  amount.textContent = filter.value ? `${rows.length} of ${plural(state.words.length, "word")}` : plural(state.words.length, "word");
  views.forEach((button, i) => button.setAttribute("aria-pressed", String(state.tree === (i === 1))));
  const first = state.all ? rows : rows.slice(0, SHOWN);
  tableBox.replaceChildren(
    state.words.length ? wordTable(first, state, actions) : emptiness(),
    ...(first.length < rows.length ? [h("button", { type: "button", onclick: () => ((state.all = true), draw()) }, `Show all ${rows.length}`)] : []),
  );
  if (focused) [...tableBox.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  const opened = state.words.find((each) => each.word === state.open);
  detail.hidden = !opened;
  document.body.classList.toggle("has-detail", Boolean(opened));
  const facts = opened ? JSON.stringify(opened) : "";
  if (opened && detail.facts !== facts) showDetail(detail, opened, state.words, actions, () => ((state.open = null), draw(), focusWord(opened.word)));
  detail.facts = facts;
  drawSelection();
}

function emptiness() {
  return h("div", { class: "empty" }, h("h2", {}, "No words yet"), h("p", {}, "Tag a few photos, or scan photos that carry keywords: every word you use shows up here."), h("a", { class: "button primary", href: "/photos" }, "Go to the photos"));
}

function drawSelection() {
  const chosen = [...state.chosen];
  selection.hidden = !chosen.length;
  document.body.classList.toggle("has-selection", chosen.length > 0);
  if (!chosen.length) return;
  const most = chosen.reduce((a, b) => (photosOf(b) > photosOf(a) ? b : a));
  const into = h("select", { "aria-label": "Merge into" }, ...chosen.map((word) => h("option", { value: word, selected: word === most }, word)));
  selection.replaceChildren(
    h("strong", {}, plural(chosen.length, "word")),
    ...(chosen.length > 1 ? [
      h("label", { class: "row" }, h("span", { class: "soft" }, "into"), into),
      h("button", { type: "button", class: "primary", onclick: () => mergeChosen(chosen, into.value) }, "Merge"),
    ] : [h("span", { class: "soft" }, "Choose another one to merge them.")]),
    h("button", { type: "button", class: "quiet", onclick: () => (state.chosen.clear(), draw()) }, "Clear"),
  );
}

const photosOf = (word) => state.words.find((each) => each.word === word)?.photos ?? 0;

async function mergeChosen(words, into) {
  state.chosen.clear();
  if (!(await actions.merge(words, into))) {
    words.forEach((word) => state.chosen.add(word));
    draw();
  } else focusWord(into);
}

function focusWord(word) {
  [...tableBox.querySelectorAll(".word-name")].find((each) => each.dataset.word === word)?.focus();
}

async function load() {
  try {
    const found = loadProposals();
    const { words } = await get("words");
    if (!state.words.length) await Promise.race([found, new Promise((resolve) => setTimeout(resolve, 400))]);
    state.words = words;
    const known = new Set(words.map((each) => each.word));
    state.chosen = new Set([...state.chosen].filter((word) => known.has(word)));
    draw();
  } catch (error) {
    tell(error);
    if (!state.words.length) tableBox.replaceChildren(h("p", { class: "notice trouble" }, [error.message, error.hint].filter(Boolean).join(" ")));
  }
}

let asking = null;

/** They take longer to find than words to count, and nobody waits for them. */
async function loadProposals() {
  asking?.abort();
  asking = new AbortController();
  try {
    const found = await get("words/proposals", {}, asking);
    const none = !found.proposals.length;
    // What comes late does not push down a table that somebody reads.
    late.hidden = none || !proposals.hidden || !state.words.length;
    proposals.hidden = none || !late.hidden;
    proposals.replaceChildren(...proposalCards(found.proposals, actions, load));
  } catch (error) {
    tell(error);
  }
}

// --- Keyboard: arrows move from word to word, letters act on the one that has the focus ------------------------

const names = () => [...tableBox.querySelectorAll(".word-name")];
const current = () => document.activeElement?.closest?.(".words-table tr")?.dataset.word;

function move(by) {
  const all = names();
  const here = all.findIndex((each) => each.dataset.word === current());
  all[Math.min(all.length - 1, Math.max(0, here + by))]?.focus();
}

shortcut(["ArrowDown", "j"], "Next word", () => move(1));
shortcut(["ArrowUp", "k"], "Previous word", () => move(-1));
shortcut("x", "Choose the word, to merge several", () => current() && actions.select(current()));
shortcut(["e", "F2"], "Rename the word", () => current() && actions.edit(current()));
shortcut("Delete", "Delete the word everywhere", () => current() && actions.remove(current()));
shortcut("m", "Merge the chosen words", () => selection.querySelector(".primary")?.click());
shortcut("t", "List or tree", () => ((state.tree = !state.tree), draw()));
shortcut("Escape", "Close the details", () => (state.open ? ((state.open = null), draw()) : (state.chosen.clear(), draw())));
document.addEventListener("topicture-undone", load);
filter.value = new URLSearchParams(location.search).get("q") ?? "";
state.open = new URLSearchParams(location.search).get("word");
load();
