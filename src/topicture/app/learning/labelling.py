"""Regions: which part of a photo each word belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from topicture.app.learning.model_folder import Learned, load_learned
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import NotFitted, TopictureError
from topicture.store import Catalog
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe
from topicture.vision.region_parts import RegionParts, region_parts

__all__ = [
    "Labelled",
    "RegionLabel",
    "WordBox",
    "best_words",
    "boxes_of",
    "label_photo",
    "region_model",
    "word_boxes",
]

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
    return best_words(p, corpus.vocabulary, np.bincount(labels[labels >= 0]) / labels.size, allowed)


def best_words(
    p: np.ndarray, vocabulary: Vocabulary, areas: np.ndarray, allowed: Sequence[str]
) -> tuple[RegionLabel, ...]:
    """The best word among `allowed` for every region, of p(word | region) (N, V) and areas (N,)."""
    columns = [vocabulary.index(word) for word in allowed]
    best = p[:, columns].argmax(axis=1)
    return tuple(
        RegionLabel(n, allowed[b], float(p[n, columns[b]]), float(areas[n]))
        for n, b in enumerate(best.tolist())
    )


def boxes_of(labelled: Labelled) -> list[WordBox]:
    """Rectangles around the connected patches of each word, the largest first."""
    return word_boxes(region_parts(labelled.labels), labelled.regions)


def word_boxes(shape: RegionParts, regions: Sequence[RegionLabel]) -> list[WordBox]:
    """The same of regions whose label map is not at hand."""
    if not regions:
        return []
    of_part = shape.parts[:, 0].astype(int)
    words = np.array([region.word for region in regions], dtype=object)[of_part]
    joined = shape.edges[words[shape.edges[:, 0]] == words[shape.edges[:, 1]]]
    links = sparse.coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=2 * (len(of_part),))
    found: list[tuple[float, WordBox]] = []
    count, patch_of = connected_components(links, directed=False)
    for patch in range(count):
        mine = patch_of == patch
        area = shape.parts[mine, 5].sum()
        if area < LEAST_AREA:
            continue
        left, top = shape.parts[mine, 1:3].min(axis=0).tolist()
        right, bottom = shape.parts[mine, 3:5].max(axis=0).tolist()
        inside = [regions[number] for number in sorted(set(of_part[mine].tolist()))]
        probability = float(np.average([r.probability for r in inside], weights=[r.area for r in inside]))
        found.append((area, WordBox(inside[0].word, left, top, right - left, bottom - top, probability)))
    return [box for _, box in sorted(found, key=lambda item: (-item[0], item[1]))]
