// The page Photo: one photo large, its words, and why they are suggested.
import { get } from "../js/api.js";
import { offerWords } from "../js/combobox.js";
import { h, icon, percent, picture, plural, thumbnail } from "../js/dom.js";
import { shortcut } from "../js/keys.js";
import { say } from "../js/tagging.js";
import { tell } from "../js/toasts.js";
import { showWhy } from "./photo-why.js";

const SOURCES = { file: "from the file", review: "by you", bulk: "accepted in bulk", import: "imported", delete: "deleted everywhere", carry: "kept from an earlier version" };
const main = document.querySelector("#main");
const here = new URLSearchParams(location.search);
const list = here.get("list");
let id = Number(location.pathname.split("/").at(-1)), at = Number(here.get("at") ?? -1);
let photo, stored, current = 0, beside = {}; // `stored` is what the server said, `photo` what is shown

// --- The picture -----------------------------------------------------------------------------------------------------

const image = h("img", { alt: "", onload: () => image.classList.add("there") });
const overlay = h("div", { class: "regions", "aria-hidden": "true" });
const frame = h("div", { class: "picture" }, image, overlay);
const previous = h("button", { type: "button", class: "icon step back", "aria-label": "Previous photo", onclick: () => go("previous") }, icon("M15 5l-7 7 7 7"));
const next = h("button", { type: "button", class: "icon step on", "aria-label": "Next photo", onclick: () => go("next") }, icon("M9 5l7 7-7 7"));
const panel = h("div", { class: "panel" });
const section = (name) => h("section", { "aria-label": name, hidden: true });
const [head, tagList, rejectedList] = [h("div"), h("div"), h("div")];
const [suggested, where, similar] = ["Suggestions", "Regions", "Similar photos"].map(section);
const fill = (element, ...children) => element.replaceChildren(...children.filter(Boolean));
main.append(h("div", { class: "stage" }, previous, frame, next), panel);
image.addEventListener("load", () => photo && !photo.width && shape(image.naturalWidth / image.naturalHeight));
image.addEventListener("error", () => frame.classList.add("broken"));
const shape = (ratio) => frame.style.setProperty("--ratio", ratio);

function highlight(word) {
  for (const box of overlay.children) box.classList.toggle("lit", box.dataset.word === word);
  frame.classList.toggle("lighting", word !== undefined && [...overlay.children].some((box) => box.dataset.word === word));
}
const lights = (word) => ({ onpointerenter: () => highlight(word), onpointerleave: () => highlight(), onfocusin: () => highlight(word), onfocusout: () => highlight() });

// --- Loading -----------------------------------------------------------------------------------------------------------

async function load({ fresh = true } = {}) {
  const wanted = id;
  let loaded;
  try {
    loaded = await get(`photos/${id}`);
  } catch (error) {
    if (wanted !== id) return;
    if (!fresh && error.status !== 404) return tell(error); // what is shown is still so
    main.replaceChildren(h("div", { class: "empty" }, h("h1", {}, error.status === 404 ? "This photo is not here" : "This photo can't be shown now"), h("p", {}, [error.message, error.hint].filter(Boolean).join(" ")), h("a", { class: "button", href: back() }, "Back to the photos")));
    return;
  }
  if (wanted !== id) return;
  photo = loaded;
  stored = structuredClone(loaded);
  document.title = `${photo.name} · Topicture`;
  if (fresh) {
    current = 0;
    items.clear();
    image.classList.remove("there");
    frame.classList.remove("broken");
    shape(photo.width && photo.height ? photo.width / photo.height : 1.5);
    frame.style.backgroundImage = `url("${thumbnail(id)}")`;
    image.src = picture(id);
    image.alt = photo.tags.length ? photo.tags.map((tag) => tag.word).join(", ") : photo.name;
  }
  draw();
  if (fresh) neighbours();
}

/** What comes before and after in the list that one came from. */
async function neighbours() {
  beside = {};
  const query = Object.fromEntries([...here].filter(([name]) => !["list", "at"].includes(name)));
  if (list && at >= 0) {
    const offset = Math.max(0, at - 1);
    try {
      const page = await get(list === "search" ? "search" : "photos", { ...query, offset, limit: 3 });
      const photos = page.photos ?? page.hits, mine = photos.findIndex((each) => each.id === id);
      if (mine >= 0) at = offset + mine;
      beside = { previous: photos[mine >= 0 ? mine - 1 : -1], next: photos[mine >= 0 ? mine + 1 : at - offset] };
    } catch (error) {
      tell(error);
    }
  }
  previous.hidden = !beside.previous;
  next.hidden = !beside.next;
  if (beside.next) new Image().src = picture(beside.next.id);
}

function go(where) {
  const to = beside[where];
  if (!to) return;
  at += where === "next" ? 1 : -1;
  id = to.id;
  here.set("at", Math.max(0, at));
  history.replaceState(null, "", `/photo/${id}?${here}`);
  beside = {}; // of the photo that was left
  load().then(loadSimilar);
}

