// Review: what is left, and where one stroke settles most.
import { get } from "../js/api.js";
import { timeLeft } from "../js/decisions.js";
import { count, h, plural, reviewAddress, thumbnail } from "../js/dom.js";
import { historyButton } from "../js/history.js";
import { shortcut } from "../js/keys.js";
import { tell } from "../js/toasts.js";

const main = document.querySelector("#main");

function card(tag) {
  return h("li", {}, h("a", { class: "tag-card", href: reviewAddress(tag.word) },
    h("span", { class: "tag-photos", "aria-hidden": "true" }, ...tag.photos.map((id) => h("img", { src: thumbnail(id), alt: "", decoding: "async" }))),
    h("span", { class: "tag-name" }, tag.word),
    h("span", { class: "soft small number" }, plural(tag.open, "photo"), tag.likely ? `, ${count(tag.likely)} likely` : ", none likely")));
}

function nothing(decided) {
  return h("div", { class: "empty" },
    h("h2", {}, decided ? "All suggestions are answered" : "There is nothing to review yet"),
    h("p", {}, decided
      ? "Learn again for better suggestions; or look whether tags were left out on photos that you tagged yourself."
      : "Suggestions appear once the tool has learned from photos that have tags, and has looked at the others."),
    h("div", { class: "row" }, h("a", { class: "button primary", href: "/learn" }, "Learn"), h("a", { class: "button", href: "/review/questions?order=missing" }, "What was left out?"), historyButton()));
}

function fill({ tags, decided, left, pace }) {
  const share = decided + left ? decided / (decided + left) : 0;
  main.replaceChildren(
    h("div", { class: "page-head" }, h("h1", {}, "Review"), h("div", { class: "row review-ways" },
      h("a", { class: "button", href: "/review/questions" }, "Single questions"),
      h("a", { class: "button", href: "/review/questions?order=missing" }, "What was left out?"),
      historyButton())));
  if (!left) return main.append(nothing(decided));
  const bar = h("i");
  bar.style.width = `${Math.max(100 * share, share ? 1 : 0)}%`;
  main.append(
    h("section", { class: "card review-progress", "aria-label": "Progress" },
      h("p", {}, h("strong", { class: "number" }, plural(left, "suggestion")), " to answer", h("span", { class: "soft" }, ` · ${timeLeft(left, pace)}`)),
      h("span", { class: "meter", role: "img", "aria-label": `${count(decided)} answered of ${count(decided + left)}` }, bar),
      h("p", { class: "soft small" }, decided ? `${plural(decided, "suggestion")} answered. ` : "", "Leave whenever you like: the next visit goes on from here."),
      h("a", { class: "button primary", href: reviewAddress(tags[0].word) }, `Begin with ${tags[0].word}`)),
    h("h2", { class: "review-tags-title" }, "Tags, the quickest gain first"),
    h("ul", { class: "plain tag-cards" }, ...tags.map(card)));
  shortcut("Enter", `Begin with ${tags[0].word}`, () => location.assign(reviewAddress(tags[0].word)));
}

shortcut("q", "Answer single questions", () => location.assign("/review/questions"));

async function load() {
  try {
    fill(await get("review"));
  } catch (error) {
    main.replaceChildren(h("div", { class: "empty" }, h("h2", {}, "The suggestions can't be shown"), h("p", {}, error.message), h("p", {}, error.hint)));
    tell(error);
  }
}
document.addEventListener("topicture-undone", load);
load();
