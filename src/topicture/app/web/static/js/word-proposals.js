// Cards that propose to make two words one.
import { post } from "./api.js";
import { h, plural, thumbnail } from "./dom.js";
import { tell, toast } from "./toasts.js";

const photos = (ids) => h("span", { class: "proposal-photos", "aria-hidden": "true" }, ...ids.map((id) => h("img", { src: thumbnail(id), alt: "", loading: "lazy" })));

export function proposalCards(proposals, actions, reload) {
  const answer = async (words, dismissed) => {
    try {
      await post("words/proposals/dismiss", { words, dismissed });
      if (dismissed) toast(`${words.join(" and ")} stay two words.`, { action: { label: "Undo", act: () => answer(words, false) } });
      await reload();
    } catch (error) {
      tell(error);
    }
  };
  return proposals.map(({ words, into, reason, photos: counts, examples }) => {
    const [former] = words.filter((word) => word !== into);
    return h("article", { class: "card proposal" },
      h("h2", {}, former, h("span", { class: "soft", "aria-hidden": "true" }, " → "), h("span", { class: "visually-hidden" }, " into "), into),
      h("p", { class: "small soft" }, `${reason[0].toUpperCase()}${reason.slice(1)}. ${words.map((word) => `${word}: ${plural(counts[word], "photo")}`).join(", ")}.`),
      photos([...examples[former].slice(0, 3), ...examples[into].filter((id) => !examples[former].includes(id)).slice(0, 3)]),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", "aria-label": `Merge ${former} into ${into}`, onclick: () => actions.merge([former], into) }, "Merge"),
        h("button", { type: "button", class: "quiet", "aria-label": `${former} and ${into} are not the same`, onclick: () => answer(words, true) }, "Not the same")));
  });
}
