// Long work: what runs now, told to whoever listens.
import { get, post } from "./api.js";

const WORDS = {
  scan: "Looking for photos", learn: "Learning", annotate: "Suggesting", write: "Writing sidecars",
  prepare: "Preparing pictures", map: "Drawing the map",
};
const listeners = new Set();
let timer;
let last = new Map();

export const over = (job) => job.ended !== null;
export const titleOf = (job) => WORDS[job.kind] ?? job.kind;

/** What a job is doing, in a few words; and how far it is, 0 to 1, or undefined. */
export const stageOf = (job) => (job.state === "waiting" ? "waiting its turn" : job.stage || "starting");
export const shareOf = (job) => (job.total ? Math.min(1, job.done / job.total) : undefined);

/** Call `listener(jobs, ended)` at every piece of news: all jobs, the newest first, and those that have just ended. */
export function onJobs(listener) {
  listeners.add(listener);
}

export async function refreshJobs() {
  clearTimeout(timer);
  let wait = 4000;
  try {
    const { jobs } = await get("jobs");
    const ended = jobs.filter((job) => over(job) && last.has(job.id) && !last.get(job.id));
    last = new Map(jobs.map((job) => [job.id, over(job)]));
    for (const listener of listeners) listener(jobs, ended);
    if (jobs.some((job) => !over(job))) wait = 600;
  } catch (error) {
    for (const listener of listeners) listener(null, [], error);
    wait = error.status === 401 ? 60000 : 5000;
  }
  timer = setTimeout(refreshJobs, document.hidden ? Math.max(wait, 3000) : wait);
}

/** Begin a piece of work; it goes on when this page is left. */
export async function startJob(kind, options = {}) {
  const job = await post("jobs", { kind, options });
  last.set(job.id, false);
  refreshJobs();
  return job;
}

export async function cancelJob(job) {
  await post(`jobs/${job.id}/cancel`);
  refreshJobs();
}
