// Learn: start and watch it, see how far it can be trusted, and what to tag next.
import { get } from "../js/api.js";
import { count, h, percent, plural, reviewAddress, thumbnail } from "../js/dom.js";
import { cancelJob, onJobs, over, refreshJobs, shareOf, stageOf, startJob, titleOf } from "../js/jobs.js";
import { calibrationPlot, sparkline } from "../js/plots.js";
import { tell } from "../js/toasts.js";

const main = document.querySelector("#main");
const summary = h("p", { class: "soft" });
const running = h("div", { class: "stack", "aria-live": "off" });
// Two columns that flow each by itself, so that a card that grows moves nothing beside it.
const measured = h("div", { class: "learn-report stack" });
const compared = h("div", { class: "learn-report stack" });
const next = h("section", { class: "card stack next", "aria-labelledby": "next-title" }, h("h2", { id: "next-title" }, "What to tag next"));
main.append(
  h("div", { class: "learn" },
    h("header", { class: "page-head" }, h("h1", {}, "Learn"), summary),
    h("div", { class: "learn-columns" }, h("div", { class: "stack" }, controls(), measured), h("div", { class: "stack" }, next, compared))));

function controls() {
  const minutes = h("select", { id: "minutes" }, ...[[2, "2 minutes"], [10, "10 minutes"], [30, "30 minutes"], [120, "2 hours"]].map(([value, text]) => h("option", { value, selected: value === 10 }, text)));
  const start = (kind, options) => () => startJob(kind, options?.()).catch(tell);
  return h("section", { class: "card stack", "aria-labelledby": "work-title" },
    h("h2", { id: "work-title" }, "Teach it what you know"),
    h("p", { class: "soft" }, "It tries several models on tags that it hides from itself, blends the best, and suggests words for the rest. You can go on reviewing meanwhile."),
    h("div", { class: "row" },
      h("button", { type: "button", class: "primary", id: "learn-now", onclick: start("learn", () => ({ minutes: Number(minutes.value) })) }, "Learn"),
      h("label", { for: "minutes", class: "soft" }, "for at most"), minutes),
    running,
    h("details", {}, h("summary", {}, "More to do"),
      h("div", { class: "row more" },
        h("button", { type: "button", onclick: start("scan") }, "Look for new photos"),
        h("button", { type: "button", onclick: start("annotate") }, "Suggest again"),
        h("button", { type: "button", onclick: start("write") }, "Write tags into sidecars"),
        h("button", { type: "button", onclick: start("prepare") }, "Prepare pictures"))));
}

// --- While it runs -----------------------------------------------------------------------------------------------

onJobs((jobs, ended) => {
  if (!jobs) return;
  const open = jobs.filter((job) => !over(job)).reverse();
  const newest = jobs.find((job) => job.kind !== "prepare");
  document.querySelector("#learn-now").disabled = open.some((job) => job.kind === "learn");
  const shown = open.map(progress);
  if (newest && over(newest) && !open.length) shown.push(outcome(newest));
  keepFocus(running, shown);
  if (ended.length) show();
});

/** New children in place of the old; the button that had the focus keeps it. */
function keepFocus(box, children) {
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.job : undefined;
  box.replaceChildren(...children);
  if (focused) box.querySelector(`[data-job="${focused}"]`)?.focus();
}

function progress(job) {
  const share = shareOf(job);
  const bar = h("progress", { max: 1, "aria-label": titleOf(job) });
  if (share !== undefined) bar.value = share;
  const members = [...new Set(job.trace.map((entry) => entry.member).filter(Boolean))];
  const current = job.trace.findLast((entry) => entry.member)?.member;
  const from = job.trace.findLastIndex((entry) => entry.member);
  const objective = job.trace.slice(from + 1).map((entry) => entry.objective).filter((value) => typeof value === "number");
  return h("div", { class: "job stack" },
    h("div", { class: "row wide" },
      h("strong", {}, titleOf(job)),
      h("button", { type: "button", class: "quiet", "data-job": String(job.id), onclick: () => cancelJob(job).catch(tell) }, "Cancel")),
    bar,
    h("p", { class: "small soft number" }, stageOf(job), job.total ? ` · ${count(job.done)} of ${count(job.total)}` : job.done ? ` · ${count(job.done)}` : "", ` · ${duration(Date.now() / 1000 - job.started)}`),
    members.length ? h("ul", { class: "plain row members", "aria-label": "Models tried" }, ...members.map((name) => h("li", { class: name === current ? "chip yes" : "chip" }, name))) : "",
    objective.length > 2 ? h("figure", { class: "spark" }, sparkline(objective), h("figcaption", { class: "small soft" }, `Objective of ${current ?? "the model"}: ${objective.at(-1).toPrecision(6)}`)) : "");
}

