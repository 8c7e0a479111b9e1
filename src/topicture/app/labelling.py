"""Regions: which part of a photo each word belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from topicture.app.model_folder import Learned, load_learned
from topicture.corpus import Corpus
from topicture.errors import NotFitted, TopictureError
from topicture.store import Catalog
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe

__all__ = ["Labelled", "RegionLabel", "WordBox", "boxes_of", "label_photo", "region_model"]

LEAST_AREA = 0.01  # of the photo: smaller patches are no objects that anyone would mark


class RegionLabel(NamedTuple):
    """A region, its best word, and how large it is."""

    region: int
    word: str
    probability: float
    area: float  # share of the photo


class WordBox(NamedTuple):
    """A rectangle around a connected patch that a word belongs to; in shares of width and height, from the top left."""

    word: str
    x: float
    y: float
    w: float
    h: float
    probability: float


@dataclass(frozen=True, eq=False)
class Labelled:
    """The regions of one photo. `pixels` (H, W, 3) and `labels` (H, W) are upright."""

    path: str
    regions: tuple[RegionLabel, ...]
    pixels: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)


def region_model(catalog: Catalog) -> Learned:
    """The newest learned model that labels regions; raises NotFitted where there is none."""
    for model in catalog.suggestions.models():
        if model.facts.get("labels_regions"):
            return load_learned(catalog.model_folder(model))
    raise NotFitted(
        "no learned model labels regions: run 'topicture learn' (with region views), or --model corr-lda"
    )


def label_photo(
    catalog: Catalog, learned: Learned, path: Path, words: Sequence[str] | None = None
) -> Labelled:
    """The best word of every region of a photo; with `words`, the best among them.

    Raises ImageError where the photo can't be read.
    """
    annotator = learned.region_annotator or learned.annotator
    features = learned.features
    description = describe(
        [Photo("photo", path)], features, vocabulary=learned.vocabulary, workers=0, cache=catalog.cache
    )
    allowed = (
        [word for word in words if word in learned.vocabulary]
        if words is not None
        else list(learned.vocabulary)
    )
    pixels, labels = photo_regions(path, features.recipe)
    if not allowed:
        return Labelled(str(path), (), pixels, labels)
    return Labelled(str(path), _labels(annotator, description.corpus, labels, allowed), pixels, labels)


def _labels(annotator, corpus: Corpus, labels: np.ndarray, allowed: Sequence[str]) -> tuple[RegionLabel, ...]:
    if corpus.n_regions[0] == 0:
        return ()
    p = annotator.label_regions(corpus)[0]
    if len(p) != labels.max() + 1:
        raise TopictureError(
            "the regions of the photo are not those that were measured; remove the cache, learn again"
        )
    columns = [corpus.vocabulary.index(word) for word in allowed]
    areas = np.bincount(labels[labels >= 0], minlength=len(p)) / labels.size
    best = p[:, columns].argmax(axis=1)
    return tuple(
        RegionLabel(n, allowed[b], float(p[n, columns[b]]), float(areas[n]))
        for n, b in enumerate(best.tolist())
    )


def boxes_of(labelled: Labelled) -> list[WordBox]:
    """Rectangles around the connected patches of each word, the largest first."""
    found: list[tuple[int, WordBox]] = []
    height, width = labelled.labels.shape
    for word in sorted({region.word for region in labelled.regions}):
        mine = [region for region in labelled.regions if region.word == word]
        patches = ndimage.label(np.isin(labelled.labels, [region.region for region in mine]))[0]
        for number, (rows, columns) in enumerate(ndimage.find_objects(patches), start=1):
            inside = patches == number
            size = int(inside.sum())
            if size < LEAST_AREA * labelled.labels.size:
                continue
            parts = [region for region in mine if inside[labelled.labels == region.region].any()]
            probability = float(np.average([r.probability for r in parts], weights=[r.area for r in parts]))
            box = WordBox(
                word,
                columns.start / width,
                rows.start / height,
                (columns.stop - columns.start) / width,
                (rows.stop - rows.start) / height,
                probability,
            )
            found.append((size, box))
    return [box for _, box in sorted(found, key=lambda item: (-item[0], item[1]))]
