// What was decided so far: every step can be taken back, every single decision be changed.
import { get, inTurn, post } from "./api.js";
import { h, plural, thumbnail } from "./dom.js";
import { shortcut } from "./keys.js";
import { tell } from "./toasts.js";

const when = (at) => new Date(1000 * at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });

function told(undone) {
  document.dispatchEvent(new CustomEvent("topicture-undone", { detail: undone }));
}

function row(step) {
  const button = h("button", { type: "button", disabled: step.undone, onclick: takeBack }, step.undone ? "Taken back" : "Take back");
  const photos = h("ul", { class: "plain history-photos" });
  const details = h("details", { ontoggle: () => details.open && !photos.childElementCount && load() },
    h("summary", {}, h("span", {}, step.text), h("span", { class: "soft small" }, when(step.at))), photos);
  const element = h("li", { class: step.undone ? "history-step undone" : "history-step" }, details, button);

  async function takeBack() {
    button.disabled = true;
    try {
      const { undone } = await inTurn(() => post("undo", { step: step.step }));
      button.textContent = "Taken back";
      element.classList.add("undone");
      photos.replaceChildren();
      details.open = false;
      if (undone) told(undone);
    } catch (error) {
      button.disabled = false;
      tell(error);
    }
  }

  async function load() {
    try {
      const { decisions } = await get(`history/${step.step}`);
      photos.append(...decisions.map(item));
      if (step.decisions > decisions.length) photos.append(h("li", { class: "soft small" }, `and ${plural(step.decisions - decisions.length, "more decision")}`));
    } catch (error) {
      tell(error);
    }
  }
  return element;
}

function item(decision) {
  const choice = h("select", { "aria-label": `${decision.word} for ${decision.name ?? "a photo that is gone"}`, onchange: change },
    ...[["present", "yes"], ["rejected", "no"], ["cleared", "not decided"]].map(([value, text]) => h("option", { value }, text)));
  choice.value = decision.now ?? "cleared";
  let before = choice.value;

  async function change() {
    try {
      await inTurn(() => post("decide", { decisions: [{ image: decision.id, word: decision.word, verdict: choice.value }] }));
      before = choice.value;
      told({ decisions: [], text: "" });
    } catch (error) {
      choice.value = before;
      tell(error);
    }
  }
  return h("li", {}, h("img", { src: thumbnail(decision.id), alt: "", loading: "lazy", width: 72, height: 48 }),
    h("span", {}, decision.word), choice);
}

/** Show the history over the page. */
export async function showHistory() {
  const list = h("ol", { class: "plain history-list" });
  const more = h("button", { type: "button", hidden: true, onclick: load }, "Show earlier steps");
  const dialog = h("dialog", { class: "history", "aria-label": "History", onclose: () => dialog.remove() },
    h("div", { class: "row wide" }, h("h2", {}, "History"), h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close")),
    list, more);
  let last;

  async function load() {
    try {
      const { steps } = await get("history", { limit: 30, before: last });
      list.append(...steps.map(row));
      if (!list.childElementCount) list.append(h("li", { class: "soft" }, "Nothing was decided here yet."));
      last = steps.at(-1)?.step;
      more.hidden = steps.length < 30;
    } catch (error) {
      tell(error);
    }
  }
  await load();
  document.body.append(dialog);
  dialog.showModal();
}

export const historyButton = () => h("button", { type: "button", onclick: showHistory, title: "History (h)" }, "History");
shortcut("h", "History: look back, and change what was decided", showHistory);
