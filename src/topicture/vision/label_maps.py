"""Label maps: regions merged, split, numbered, brought to another size; and the small pictures that they are found in.

A label map holds 0 .. n_regions - 1 (H, W), all present.

Sizes and colours are those of OpenCV, to the last digit nearly everywhere: what was measured on regions before must
come out again. OpenCV itself is 160 MB, and these two functions are all that most people need of it.
"""

from functools import cache, lru_cache
from heapq import heappop, heappush

import numpy as np
from scipy import sparse

__all__ = [
    "adjacency",
    "contiguous",
    "enlarge",
    "lab_colours",
    "largest_first",
    "merge_down",
    "region_colours",
    "shrink_to",
    "split_to",
]

ONE = 1 << 14  # colours are whole numbers of this unit
CELLS = 32  # along each side of the table; colours in between are interpolated
STEPS = 16  # between two entries of the table
_ROUNDING = 1e-12  # what looks the same may be this far apart, squared

# Linear light to CIE XYZ, relative to the white D65 (ITU-R BT.709).
_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
) / np.array([[0.950456], [1.0], [1.088754]])
_UNIT = np.array([100, 256, 256]) / ONE  # L* is 0 .. 100; a* and b* are -128 .. 128
_ZERO = np.array([0, 128, 128])


def merge_down(
    labels: np.ndarray, look: np.ndarray, min_regions: int, max_regions: int, alike: float
) -> np.ndarray:
    """Merge neighbours down to `max_regions`, and on towards `min_regions` while they look alike.

    `look` (n, F) says what the regions look like; two that are no further apart than `alike` need not stay apart.
    Ward's criterion: merging a and b adds n_a n_b / (n_a + n_b) |look_a - look_b|^2 to the scatter, so the cheapest
    pair is the smallest or the most similar.
    """
    size = np.bincount(labels.ravel()).astype(float).tolist()
    look = look - look.mean(axis=0)
    # Of what merged regions look like, products are means as well: looks are not needed again.
    product = look @ look.T
    square = product.diagonal().tolist()
    neighbours: list[set[int]] = [set() for _ in size]
    merges = [0] * len(size)  # that a region has grown by; -1 of one that is no more
    # Cost, both regions, and their merges when it was true.
    queue: list[tuple[float, int, int, int, int]] = []

    def weigh(one: int, other: int, product: float) -> None:
        a, b = (one, other) if one < other else (other, one)
        added = size[a] * size[b] / (size[a] + size[b]) * (square[a] + square[b] - 2 * product)
        heappush(queue, (added, a, b, merges[a], merges[b]))

    first, second = np.nonzero(np.triu(adjacency(labels)))
    pairs = zip(first.tolist(), second.tolist(), product[first, second].tolist(), strict=True)
    for one, other, between in pairs:
        neighbours[one].add(other)
        neighbours[other].add(one)
        weigh(one, other, between)
    owner = np.arange(len(size))
    n_regions = len(size)
    while n_regions > min_regions and queue:
        _, a, b, of_a, of_b = heappop(queue)
        if (merges[a], merges[b]) != (of_a, of_b):
            continue
        if n_regions <= max_regions and square[a] + square[b] - 2 * product[a, b] > alike**2 + _ROUNDING:
            break
        both = size[a] + size[b]
        row = (size[a] * product[a] + size[b] * product[b]) / both
        row[a] = square[a] = (size[a] * row[a] + size[b] * row[b]) / both
        product[a] = product[:, a] = row
        owner[b], size[a] = a, both
        merges[a], merges[b] = merges[a] + 1, -1
        for other in neighbours[b]:
            neighbours[other].discard(b)
            neighbours[other].add(a)
        neighbours[a] = (neighbours[a] | neighbours[b]) - {a, b}
        between = row.tolist()
        for other in neighbours[a]:
            weigh(a, other, between[other])
        n_regions -= 1
    while (owner[owner] != owner).any():  # what was merged into what was merged in its turn
        owner = owner[owner]
    return contiguous(owner[labels])


def split_to(labels: np.ndarray, n_regions: int) -> np.ndarray:
    """Halve the largest region, across its longer axis, until there are `n_regions`."""
    labels = labels.copy()
    for new in range(int(labels.max()) + 1, n_regions):
        rows, columns = np.nonzero(labels == np.argmax(np.bincount(labels.ravel())))
        along = rows if np.ptp(rows) > np.ptp(columns) else columns
        far = np.argsort(along, kind="stable")[len(along) // 2 :]
        labels[rows[far], columns[far]] = new
    return labels


def region_colours(labels: np.ndarray, lab: np.ndarray) -> np.ndarray:
    """Mean colours (n, 3) of the regions, of a picture in CIE L*a*b* (H, W, 3)."""
    flat = labels.ravel()
    sums = [np.bincount(flat, weights=lab[..., channel].ravel()) for channel in range(3)]
    return np.stack(sums, axis=1) / np.bincount(flat).astype(float)[:, None]


def adjacency(labels: np.ndarray) -> np.ndarray:
    """bool (n, n): regions that share a side of a pixel; no region neighbours itself."""
    n = int(labels.max()) + 1
    touching = np.zeros((n, n), dtype=bool)
    touching[labels[:, :-1], labels[:, 1:]] = True
    touching[labels[:-1], labels[1:]] = True
    touching |= touching.T
    np.fill_diagonal(touching, False)
    return touching


def contiguous(labels: np.ndarray) -> np.ndarray:
    """The same regions as 0 .. n - 1."""
    present = np.bincount(labels.ravel()) > 0
    return (np.cumsum(present) - 1)[labels]


def largest_first(labels: np.ndarray) -> np.ndarray:
    """The same regions by decreasing size; equal sizes in reading order of their first pixel."""
    _, first, size = np.unique(labels, return_index=True, return_counts=True)
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.lexsort((first, -size))] = np.arange(len(size))
    return rank[labels]