function outcome(job) {
  if (job.state === "failed") return h("p", { class: "notice trouble" }, h("strong", {}, `${titleOf(job)} failed. `), `${job.error.message} ${job.error.hint}`);
  if (job.state === "cancelled") return h("p", { class: "notice" }, `${titleOf(job)} was cancelled ${when(job.ended)}. ${job.error?.hint ?? "Nothing was changed by halves."}`);
  const { result, kind } = job;
  const text = {
    learn: () => `Learned ${plural(result.learned.words, "word")} from ${plural(result.learned.tagged, "tagged photo")}: ${plural(result.annotated.suggestions, "suggestion")} for ${plural(result.annotated.with_suggestions, "photo")}.`,
    annotate: () => `${plural(result.annotated.suggestions, "suggestion")} for ${plural(result.annotated.with_suggestions, "photo")}.`,
    scan: () => `${plural(result.files, "photo file")}: ${count(result.new)} new, ${count(result.changed)} changed, ${count(result.gone)} gone.${result.withheld.length ? ` ${plural(result.withheld_count ?? result.withheld.length, "tag")} would go with their keywords; the terminal asks about that: topicture scan.` : ""}`,
    write: () => "The sidecars are up to date.",
  }[kind]?.() ?? "Done.";
  const { skipped, skipped_count: number = skipped?.length } = [result, result?.learned, result?.annotated].find((part) => part?.skipped?.length) ?? {};
  return h("div", { class: "notice stack" },
    h("p", {}, `${text} `, h("span", { class: "soft" }, `${when(job.ended)}, in ${duration(job.ended - job.started)}.`)),
    result?.annotated?.suggestions ? h("p", {}, h("a", { href: "/review" }, "Review the suggestions")) : "",
    skipped ? h("details", {}, h("summary", {}, plural(number, "photo was skipped", "photos were skipped")), h("ul", {}, ...skipped.map((line) => h("li", { class: "small" }, line)))) : "");
}

// --- What is known -----------------------------------------------------------------------------------------------

async function show() {
  try {
    const wanted = get("next"); // it may take a moment longer, the first time
    wanted.catch(() => {});
    const [status, { models, report: told }] = await Promise.all([get("status"), get("models")]);
    summary.textContent = status ? `${count(status.tagged)} of ${plural(status.photos, "photo")} tagged with ${plural(status.words, "word")}${models[0] ? `; last learned ${when(models[0].learned)}` : "; nothing learned yet"}.` : "";
    measured.replaceChildren(...(told ? [trust(told), tags(told)] : []), ...(models.length ? [history(models)] : []));
    compared.replaceChildren(...(told?.measured && !told.by_answers ? [comparison(told)] : [])); // else hidden tags tell nothing
    showNext(await wanted);
  } catch (error) {
    tell(error);
  }
}

function showNext({ photos, rare, weak }) {
  const parts = [];
  if (photos.length) parts.push(h("p", { class: "soft" }, "Many photos look like these, so their tags teach most."),
    h("ul", { class: "plain next-photos" }, ...photos.map((photo) => h("li", {}, h("a", { href: `/photo/${photo.id}` }, h("img", { src: thumbnail(photo.id), alt: photo.path, loading: "lazy", onerror: (event) => event.target.classList.add("missing") }))))));
  if (rare.length) parts.push(h("p", { class: "soft" }, "These words need a few more photos to be learned."),
    h("ul", { class: "plain row" }, ...rare.map(({ word, photos: n, needed }) => h("li", {}, h("a", { class: "chip", href: `/teach?${new URLSearchParams({ word })}` }, h("bdi", {}, word), h("span", { class: "soft number" }, `${n} of ${needed}`))))));
  if (weak.length) parts.push(h("p", { class: "soft" }, "Suggestions of these are often wrong; a few answers help."),
    h("ul", { class: "plain row" }, ...weak.map(({ word, precision }) => h("li", {}, h("a", { class: "chip", href: reviewAddress(word) }, h("bdi", {}, word), h("span", { class: "soft number" }, precision === null ? "never suggested" : `${percent(precision)} right`))))));
  if (!parts.length) parts.push(h("p", { class: "soft" }, "Tag a few photos by hand first, each word on three or more: ", h("a", { href: "/photos?tagged=no" }, "photos without a tag"), "."));
  next.replaceChildren(next.firstChild, ...parts);
}

