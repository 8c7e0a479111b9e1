// One tag at a time: a page of photos, a line, and one key that settles all of them.
import { get } from "../js/api.js";
import { decide, painted } from "../js/decisions.js";
import { count, h, percent, plural, reviewAddress } from "../js/dom.js";
import { undo } from "../js/frame.js";
import { historyButton } from "../js/history.js";
import { shortcut } from "../js/keys.js";
import { tileKeys } from "../js/tile-keys.js";
import { current, fit, focusTile, look, navigate, ready, setState, shape, tile } from "../js/tiles.js";
import { tell, toast } from "../js/toasts.js";

const main = document.querySelector("#main");
const EVEN = 0.5;
let page; // what is shown: {word, photos, tiles, line, said: Map of photo -> boolean, total}
let next; // promise of the page after it
let turn = 0; // counts pages turned
let ratio = 1.5; // of the tiles
let threshold = EVEN; // where the line is, as a probability, until the tag changes
const visited = new Set(); // tags of this visit
const past = []; // pages that were decided, for undo

// --- The frame of the page -----------------------------------------------------------------------------------

const title = h("h1", {});
const left = h("p", { class: "soft number", role: "status" });
const grid = h("div", { class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Photos" });
const hint = h("p", { class: "grid-hint soft small" });
const slider = h("input", { type: "range", min: 0, "aria-label": "The line: photos before it are ticked", oninput: () => moveLine(Number(slider.value)) });
const lineAt = h("span", { class: "soft small number line-at" });
const accept = h("button", { type: "button", class: "primary", onclick: (event) => settle(event) });
const rejectRest = h("button", { type: "button", onclick: (event) => settle(event, true) }, "Accept ticked, reject all others ", h("kbd", {}, "r"));
const skip = h("button", { type: "button", class: "quiet", onclick: (event) => advance(event.timeStamp) }, "Skip page ", h("kbd", {}, "s"));
const nextTag = h("button", { type: "button", class: "quiet", onclick: (event) => leaveTag(event.timeStamp) }, "Next tag ", h("kbd", {}, "n"));
const keys = tileKeys(grid, () => ({ tiles: page?.tiles ?? [], chances: page?.photos.map(({ probability }, i) => (i < page.line ? 1 - probability : probability)) ?? [] }), toggleHere);
const bar = h("div", { class: "grid-bar" }, accept, rejectRest, h("label", { class: "line-control" }, h("span", { class: "small" }, "Line"), slider, lineAt), h("span", { class: "grid-bar-end" }, keys.button, skip, nextTag));

function open() {
  main.replaceChildren(
    h("div", { class: "page-head" }, h("a", { class: "button quiet", href: "/review", "aria-label": "All tags" }, "‹ Tags"), title, left, h("div", { class: "row grid-tools" }, historyButton())),
    hint, grid, bar);
}

/** The word that the address names. */
function asked() {
  const path = location.pathname.slice("/review/tag/".length);
  try {
    return new URLSearchParams(location.search).get("word") ?? decodeURIComponent(path);
  } catch {
    return path; // typed by hand, with a lone %
  }
}

// --- Pages of photos ------------------------------------------------------------------------------------------

/** As many photos as fit on the screen, so that nothing scrolls away from the eye. */
const pageSize = () => Math.min(96, fit(grid, grid.clientWidth, innerHeight - grid.getBoundingClientRect().top - scrollY - bar.offsetHeight - (innerWidth > 860 ? 24 : 84), ratio));

addEventListener("resize", pageSize); // the columns; a page keeps its photos

async function fetchPage(word, after) {
  const { total, photos } = await get("review/tag", { word, limit: pageSize(), after: after && `${after.probability},${after.id}` });
  const made = { word, total, photos, said: new Map(), tiles: photos.map((photo) => tile(photo, "open")) };
  ready(made.tiles);
  return made;
}

/** Tiles as wide as most photos are; the first page shows how many of them fit then. */
function takeShape(first) {
  ratio = shape(first.photos);
  grid.style.setProperty("--shape", ratio);
  const fits = pageSize();
  first.photos.length = first.tiles.length = Math.min(first.photos.length, fits);
}

async function fetchNext(shown) {
  const more = await fetchPage(shown.word, shown.photos.at(-1));
  if (more.photos.length) return more;
  return fetchTag();
}

/** The first page of the tag that brings most, among those not visited yet; null after the last. */
async function fetchTag() {
  const { tags } = await get("review");
  const following = tags.find((tag) => !visited.has(tag.word));
  return following ? fetchPage(following.word) : null;
}

const prefetch = (shown) => {
  const promise = fetchNext(shown);
  promise.catch(() => {}); // told when it is needed
  return promise;
};

function show(shown, since) {
  if (page?.word !== shown.word) threshold = EVEN;
  visited.add(shown.word);
  if (asked() !== shown.word) history.replaceState(null, "", reviewAddress(shown.word));
  page = shown;
  document.title = `${page.word} · Review · Topicture`;
  title.textContent = page.word;
  grid.setAttribute("aria-label", `Photos that may be: ${page.word}`);
  page.line ??= page.photos.filter((photo) => photo.probability >= threshold).length;
  slider.max = page.photos.length;
  grid.replaceChildren(...page.tiles);
  keys.draw();
  draw();
  focusTile(grid, page.tiles.find((each) => each.tabIndex === 0) ?? page.tiles[0], !grid.contains(document.activeElement) && document.activeElement !== document.body && document.activeElement !== main);
  if (since !== undefined) painted("next-page", since);
}

const ticked = (index) => page.said.get(page.photos[index].id) ?? index < page.line;

/** Paint what would happen: ticks, the line, and the sentence on the button. */
function draw() {
  let yes = 0, no = 0;
  page.tiles.forEach((each, i) => {
    const on = ticked(i), above = i < page.line;
    yes += on;
    no += !on && above;
    setState(each, on ? "yes" : above ? "no" : "open");
    each.classList.toggle("after-line", i === page.line && i > 0);
  });
  slider.value = page.line;
  const edge = page.photos[page.line - 1];
  lineAt.textContent = edge ? `${plural(page.line, "photo")}, down to ${percent(edge.probability)}` : "before the first photo";
  accept.replaceChildren(no ? `Accept ${count(yes)}, reject ${count(no)} ` : `Accept ${count(yes)} `, h("kbd", {}, "Enter"));
  accept.disabled = !yes && !no;
  left.textContent = `${count(page.total)} to decide`;
  hint.textContent = page.line
    ? "Click on what is wrong: above the line that rejects it. Below it nothing is decided unless you tick it."
    : "The tool doubts all of these: tick the right ones, then reject the others (R), or go to the next tag (N).";
}

function moveLine(to) {
  page.line = Math.max(0, Math.min(page.photos.length, to));
  const [before, behind] = [page.photos[page.line - 1]?.probability ?? 1, page.photos[page.line]?.probability];
  threshold = behind === undefined ? Math.min(threshold, before) : (before + behind) / 2;
  draw();
}

function toggle(element) {
  const index = page.tiles.indexOf(element);
  const id = page.photos[index].id;
  const on = !ticked(index);
  if (on === index < page.line) page.said.delete(id);
  else page.said.set(id, on);
  draw();
}

function toggleHere(element) {
  if (!page) return;
  focusTile(grid, element);
  toggle(element);
}

// --- Deciding --------------------------------------------------------------------------------------------------

function settle(event, rest = false) {
  if (!page) return;
  const decided = page;
  const decisions = decided.photos.flatMap(({ id }, i) => {
    const on = ticked(i);
    if (!on && !rest && i >= decided.line) return [];
    return [{ image: id, word: decided.word, verdict: on ? "present" : "rejected" }];
  });
  if (!decisions.length) {
    toast("Nothing is ticked. Tick the right photos, or press R to reject the whole page.");
    return;
  }
  past.push(decided);
  decided.settled = decisions.length;
  decide(decisions, () => restore(decided));
  advance(event.timeStamp);
}

async function advance(since) {
  const from = page, mine = ++turn;
  const waiting = next;
  const slow = setTimeout(() => grid.setAttribute("aria-busy", "true"), 60);
  page = undefined; // keys do nothing until the next page is there
  try {
    const following = await waiting;
    if (mine !== turn) return; // another page was put back meanwhile
    if (!following) return finish();
    if (following.word !== from.word) toast(`That was ${from.word}. Now: ${following.word}.`, { seconds: 2 });
    // It was fetched before the page in front of it was decided.
    if (following.word === from.word) following.total = Math.max(following.photos.length, from.total - (from.settled ?? 0));
    page = from;
    show(following, since);
    next = prefetch(following);
  } catch (error) {
    if (mine !== turn) return;
    page = from;
    next = prefetch(from);
    tell(error);
  } finally {
    clearTimeout(slow);
    grid.removeAttribute("aria-busy");
  }
}

function leaveTag(since) {
  if (!page) return;
  next = fetchTag();
  advance(since);
}

function finish() {
  page = undefined;
  main.replaceChildren(h("div", { class: "empty" }, h("h2", {}, "That was the last page"),
    h("p", {}, "Everything you answered is stored. What you left open waits in the overview."),
    h("div", { class: "row" }, h("a", { class: "button primary", href: "/review" }, "Overview"), h("button", { type: "button", onclick: () => undo() }, "Take back the last page"), historyButton())));
  main.focus();
}

/** Show a page again as it was decided; what is shown now comes after it. */
function restore(decided) {
  const position = past.lastIndexOf(decided);
  if (position >= 0) past.splice(position, 1);
  decided.settled = 0;
  if (!grid.isConnected) open();
  turn += 1;
  if (page) next = Promise.resolve(page); // else it is on its way, and `next` still promises it
  else if (!next) next = prefetch(decided);
  show(decided);
}

document.addEventListener("topicture-undone", ({ detail }) => {
  const ids = new Set(detail.decisions.map((each) => `${each.image} ${each.word}`));
  const decided = past.findLast((each) => each.photos.some((photo) => ids.has(`${photo.id} ${each.word}`)));
  if (decided) restore(decided);
  else if (detail.decisions.some((each) => each.word === page?.word) || !detail.decisions.length) start(page?.word);
});

// --- Keys ------------------------------------------------------------------------------------------------------

const withPage = (act) => (event) => page && act(event);
navigate(grid, (element) => page && toggle(element));
shortcut(["Enter", "a"], "Accept what is ticked, reject what is unticked above the line", withPage((event) => settle(event)));
shortcut("r", "Accept what is ticked, reject everything else on this page", withPage((event) => settle(event, true)));
shortcut(["x", "Space"], "Tick or untick the photo", withPage(() => toggle(current(grid))));
shortcut("l", "Draw the line after this photo", withPage(() => moveLine(page.tiles.indexOf(current(grid)) + 1)));
shortcut(["[", "]"], "Move the line by one photo", withPage(({ key }) => moveLine(page.line + (key === "]" ? 1 : -1))));
shortcut("v", "View the whole photo", withPage(() => look(current(grid).photo)));
shortcut("s", "Skip this page", withPage(({ timeStamp }) => advance(timeStamp)));
shortcut("n", "Next tag", withPage(({ timeStamp }) => leaveTag(timeStamp)));
shortcut("t", "All tags", () => location.assign("/review"));
shortcut("Backspace", "Undo, as z does", () => undo());
// With nothing focused, arrows begin at the first photo.
document.addEventListener("keydown", (event) => {
  if (event.key.startsWith("Arrow") && page && document.activeElement === document.body) focusTile(grid, current(grid));
});

async function start(word) {
  if (!word) return location.assign("/review");
  try {
    const first = await fetchPage(word);
    if (!first.photos.length) {
      main.replaceChildren(h("div", { class: "empty" }, h("h2", {}, `Nothing is left to decide for ${word}`), h("a", { class: "button primary", href: "/review" }, "All tags")));
      return;
    }
    page = undefined;
    takeShape(first);
    show(first);
    next = prefetch(first);
  } catch (error) {
    main.replaceChildren(h("div", { class: "empty" }, h("h2", {}, "The suggestions can't be shown"), h("p", {}, error.message), h("p", {}, error.hint), h("a", { class: "button", href: "/review" }, "All tags")));
  }
}

open();
start(asked());
