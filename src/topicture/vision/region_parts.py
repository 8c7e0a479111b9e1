"""The connected parts of a photo's regions, and which of them touch.

That is all one needs of a label map to put a rectangle around whatever a word covers, and it takes a few hundred bytes:
it is measured with the photo and kept, so that the photo need not be opened again.
"""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from skimage.measure import label

from topicture.vision.cache import FeatureCache
from topicture.vision.recipe import REGION_PARTS, Recipe

__all__ = ["RegionParts", "known_region_parts", "region_parts"]


class RegionParts(NamedTuple):
    """Parts in shares of width, height and area of the picture.

    Attributes
    ----------
    parts : float64 (P, 6)
        Region that it belongs to; left, top, right and bottom edge; area.
    edges : int32 (E, 2)
        Pairs of parts that share a side of a pixel.
    """

    parts: np.ndarray
    edges: np.ndarray


def region_parts(labels: np.ndarray) -> RegionParts:
    """The parts of a label map (H, W); pixels below 0 belong to none."""
    numbered = np.asarray(label(labels, background=-1, connectivity=1)) - 1
    count = int(numbered.max()) + 1
    inside = numbered >= 0
    height, width = labels.shape
    parts = np.zeros((count, 6))
    parts[numbered[inside], 0] = labels[inside]
    parts[:, 5] = np.bincount(numbered[inside], minlength=count) / labels.size
    for number, (rows, columns) in enumerate(ndimage.find_objects(numbered + 1)):
        parts[number, 1:5] = (
            columns.start / width,
            rows.start / height,
            columns.stop / width,
            rows.stop / height,
        )
    sides = ((numbered[:, :-1], numbered[:, 1:]), (numbered[:-1], numbered[1:]))
    keys = []
    for one, other in sides:
        touching = (one != other) & (one >= 0) & (other >= 0)
        low, high = np.sort(np.stack([one[touching], other[touching]]).astype(np.int64), axis=0)
        keys.append(low * count + high)  # a pair as one number: those are sorted faster
    pairs = np.stack(np.divmod(np.unique(np.concatenate(keys)), max(count, 1)), axis=1)
    return RegionParts(parts, pairs.astype(np.int32).reshape(-1, 2))


def known_region_parts(
    paths: Iterable[str | os.PathLike], recipe: Recipe, cache: str | os.PathLike
) -> Iterator[RegionParts | None]:
    """The parts of photos that `describe` has measured with the extra steps `REGION_PARTS`; None for others."""
    keys = recipe.keys(REGION_PARTS)
    with FeatureCache(cache) as shelf:
        for path in paths:
            try:
                content = shelf.content_of(path)
                yield RegionParts(*(shelf.get(content, keys[step]) for step in REGION_PARTS))
            except (KeyError, OSError):
                yield None
