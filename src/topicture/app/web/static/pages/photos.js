// The page Photos: the whole collection, filtered, and what is done with several photos at once.
import { get } from "../js/api.js";
import { offerWords } from "../js/combobox.js";
import { h, icon, plural } from "../js/dom.js";
import "../js/grid.js";
import { shortcut } from "../js/keys.js";
import { say } from "../js/tagging.js";
import { tell } from "../js/toasts.js";

const FILTERS = ["tagged", "suggested", "word", "folder", "from", "to", "order", "descending"];
const KINDS = [["All", {}], ["Tagged", { tagged: "yes" }], ["Untagged", { tagged: "no" }], ["Suggested", { suggested: "yes" }]];
const ORDERS = [["added", "Order found"], ["taken", "Date taken"], ["path", "File name"]];

const main = document.querySelector("#main");
const remembered = Number(stored("topicture-size"));
let filter = fromAddress();

// --- Parts ---------------------------------------------------------------------------------------------------

const number = h("p", { class: "soft number", role: "status" });
const kinds = h("div", { class: "segments", role: "group", "aria-label": "Which photos" }, ...KINDS.map(([name, wanted]) =>
  h("button", { type: "button", onclick: () => change({ tagged: undefined, suggested: undefined, ...wanted }) }, name)));
const word = h("input", { type: "text", id: "filter-word", placeholder: "any", onchange: () => change({ word: word.value.trim() }) });
const folder = h("select", { id: "filter-folder", onchange: () => change({ folder: folder.value }) });
const from = h("input", { type: "date", id: "filter-from", onchange: () => change({ from: from.value }) });
const to = h("input", { type: "date", id: "filter-to", onchange: () => change({ to: to.value }) });
const order = h("select", { id: "filter-order", onchange: () => change({ order: order.value }) }, ...ORDERS.map(([value, name]) => h("option", { value }, name)));
const direction = h("button", { type: "button", class: "icon", onclick: () => change({ descending: filter.descending ? undefined : "1" }) }, icon("M8 4v15M4.500 15.500 8 19l3.500-3.500", "M16 20V5M12.500 8.500 16 5l3.500 3.500"));
const size = h("input", { type: "range", min: "90", max: "420", step: "10", id: "filter-size", "aria-label": "Size of the photos" });
const clear = h("button", { type: "button", class: "quiet", onclick: () => change(Object.fromEntries(FILTERS.slice(0, 6).map((name) => [name, undefined]))) }, "Clear filters");
const field = (name, input) => h("label", { class: "field", for: input.id }, h("span", { class: "small soft" }, name), input);
const fields = h("div", { class: "filter-fields", id: "filter-fields", hidden: true }, field("Tag", word), field("Folder", folder), field("From", from), field("To", to), clear);
const more = h("button", { type: "button", class: "quiet filters", "aria-controls": fields.id, "aria-expanded": "false", "aria-label": "Filter", onclick: () => openFilters(fields.hidden) }, icon("M4 6h16M7 12h10M10 18h4"), h("span", {}, "Filter"));
const grid = h("photo-grid", { "aria-label": "Photos" });
const nothing = h("div", { class: "empty", hidden: true });
grid.targetHeight = size.value = remembered >= 90 && remembered <= 420 ? remembered : matchMedia("(max-width: 860px)").matches ? 120 : 190;
grid.describe = (photo) => [photo.name, plural(photo.tags, "tag"), photo.suggestions ? plural(photo.suggestions, "suggestion") : ""].filter(Boolean).join(", ");
grid.decorate = (notes, photo) => photo.suggestions && notes.append(h("span", { class: "badge", title: plural(photo.suggestions, "suggestion") }, `${photo.suggestions} ?`));

main.append(
  h("div", { class: "photos-head" }, h("h1", {}, "Photos"), number, kinds, more,
    h("div", { class: "row view-options" }, h("label", { class: "visually-hidden", for: order.id }, "Sort by"), order, direction, size), fields),
  grid, nothing);

// --- The selection ---------------------------------------------------------------------------------------------

const chosen = h("strong", { class: "number" });
const tag = h("input", { type: "text", id: "selection-tag", "aria-label": "Tag for the selected photos", placeholder: "a word" });
const bar = h("form", { class: "selection-bar", "aria-label": "Selected photos", hidden: true, onsubmit: (event) => (event.preventDefault(), decide("present")) },
  chosen, h("div", { class: "combo" }, tag),
  h("button", { class: "primary", title: "All of them show it" }, "Add tag"),
  h("button", { type: "button", title: "None of them shows it: it will not be suggested again", onclick: () => decide("rejected") }, "Reject"),
  h("button", { type: "button", title: "Take the tag away without saying no", onclick: () => decide("cleared") }, "Remove"),
  h("button", { type: "button", class: "quiet icon", "aria-label": "Clear the selection", onclick: () => { grid.clearSelection(); grid.focus(); } }, icon("M6 6l12 12M18 6 6 18")));
