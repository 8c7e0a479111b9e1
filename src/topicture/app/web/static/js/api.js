// Talking to the server: plain values in and out, errors with a code, a text and a hint.
import { ownSteps } from "./own-steps.js";

export class ApiError extends Error {
  constructor(status, { code = "unreachable", message = "The server does not answer.", hint = "", ...more } = {}) {
    super(message);
    Object.assign(this, { status, code, hint, more });
  }
}

let last = Promise.resolve(), waiting = 0;

/** Do something once everything before it is done: what is taken back must be stored first. */
export function inTurn(act) {
  waiting += 1;
  last = last.then(act, act).finally(() => { waiting -= 1; });
  return last;
}
addEventListener("beforeunload", (event) => waiting && event.preventDefault()); // who leaves meanwhile is asked

async function ask(path, options) {
  let response, value = {};
  try {
    response = await fetch(`/api/${path}`, { credentials: "same-origin", ...options });
    value = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    // Half an answer is none; of an error, its status is enough.
    if (!response || response.ok) throw new ApiError(0, { hint: "Start it again with 'topicture serve', then reload this page." });
  }
  if (!response.ok) throw new ApiError(response.status, value.error);
  return value;
}

/** GET /api/path?parameters; parameters that are undefined, null or "" are left out. */
export function get(path, parameters = {}, { signal } = {}) {
  const query = new URLSearchParams(
    Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  );
  return ask(query.size ? `${path}?${query}` : path, { signal });
}

// Browsers finish requests of a page that was left up to 64 KiB together: of one that is on its way, and of one more.
const MOST_KEPT_ALIVE = 30_000;

/** POST /api/path with a JSON body. A step of the log that it made is noted as this tab's, for undo.
 * With `keepalive` it goes on when the page is left, unless it is large. */
export async function post(path, value = {}, { signal, keepalive } = {}) {
  const body = JSON.stringify(value);
  const done = await ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal, keepalive: keepalive && new Blob([body]).size < MOST_KEPT_ALIVE });
  if (done?.step) ownSteps.add(done.step);
  return done;
}