def enlarge(labels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Labels at the picture's own size: every pixel takes the label of the working pixel that covers it."""
    rows = np.arange(height) * labels.shape[0] // height
    columns = np.arange(width) * labels.shape[1] // width
    return labels[rows[:, None], columns].astype(np.int32)


# --- Small pictures ---------------------------------------------------------------------------------------------


def lab_colours(pixels: np.ndarray) -> np.ndarray:
    """A picture in CIE L*a*b*, float32; off OpenCV's by one unit, 0.016 at most, in a value of a thousand."""
    red, green, blue = np.ascontiguousarray(np.moveaxis(pixels, 2, 0))
    total, share = np.zeros((3, *red.shape), np.int32), np.empty(red.shape, np.int32)
    reds, greens = ([(at.take(code), of.take(code)) for at, of in _sides()] for code in (red, green))
    for at_red, of_red in reds:
        for at_green, of_green in greens:
            at = (at_red * (CELLS + 1) + at_green) * 256 + blue
            weight = of_red * of_green
            for channel, entries in zip(total, _table(), strict=True):
                entries.take(at, out=share, mode="clip")  # other modes take longer
                channel += np.multiply(share, weight, out=share)
    whole = (total + STEPS**3 // 2) >> 12  # over STEPS**3
    return np.ascontiguousarray(np.moveaxis(whole, 0, 2) * _UNIT - _ZERO, np.float32)


@cache
def _sides() -> list[tuple[np.ndarray, np.ndarray]]:
    """Entry and weight by code value (256,): of one side of a colour's cell, then of the other."""
    codes = np.rint(np.arange(256, dtype=np.float32) / 255 * ONE).astype(np.int32)
    cell, part = (codes // (ONE // CELLS)).astype(np.intp), codes // (ONE // CELLS // STEPS) % STEPS
    return [(cell, STEPS - part), (np.minimum(cell + 1, CELLS), part)]


@cache
def _table() -> np.ndarray:
    """int32 (3, (CELLS + 1)^2 * 256): L*, a*, b* of red and green from 0 to 1, in reading order, with every blue."""
    code = np.arange(CELLS + 1) / CELLS
    light = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    rgb = np.stack(np.meshgrid(light, light, light, indexing="ij"), axis=-1).reshape(-1, 3)
    xyz = rgb @ _XYZ.T
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    entries = np.rint((lab + _ZERO) / _UNIT).astype(np.int32).T.reshape(3, -1, CELLS + 1)
    return sum(of * entries[..., at] for at, of in _sides()).reshape(3, -1)


def shrink_to(pixels: np.ndarray, longest: int) -> np.ndarray:
    """The picture at a size whose longest side is at most so many pixels: means over the area that a pixel covers."""
    height, width = pixels.shape[:2]
    factor = longest / max(height, width)
    if factor >= 1:
        return pixels
    rows, columns = max(1, round(height * factor)), max(1, round(width * factor))
    if (height, width) == (2 * rows, 2 * columns):
        # Halves go up here, and to the even number below, as in OpenCV.
        four = pixels.reshape(rows, 2, columns, 2, -1).sum(axis=(1, 3), dtype=np.int32)
        return ((four + 2) // 4).astype(np.uint8)
    lines = pixels.reshape(height, -1)
    narrow = (_shares(width, columns, lines.shape[1] // width) @ lines.T.astype(np.float32)).T
    return np.rint(_shares(height, rows) @ narrow).astype(np.uint8).reshape(rows, columns, -1)


@lru_cache(maxsize=32)  # the photos of a collection have few sizes
def _shares(n: int, m: int, n_channels: int = 1) -> sparse.csr_array:
    """float32 (m, n): how much of each of m larger pixels is each of n smaller ones; of each channel by itself."""
    edges = np.arange(m + 1) * (n / m)
    ends = np.minimum(edges[1:, None], np.arange(1, n + 1)) - np.maximum(edges[:-1, None], np.arange(n))
    shares = (np.maximum(ends, 0) * (m / n)).astype(np.float32)
    return sparse.csr_array(
        sparse.kron(sparse.csr_array(shares), sparse.eye_array(n_channels, dtype=np.float32))
    )
