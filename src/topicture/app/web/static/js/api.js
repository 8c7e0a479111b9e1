// Talking to the server: plain values in and out, errors with a code, a text and a hint.
import { ownSteps } from "./own-steps.js";

export class ApiError extends Error {
  constructor(status, { code = "unreachable", message = "The server does not answer.", hint = "", ...more } = {}) {
    super(message);
    Object.assign(this, { status, code, hint, more });
  }
}

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

/** POST /api/path with a JSON body. A step of the log that it made is noted as this tab's, for undo. */
export async function post(path, body = {}, { signal } = {}) {
  const value = await ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
  if (value?.step) ownSteps.add(value.step);
  return value;
}
