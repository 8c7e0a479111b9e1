// Teach: name a word, click on photos that have it, see the rest of the collection ranked at every click.
import { get, post } from "../js/api.js";
import { decide, painted } from "../js/decisions.js";
import { count, h, plural, thumbnail } from "../js/dom.js";
import { undo } from "../js/frame.js";
import { historyButton } from "../js/history.js";
import { shortcut } from "../js/keys.js";
import { current, focusTile, look, navigate, setState, shape, tile } from "../js/tiles.js";
import { tell, toast } from "../js/toasts.js";

const main = document.querySelector("#main");
const SHOWN = 60;
let word = new URLSearchParams(location.search).get("word")?.trim() ?? "";
let query = "", seed = 0;
let clicks = new Map(); // photo -> whether it has the word: clicks that the server may not know of yet
let shown = []; // tiles, in their order
let line = 0, ranked = false;
let asking; // the request under way: a newer click makes it pointless

// --- The frame of the page -----------------------------------------------------------------------------------

const naming = h("input", { type: "text", value: word, autocomplete: "off", maxLength: 200, placeholder: "A word, such as ferry", "aria-label": "The word to teach", list: "words" });
const proposals = h("datalist", { id: "words" });
const form = h("form", { class: "row teach-name", onsubmit: (event) => { event.preventDefault(); begin(naming.value.trim()); } },
  naming, h("button", { class: "primary" }, "Teach"), proposals);
const counts = h("p", { class: "soft number", role: "status" });
const yesStrip = h("ul", { class: "plain strip" });
const noStrip = h("ul", { class: "plain strip" });
const examples = h("div", { class: "examples" },
  h("section", { "aria-label": "Has it" }, h("h2", { class: "small" }, "Has it"), yesStrip),
  h("section", { "aria-label": "Has it not" }, h("h2", { class: "small" }, "Has it not"), noStrip));
const hint = h("p", { class: "grid-hint soft small" });
const grid = h("div", { class: "tiles teach-tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Photos" });
const searching = h("input", { type: "search", placeholder: "Begin with a search", "aria-label": "Begin with photos that a search finds", autocomplete: "off" });
const others = h("button", { type: "button", onclick: otherPhotos }, "Other photos ", h("kbd", {}, "o"));
const beginning = h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); query = searching.value; rank(); } }, searching, others);
const accept = h("button", { type: "button", class: "primary", onclick: acceptAll });
const slider = h("input", { type: "range", min: 0, "aria-label": "The line: photos before it are accepted", oninput: () => moveLine(Number(slider.value)) });
const bar = h("div", { class: "grid-bar" }, accept, h("label", { class: "line-control" }, h("span", { class: "small" }, "Line"), slider), beginning);

function open() {
  main.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, "Teach"), form, counts, h("div", { class: "row grid-tools" }, historyButton())));
  if (word) main.append(examples, hint, grid, bar);
  else {
    main.append(h("div", { class: "empty" }, h("h2", {}, "Teach a word by example"),
      h("p", {}, "Name a word. Click on about five photos that have it, and on a few that have not. The rest of the collection is ranked at every click; then accept what is right with one key. The next learning will know the word.")));
    naming.focus();
  }
}

// --- Ranking ---------------------------------------------------------------------------------------------------

async function rank(since) {
  asking?.abort();
  const mine = (asking = new AbortController());
  const slow = setTimeout(() => grid.setAttribute("aria-busy", "true"), 400);
  try {
    const chosen = (wanted) => [...clicks].filter(([, has]) => has === wanted).map(([id]) => id);
    const found = await post("teach", { word, yes: chosen(true), no: chosen(false), limit: SHOWN, query, seed }, { signal: mine.signal });
    if (mine !== asking) return;
    show(found);
    if (since !== undefined) painted("ranked", since);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!shown.length) hint.textContent = [error.message, error.hint].filter(Boolean).join(" ");
    tell(error);
  } finally {
    if (mine === asking) {
      clearTimeout(slow);
      grid.removeAttribute("aria-busy");
    }
  }
}

function show(found) {
  const at = Math.max(0, shown.indexOf(current(grid)));
  const hadFocus = grid.contains(document.activeElement) || document.activeElement === document.body;
  const old = new Map(shown.map((each) => [each.photo.id, each]));
  ranked = found.yes > 0;
  shown = found.photos.map((photo) => reuse(old.get(photo.id), photo));
  grid.style.setProperty("--shape", shape(found.photos));
  grid.replaceChildren(...shown);
  line = shown.filter((each) => each.photo.probability >= 0.5).length;
  slider.max = shown.length;
  if (shown.length) focusTile(grid, shown[Math.min(at, shown.length - 1)], !hadFocus);
  strip(yesStrip, found.examples.yes, true);
  strip(noStrip, found.examples.no, false);
  counts.textContent = `${plural(found.yes, "example")}, ${count(found.no)} without it`;
  beginning.hidden = ranked;
  bar.classList.toggle("ranked", ranked);
  hint.textContent = !shown.length
    ? "Every photo of the collection is decided."
    : ranked
      ? found.yes < 5
        ? `Go on: click on ${plural(5 - found.yes, "more photo")} with ${word}; ✕ or X on what has it not.`
        : line
          ? `Click on what has ${word}; ✕ or X on what has it not. Photos above the line are accepted together.`
          : `No photo is likely yet: click on more that have ${word}, or move the line down to where they end (L) and accept.`
      : `Click on photos that have ${word}; ✕ or X on what has it not.`;
  draw();
}