main.append(bar);
offerWords(tag);
grid.addEventListener("selected", ({ detail: { photos } }) => {
  bar.hidden = !photos.length;
  chosen.textContent = `${photos.length} selected`;
});
tag.addEventListener("keydown", (event) => {
  if (event.key === "Escape") grid.focus();
});

async function decide(verdict) {
  const said = tag.value.trim();
  if (!said) return tag.focus();
  if (!(await say([...grid.selected.keys()], said, verdict))) return;
  tag.value = "";
  await grid.reload();
  grid.focus();
}
document.addEventListener("topicture-undone", () => grid.reload());

function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

// --- Filters and the address ---------------------------------------------------------------------------------------

function fromAddress() {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(FILTERS.map((name) => [name, query.get(name) || undefined]));
}

function address(extra = {}) {
  const query = new URLSearchParams(Object.entries({ ...filter, ...extra }).filter(([, value]) => value !== undefined && value !== ""));
  return query.size ? `?${query}` : "";
}

function change(wanted) {
  Object.assign(filter, wanted);
  for (const name of FILTERS) if (filter[name] === "") filter[name] = undefined;
  history.pushState(null, "", `/photos${address()}`);
  show();
}

function openFilters(open) {
  fields.hidden = !open;
  more.setAttribute("aria-expanded", String(open));
}

function show({ index = 0, focus = false } = {}) {
  [...kinds.children].forEach((button, i) => {
    const wanted = KINDS[i][1];
    button.setAttribute("aria-pressed", String(filter.tagged === wanted.tagged && filter.suggested === wanted.suggested));
  });
  word.value = filter.word ?? "";
  if (filter.folder && ![...folder.options].some((option) => option.value === filter.folder)) folder.append(h("option", { value: filter.folder }, filter.folder));
  folder.value = filter.folder ?? "";
  from.value = filter.from ?? "";
  to.value = filter.to ?? "";
  order.value = filter.order ?? "added";
  direction.setAttribute("aria-pressed", String(Boolean(filter.descending)));
  direction.setAttribute("aria-label", filter.descending ? "Last first" : "First first");
  direction.title = direction.getAttribute("aria-label");
  const fine = ["word", "folder", "from", "to"].filter((name) => filter[name]).length;
  clear.hidden = !fine && !filter.tagged && !filter.suggested;
  more.querySelector("span").textContent = fine ? `Filter (${fine})` : "Filter";
  more.classList.toggle("on", fine > 0);
  if (fine && matchMedia("(min-width: 861px)").matches) openFilters(true);
  return grid.show((offset, limit, options) => get("photos", { ...filter, offset, limit }, options), { index, focus });
}

grid.addEventListener("shown", ({ detail: { total } }) => {
  number.textContent = plural(total, "photo");
  grid.hidden = !total;
  nothing.hidden = Boolean(total);
  if (!total) explainNothing();
});
grid.addEventListener("failed", ({ detail: error }) => {
  number.textContent = "";
  tell(error);
});

function explainNothing() {
  const filtered = !clear.hidden;
  nothing.replaceChildren(
    h("h2", {}, filtered ? "No photo passes these filters" : "There are no photos here yet"),
    h("p", {}, filtered ? "Loosen one of them, or look at everything again." : "Add photos to the folder, then scan it on the Learn page."),
    filtered ? h("button", { type: "button", onclick: () => clear.click() }, "Show all photos") : h("a", { class: "button", href: "/learn" }, "To the Learn page"));
}

size.addEventListener("input", () => {
  grid.resize(Number(size.value));
  try {
    localStorage.setItem("topicture-size", size.value);
  } catch {
    // It lasts until the page is left.
  }
});
grid.addEventListener("open", ({ detail: { photo, index } }) => {
  history.replaceState({ at: index }, "", `/photos${address()}`);
  location.assign(`/photo/${photo.id}${address({ list: "photos", at: index })}`);
});
addEventListener("popstate", () => {
  filter = fromAddress();
  show();
});

offerWords(word, { picked: () => change({ word: word.value.trim() }) });
shortcut(["ArrowDown", "ArrowRight", "j"], "Go through the photos", () => grid.focus());
shortcut(["t"], "Tag the selected photos", () => (bar.hidden ? grid.focus() : tag.focus()));
shortcut(["f"], "Filter", () => { openFilters(true); word.focus(); });
shortcut("", "x or Space selects, Shift extends, Enter opens, Escape lets go", () => {});

const at = history.state?.at ?? Number(new URLSearchParams(location.search).get("at") ?? 0);
show({ index: at, focus: at > 0 });
get("folders").then((folders) => {
  folder.replaceChildren(h("option", { value: "" }, "all"), ...folders.filter((each) => each.folder).map((each) => h("option", { value: each.folder }, `${each.folder} (${each.photos})`)));
  folder.value = filter.folder ?? "";
}).catch(tell);
