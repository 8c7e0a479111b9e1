// A grid of photos of any number, to go through, select and open by mouse and keyboard.
import { BLOCK, GridView } from "./grid-view.js";
import { pressed } from "./keys.js";
import { tell, toast } from "./toasts.js";

const MOST_SELECTED_AT_ONCE = 5000;

/**
 * <photo-grid>: call `show(source)` with `async (offset, limit, {signal}) => ({total, photos})`.
 *
 * Properties: targetHeight, clickSelects (a click selects instead of opening), describe(photo) → text for screen readers,
 * decorate(notes, photo) → fills a tile's overlay. Events: "open" {photo, index}, "selected" {photos}, "shown" {total}.
 */
export class PhotoGrid extends GridView {
  clickSelects = false;

  connectedCallback() {
    if (this.canvas) return;
    super.connectedCallback();
    this.addEventListener("click", (event) => this._clicked(event));
    this.addEventListener("keydown", (event) => this._key(event));
  }

  _emptied() {
    this.clearSelection();
  }

  _clicked(event) {
    const tile = event.target.closest?.(".tile");
    if (!tile?.photo) return;
    this._activate(tile.index, false);
    if (event.shiftKey) this.selectRange(this.mark ?? tile.index, tile.index);
    else if (event.ctrlKey || event.metaKey || event.target.closest(".tile-check") || this.clickSelects || this.selected.size) this.toggle(tile.index);
    else this._open(tile.index);
  }

  _key(event) {
    if (!this.total || event.defaultPrevented) return;
    const name = pressed(event), shift = event.shiftKey;
    const to = this._target(name.replace("Shift+", ""));
    if (to !== undefined) {
      if (shift) this.selectRange(this.mark ?? this.active, to);
      this._activate(to, true);
    } else if (name === "Space" || name === "x") this.toggle(this.active);
    else if (name === "Enter") this._open(this.active);
    else if (name === "Escape" && this.selected.size) this.clearSelection();
    else if (name === "Ctrl+a") this.selectRange(0, this.total - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  _target(name) {
    const last = this.total - 1, clamp = (index) => Math.min(last, Math.max(0, index));
    switch (name) {
      case "ArrowRight": return clamp(this.active + 1);
      case "ArrowLeft": return clamp(this.active - 1);
      case "ArrowDown": return this._vertical(1);
      case "ArrowUp": return this._vertical(-1);
      case "PageDown": return this._vertical(0, this.track.view);
      case "PageUp": return this._vertical(0, -this.track.view);
      case "Home": return 0;
      case "End": return last;
    }
  }

  /** The photo in a row further up or down whose middle is nearest to that of the active one. */
  _vertical(rows, pixels = 0) {
    const { block, row, top } = this._rowAt(this.active);
    const box = row.boxes[(this.active % BLOCK) - row.first], middle = box.left + box.width / 2;
    const place = pixels ? top + pixels : rows > 0 ? top + row.height + this.gap + 1 : top - this.gap - 2;
    if (place < 0 || place >= this.track.content) return pixels ? (pixels < 0 ? 0 : this.total - 1) : this.active;
    const there = this.track.blockAt(place), inside = place - this.track.tops[there];
    const found = this._rowsOf(there).findLast((each) => each.top <= inside) ?? row;
    const distance = (each) => Math.abs(each.left + each.width / 2 - middle);
    const nearest = found.boxes.reduce((best, each, i) => (distance(each) < distance(found.boxes[best]) ? i : best), 0);
    return (found === row ? block : there) * BLOCK + found.first + nearest;
  }

  _activate(index, reveal) {
    this.active = index;
    if (reveal) this.reveal(index);
    else this._paint();
  }

  _open(index) {
    const photo = this.photoAt(index);
    if (photo) this.dispatchEvent(new CustomEvent("open", { detail: { photo, index } }));
  }

  toggle(index) {
    const photo = this.photoAt(index);
    if (!photo) return;
    this.mark = index;
    if (!this.selected.delete(photo.id)) this.selected.set(photo.id, photo);
    this._selectionChanged();
  }

  /** Select all of a range, or nothing. */
  async selectRange(a, b) {
    const [first, last] = a < b ? [a, b] : [b, a];
    if (last - first >= MOST_SELECTED_AT_ONCE) {
      toast(`At most ${MOST_SELECTED_AT_ONCE.toLocaleString("en")} photos can be selected at once.`);
      return;
    }
    this.mark = a;
    const { source } = this;
    this.gathering += 1;
    try {
      for (let block = Math.floor(first / BLOCK); block <= Math.floor(last / BLOCK); block++) await this._fetch(block);
    } catch (error) {
      return tell(error);
    } finally {
      this.gathering -= 1;
    }
    if (this.source !== source) return;
    for (let index = first; index <= last; index++) {
      const photo = this.photoAt(index);
      if (photo) this.selected.set(photo.id, photo);
    }
    this._selectionChanged();
  }

  clearSelection() {
    this.mark = undefined;
    if (!this.selected.size) return;
    this.selected.clear();
    this._selectionChanged();
  }

  _selectionChanged() {
    this.classList.toggle("selecting", this.selected.size > 0);
    this._paint();
    this.dispatchEvent(new CustomEvent("selected", { detail: { photos: [...this.selected.values()] } }));
  }
}

customElements.define("photo-grid", PhotoGrid);