/** The same element for the same photo: its picture stays painted. */
function reuse(element, photo) {
  if (!element || element.photo.probability !== photo.probability) {
    const made = tile(photo, "open");
    made.append(h("span", { class: "tile-no", title: "Has it not (X)", "aria-hidden": "true" }, "✕"));
    return made;
  }
  element.photo = photo;
  return element;
}

function draw() {
  shown.forEach((each, i) => {
    setState(each, i < line ? "likely" : "open");
    each.classList.toggle("after-line", ranked && i === line && i > 0);
  });
  slider.value = line;
  slider.disabled = !ranked;
  accept.disabled = !line;
  accept.replaceChildren(`Accept ${plural(line, "photo")} `, h("kbd", {}, "Enter"));
}

function moveLine(to) {
  if (!ranked) return;
  line = Math.max(0, Math.min(shown.length, to));
  draw();
}

function strip(list, ids, has) {
  list.replaceChildren(...ids.map((id) => h("li", {}, h("button", { type: "button", class: "quiet", "aria-label": "Take this example away", title: "Take this example away", onclick: (event) => forget(event, id, has) },
    h("img", { src: thumbnail(id), alt: "", decoding: "async" })))));
  if (!ids.length) list.append(h("li", { class: "soft small" }, has ? "none yet" : "none needed yet"));
}

// --- Clicks --------------------------------------------------------------------------------------------------

function click(element, has, since) {
  const { id } = element.photo;
  setState(element, has ? "yes" : "no");
  clicks.set(id, has);
  decide([{ image: id, word, verdict: has ? "present" : "rejected" }], () => { clicks.delete(id); rank(); });
  rank(since);
}

function forget(event, id, has) {
  clicks.delete(id);
  decide([{ image: id, word, verdict: "cleared" }], () => clicks.set(id, has)).then(() => rank(event.timeStamp));
}

function acceptAll(event) {
  const accepted = shown.slice(0, line).map((each) => each.photo.id);
  if (!accepted.length) return toast("Nothing is above the line yet.");
  accepted.forEach((id) => clicks.set(id, true));
  const taught = word;
  decide(accepted.map((image) => ({ image, word, verdict: "present" })), () => { accepted.forEach((id) => clicks.delete(id)); rank(); })
    .then((done) => done && toast(`Accepted ${taught} for ${plural(accepted.length, "photo")}. The next learning will know it.`));
  rank(event.timeStamp);
}

function otherPhotos() {
  if (ranked) return;
  query = searching.value = "";
  seed += 1;
  rank();
}

document.addEventListener("topicture-undone", () => {
  clicks = new Map();
  if (word) rank();
});

navigate(grid, (element, event) => click(element, !(event.target.closest(".tile-no") || event.shiftKey), event.timeStamp));
const onTile = (act) => (event) => shown.length && act(current(grid), event);
shortcut(["Space", "y"], "The photo has the word", onTile((element, event) => click(element, true, event.timeStamp)));
shortcut("x", "The photo has it not", onTile((element, event) => click(element, false, event.timeStamp)));
shortcut(["Enter", "a"], "Accept everything above the line", acceptAll);
shortcut("l", "Draw the line after this photo", onTile((element) => moveLine(shown.indexOf(element) + 1)));
shortcut(["[", "]"], "Move the line by one photo", ({ key }) => moveLine(line + (key === "]" ? 1 : -1)));
shortcut("o", "Other photos to begin with", otherPhotos);
shortcut("v", "View the whole photo", onTile((element) => look(element.photo)));
shortcut("w", "Name another word", () => naming.select());
shortcut("Backspace", "Undo, as z does", () => undo());

function begin(chosen) {
  if (!chosen) return naming.focus();
  word = chosen;
  clicks = new Map();
  shown = [];
  query = searching.value = "";
  seed = 0;
  history.replaceState(null, "", `/teach?${new URLSearchParams({ word })}`);
  document.title = `${word} · Teach · Topicture`;
  open();
  naming.blur();
  rank();
}

naming.addEventListener("input", async () => {
  try {
    const { words } = await get("complete", { q: naming.value, limit: 8 });
    proposals.replaceChildren(...words.map((each) => h("option", { value: each.word })));
  } catch {
    // Proposals are a convenience.
  }
});

open();
if (word) begin(word);
