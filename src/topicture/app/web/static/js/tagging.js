// Saying what photos show: one step in the log, undone by one key. Steps are sent one after the other.
import { post } from "./api.js";
import { plural } from "./dom.js";
import { refreshCounts, undo } from "./frame.js";
import { shortcut } from "./keys.js";
import { tell, toast } from "./toasts.js";

const SAID = {
  present: (word, photos) => `Tagged ${photos} “${word}”.`,
  rejected: (word, photos) => `Noted: ${photos} without “${word}”.`,
  cleared: (word, photos) => `Took “${word}” back from ${photos}.`,
};
let sending = Promise.resolve();

/** Decide on a word of some photos, and tell it; whether that worked. */
export function say(images, word, verdict) {
  const sent = sending.then(async () => {
    try {
      await post("decide", { decisions: images.map((image) => ({ image, word, verdict })) });
    } catch (error) {
      tell(error);
      return false;
    }
    toast(SAID[verdict](word, plural(images.length, "photo")), { action: { label: "Undo", act: takeBack } });
    refreshCounts();
    return true;
  });
  sending = sent;
  return sent;
}

/** Take back the last step, once everything before it has arrived. */
function takeBack() {
  sending = sending.then(undo);
}
shortcut(["z", "Ctrl+z"], "", takeBack);
