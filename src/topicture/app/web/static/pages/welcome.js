// The first run: from a folder of photos to the first suggestions.
import { get, post } from "../js/api.js";
import { count, h, percent, plural } from "../js/dom.js";
import { onJobs, over, refreshJobs, shareOf, stageOf, startJob, titleOf } from "../js/jobs.js";
import { tell } from "../js/toasts.js";

const main = document.querySelector("#main");
const steps = h("ol", { class: "plain steps" });
main.append(h("div", { class: "welcome" },
  h("h1", {}, "Your photos, in your own words"),
  h("p", { class: "soft lead" }, "Topicture learns the tags of your collection and suggests them for the photos that have none. Your photos are never changed and never leave this computer."),
  steps));

let state = { photos: null, begun: false, status: null, job: null };

async function refresh() {
  try {
    const [collection, status] = await Promise.all([get("collection"), get("status")]);
    state = { ...state, ...collection, status };
    draw();
  } catch (error) {
    tell(error);
  }
}

onJobs((jobs, ended) => {
  const before = state.job?.id;
  state.job = jobs?.find((job) => !over(job) && job.kind !== "prepare") ?? null;
  const failed = ended.find((job) => job.state === "failed");
  if (failed) tell(failed.error);
  if (ended.length || (state.job?.id ?? null) !== (before ?? null)) refresh();
  else if (state.job) showProgress();
});

function draw() {
  const { begun, status } = state;
  const scanned = Boolean(status?.scanned);
  const learned = Boolean(status?.model);
  const enough = (status?.tagged ?? 0) >= 6;
  steps.replaceChildren(
    step(1, "Choose a folder", begun, !begun, ...(begun ? [h("p", { class: "soft" }, status?.root ?? "")] : [folderForm()])),
    step(2, "See what is there", scanned, begun && !scanned, ...found(scanned)),
    step(3, "Teach it a few words", enough, scanned && !enough, ...teach(scanned, enough)),
    step(4, "Let it learn", learned, enough && !learned, ...learn(enough, learned)),
    step(5, "Review what it suggests", false, learned, ...(learned ? [h("p", {}, `${plural(status.open_suggestions, "suggestion")} for ${plural(status.photos_with_suggestions, "photo")}.`), h("p", {}, h("a", { class: "button primary", href: "/review" }, "Review"))] : [])));
  showProgress();
}

function step(number, title, done, current, ...content) {
  return h("li", { class: `card step${done ? " done" : ""}${current ? " current" : ""}`, "aria-current": current ? "step" : undefined },
    h("span", { class: "badge", "aria-hidden": "true" }, done ? "✓" : String(number)),
    h("div", { class: "stack" }, h("h2", {}, title, done ? h("span", { class: "visually-hidden" }, " (done)") : ""), ...content, h("div", { class: "progress-place" })));
}

function folderForm() {
  const field = h("input", { type: "text", id: "folder", value: state.photos ?? "", placeholder: "/home/you/Pictures", required: true, spellcheck: false, autocomplete: "off" });
  const begin = async (event) => {
    event.preventDefault();
    try {
      await post("collection", { folder: field.value });
      await refresh();
      refreshJobs();
    } catch (error) {
      tell(error);
      field.focus();
    }
  };
  return h("form", { class: "stack", onsubmit: begin },
    h("label", { for: "folder" }, "The folder with your photos, and the folders inside it"),
    h("div", { class: "row folder-row" }, field, h("button", { class: "primary" }, "Begin")),
    h("p", { class: "small soft" }, "Topicture keeps what it knows, your answers included, in a folder named .topicture in there."));
}

function found(scanned) {
  const { status } = state;
  if (!scanned) return [];
  if (!status.photos) return [h("p", { class: "notice caution" }, "No photos were found in that folder. Put some there, then look again."), again()];
  const tagged = status.tagged ? `${count(status.tagged)} of them with keywords already (${plural(status.words, "word")}).` : "none of them with keywords yet.";
  return [h("p", {}, `${plural(status.photos, "photo")}, ${tagged}`), status.unreadable.length ? h("p", { class: "soft" }, `${plural(status.unreadable.length, "photo")} can't be read.`) : ""];
}

const again = () => h("p", {}, h("button", { type: "button", onclick: () => startJob("scan").catch(tell) }, "Look again"));

function teach(scanned, enough) {
  if (!scanned) return [];
  if (enough) return [h("p", { class: "soft" }, "There are enough tagged photos to begin with. More can follow at any time.")];
  return [
    h("p", {}, "Tag at least six photos, each word on three or more. Name a word and click photos that show it, or select photos and tag them. If your tags are in a table, “topicture import FILE” takes them over."),
    h("div", { class: "row" }, h("a", { class: "button primary", href: "/teach" }, "Teach a word"), h("a", { class: "button", href: "/photos" }, "Select photos"))];
}

function learn(enough, learned) {
  if (!enough) return [];
  return [
    h("p", { class: "soft" }, learned ? "It has learned your words. Learn again whenever you have tagged more." : "It tries several models and keeps what works: some minutes for a large collection."),
    h("p", {}, h("button", { type: "button", class: learned ? "" : "primary", disabled: Boolean(state.job), onclick: () => startJob("learn", { minutes: 10 }).catch(tell) }, learned ? "Learn again" : "Learn now"))];
}

/** The work under way, in the step that it belongs to. */
function showProgress() {
  for (const place of steps.querySelectorAll(".progress-place")) place.replaceChildren();
  if (!state.job) return;
  const place = steps.querySelectorAll(".progress-place")[state.job.kind === "scan" ? 1 : 3];
  if (!place) return;
  const share = shareOf(state.job);
  const bar = h("progress", { max: 1, "aria-label": titleOf(state.job) });
  if (share !== undefined) bar.value = share;
  place.append(bar, h("p", { class: "small soft" }, `${stageOf(state.job)}${share === undefined ? "" : ` · ${percent(share)}`}`));
}

refresh();
