// The search field in the frame: words are offered on every page; the page Search answers as one types.
import { offerWords } from "./combobox.js";
import { termAt } from "./query.js";

const form = document.querySelector(".frame-search");
export const searchField = form.querySelector("input");

offerWords(searchField, {
  part: termAt,
  whenEmpty: false,
  picked: () => (document.body.dataset.page === "search" ? searchField.dispatchEvent(new Event("input")) : form.requestSubmit()),
});
