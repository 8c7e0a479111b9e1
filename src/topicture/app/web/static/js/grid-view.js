// What a grid of any number of photos shows: rows are laid out and tiles are filled as they come into view.
import { h, icon, thumbnail } from "./dom.js";
import { heightOfRows, justify, ratioOf, UNKNOWN_RATIO } from "./justify.js";
import { tell } from "./toasts.js";
import { Track } from "./track.js";

export const BLOCK = 100; // photos that are fetched, and laid out, together: a block's rows fill the width, so blocks stack
const MOST_BLOCKS = 400; // kept in memory
let grids = 0;

/** Data, layout and painting; whoever extends it reacts to people. */
export class GridView extends HTMLElement {
  targetHeight = 200;
  gap = 6;
  describe = (photo) => photo.name;
  decorate = () => {};
  selected = new Map();
  active = 0;
  total = 0;
  gathering = 0; // ranges that are fetched to be selected

  connectedCallback() {
    if (this.canvas) return;
    this.idPrefix = `photo-${++grids}-`;
    this.canvas = h("div", { class: "grid-canvas", role: "presentation" });
    for (const [name, value] of [["role", "listbox"], ["tabindex", "0"], ["aria-multiselectable", "true"]]) this.setAttribute(name, value);
    this.append(this.canvas);
    this.tiles = new Map();
    this.spare = [];
    this.addEventListener("scroll", () => this._scrolled(), { passive: true });
    this.addEventListener("focus", () => this._paint());
    new ResizeObserver(() => this._resized()).observe(this);
  }

  // --- Data --------------------------------------------------------------------------------------------

  /** Begin with a new list, at the photo of the given index. */
  async show(source, { index = 0, focus = false } = {}) {
    this.source = source;
    for (const { abort } of this.waiting?.values() ?? []) abort.abort();
    Object.assign(this, { blocks: new Map(), rows: new Map(), waiting: new Map(), total: 0, active: index, track: undefined });
    this._emptied();
    this.setAttribute("aria-busy", "true");
    const first = Math.floor(index / BLOCK);
    try {
      await this._fetch(first);
    } catch (error) {
      if (error.name !== "AbortError" && this.source === source) this.dispatchEvent(new CustomEvent("failed", { detail: error }));
      return;
    }
    if (this.source !== source) return;
    this.removeAttribute("aria-busy");
    this.active = Math.min(index, Math.max(0, this.total - 1));
    if (index) this.reveal(this.active, "center");
    if (focus) this.focus({ preventScroll: true });
  }

  /** Ask again for what is in view, without moving anything. */
  async reload() {
    this.stale = new Set(this.blocks.keys());
    await Promise.all(this._inView().map((block) => this._fetch(block, true).catch(tell)));
  }

  photoAt(index) {
    return this.blocks?.get(Math.floor(index / BLOCK))?.[index % BLOCK];
  }

  /** Change what is known about a photo that is shown. */
  update(id, change) {
    for (const photos of this.blocks.values()) {
      const photo = photos.find((each) => each.id === id);
      if (photo) Object.assign(photo, change);
    }
    this._paint(true);
  }

  _fetch(block, again = false) {
    const known = this.waiting.get(block);
    if (known) return known.promise;
    if (this.blocks.has(block) && !again && !this.stale?.has(block)) return Promise.resolve();
    const { source } = this, abort = new AbortController();
    const promise = (async () => {
      try {
        const { total, photos } = await source(block * BLOCK, BLOCK, { signal: abort.signal });
        if (this.source === source) this._arrived(block, total, photos);
      } finally {
        if (this.waiting.get(block)?.abort === abort) this.waiting.delete(block);
      }
    })();
    this.waiting.set(block, { promise, abort });
    return promise;
  }

  _arrived(block, total, photos) {
    this._keepPlace(() => {
      this.stale?.delete(block);
      if (total !== this.total || !this.track) {
        this.total = total;
        for (const last of this.rows.keys()) if (last >= Math.floor(total / BLOCK)) this.rows.delete(last);
        this._newTrack();
      }
      this.blocks.set(block, photos);
      this.rows.delete(block);
      this._rowsOf(block);
    });
    if (this.blocks.size > MOST_BLOCKS) this._forget(block);
    this._paint(true);
    this.dispatchEvent(new CustomEvent("shown", { detail: { total } }));
  }