function back() {
  const query = new URLSearchParams([...here].filter(([name]) => name !== "list"));
  return `${list === "search" ? "/search" : "/photos"}${query.size ? `?${query}` : ""}`;
}

// --- Words ---------------------------------------------------------------------------------------------------------------

const since = (seconds) => new Date(1000 * seconds).toLocaleDateString("en", { dateStyle: "long" });
const sourced = (tag) => `${SOURCES[tag.source] ?? tag.source}, ${since(tag.at)}`;

async function decide(word, verdict) {
  if (!photo) return;
  const shown = photo.id; // not `id`: the next photo may be on its way
  const index = photo.suggestions.findIndex((each) => each.word === word);
  if (index >= 0) photo.suggestions.splice(index, 1); // the answer is shown at once; the server's follows
  photo.tags = photo.tags.filter((each) => each.word !== word);
  photo.rejected = photo.rejected.filter((each) => each.word !== word);
  const list = { present: photo.tags, rejected: photo.rejected }[verdict];
  list?.push({ word, source: "review", at: Date.now() / 1000 });
  current = Math.min(current, Math.max(0, photo.suggestions.length - 1));
  draw();
  const said = await say([shown], word, verdict);
  if (shown !== id) return;
  if (said) return load({ fresh: false });
  photo = structuredClone(stored);
  draw();
}

function draw() {
  overlay.replaceChildren(...photo.regions.map((box, i) => {
    const element = h("span", { class: "region", "data-word": box.word }, h("i", { dir: "auto" }, box.word));
    Object.assign(element.style, { left: `${100 * box.x}%`, top: `${100 * box.y}%`, width: `${100 * box.w}%`, height: `${100 * box.h}%` });
    // Words of one place stand below each other; at the foot of the picture, above.
    const before = photo.regions.slice(0, i).filter((each) => Math.abs(each.x - box.x) < 0.1 && Math.abs(each.y - box.y) < 0.03).length;
    element.firstChild.style[box.y > 0.85 ? "bottom" : "top"] = `${6 + 26 * before}px`;
    return element;
  }));
  const focused = document.activeElement?.dataset?.key;
  fill(head,
    h("a", { class: "small back-link", href: back() }, icon("M14 6l-6 6 6 6"), list === "search" ? "Search" : "Photos"),
    h("h1", { dir: "auto" }, photo.name),
    h("p", { class: "soft small facts" }, [photo.folder, photo.edit_of && `edited copy of ${photo.edit_of}`, photo.taken && new Date(photo.taken).toLocaleString("en", { dateStyle: "long", timeStyle: "short" }), photo.width && `${photo.width} × ${photo.height}`, photo.bytes < 1e6 ? `${Math.ceil(photo.bytes / 1e3)} kB` : `${(photo.bytes / 1e6).toFixed(1)} MB`].filter(Boolean).join(" · ")),
    photo.reason && h("p", { class: "notice caution" }, `The picture could not be looked at: ${photo.reason}`));
  drawTags();
  drawSuggestions();
  drawRegions();
  if (focused && document.activeElement?.dataset?.key !== focused) panel.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// One field for as long as the page lasts: what somebody types is not lost when an answer arrives.
const added = h("input", { type: "text", "aria-label": "Add a tag", placeholder: "Add a tag (t)", class: "add-tag", "data-key": "add" });
const addForm = h("form", { class: "row", onsubmit: (event) => (event.preventDefault(), add()) }, h("div", { class: "combo" }, added), h("button", {}, "Add"));
offerWords(added, { picked: () => add() });
panel.append(head, h("section", { "aria-label": "Tags" }, h("h2", {}, "Tags"), tagList, addForm, rejectedList), suggested, where, similar);

function add() {
  const word = added.value.trim();
  if (!photo) return; // it is on its way, and the word waits in the field
  added.value = "";
  if (word) decide(word, "present");
}

function drawTags() {
  fill(tagList, photo.tags.length
    ? h("ul", { class: "plain words" }, ...photo.tags.map((tag) => h("li", lights(tag.word),
      h("a", { class: "chip yes", href: `/photos?${new URLSearchParams({ word: tag.word })}` }, h("bdi", {}, tag.word)), h("span", { class: "soft small" }, sourced(tag)),
      h("button", { type: "button", class: "quiet icon", "aria-label": `Remove ${tag.word}`, title: "Remove", "data-key": `remove ${tag.word}`, onclick: () => decide(tag.word, tag.source === "file" ? "rejected" : "cleared") }, icon("M7 7l10 10M17 7 7 17")))))
    : h("p", { class: "soft" }, "No tag yet."));
  const open = rejectedList.querySelector("details")?.open;
  fill(rejectedList, photo.rejected.length > 0 && h("details", { open }, h("summary", { class: "small soft" }, `${plural(photo.rejected.length, "word")} rejected`),
    h("ul", { class: "plain words" }, ...photo.rejected.map((tag) => h("li", {}, h("span", { class: "chip no" }, h("bdi", {}, tag.word)), h("span", { class: "soft small" }, sourced(tag)),
      h("button", { type: "button", class: "quiet icon", "aria-label": `Ask about ${tag.word} again`, title: "Ask again", onclick: () => decide(tag.word, "cleared") }, icon("M9 7H15a5 5 0 0 1 0 10H8", "M9 7 5.500 10.500", "M9 7 5.500 3.500")))))));
}

const items = new Map(); // word -> its line, which may have its reasons open
function drawSuggestions() {
  suggested.hidden = !photo.suggestions.length;
  fill(suggested, h("h2", {}, "Suggestions"), h("ul", { class: "plain suggested" }, ...photo.suggestions.map((each, i) => {
    if (!items.has(each.word)) items.set(each.word, suggestion(each));
    const item = items.get(each.word);
    item.classList.toggle("current", i === current);
    return item;
  })));
}

function suggestion(each) {
  const reasons = h("div", { class: "why", hidden: true }), bar = h("i");
  bar.style.width = percent(each.probability);
  const ask = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "data-key": `why ${each.word}`, onclick: () => showWhy(id, each, reasons, ask) }, "Why?");
  return h("li", { ...lights(each.word), "data-word": each.word },
    h("div", { class: "suggestion" },
      h("span", { class: "name" }, h("bdi", {}, each.word), h("span", { class: "meter", "aria-hidden": "true" }, bar)),
      h("span", { class: "number soft" }, percent(each.probability)),
      h("button", { type: "button", class: "icon yes", "aria-label": `Accept ${each.word}`, title: "Accept (a)", "data-key": `yes ${each.word}`, onclick: () => decide(each.word, "present") }, icon("m5 12.500 5 5 9-11")),
      h("button", { type: "button", class: "icon no", "aria-label": `Reject ${each.word}`, title: "Reject (r)", "data-key": `no ${each.word}`, onclick: () => decide(each.word, "rejected") }, icon("M6 6l12 12M18 6 6 18")),
      ask),
    reasons);
}

