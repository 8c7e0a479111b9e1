// Where pictures go: rows of one height each that fill the width. Pure arithmetic, no page.

// A panorama or a bean pole would leave no room for its neighbours; it is cropped a little instead.
const NARROWEST = 0.45, WIDEST = 2.8;
export const UNKNOWN_RATIO = 1.5;

export const ratioOf = (photo) => (photo?.width && photo?.height ? photo.width / photo.height : UNKNOWN_RATIO);

/**
 * Rows for pictures of the given ratios (width / height): [{top, height, first, boxes: [{left, width}]}].
 *
 * Breaks are chosen so that all heights together are as near `targetHeight` as they can be. Every row is exactly
 * `width` wide, but for the last one where `whole` is false: it is not stretched beyond the target.
 */
export function justify(ratios, width, targetHeight, gap, whole = false) {
  const n = ratios.length;
  const sums = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) sums[i + 1] = sums[i] + Math.min(WIDEST, Math.max(NARROWEST, ratios[i]));
  const heightOf = (from, to) => (width - gap * (to - from - 1)) / (sums[to] - sums[from]);
  const best = new Float64Array(n + 1).fill(Infinity), start = new Int32Array(n + 1);
  best[0] = 0;
  for (let to = 1; to <= n; to++) {
    for (let from = to - 1; from >= 0; from--) {
      const height = heightOf(from, to);
      const off = Math.log(Math.max(1, height) / targetHeight);
      const cost = best[from] + (to === n && !whole && off > 0 ? 0 : off * off);
      if (cost < best[to]) [best[to], start[to]] = [cost, from];
      if (height < targetHeight / 3) break;
    }
  }
  const breaks = [n];
  while (breaks[0] > 0) breaks.unshift(start[breaks[0]]);
  let top = 0;
  return breaks.slice(0, -1).map((first, row) => {
    const last = breaks[row + 1];
    const full = heightOf(first, last);
    const short = last === n && !whole && full > targetHeight;
    const exact = Math.max(1, short ? targetHeight : full);
    const height = Math.round(exact);
    const boxes = [];
    let left = 0, edge = 0;
    for (let i = first; i < last; i++) {
      edge += (sums[i + 1] - sums[i]) * exact;
      const right = !short && i === last - 1 ? width : Math.round(edge + gap * (i - first));
      boxes.push({ left, width: Math.max(1, right - left) });
      left = right + gap;
    }
    const box = { top, height, first, boxes };
    top += height + gap;
    return box;
  });
}

/** The height that rows take together, with a gap below each. */
export const heightOfRows = (rows, gap) => (rows.length ? rows.at(-1).top + rows.at(-1).height + gap : 0);