  _forget(near) {
    const far = [...this.blocks.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
    for (const block of far.slice(0, MOST_BLOCKS / 2)) this.blocks.delete(block);
  }

  // --- Layout ------------------------------------------------------------------------------------------

  _newTrack() {
    const { width, height } = this._room();
    const count = Math.ceil(this.total / BLOCK);
    const estimate = heightOfRows(justify(new Array(BLOCK).fill(UNKNOWN_RATIO), width, this.targetHeight, this.gap, true), this.gap);
    if (!this.track) this.scrollTop = 0; // a new list begins at its beginning
    const { offset = 0, at = 0 } = this.track ?? {};
    this.track = new Track(count, estimate, height, this.tallest);
    Object.assign(this.track, { offset, at });
    for (const [block, rows] of this.rows) if (block < count) this.track.setHeight(block, heightOfRows(rows, this.gap));
    if (count) this._rowsOf(count - 1);
  }

  _room() {
    const style = getComputedStyle(this.canvas);
    return { width: Math.max(80, this.canvas.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)), height: Math.max(1, this.clientHeight) };
  }

  _rowsOf(block) {
    let rows = this.rows.get(block);
    if (!rows) {
      const count = Math.min(BLOCK, this.total - block * BLOCK);
      const photos = this.blocks.get(block) ?? [];
      const ratios = Array.from({ length: Math.max(0, count) }, (_, i) => ratioOf(photos[i]));
      rows = justify(ratios, this._room().width, this.targetHeight, this.gap, (block + 1) * BLOCK < this.total);
      this.rows.set(block, rows);
      this.track.setHeight(block, heightOfRows(rows, this.gap));
    }
    return rows;
  }

  _rowAt(index) {
    const block = Math.floor(index / BLOCK);
    const row = this._rowsOf(block).findLast((each) => each.first <= index % BLOCK);
    return { block, row, top: this.track.tops[block] + row.top };
  }

  /** The first photo of the row at the top of the window. */
  _topIndex() {
    const block = this.track.blockAt(this.track.offset);
    const inside = this.track.offset - this.track.tops[block];
    const row = this._rowsOf(block).find((each) => each.top + each.height > inside);
    return row ? block * BLOCK + row.first : Math.min(this.total - 1, (block + 1) * BLOCK);
  }

  /** Change the layout while the row on top stays where it is. */
  _keepPlace(change) {
    if (!this.track || !this.total) {
      change();
    } else {
      const atTop = this.track.offset === 0;
      const index = this._topIndex();
      const below = this._rowAt(index).top - this.track.offset;
      change();
      this.track.moveTo(atTop || !this.total ? 0 : this._rowAt(Math.min(index, this.total - 1)).top - below);
    }
    this._placeScrollbar();
  }

  _placeScrollbar() {
    this.canvas.style.height = `${this.track.height}px`;
    if (!this.track.drifted) return;
    this.track.at = this.track.place;
    this.scrollTop = this.track.at;
  }

  _resized() {
    if (!this.track) return;
    const { width, height } = this._room();
    if (width === this.laidOut && height === this.track.view) return;
    const sameWidth = width === this.laidOut;
    this.laidOut = width;
    if (sameWidth) this._keepPlace(() => (this.track.view = height));
    else this.resize(this.targetHeight);
    this._paint(true);
  }

  /** Rows of about another height. */
  resize(targetHeight) {
    this.targetHeight = targetHeight;
    if (!this.track) return;
    this._keepPlace(() => {
      this.rows.clear();
      this._newTrack();
    });
    this._paint(true);
  }

  _scrolled() {
    if (!this.track || Math.abs(this.scrollTop - this.track.at) < 0.5) return;
    const far = Math.abs(this.scrollTop - this.track.at) > 2 * this.track.view;
    this.track.scrolled(this.scrollTop);
    if (this.track.drifted) this._placeScrollbar();
    this._paint(false, far);
  }

  /** Bring a photo into view. */
  reveal(index, where = "nearest") {
    if (!this.track || !this.total) return;
    const { row, top } = this._rowAt(index), { offset, view } = this.track;
    if (where === "center") this.track.moveTo(top - (view - row.height) / 2);
    else if (top < offset) this.track.moveTo(top - this.gap);
    else if (top + row.height > offset + view) this.track.moveTo(top + row.height + this.gap - view);
    this._placeScrollbar();
    this._paint();
  }