function drawRegions() {
  const words = [...new Set(photo.regions.map((box) => box.word))];
  where.hidden = !words.length;
  fill(where,
    h("div", { class: "row wide" }, h("h2", {}, "Where"), h("button", { type: "button", class: "quiet", title: "Show all (o)", "data-key": "all", "aria-pressed": String(frame.classList.contains("all")), onclick: showAll }, "Show all")),
    h("div", { class: "row" }, ...words.map((word) => h("button", { type: "button", class: "chip", "data-key": `where ${word}`, ...lights(word) }, h("bdi", {}, word)))));
}

function showAll() {
  frame.classList.toggle("all");
  panel.querySelector('[data-key="all"]')?.setAttribute("aria-pressed", String(frame.classList.contains("all")));
}

async function loadSimilar() {
  const wanted = id;
  const { photos } = await get(`photos/${id}/similar`, { limit: 9 }).catch(() => ({ photos: [] }));
  if (wanted !== id) return;
  similar.hidden = !photos.length;
  similar.replaceChildren(h("h2", {}, "Similar"), h("div", { class: "thumbs" }, ...photos.map((each) =>
    h("a", { href: `/photo/${each.id}`, title: each.name }, h("img", { src: thumbnail(each.id), alt: each.name, loading: "lazy" })))));
}

// --- Keys --------------------------------------------------------------------------------------------------------------------

const onSuggestion = (act) => () => photo?.suggestions[current] && act(photo.suggestions[current].word);
function move(step) {
  current = Math.min(photo.suggestions.length - 1, Math.max(0, current + step));
  const items = [...panel.querySelectorAll(".suggested > li")];
  items.forEach((item, i) => item.classList.toggle("current", i === current));
  items[current]?.scrollIntoView({ block: "nearest" });
  highlight(items[current]?.dataset.word);
}
shortcut("ArrowRight", "Next photo of the list", () => go("next"));
shortcut("ArrowLeft", "Previous photo of the list", () => go("previous"));
shortcut(["ArrowDown", "j"], "Next suggestion", () => move(1));
shortcut(["ArrowUp", "k"], "Previous suggestion", () => move(-1));
shortcut("a", "Accept the suggestion", onSuggestion((word) => decide(word, "present")));
shortcut("r", "Reject the suggestion", onSuggestion((word) => decide(word, "rejected")));
shortcut("w", "Why is it suggested?", onSuggestion(() => panel.querySelector(".current button[aria-expanded]").click()));
shortcut("t", "Add a tag", () => panel.querySelector(".add-tag").focus());
shortcut("o", "Show all regions, or none", showAll);
shortcut("Escape", "Back to the list", () => location.assign(back()));
document.addEventListener("topicture-undone", () => load({ fresh: false }));

previous.hidden = next.hidden = true;
load().then(loadSimilar);
