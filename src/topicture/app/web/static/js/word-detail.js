// One word in detail: counts, its place, its policy, and what it is confused with.
import { get } from "./api.js";
import { count, h, icon, percent, plural, reviewAddress, thumbnail } from "./dom.js";
import { policyField } from "./word-table.js";

let asked = null;

export function showDetail(box, each, words, actions, close) {
  const { word } = each;
  const confused = h("div", { class: "stack confusions" });
  const address = encodeURIComponent(word);
  box.replaceChildren(
    h("div", { class: "row wide" }, h("h2", {}, word), h("button", { type: "button", class: "quiet icon", "aria-label": "Close", title: "Close (Escape)", onclick: close }, icon("M6 6l12 12M18 6 6 18"))),
    each.merged.length ? h("p", { class: "small soft" }, `Also stands for ${each.merged.join(", ")}.`) : "",
    h("dl", { class: "facts" },
      ...fact("Photos", count(each.photos)),
      ...fact("Given by people", count(each.by_people)),
      ...fact("Accepted in bulk", count(each.by_machine)),
      ...fact("Rejected for", count(each.rejected)),
      ...fact("Suggested for", count(each.suggestions)),
      ...fact("Right when suggested", each.precision === null ? "not known" : percent(each.precision))),
    h("div", { class: "row" },
      h("a", { class: "button", href: `/photos?word=${address}` }, "Photos"),
      each.suggestions ? h("a", { class: "button", href: reviewAddress(word) }, "Review") : "",
      h("button", { type: "button", "data-key": `detail rename ${word}`, onclick: () => actions.edit(word) }, "Rename"),
      h("button", { type: "button", class: "danger", onclick: () => actions.remove(word) }, "Delete")),
    h("label", { class: "field" }, h("span", {}, "Suggestions of it"), policyField(each, actions, "detail")),
    h("label", { class: "field" }, h("span", {}, "Below"), parentField(each, words, actions)),
    confused,
  );
  showConfusions(confused, word);
}

const fact = (title, value) => [h("dt", {}, title), h("dd", { class: "number" }, value)];

function parentField(each, words, actions) {
  const options = h("datalist", { id: "words-above" }, ...words.filter((other) => other.word !== each.word).map((other) => h("option", { value: other.word })));
  const field = h("input", { type: "text", value: each.parent ?? "", placeholder: "no other word", autocomplete: "off", onchange: () => actions.parent(each.word, field.value.trim() || null) });
  field.setAttribute("list", options.id);
  return h("span", {}, field, options);
}

async function showConfusions(box, word) {
  asked?.abort();
  asked = new AbortController();
  box.replaceChildren(h("p", { class: "small soft" }, "Looking at what it is confused with…"));
  try {
    const found = await get("words/confusions", { word }, asked);
    if (found.judged === null) return box.replaceChildren(h("p", { class: "small soft" }, "What it is confused with is known once it was learned."));
    box.replaceChildren(
      h("p", { class: "small soft" }, `With ${plural(found.judged, "photo")} whose tags were hidden: suggested rightly for ${count(found.right)}, wrongly for ${count(found.wrong)}, missed on ${count(found.missed)}.`),
      ...list(`Where “${word}” was wrong, there was`, found.instead),
      ...list(`Where “${word}” was missed, it took it for`, found.taken_for));
  } catch (error) {
    if (error.name !== "AbortError") box.replaceChildren(h("p", { class: "small soft" }, error.code === "nothing-learned" ? "Nothing was learned yet." : error.message));
  }
}

function list(title, found) {
  if (!found.length) return [];
  return [h("h3", {}, title), h("ul", { class: "plain confusion-list" }, ...found.slice(0, 5).map((each) =>
    h("li", {}, h("span", {}, each.word), h("span", { class: "soft small number" }, `${plural(each.photos, "photo")}, ${percent(each.share)} (usually ${percent(each.usual)})`),
      h("span", { class: "proposal-photos" }, ...each.examples.slice(0, 4).map((id) => h("a", { href: `/photo/${id}`, "aria-label": `Photo with ${each.word}` }, h("img", { src: thumbnail(id), alt: "", loading: "lazy" })))))))];
}
