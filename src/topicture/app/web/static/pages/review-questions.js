// Single questions: one photo, one word, one key.
import { get, post } from "../js/api.js";
import { decide, painted, timeLeft } from "../js/decisions.js";
import { count, h, percent, picture } from "../js/dom.js";
import { undo } from "../js/frame.js";
import { historyButton } from "../js/history.js";
import { shortcut } from "../js/keys.js";

const ORDERS = {
  uncertain: "Most uncertain first",
  certain: "Most certain first",
  teaching: "What teaches most first",
  random: "Likely and unlikely by turns",
  missing: "What was left out?",
};
const AHEAD = 3; // pictures that are loaded before their turn
const FEW = 12; // questions below which more are fetched

const main = document.querySelector("#main");
const parameters = new URLSearchParams(location.search);
let order = parameters.get("order") in ORDERS ? parameters.get("order") : "uncertain";
const word = parameters.get("word") ?? "";

let waiting = []; // questions to come, the first is shown
const drawn = []; // questions drawn by lot, to be mixed in
let asked = []; // those that were answered or skipped: {question, verdict}
let left = null, atLeast = false, pace = null, fetching, failure, ended = false, round = 0;
const name = (question) => `${question.id} ${question.word}`;

// --- The frame of the page -----------------------------------------------------------------------------------

const stage = h("div", { class: "stage" });
const asking = h("h1", { class: "question", "aria-live": "polite" });
const sure = h("p", { class: "soft number" });
const status = h("p", { class: "soft number question-left" });
const choice = h("select", { "aria-label": "Order", onchange: () => turnTo(choice.value) },
  ...Object.entries(ORDERS).map(([value, text]) => h("option", { value, selected: value === order }, text)));
const yes = h("button", { type: "button", class: "primary", onclick: (event) => answer(event, "present") }, "Yes ", h("kbd", {}, "a"));
const no = h("button", { type: "button", class: "danger", onclick: (event) => answer(event, "rejected") }, "No ", h("kbd", {}, "r"));
const skip = h("button", { type: "button", onclick: (event) => answer(event) }, "Skip ", h("kbd", {}, "Space"));
const back = h("button", { type: "button", class: "quiet", onclick: goBack }, "Back ", h("kbd", {}, "Backspace"));
const panel = h("div", { class: "question-panel" }, asking, sure, h("div", { class: "row question-keys" }, yes, no, skip, back));

function open() {
  main.replaceChildren(
    h("div", { class: "page-head" }, h("a", { class: "button quiet", href: "/review", "aria-label": "All tags" }, "‹ Tags"), choice, status, h("div", { class: "row grid-tools" }, historyButton())),
    stage, panel);
}

function turnTo(chosen) {
  order = chosen;
  const query = new URLSearchParams({ order, ...(word && { word }) });
  history.replaceState(null, "", `/review/questions?${query}`);
  waiting = [];
  asked = asked.filter((each) => each.verdict);
  ended = false;
  left = null;
  round += 1;
  fetching = undefined;
  refill().then(() => show());
}

// --- Questions ----------------------------------------------------------------------------------------------

/** Fetch more where few are left; skipped ones are not asked again on this visit. */
function refill() {
  if (ended || waiting.length > FEW) return Promise.resolve();
  const mine = round;
  fetching ??= (async () => {
    failure = undefined;
    const known = new Set([...waiting, ...asked.map((each) => each.question)].map(name));
    const skipped = asked.filter((each) => !each.verdict).length;
    const found = await get("review/questions", { order, word, limit: Math.min(500, 30 + waiting.length + skipped + FEW), count: left === null ? "" : "no" });
    if (mine !== round) return;
    const fresh = found.questions.filter((each) => !known.has(name(each)));
    pace = found.pace;
    if (found.left !== null) ({ left, at_least: atLeast } = found); // counted once, kept up to date here
    ended = !fresh.length;
    waiting.push(...(word ? fresh : await mixed(fresh)));
  })().catch((error) => { if (mine === round) failure = error; }).finally(() => { if (mine === round) fetching = undefined; });
  return fetching;
}

