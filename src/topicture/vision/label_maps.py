"""Label maps: regions merged, split, numbered, brought to another size.

A label map holds 0 .. n_regions - 1 (H, W), all present.
"""

import cv2
import numpy as np

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


def merge_down(
    labels: np.ndarray, look: np.ndarray, min_regions: int, max_regions: int, alike: float
) -> np.ndarray:
    """Merge neighbours down to `max_regions`, and on towards `min_regions` while they look alike.

    `look` (n, F) says what the regions look like; two that are no further apart than `alike` need not stay apart.
    Ward's criterion: merging a and b adds n_a n_b / (n_a + n_b) |look_a - look_b|^2 to the scatter, so the cheapest
    pair is the smallest or the most similar.
    """
    size, look = np.bincount(labels.ravel()).astype(float), look.copy()
    adjacent = adjacency(labels)
    cost = np.full(adjacent.shape, np.inf)
    first, second = np.nonzero(adjacent)
    distance2 = np.sum((look[first] - look[second]) ** 2, axis=1)
    cost[first, second] = size[first] * size[second] / (size[first] + size[second]) * distance2
    cheapest = cost.min(axis=1)  # of every region's merges: looking through all pairs each time takes longest
    neighbours = [set(np.flatnonzero(row).tolist()) for row in adjacent]
    owner = np.arange(len(size))
    n_regions = len(size)
    while n_regions > min_regions:
        a = int(cheapest.argmin())
        b = int(cost[a].argmin())
        if not np.isfinite(cheapest[a]):
            break
        if n_regions <= max_regions and np.sum((look[a] - look[b]) ** 2) > alike**2:
            break
        owner[b] = a
        look[a] = (size[a] * look[a] + size[b] * look[b]) / (size[a] + size[b])
        size[a] += size[b]
        for other in neighbours[b]:
            neighbours[other].discard(b)
            neighbours[other].add(a)
        neighbours[a] = (neighbours[a] | neighbours[b]) - {a, b}
        near = np.array(sorted(neighbours[a]), dtype=np.intp)
        fresh = size[a] * size[near] / (size[a] + size[near]) * np.sum((look[a] - look[near]) ** 2, axis=1)
        cost[b] = cost[:, b] = np.inf
        cost[a, near] = cost[near, a] = fresh
        cheapest[near] = cost[near].min(axis=1)
        cheapest[a], cheapest[b] = fresh.min(initial=np.inf), np.inf
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


def shrink_to(pixels: np.ndarray, longest: int) -> np.ndarray:
    """The picture at a size whose longest side is at most so many pixels."""
    height, width = pixels.shape[:2]
    factor = longest / max(height, width)
    if factor >= 1:
        return pixels
    size = max(1, round(width * factor)), max(1, round(height * factor))
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)


def enlarge(labels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Labels at the picture's own size: every pixel takes the label of the working pixel that covers it."""
    rows = np.arange(height) * labels.shape[0] // height
    columns = np.arange(width) * labels.shape[1] // width
    return labels[rows[:, None], columns].astype(np.int32)


def lab_colours(pixels: np.ndarray) -> np.ndarray:
    """A picture in CIE L*a*b*, float32."""
    return cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2Lab)