function trust({ measured, reliability, said }) {
  return h("section", { class: "card stack", "aria-labelledby": "trust-title" },
    h("h2", { id: "trust-title" }, "Does 80% mean 80%?"),
    measured ? calibrationPlot(reliability) : "",
    ...said.map((text) => h("p", {}, text)),
    measured ? "" : h("p", {}, h("a", { class: "button", href: "/review/questions?order=random" }, "Answer questions")));
}

function comparison({ trials, members = [] }) {
  const rows = [...trials.map((trial) => ({ ...trial, weight: null, chosen: true })), ...members];
  return table("compare-title", "Models compared on hidden tags", ["Model", "Mean average precision", "±", "Accuracy", "Weight in the blend"],
    rows.map((row) => [[h("strong", { class: row.chosen ? "" : "plain-weight" }, row.model), h("span", { class: "small soft note" }, row.note ?? (row.chosen && members.length ? "the blend" : ""))], share(row.mean), row.standard_error === null ? "" : (100 * row.standard_error).toFixed(1), share(row.accuracy), row.weight ? row.weight.toFixed(2) : ""]));
}

function tags({ measured, tags: all, target_precision: target }) {
  const told = (tag) => [count(tag.suggested), tag.suggested ? share(tag.precision) : "–", tag.threshold === null ? "not yet" : `from ${percent(tag.threshold)}`];
  const row = (tag) => [h("a", { href: reviewAddress(tag.word) }, tag.word), count(tag.photos), ...(measured ? told(tag) : [])];
  const sorted = [...all].sort((a, b) => b.photos - a.photos);
  const section = table("tags-title", measured ? "Precision of each word" : "Photos with each word", ["Word", "Photos", ...(measured ? ["Suggested", "Right", `${percent(target)} right`] : [])], sorted.slice(0, 12).map(row));
  if (sorted.length > 12) section.append(h("button", { type: "button", class: "quiet", onclick: (event) => { section.querySelector("tbody").append(...sorted.slice(12).map(row).map(line)); event.target.remove(); } }, `Show all ${plural(sorted.length, "word")}`));
  return section;
}

function history(models) {
  return table("history-title", "What was learned before", ["When", "Model", "Photos", "Tagged", "Words", "Mean average precision"],
    models.map(({ learned, name, facts }) => [when(learned), name, count(facts.photos), count(facts.tagged), count(facts.words), share(facts.map)]));
}

function table(id, title, heads, rows) {
  return h("section", { class: "card stack" }, h("h2", { id }, title),
    h("div", { class: "scroll-x", tabIndex: 0, role: "region", "aria-labelledby": id },
      h("table", { class: "plain" },
        h("thead", {}, h("tr", {}, ...heads.map((head, i) => (head ? h("th", { scope: "col", class: i ? "number" : "" }, head) : h("td"))))),
        h("tbody", {}, ...rows.map(line)))));
}

const line = (cells) => h("tr", {}, ...cells.map((cell, i) => h("td", { class: i ? "number" : "" }, cell)));
const share = (value) => (typeof value === "number" ? percent(value) : "–");
const when = (seconds) => {
  const ago = Date.now() / 1000 - seconds;
  if (ago < 90) return "just now";
  const [unit, size] = ago < 5400 ? ["minute", 60] : ago < 129600 ? ["hour", 3600] : ["day", 86400];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.round(ago / size), unit);
};
const duration = (seconds) => (seconds < 90 ? `${Math.max(0, Math.round(seconds))} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

show();
refreshJobs();
