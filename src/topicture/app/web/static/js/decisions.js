// Decisions are shown at once and sent in the background, one after the other; what fails is taken back and told.
import { inTurn, post } from "./api.js";
import { refreshCounts } from "./frame.js";
import { ownSteps, UNKNOWN } from "./own-steps.js";
import { tell } from "./toasts.js";

const unstored = new Set(); // decisions of steps to come, and of the one under way
const send = (decisions) => post("decide", { decisions }, { keepalive: true });

/** Send decisions [{image, word, verdict}] as one step; `rollback` puts things back where that fails.
 * Promises {changed, step}; undefined where it failed. */
export function decide(decisions, rollback) {
  unstored.add(decisions);
  return inTurn(async () => {
    try {
      if (!unstored.has(decisions) || !decisions.length) return; // it went when the page was left
      const done = await send(decisions);
      refreshCounts();
      return done;
    } catch (error) {
      rollback?.(error);
      tell(error);
    } finally {
      unstored.delete(decisions);
    }
  });
}

// Who leaves before all is stored loses nothing that was shown: all of it goes as one step, of each word what was said last.
addEventListener("pagehide", () => {
  const last = new Map([...unstored].flat().map((each) => [`${each.image} ${each.word}`, each]));
  if (!last.size) return;
  unstored.clear();
  ownSteps.add(UNKNOWN);
  send([...last.values()]).catch(() => {}); // nobody is left to be told
});

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
