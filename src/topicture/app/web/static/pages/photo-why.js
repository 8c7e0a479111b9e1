// Why a word is suggested: the members of the model, and tagged photos that look alike.
import { get } from "../js/api.js";
import { h, percent, thumbnail } from "../js/dom.js";
import { tell } from "../js/toasts.js";

const meter = (p) => {
  const bar = h("i");
  bar.style.width = percent(p);
  return h("span", { class: "meter", "aria-hidden": "true" }, bar);
};

/** Open or close the reasons of a suggestion {word, probability} of a photo. */
export async function showWhy(id, { word }, box, button) {
  box.hidden = !box.hidden;
  button.setAttribute("aria-expanded", String(!box.hidden));
  if (box.hidden || box.childElementCount) return;
  const look = h("div", { class: "soft small" }, "Looking at similar photos…"), members = h("div", { class: "soft small" }, "Asking the model; the first time takes a few seconds…");
  box.append(look, members);
  try {
    look.replaceWith(neighbours(word, await get(`photos/${id}/why`, { word, members: "no" })));
    members.replaceWith(opinions(await get(`photos/${id}/why`, { word })));
  } catch (error) {
    box.replaceChildren();
    box.hidden = true;
    tell(error);
  }
}

function neighbours(word, { neighbours: near }) {
  if (!near.length) return h("p", { class: "small soft" }, "No tagged photo can be compared with it yet.");
  const having = near.filter((photo) => photo.has).length;
  return h("div", {}, h("p", { class: "small" }, `${having} of the ${near.length} tagged photos most like it have `, h("bdi", {}, word), "."),
    h("div", { class: "thumbs small-thumbs" }, ...near.map((photo) => h("a", { href: `/photo/${photo.id}`, class: photo.has ? "has" : "lacks", title: `${photo.name}: ${photo.has ? "has it" : "does not have it"}` },
      h("img", { src: thumbnail(photo.id), alt: `${photo.name}, ${photo.has ? "has it" : "does not have it"}`, loading: "lazy" })))));
}

function opinions({ members, note }) {
  if (!members.length) return h("p", { class: "small soft" }, note);
  return h("table", { class: "plain members small" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Part of the model"), h("th", { scope: "col", class: "number" }, "Weight"), h("th", { scope: "col" }, "Says"))),
    h("tbody", {}, ...members.map((each) => h("tr", {},
      h("td", {}, each.model), h("td", { class: "number" }, percent(each.weight)),
      h("td", { title: `its ${each.rank}. of ${each.of} words` }, meter(each.probability), " ", h("span", { class: "number" }, percent(each.probability)))))));
}