  // --- Paint -------------------------------------------------------------------------------------------

  _inView(margin = 0.75) {
    if (!this.track || !this.total) return [];
    const { offset, view } = this.track;
    const first = this.track.blockAt(Math.max(0, offset - margin * view)), last = this.track.blockAt(offset + (1 + margin) * view);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  _paint(again = false, far = false) {
    if (!this.track) return;
    const { offset, view } = this.track, kept = new Set(), wanted = [];
    const from = offset - 0.75 * view, to = offset + 1.75 * view;
    const shift = this.track.at - offset;
    for (const block of this._inView()) {
      for (const row of this._rowsOf(block)) {
        const top = this.track.tops[block] + row.top;
        if (top + row.height < from || top > to) continue;
        row.boxes.forEach((box, i) => {
          const index = block * BLOCK + row.first + i;
          kept.add(index);
          wanted.push([index, box, top + shift, row.height]);
        });
      }
    }
    for (const [index, tile] of this.tiles) {
      if (kept.has(index)) continue;
      tile.photo = undefined;
      tile.image.removeAttribute("src");
      tile.hidden = true;
      this.spare.push(tile);
      this.tiles.delete(index);
    }
    for (const [index, box, top, height] of wanted) this._place(index, box, top, height, again);
    if (this.total) this.setAttribute("aria-activedescendant", this.idPrefix + this.active);
    else this.removeAttribute("aria-activedescendant");
    this._order();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this._fill(), far ? 90 : 0);
  }

  _place(index, box, top, height, again) {
    let tile = this.tiles.get(index);
    const fresh = !tile;
    if (fresh) {
      tile = this.spare.pop() ?? this._newTile();
      tile.hidden = false;
      tile.index = index;
      tile.id = this.idPrefix + index;
      tile.setAttribute("aria-posinset", index + 1);
      this.tiles.set(index, tile);
    }
    const { style } = tile;
    style.transform = `translate(${box.left}px, ${top}px)`;
    style.width = `${box.width}px`;
    style.height = `${height}px`;
    tile.setAttribute("aria-setsize", this.total);
    tile.classList.toggle("active", index === this.active);
    const photo = this.photoAt(index);
    if (fresh || again || tile.photo !== photo) this._dress(tile, photo);
    tile.setAttribute("aria-selected", String(photo ? this.selected.has(photo.id) : false));
  }

  _newTile() {
    const image = h("img", { alt: "", decoding: "async", draggable: false });
    image.addEventListener("load", () => image.classList.add("there"));
    image.addEventListener("error", () => tile.classList.add("broken"));
    const notes = h("span", { class: "tile-notes" });
    const tile = h("div", { class: "tile", role: "option" }, image, notes, h("span", { class: "tile-check" }, icon("m6 12.500 4 4 8-9")));
    Object.assign(tile, { image, notes });
    this.canvas.append(tile);
    return tile;
  }

  _dress(tile, photo) {
    const changed = tile.photo?.id !== photo?.id;
    tile.photo = photo;
    tile.setAttribute("aria-label", photo ? this.describe(photo) : "loading");
    if (changed) {
      tile.image.classList.remove("there");
      tile.classList.remove("broken");
      if (photo) tile.image.src = thumbnail(photo.id);
      else tile.image.removeAttribute("src");
    }
    tile.notes.replaceChildren();
    if (photo) this.decorate(tile.notes, photo, tile);
  }

  /** Fetch the blocks in view, and stop fetching others that nobody waits for. */
  _fill() {
    if (!this.track) return; // the first block of a new list is on its way
    const wanted = this._inView();
    for (const [block, { abort }] of this.waiting) {
      if (this.gathering || wanted.includes(block)) continue;
      abort.abort();
      this.waiting.delete(block);
    }
    for (const block of wanted) if (!this.blocks.has(block) || this.stale?.has(block)) this._fetch(block).catch(tell);
  }

  /** Screen readers follow the order of elements, not of places. */
  _order() {
    clearTimeout(this.ordering);
    this.ordering = setTimeout(() => {
      const sorted = [...this.tiles.values()].sort((a, b) => a.index - b.index);
      let next = null;
      for (const tile of sorted.reverse()) {
        if (tile.nextElementSibling !== next) this.canvas.insertBefore(tile, next);
        next = tile;
      }
    }, 250);
  }
}
