// Saying what photos show: one step in the log, undone by one key.
import { post } from "./api.js";
import { plural } from "./dom.js";
import { refreshCounts, undo } from "./frame.js";
import { tell, toast } from "./toasts.js";

const SAID = {
  present: (word, photos) => `Tagged ${photos} “${word}”.`,
  rejected: (word, photos) => `Noted: ${photos} without “${word}”.`,
  cleared: (word, photos) => `Took “${word}” back from ${photos}.`,
};

/** Decide on a word of some photos, and tell it; whether that worked. */
export async function say(images, word, verdict, { quiet = false } = {}) {
  try {
    await post("decide", { decisions: images.map((image) => ({ image, word, verdict })) });
  } catch (error) {
    tell(error);
    return false;
  }
  if (!quiet) toast(SAID[verdict](word, plural(images.length, "photo")), { action: { label: "Undo", act: undo } });
  refreshCounts();
  return true;
}
