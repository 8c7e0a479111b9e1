// A grid of photos to choose from by mouse, touch and keyboard: used where whole pages are decided on.
import { h, percent, picture, thumbnail } from "./dom.js";

/** A tile of a photo; `mark` is drawn over a corner by CSS, by data-state. */
export function tile(photo, state) {
  const image = h("img", { src: thumbnail(photo.id), alt: "", decoding: "async", draggable: false });
  const label = photo.probability === undefined ? photo.name : `${photo.name}, ${percent(photo.probability)}`;
  const element = h("div", { class: "tile", role: "option", tabIndex: -1, "aria-label": label, "aria-selected": "false", title: photo.path },
    image, h("span", { class: "tile-mark", "aria-hidden": "true" }),
    photo.probability === undefined ? undefined : h("span", { class: "tile-p number", "aria-hidden": "true" }, percent(photo.probability)));
  element.photo = photo;
  // A photo of another shape than the tile is shown whole, on a blur of itself; small differences are cut off.
  const ratio = photo.width && photo.height ? photo.width / photo.height : 1.5;
  if (ratio < 0.95 || ratio > 2.2) {
    element.classList.add("whole");
    element.style.setProperty("--picture", `url("${thumbnail(photo.id)}")`);
  }
  setState(element, state);
  return element;
}

/** Columns and rows of tiles so that a page fills `width` by `height` without scrolling; sets the columns of `grid`. */
export function fit(grid, width, height, ratio = 1.5) {
  const gap = parseFloat(getComputedStyle(grid).columnGap) || 8;
  const widest = width < 700 ? 140 : 180;
  let best = { columns: 3, rows: 3, used: 0 };
  for (let columns = Math.max(3, Math.ceil((width + gap) / (widest + gap))); columns <= (width + gap) / (96 + gap); columns++) {
    const tall = (width - gap * (columns - 1)) / columns / ratio + gap;
    const rows = Math.max(3, Math.floor((height + gap) / tall));
    // Large tiles are better to look at: a smaller size must fill clearly more of the page.
    const used = Math.min(1, (rows * tall) / height) - 0.03 * columns;
    if (used > best.used || !best.used) best = { columns, rows, used };
  }
  grid.style.gridTemplateColumns = `repeat(${best.columns}, minmax(0, 1fr))`;
  return best.columns * best.rows;
}

/** The common shape of photos, as far as it is known; tiles take it, so that most photos fill them. */
export function shape(photos) {
  const known = photos.filter((photo) => photo.width && photo.height).map((photo) => photo.width / photo.height).sort((a, b) => a - b);
  return known.length ? Math.min(1.78, Math.max(1, known[known.length >> 1])) : 1.5;
}

/** States: "yes" and "no" are said by a person, "likely" and "open" by the line. */
export function setState(element, state) {
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  element.setAttribute("aria-selected", String(state === "yes" || state === "likely"));
}

/** Resolves when the pictures of tiles can be painted without a wait. */
export const ready = (tiles) => Promise.all(tiles.map((each) => each.querySelector("img").decode().catch(() => {})));

/** Arrow keys, Home and End move among the tiles of `grid`; `act(tile, event)` is called for clicks. */
export function navigate(grid, act) {
  grid.addEventListener("click", (event) => {
    const found = event.target.closest(".tile");
    if (!found) return;
    focusTile(grid, found, true);
    act(found, event);
  });
  grid.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tiles = [...grid.querySelectorAll(".tile")];
    const here = tiles.indexOf(current(grid));
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns(tiles), ArrowDown: columns(tiles), Home: -here, End: tiles.length - 1 - here };
    if (!(event.key in moves)) return;
    event.preventDefault();
    let there = here + moves[event.key];
    // A last row may be short: down leads to its end.
    if (event.key === "ArrowDown" && there >= tiles.length && tiles.at(-1).offsetTop > tiles[here].offsetTop) there = tiles.length - 1;
    if (there >= 0 && there < tiles.length) focusTile(grid, tiles[there]);
  });
  grid.addEventListener("focusin", (event) => event.target.matches(".tile") && focusTile(grid, event.target, true));
}

const columns = (tiles) => {
  const beyond = tiles.findIndex((each) => each.offsetTop > tiles[0].offsetTop);
  return beyond < 0 ? tiles.length : beyond;
};

export const current = (grid) => grid.querySelector('.tile[tabindex="0"]') ?? grid.querySelector(".tile");

export function focusTile(grid, element, quiet = false) {
  for (const other of grid.querySelectorAll('.tile[tabindex="0"]')) if (other !== element) other.tabIndex = -1;
  element.tabIndex = 0;
  if (!quiet) {
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  }
}

/** The whole photo over the page while somebody looks; any key or click closes it. */
export function look(photo) {
  const dialog = h("dialog", { class: "look", "aria-label": photo.name, onclose: () => dialog.remove(), onclick: () => dialog.close() },
    h("img", { src: picture(photo.id), alt: photo.name }), h("p", { class: "small" }, photo.path));
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Tab") return;
    event.preventDefault();
    dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
}
