// The page Search: photos by words, best first, while one types.
import { get } from "../js/api.js";
import { h, icon, percent, plural } from "../js/dom.js";
import "../js/grid.js";
import { shortcut } from "../js/keys.js";
import { queryOf, terms, without } from "../js/query.js";
import { searchField } from "../js/search-box.js";

const main = document.querySelector("#main");
const chips = h("ul", { class: "plain row chips", "aria-label": "Words of the search" });
const number = h("p", { class: "soft number", role: "status" });
const message = h("div", { class: "stack", "aria-live": "polite" });
const grid = h("photo-grid", { "aria-label": "Photos found, best first", hidden: true });
main.append(h("div", { class: "search-head" }, h("h1", { class: "visually-hidden" }, "Search"), chips, number), message, grid);

grid.targetHeight = matchMedia("(max-width: 860px)").matches ? 120 : 190;
grid.describe = (photo) => `${photo.name}, ${percent(photo.probability)}${photo.said.length ? ", as you said" : ""}`;
grid.decorate = (notes, photo, tile) => {
  tile.title = Object.entries(photo.words).map(([word, p]) => `${word}: ${photo.said.includes(word) ? "you said so" : percent(p)}`).join("\n");
  notes.append(h("span", { class: "badge" }, photo.said.length === Object.keys(photo.words).length ? "✓" : percent(photo.probability)));
};

let shown, timer, answer = {};

function ask(text) {
  searchField.value = text;
  history.replaceState(null, "", `/search?${new URLSearchParams({ q: text })}`);
  find();
  searchField.focus();
}

function find({ index = 0, focus = false } = {}) {
  clearTimeout(timer);
  const text = searchField.value.trim();
  if (text === shown) return;
  shown = text;
  if (!text) return begin();
  drawChips(terms(text));
  grid.show(async (offset, limit, options) => {
    answer = await get("search", { q: text, offset, limit }, options);
    return { total: answer.total, photos: answer.hits };
  }, { index, focus });
}

grid.addEventListener("shown", ({ detail: { total } }) => {
  number.textContent = plural(total, "photo");
  grid.hidden = !total;
  if (answer.terms?.length) drawChips(answer.terms);
  message.replaceChildren();
  if (answer.unknown) didYouMean(answer.unknown, answer.suggestion);
  else if (answer.problem) message.append(h("p", { class: "notice" }, answer.problem));
  else if (!total) message.append(h("div", { class: "empty" }, h("h2", {}, "No photo is likely to show that"), h("p", {}, "Take a word away, or tag a few photos with it and learn again: then others can be found.")));
  if (answer.unknown || answer.problem) number.textContent = "";
});

grid.addEventListener("failed", ({ detail: error }) => {
  number.textContent = "";
  grid.hidden = true;
  message.replaceChildren(h("div", { class: "empty" }, h("h2", {}, error.message), h("p", {}, error.hint)));
});

function didYouMean(words, suggestion) {
  const written = terms(shown);
  const instead = (old, word) => queryOf(written.map((term) => (term.text === old ? { ...term, text: word } : term)));
  message.append(h("div", { class: "empty" },
    h("h2", {}, words.length === 1 ? "No tag is called “" : "No tags are called “", h("bdi", {}, words.map((each) => each.word).join("”, “")), "”"),
    suggestion && h("p", {}, "Did you mean ", h("a", { href: `/search?${new URLSearchParams({ q: suggestion })}`, class: "did-you-mean", onclick: (event) => (event.preventDefault(), ask(suggestion)) }, h("bdi", {}, suggestion)), "?"),
    ...words.filter((each) => each.nearest.length > 1 || words.length > 1).map(({ word, nearest }) => h("div", { class: "row" },
      words.length > 1 && h("span", {}, h("bdi", {}, word), ":"),
      ...nearest.map((near) => h("button", { type: "button", class: "chip", onclick: () => ask(instead(word, near)) }, h("bdi", {}, near))))),
    !suggestion && h("p", {}, "Try another word; the list of words has them all. ", h("a", { href: "/words" }, "Words"))));
}

function drawChips(words) {
  chips.replaceChildren(...words.map((term, i) => h("li", { class: term.wanted ? "chip yes" : "chip no" },
    h("button", { type: "button", class: "chip-word", title: term.wanted ? "Leave it out instead" : "Want it instead", onclick: () => ask(queryOf([...without(words, i), { ...term, wanted: !term.wanted, joined: false }])) },
      term.joined ? "or " : term.wanted ? "" : "not ", h("bdi", {}, term.text)),
    h("button", { type: "button", class: "chip-close", "aria-label": `Remove ${term.text}`, onclick: () => ask(queryOf(without(words, i))) }, icon("M7 7l10 10M17 7 7 17")))));
}

async function begin() {
  grid.hidden = true;
  number.textContent = "";
  chips.replaceChildren();
  const box = h("div", { class: "empty" },
    h("h2", {}, "What are you looking for?"),
    h("p", {}, "Type words that a photo should show. A minus leaves one out: ", h("code", {}, "beach -people"), "; OR takes either: ", h("code", {}, "cat OR dog"), "."));
  message.replaceChildren(box);
  const { words } = await get("complete", { limit: 16 }).catch(() => ({ words: [] }));
  if (words.length) box.append(h("div", { class: "row suggestions" }, ...words.map(({ word }) => h("button", { type: "button", class: "chip", onclick: () => ask(queryOf([{ text: word, wanted: true }])) }, h("bdi", {}, word)))));
}

searchField.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    history.replaceState(null, "", `/search?${new URLSearchParams({ q: searchField.value })}`);
    find();
  }, 160);
});
searchField.form.addEventListener("submit", (event) => {
  event.preventDefault();
  history.pushState(null, "", `/search?${new URLSearchParams({ q: searchField.value })}`);
  find();
  if (!grid.hidden) grid.focus();
});
addEventListener("popstate", () => {
  searchField.value = new URLSearchParams(location.search).get("q") ?? "";
  find();
});
grid.addEventListener("open", ({ detail: { photo, index } }) => {
  history.replaceState({ at: index }, "");
  location.assign(`/photo/${photo.id}?${new URLSearchParams({ list: "search", q: shown, at: index })}`);
});
document.addEventListener("topicture-undone", () => grid.hidden || grid.reload());
shortcut(["ArrowDown", "ArrowRight", "j"], "Go through the photos", () => grid.focus());

searchField.value = new URLSearchParams(location.search).get("q") ?? "";
const at = history.state?.at ?? Number(new URLSearchParams(location.search).get("at") ?? 0);
find({ index: at, focus: at > 0 });
if (!shown) searchField.focus();
