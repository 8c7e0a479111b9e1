// Saying what photos show: one step in the log, told in a sentence that can take it back.
import { decide } from "./decisions.js";
import { plural } from "./dom.js";
import { undo } from "./frame.js";
import { toast } from "./toasts.js";

const SAID = {
  present: (word, photos) => `Tagged ${photos} “${word}”.`,
  rejected: (word, photos) => `Noted: ${photos} without “${word}”.`,
  cleared: (word, photos) => `Took “${word}” back from ${photos}.`,
};

/** Decide on a word of some photos, and tell it; whether that worked. */
export async function say(images, word, verdict) {
  const done = await decide(images.map((image) => ({ image, word, verdict })));
  // Where nothing changed there is nothing to take back: the last step is another one.
  const action = done?.step ? { label: "Undo", act: () => undo(done) } : undefined;
  if (done) toast(SAID[verdict](word, plural(images.length, "photo")), { action });
  return Boolean(done);
}
