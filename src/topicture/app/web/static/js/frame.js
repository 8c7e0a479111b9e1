// The frame around every page: navigation, theme, undo, and what is running.
import { get, inTurn, post } from "./api.js";
import { h, icon, count, percent, plural } from "./dom.js";
import { onJobs, over, refreshJobs, shareOf, stageOf, titleOf } from "./jobs.js";
import { shortcut, showShortcuts } from "./keys.js";
import { ownSteps, UNKNOWN } from "./own-steps.js";
import "./search-box.js";
import { tell, toast } from "./toasts.js";

const PAGES = [
  ["/photos", "Photos", "M4 5h16v14H4z", "m4 16 5-5 4 4 3-3 4 4"],
  ["/review", "Review", "M4 6h9M4 12h6M4 18h6", "m13 15 3 3 5-7"],
  ["/teach", "Teach", "M3 9l9-4 9 4-9 4z", "M7 11v5c3 2.500 7 2.500 10 0v-5"],
  ["/map", "Map", "M9 4 4 6v14l5-2 6 2 5-2V4l-5 2z", "M9 4v14M15 6v14"],
  ["/words", "Words", "M4 5h7l9 9-6 6-9-9z", "M8 9h.01"],
  ["/learn", "Learn", "M4 19h16", "M6 16v-5M11 16V8M16 16V5"],
];

const nav = document.querySelector(".frame-nav");
for (const [address, title, ...drawing] of PAGES) {
  const here = location.pathname === address || location.pathname.startsWith(`${address}/`);
  nav.append(h("a", { href: address, "aria-current": here ? "page" : undefined }, icon(...drawing), title));
}
document.querySelector(".frame-search input").value = location.pathname === "/search" ? (new URLSearchParams(location.search).get("q") ?? "") : "";

const tools = document.querySelector(".frame-tools");
const themeButton = h("button", { type: "button", class: "quiet icon", "aria-label": "Light or dark", title: "Light or dark", onclick: switchTheme }, icon("M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z"));
tools.append(
  h("button", { type: "button", class: "quiet icon", "aria-label": "Undo", title: "Undo (z)", onclick: () => undo() }, icon("M9 7H15a5 5 0 0 1 0 10H8", "M9 7 5.500 10.500", "M9 7 5.500 3.500")),
  themeButton,
  h("button", { type: "button", class: "quiet icon", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", onclick: showShortcuts }, icon("M3 7h18v10H3z", "M7 10h.01M11 10h.01M15 10h.01M8 14h8")),
);

function switchTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("topicture-theme", document.documentElement.dataset.theme);
  } catch {
    // It lasts until the page is left.
  }
}

/** Take back the last step of this tab, or a given one, once all that was decided before is stored; pages listen to "topicture-undone" and mend what they show. */
export const undo = ({ step } = {}) => inTurn(async () => {
  try {
    let undone = null;
    for (let last = step ?? ownSteps.last(); last && !undone; last = step ? null : ownSteps.last()) {
      ({ undone } = await post("undo", { step: last }));
      ownSteps.forget(last);
      // What nothing is left of was taken back or decided anew elsewhere: the step before is meant.
      if (!step && undone && !undone.decisions.length && !undone.words.length && !undone.reopened) undone = null;
    }
    if (!undone) return step ? toast("That was taken back already.") : (ownSteps.forget(UNKNOWN), await offerLast());
    toast(undone.text);
    document.dispatchEvent(new CustomEvent("topicture-undone", { detail: undone }));
  } catch (error) {
    tell(error);
  }
});

/** What was done in another tab, on the command line or on another day is taken back only when asked for by name; so is
 * what this tab was left with. */
async function offerLast() {
  const { steps } = await get("history", { limit: 100 });
  const last = steps.find((each) => !each.undone);
  if (!last) return toast("There is nothing to undo.");
  toast(`The last step of all: ${last.text}.`, { action: { label: "Take back", act: () => undo(last) }, seconds: 12 });
}

shortcut(["z", "Ctrl+z"], "Undo the last decision of this tab", () => undo());
shortcut("/", "Search", () => document.querySelector(".frame-search input").focus());
shortcut("g", "Photos", () => location.assign("/photos"));

/** Show how many suggestions wait for an answer. */
export async function refreshCounts() {
  try {
    const status = await get("counts");
    const link = nav.querySelector('a[href="/review"]');
    link.querySelector(".count")?.remove();
    if (status?.open_suggestions) link.append(h("span", { class: "count", title: "suggestions to review" }, status.open_suggestions > 999 ? "999+" : count(status.open_suggestions)));
  } catch {
    // The page itself tells what is wrong.
  }
}
refreshCounts();

// --- What is running ---------------------------------------------------------------------------------------------

const pill = h("a", { href: "/learn", class: "job-pill", hidden: true });
nav.after(pill); // where there is room: nothing else moves when it comes and goes

onJobs((jobs, ended, error) => {
  const job = jobs?.findLast((each) => !over(each) && each.state === "running");
  const waiting = jobs?.filter((each) => !over(each)).length ?? 0;
  pill.hidden = !job && !error;
  pill.classList.toggle("trouble", Boolean(error));
  if (error) pill.replaceChildren(error.status === 401 ? "Topicture was started anew: open the address in its terminal" : "Topicture is not running");
  else if (job) {
    const share = shareOf(job);
    const bar = h("span", { class: "meter" }, h("i"));
    bar.firstChild.style.width = percent(share ?? 0);
    pill.title = `${titleOf(job)}: ${stageOf(job)}`;
    pill.replaceChildren(h("span", { class: "job-name" }, titleOf(job)), bar, waiting > 1 ? h("span", { class: "number" }, `+${waiting - 1}`) : "");
  }
  for (const each of ended) tellEnd(each);
});

/** News of work that has ended while somebody is on another page. */
function tellEnd(job) {
  if (job.kind === "prepare") return;
  refreshCounts();
  if (location.pathname === "/learn" || location.pathname === "/welcome") return;
  if (job.state === "failed") toast([job.error.message, job.error.hint].filter(Boolean).join(" "), { trouble: true });
  else if (job.state === "done" && job.result?.annotated) {
    toast(`Learned: ${plural(job.result.annotated.suggestions, "suggestion")} to review.`, { action: { label: "Review", act: () => location.assign("/review") }, seconds: 12 });
  } else if (job.state === "done") toast(`${titleOf(job)}: done.`);
}

refreshJobs();
document.addEventListener("visibilitychange", () => document.hidden || refreshJobs());
