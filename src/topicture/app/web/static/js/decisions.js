// Decisions are shown at once and sent in the background, one after the other; what fails is taken back and told.
import { post } from "./api.js";
import { refreshCounts, undo } from "./frame.js";
import { shortcut } from "./keys.js";
import { tell } from "./toasts.js";

let sending = Promise.resolve();

/** Send decisions [{image, word, verdict}] as one step; `rollback` puts things back where that fails.
 * Promises {changed, step}; undefined where it failed. */
export function decide(decisions, rollback) {
  if (!decisions.length) return sending;
  sending = sending.then(async () => {
    try {
      const done = await post("decide", { decisions });
      refreshCounts();
      return done;
    } catch (error) {
      rollback?.(error);
      tell(error);
    }
  });
  return sending;
}

/** Take back that step, whatever was decided since; else the last of this tab, once everything before has arrived. */
export function takeBackStep(step) {
  sending = sending.then(() => undo({ step }));
  return sending;
}

export const takeBack = () => takeBackStep();

/** Keys for it on pages that decide. */
export const takeBackKeys = (...more) => shortcut(["z", "Ctrl+z", ...more], "Take back the last decision of this tab, without limit", takeBack);

/** Note how long it took from a key press (event.timeStamp) until what it showed was painted. */
export function painted(name, since) {
  requestAnimationFrame(() => {
    const channel = new MessageChannel(); // its message comes right after the frame is painted
    channel.port1.onmessage = () => performance.measure(name, { start: since, end: performance.now() });
    channel.port2.postMessage(0);
  });
}

/** Minutes in words, from decisions left and decisions per minute. */
export function timeLeft(left, pace) {
  if (!left) return "nothing left";
  if (!pace) return "the time left appears after a few answers";
  const minutes = left / pace;
  if (minutes < 1) return "less than a minute left at your pace";
  if (minutes < 90) return `about ${Math.round(minutes)} ${Math.round(minutes) === 1 ? "minute" : "minutes"} left at your pace`;
  return `about ${Math.round(minutes / 60)} hours left at your pace`;
}
