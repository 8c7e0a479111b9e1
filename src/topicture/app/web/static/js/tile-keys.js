// A key of its own for every tile, so that hands which stay on the keyboard need one press where a mouse needs one click.
import { h } from "./dom.js";
import { shortcut } from "./keys.js";

const KEYS = [..."1234567890bcdeijkmopquwy,.-;"]; // none of them means anything else on a page of tiles
const SENTENCE = "A key on every photo, to tick or untick it";
const KEPT = "topicture-tile-keys";
let on = false;
try {
  on = localStorage.getItem(KEPT) === "on";
} catch {
  // They are off until they are asked for.
}

/** Labels of `n` tiles: one key for as many as can be, those first that `chances` says will need it; two for the others. */
export function labels(chances) {
  const n = chances.length;
  let starts = 0; // keys that begin a label of two
  while (KEYS.length - starts + starts * KEYS.length < n) starts += 1;
  const single = KEYS.slice(0, KEYS.length - starts);
  const short = new Set([...chances.keys()].sort((a, b) => chances[b] - chances[a]).slice(0, single.length));
  const double = KEYS.slice(-starts || n).flatMap((first) => KEYS.map((second) => first + second));
  return chances.map((_, i) => (short.has(i) ? single : double).shift()); // in the order of reading
}

/** Keys for the tiles of a grid: `shown()` gives the tiles and how likely each is to be chosen, `act` gets the chosen.
 * Gives the button that turns them on, and `draw` for when the tiles have changed. */
export function tileKeys(grid, shown, act) {
  let typed = "", byLabel = new Map();

  function draw() {
    grid.querySelectorAll(".tile-key").forEach((each) => each.remove());
    typed = "";
    byLabel = new Map();
    button.setAttribute("aria-pressed", String(on));
    if (!on) return;
    const { tiles, chances } = shown();
    labels(chances).forEach((label, i) => {
      byLabel.set(label, tiles[i]);
      tiles[i].append(h("kbd", { class: "tile-key", "aria-hidden": "true" }, label));
      if (label.length === 1) tiles[i].setAttribute("aria-keyshortcuts", label);
    });
  }

  function type(event) {
    typed += event.key;
    const chosen = byLabel.get(typed);
    if (chosen) act(chosen);
    if (chosen || ![...byLabel.keys()].some((label) => label.startsWith(typed))) typed = "";
    for (const [label, each] of byLabel) each.classList.toggle("typing", typed !== "" && label.startsWith(typed));
  }

  function turn() {
    on = !on;
    try {
      localStorage.setItem(KEPT, on ? "on" : "off");
    } catch {
      // It lasts until the page is left.
    }
    draw();
  }

  const button = h("button", { type: "button", class: "quiet keys-button", title: SENTENCE, onclick: turn }, "Keys ", h("kbd", {}, "f"));
  shortcut("f", SENTENCE, turn);
  shortcut(KEYS, "", (event) => on && type(event));
  return { button, draw };
}
