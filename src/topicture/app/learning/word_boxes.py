"""Rectangles around words: for each word of a photo the connected patch of regions that most likely is the thing.

A patch is a connected set of parts of regions that show the word with at least some certainty. Of all such patches, for
several certainties, the one is taken whose overlap with the thing is expected to be largest:

    sum_S a s / (sum_S a + sum_rest a s),   a area and s certainty of a part, S the patch

so a patch neither leaves out a likely part nor takes in an unlikely one. Certainties are sharpened for that: a region
that two words share does not show half of each.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from topicture.vision.region_parts import RegionParts

__all__ = ["Rectangle", "WordBox", "box_overlap", "word_boxes"]

LEAST_AREA = 0.01  # of the photo: smaller patches are no objects that anyone would mark
LEVELS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)  # certainties that patches are made at
SHARPNESS = 2.0


Rectangle = tuple[float, ...]
"""x, y, w, h in shares of width and height, from the top left."""


class WordBox(NamedTuple):
    """A rectangle around a connected patch that a word belongs to; in shares of width and height, from the top left."""

    word: str
    x: float
    y: float
    w: float
    h: float
    probability: float


def word_boxes(shape: RegionParts, p: np.ndarray, words: Sequence[str]) -> list[WordBox]:
    """At most one box for each of the words, the largest patch first, of p(word | region) (N, W), sums at most 1.

    Words whose patch is smaller than `LEAST_AREA` have none. The probability is that of the patch's regions, by area.
    """
    if not len(shape.parts) or not words:
        return []
    of_part, areas = shape.parts[:, 0].astype(int), shape.parts[:, 5]
    rest = np.maximum(1 - p.sum(axis=1, keepdims=True), 0)
    sharp = np.concatenate([p, rest], axis=1) ** SHARPNESS
    sharp /= np.maximum(sharp.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    found = []
    for number, word in enumerate(words):
        patch = _best_patch(shape.edges, areas, sharp[of_part, number])
        area = areas[patch].sum()
        if area < LEAST_AREA:
            continue
        left, top = shape.parts[patch, 1:3].min(axis=0).tolist()
        right, bottom = shape.parts[patch, 3:5].max(axis=0).tolist()
        probability = float(np.average(p[of_part[patch], number], weights=areas[patch]))
        found.append((area, WordBox(word, left, top, right - left, bottom - top, probability)))
    return [box for _, box in sorted(found, key=lambda item: (-item[0], item[1]))]


def box_overlap(first: Rectangle, second: Rectangle) -> float:
    """Intersection over union."""
    wide = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    high = min(first[1] + first[3], second[1] + second[3]) - max(first[1], second[1])
    common = max(wide, 0.0) * max(high, 0.0)
    return common / (first[2] * first[3] + second[2] * second[3] - common)


def _best_patch(edges: np.ndarray, areas: np.ndarray, certainty: np.ndarray) -> np.ndarray:
    """The parts of the patch of largest expected overlap; the likeliest part where none is likely."""
    total = float(areas @ certainty)

    def overlap(patch: np.ndarray) -> float:
        shown = float(areas[patch] @ certainty[patch])
        return shown / max(float(areas[patch].sum()) + total - shown, np.finfo(float).tiny)

    return max(_patches(edges, certainty), key=overlap, default=np.array([int(certainty.argmax())]))


def _patches(edges: np.ndarray, certainty: np.ndarray) -> Iterator[np.ndarray]:
    """Connected sets of parts of at least each level of certainty, each set once."""
    seen = set()
    for level in LEVELS:
        kept = certainty >= level
        key = kept.tobytes()
        if key in seen or not kept.any():
            continue
        seen.add(key)
        inside = edges[kept[edges].all(axis=1)]
        links = sparse.coo_array((np.ones(len(inside)), (inside[:, 0], inside[:, 1])), shape=2 * (len(kept),))
        _, patch_of = connected_components(links, directed=False)
        for patch in np.unique(patch_of[kept]):
            yield np.flatnonzero((patch_of == patch) & kept)
