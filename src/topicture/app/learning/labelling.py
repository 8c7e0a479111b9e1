"""Regions: which part of a photo each word belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.annotations.choice.region_evidence import OTHER, Calibration, region_posterior
from topicture.app.learning.model_folder import Learned, load_learned
from topicture.app.learning.region_choice import trust_told
from topicture.app.learning.word_boxes import WordBox, word_boxes
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import ImageError, NotFitted, TopictureError
from topicture.models.base import Annotator
from topicture.store import Catalog
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe
from topicture.vision.region_parts import RegionParts, region_parts

__all__ = [
    "NO_WORD",
    "UNTOLD",
    "Labelled",
    "RegionLabel",
    "WordBox",
    "label_photo",
    "placed_words",
    "region_model",
    "region_p",
]

NO_WORD = 0.5  # a region whose best word is less certain has none
UNTOLD = Calibration(np.array([0.0, 1.0]), np.array([0.0, 1.0]))  # of a model that was never asked


class RegionLabel(NamedTuple):
    """A region, its best word, or "" where it has none, how certain that is, and how large it is."""

    region: int
    word: str
    probability: float
    area: float  # share of the photo


@dataclass(frozen=True, eq=False)
class Labelled:
    """The regions of one photo. `pixels` (H, W, 3) and `labels` (H, W) are upright."""

    path: str
    regions: tuple[RegionLabel, ...]
    boxes: tuple[WordBox, ...]
    pixels: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)


def region_model(catalog: Catalog) -> Learned:
    """The newest learned model that labels regions; raises NotFitted where there is none."""
    for model in catalog.suggestions.models():
        if model.facts.get("labels_regions"):
            return load_learned(catalog.model_folder(model))
    raise NotFitted(
        "no learned model labels regions: run 'topicture learn' (with region views), or --model region-logistic"
    )


def label_photo(
    catalog: Catalog, learned: Learned, path: Path, known: Mapping[str, float], others: float = OTHER
) -> Labelled:
    """The best word of every region of a photo, and where each word is.

    `known` gives the words that the photo has (1), or probably has; they are preferred to all others, which weigh
    `others`. Where none is known, all words compete. Raises ImageError where the photo can't be read.
    """
    features = learned.features
    try:
        pixels, labels = photo_regions(path, features.recipe)
    except ImageError as error:
        raise ImageError(f"{path}: {error}") from None
    corpus = describe(
        [Photo("photo", path)], features, vocabulary=learned.vocabulary, workers=0, cache=catalog.cache
    ).corpus
    (p,) = region_p(learned.region_annotator or learned.annotator, corpus, {0: known})
    if len(p) != labels.max(initial=-1) + 1:
        raise TopictureError(
            "the regions of the photo are not those that were measured; remove the cache, learn again"
        )
    trust = trust_told(learned.report)
    shape = region_parts(labels)
    sure = _certainties(p, learned.vocabulary, known, others)
    calibration = trust.calibration if trust else UNTOLD
    return Labelled(
        str(path),
        _best(calibration(sure), learned.vocabulary, shape, known),
        tuple(placed_words(p, shape, learned.vocabulary, known, calibration, others)),
        pixels,
        labels,
    )


def region_p(
    annotator: Annotator, corpus: Corpus, known: Mapping[int, Mapping[str, float]]
) -> list[np.ndarray]:
    """p(word | region), one (N_d, V) array a photo; a model that can looks at the words that photos surely have."""
    captions = sparse.lil_array((len(corpus), corpus.n_words))
    for row, words in known.items():
        for word, weight in words.items():
            if weight == 1 and word in corpus.vocabulary:
                captions[row, corpus.vocabulary.index(word)] = 1
    tagged = replace(corpus, captions=sparse.csr_array(captions))
    if annotator.name == "region-logistic":  # its posterior is its answer, restricted: see `region_posterior`
        return annotator.label_regions(corpus)
    try:
        return annotator.label_regions(tagged, use_captions=True)  # type: ignore[call-arg]
    except TypeError:
        return annotator.label_regions(corpus)


def placed_words(
    p: np.ndarray,
    shape: RegionParts,
    vocabulary: Vocabulary,
    known: Mapping[str, float],
    calibration: Calibration,
    others: float = OTHER,
) -> list[WordBox]:
    """Where words are: those that are known, or else those that some region most likely shows."""
    sure = _certainties(p, vocabulary, known, others)
    words = [word for word in known if word in vocabulary] or [
        vocabulary[w] for w in np.unique(sure.argmax(axis=1)) if sure[:, w].max() >= NO_WORD
    ]
    columns = [vocabulary.index(word) for word in words]
    found = word_boxes(shape, sure[:, columns], words)
    return [
        box._replace(probability=float(calibration(np.array(box.probability))) * known.get(box.word, 1.0))
        for box in found
    ]


def _certainties(
    p: np.ndarray, vocabulary: Vocabulary, known: Mapping[str, float], others: float
) -> np.ndarray:
    """p(word | region, what is known of the photo), (N, V)."""
    weights = np.full(len(vocabulary), others if any(word in vocabulary for word in known) else 1.0)
    for word, weight in known.items():
        if word in vocabulary:
            weights[vocabulary.index(word)] = max(weight, others)
    return region_posterior(p, weights)


def _best(
    sure: np.ndarray, vocabulary: Vocabulary, shape: RegionParts, known: Mapping[str, float]
) -> tuple[RegionLabel, ...]:
    """Where words of the photo are known, a region that rather shows another has none: nobody said or suggested it."""
    areas = np.bincount(shape.parts[:, 0].astype(int), weights=shape.parts[:, 5], minlength=len(sure))
    allowed = {word for word in known if word in vocabulary} or set(vocabulary)
    found = []
    for n, best in enumerate(sure.argmax(axis=1).tolist()):
        word = vocabulary[best] if sure[n, best] >= NO_WORD and vocabulary[best] in allowed else ""
        found.append(RegionLabel(n, word, float(sure[n, best]), float(areas[n])))
    return tuple(found)