/** One question in ten is drawn by lot, as in the terminal: from the answers follows how complete tags are. */
async function mixed(fresh) {
  const wanted = Math.round(fresh.length / 10);
  try {
    if (wanted > drawn.length) drawn.push(...(await post("review/sample", { limit: 10 })).questions);
  } catch {
    // Another program is writing: this time there are none.
  }
  const known = new Set([...waiting, ...fresh, ...asked.map((each) => each.question)].map(name));
  drawn.splice(0, wanted).filter((each) => !known.has(name(each))).forEach((each, i) => fresh.splice(10 * i + 9, 0, each));
  return fresh;
}

/** The picture of a question, made and decoded before its turn. */
function figure(question) {
  if (!question.figure) {
    question.figure = h("img", { src: picture(question.id), alt: question.name, decoding: "sync" });
    question.figure.decode().catch(() => {});
  }
  return question.figure;
}

function show(since) {
  const question = waiting[0];
  if (!question) return finish();
  if (!stage.isConnected) open();
  stage.replaceChildren(figure(question));
  stage.title = question.path;
  asking.textContent = question.left_out ? `Did you leave out ${question.word}?` : `${question.word}?`;
  sure.textContent = `${percent(question.probability)} sure`;
  status.textContent = `${count(left)}${atLeast ? " or more" : ""} to answer · ${timeLeft(left, pace)}`;
  document.title = `${question.word}? · Review · Topicture`;
  if (since !== undefined) painted("next-question", since);
  waiting.slice(1, 1 + AHEAD).forEach(figure);
}

function finish() {
  main.replaceChildren(
    h("div", { class: "page-head" }, h("a", { class: "button quiet", href: "/review", "aria-label": "All tags" }, "‹ Tags"), choice, h("div", { class: "row grid-tools" }, historyButton())),
    h("div", { class: "empty" }, h("h1", {}, failure ? "The questions could not be fetched" : "No more questions"),
      h("p", {}, failure ? `${failure.message} ${failure.hint ?? ""}` : order === "missing" ? "On the photos that you tagged, no likely word is missing." : "Every suggestion is answered, or was skipped just now. Skipped ones come again on the next visit."),
      h("div", { class: "row" }, failure && h("button", { type: "button", class: "primary", onclick: () => turnTo(order) }, "Try again"), h("a", { class: "button", href: "/review" }, "Overview"), asked.length ? h("button", { type: "button", onclick: goBack }, "Back to the last question") : undefined)));
}

// --- Answers ------------------------------------------------------------------------------------------------

function answer(event, verdict) {
  const question = waiting.shift();
  if (!question) return;
  const entry = { question, verdict };
  asked.push(entry);
  if (verdict) {
    left -= !question.drawn;
    decide([{ image: question.id, word: question.word, verdict }], () => ask(entry));
  }
  if (waiting.length) show(event.timeStamp);
  else {
    asking.textContent = "One moment…";
    refill().then(() => show(event.timeStamp));
  }
  refill();
}

/** Ask a question again, before the others. */
function ask(entry) {
  asked = asked.filter((each) => each !== entry);
  if (entry.verdict) left += !entry.question.drawn;
  waiting.unshift(entry.question);
  show();
}

/** To the question before: an answer is taken back, a skipped one just asked again. */
function goBack() {
  const last = asked.at(-1);
  if (last && !last.verdict) ask(last);
  else undo();
}

document.addEventListener("topicture-undone", ({ detail }) => {
  const taken = new Set(detail.decisions.map((each) => `${each.image} ${each.word}`));
  const entry = asked.findLast((each) => each.verdict && taken.has(name(each.question)));
  if (entry) ask(entry);
  else turnTo(order);
});

shortcut(["a", "y"], "Yes", (event) => answer(event, "present"));
shortcut(["r", "x"], "No", (event) => answer(event, "rejected"));
shortcut(["Space", "s"], "Skip: not sure", (event) => answer(event));
shortcut("Backspace", "Back to the question before", goBack);
shortcut("t", "All tags", () => location.assign("/review"));

open();
refill().then(() => show());
