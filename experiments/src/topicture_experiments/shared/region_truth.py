"""True words of regions, from pictures whose every pixel is labelled: MSRC v2."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topicture.corpus.datasets import MSRC
from topicture.errors import CorpusError
from topicture.vision.measure import photo_regions
from topicture.vision.recipe import Recipe

__all__ = ["RegionTruth", "msrc_label_maps", "region_truth"]


class RegionTruth(NamedTuple):
    """How many pixels of each region are of each word, (R, V) int; void pixels count nowhere."""

    pixels: np.ndarray

    @property
    def words(self) -> np.ndarray:
        """The word of most pixels of each region, (R,) int, ties to the lower; -1 where all are void."""
        return np.where(self.pixels.any(axis=1), self.pixels.argmax(axis=1), -1)

    @property
    def ceiling(self) -> float:
        """Share of the labelled pixels that are right when every region has its true word: no words can do better."""
        return float(self.pixels.max(axis=1).sum() / self.pixels.sum())

    def pixel_accuracy(self, scores: ArrayLike) -> float:
        """Share of the labelled pixels that are right when every region has its best word of scores (R, V)."""
        best = np.asarray(scores).argmax(axis=1)
        return float(self.pixels[np.arange(len(best)), best].sum() / self.pixels.sum())


def region_truth(class_map: np.ndarray, labels: np.ndarray, n_words: int) -> np.ndarray:
    """Pixels of each word in each region of one picture, (N, V) int.

    Parameters
    ----------
    class_map : int (H, W)
        Word of each pixel, negative for void.
    labels : int (H, W)
        Region of each pixel, 0 .. N - 1; negative where there is none.
    n_words : V

    Raises
    ------
    CorpusError
        If the maps are of different sizes: the picture was reduced, or lost its border, before it was divided.
    """
    if labels.shape != class_map.shape:
        raise CorpusError(
            f"regions of a picture of {labels.shape} pixels, classes of one of {class_map.shape}"
        )
    n_regions = int(labels.max(initial=-1)) + 1
    counted = (labels >= 0) & (class_map >= 0)
    cells = labels[counted].astype(np.int64) * n_words + class_map[counted]
    return np.bincount(cells, minlength=n_regions * n_words).reshape(n_regions, n_words)


def msrc_label_maps(
    data: MSRC, image_ids: ArrayLike, recipe: Recipe, cache: str | os.PathLike | None = None
) -> dict[str, np.ndarray]:
    """Image id -> regions (H, W) of MSRC pictures, as the recipe's segmentation divides them.

    With a `cache` folder they are kept there in one file: normalized cuts of all pictures take minutes.
    """
    ids = [str(image) for image in np.asarray(image_ids)]
    path = None if cache is None else Path(cache) / f"msrc-regions-{_key(recipe, ids)}.npz"
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as stored:
            return {image: stored[f"arr_{i}"] for i, image in enumerate(ids)}
    maps = {image: photo_regions(jpeg, recipe)[1] for image, jpeg in data.images(ids)}
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp.npz")
        np.savez_compressed(unfinished, *maps.values())
        os.replace(unfinished, path)
    return maps


def _key(recipe: Recipe, ids: list[str]) -> str:
    """All that the label maps depend on, in a few letters."""
    regions = Recipe(
        ("visual_words:sift",),
        max_side=recipe.max_side,
        border=recipe.border,
        segmentation=recipe.segmentation,
        min_regions=recipe.min_regions,
        max_regions=recipe.max_regions,
        seed=recipe.seed,
    ).keys()["region-areas"]
    return hashlib.sha256("\n".join([regions, *ids]).encode()).hexdigest()[:16]
