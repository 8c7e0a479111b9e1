// From the scrollbar to the content and back, for content far taller than a browser can scroll. Pure arithmetic.

// Browsers cap the height of a page between 17 and 33 million pixels.
export const TALLEST = 8_000_000;

/**
 * Content made of blocks whose heights become known by and by, seen through a window of height `view`.
 *
 * `offset` is where the window stands in the content, `at` where the scrollbar stands. Small steps of the scrollbar move the
 * content pixel by pixel; long ones, as with the thumb, by fraction: both ends are always reachable.
 */
export class Track {
  constructor(blocks, estimate, view, tallest = TALLEST) {
    this.heights = new Float64Array(blocks).fill(estimate);
    this.tallest = tallest;
    this.view = view;
    this.offset = 0;
    this.at = 0;
    this._tops = null;
  }

  get tops() {
    if (!this._tops) {
      this._tops = new Float64Array(this.heights.length + 1);
      for (let i = 0; i < this.heights.length; i++) this._tops[i + 1] = this._tops[i] + this.heights[i];
    }
    return this._tops;
  }

  get content() { return this.tops[this.heights.length]; }
  get height() { return Math.min(this.content, this.tallest); }
  get end() { return Math.max(0, this.content - this.view); }
  get scale() { return this.height > this.view ? this.end / (this.height - this.view) : 1; }

  setHeight(block, height) {
    if (this.heights[block] === height) return;
    this.heights[block] = height;
    this._tops = null;
  }

  /** The block at a place of the content. */
  blockAt(place) {
    let low = 0, high = Math.max(0, this.heights.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  moveTo(offset) {
    this.offset = Math.min(this.end, Math.max(0, offset));
  }

  /** The scrollbar went to `at`. */
  scrolled(at) {
    const step = at - this.at;
    this.at = at;
    if (at <= 0) this.offset = 0;
    else if (at >= this.height - this.view - 1) this.offset = this.end;
    else this.moveTo(Math.abs(step) < 2 * this.view ? this.offset + step : at * this.scale);
  }

  /** Where the scrollbar belongs; only at the very ends at its own ends, so that there is always a way on. */
  get place() {
    const last = Math.max(0, this.height - this.view);
    if (this.offset <= 0) return 0;
    if (this.offset >= this.end) return last;
    return Math.min(last - 2, Math.max(1, Math.round(this.offset / this.scale)));
  }

  /** Whether the scrollbar has come too far from where it belongs. */
  get drifted() { return Math.abs(this.place - this.at) > (this.scale === 1 ? 0.5 : this.view / 2); }
}
