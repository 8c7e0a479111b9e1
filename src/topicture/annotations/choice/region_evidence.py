"""How far a model of regions can be trusted, from tags alone: nobody has said where in a photo a word is.

It is learned with some captions hidden, and asked about those photos in two ways.

Parts against the whole: the likelihood of the hidden tags when every region is asked, ln (1/N) sum_n p(w | x_n),
against the same model asked about the photo as one region. A model that has not learned parts gains nothing from them.

Two photos as one: the regions of two hidden photos without a common tag are taken for those of one photo that has the
tags of both. Of each region it is then known which tags it can't have: those of the other photo. That chooses between
models, and tells how sure they may be, though too favourably: features see beyond their region, so photos are easier
told apart than regions of one photo. The posterior itself is too modest, since it lets in words that are not tags. What
is told is half-way between the two; docs/results/regions.md sets it against true regions.

Where people have marked some words themselves, the overlap of the model's rectangles with theirs counts before both.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.folds import folds_of
from topicture.models.interrupts import all_or_nothing

__all__ = [
    "OTHER",
    "Calibration",
    "Overlaps",
    "RegionEvidence",
    "clearly_more",
    "region_evidence",
    "region_posterior",
]

OTHER = 0.3  # how readily a region shows something that its photo is not tagged with, as a factor of its probability
N_FOLDS = 3
MOST_HIDDEN = 2000  # photos: more tell no more
N_KNOTS = 20
LEAST_MARKED = 20  # words that people marked: fewer say nothing


class Calibration(NamedTuple):
    """Certainty that a region shows its best word -> how often that is right; rises, linear between knots."""

    knots: np.ndarray
    values: np.ndarray

    def __call__(self, certainty: np.ndarray) -> np.ndarray:
        """Of any shape."""
        return np.interp(certainty, self.knots, self.values)


class Overlaps(NamedTuple):
    """Of each word that people marked on a photo: intersection over union of its rectangle with theirs, (n,) each.

    Attributes
    ----------
    placed : of the model's rectangle, 0 where it has none
    whole : of the whole photo
    """

    placed: np.ndarray
    whole: np.ndarray

    @property
    def enough(self) -> bool:
        """Whether they tell anything."""
        return len(self.placed) >= LEAST_MARKED


class RegionEvidence(NamedTuple):
    """What was found with captions hidden.

    Attributes
    ----------
    right : share of the regions of two photos taken for one that got a tag of their own photo
    chance : the same of tags drawn blindly, as when words belong to whole photos
    gain : mean gain in ln p of a hidden tag when the regions are asked instead of the whole photo
    gain_error : its standard error
    calibration : of certainties
    overlaps : with what people marked, if they did
    """

    right: float
    chance: float
    gain: float
    gain_error: float
    calibration: Calibration
    overlaps: Overlaps | None = None

    @property
    def beats_whole_photo(self) -> bool:
        """Whether parts explain hidden tags, or what people marked, better than the whole photo by more than noise."""
        if self.overlaps is not None and self.overlaps.enough:
            return clearly_more(self.overlaps.placed, self.overlaps.whole)
        return self.gain > 2 * self.gain_error and self.right > self.chance


def clearly_more(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether paired values (n,) differ by more than two standard errors, the first being the larger."""
    difference = first - second
    return bool(difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(difference)))


def region_posterior(p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What regions of a photo show, given what is known of it: p(word | region) (N, V) times weights (V,), normalised.

    A tag of the photo weighs 1, and what is not tagged `OTHER`: tags may be incomplete, and a region may show nothing
    that has a word.
    """
    found = p * weights
    missing = (
        np.maximum(1 - p.sum(axis=1, keepdims=True), 0) * OTHER
    )  # a background that the model has of its own
    return found / np.maximum(found.sum(axis=1, keepdims=True) + missing, np.finfo(float).tiny)


def region_evidence(
    make: Callable[[], Annotator],
    corpus: Corpus,
    *,
    groups=None,
    seed: int = 0,
    overlaps: Callable[[Annotator], Overlaps] | None = None,
) -> RegionEvidence:
    """Hide a third of the captions (at most `MOST_HIDDEN`), learn, and ask about the photos they belong to.

    `groups` as for `folds_of`. The corpus has tagged images with regions. `overlaps` asks the model about words that
    people marked: captions don't say where a word is, so photos that it has learned from can be asked about as well.
    """
    rng = np.random.default_rng(seed)
    fold_of = folds_of(corpus, N_FOLDS, seed=seed, groups=groups)
    hidden = np.flatnonzero((fold_of == 0) & corpus.tagged & (corpus.n_regions > 0))
    hidden = np.sort(rng.permutation(hidden)[:MOST_HIDDEN])
    with all_or_nothing():
        annotator = make().fit(corpus.without_captions(fold_of == 0))
    asked = corpus[hidden]
    tags = (asked.captions > 0).toarray()
    labels = annotator.label_regions(asked.without_captions())
    gains = _gains(annotator, asked, tags)
    sure, right, chance = _two_as_one(labels, tags, rng)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.inf
    return RegionEvidence(
        float(right.mean()) if len(right) else 0.0,
        float(chance.mean()) if len(chance) else 1.0,
        float(gains.mean()) if len(gains) else 0.0,
        error,
        _calibrated(sure, right),
        None if overlaps is None else overlaps(annotator),
    )


def _gains(annotator: Annotator, asked: Corpus, tags: np.ndarray) -> np.ndarray:
    """For every hidden tag, ln p by the regions less ln p by the whole photo."""
    assert asked.regions is not None
    assert asked.region_offsets is not None
    means = np.add.reduceat(asked.regions, asked.region_offsets[:-1], axis=0) / asked.n_regions[:, None]
    whole = replace(asked, regions=means, region_offsets=np.arange(len(asked) + 1), region_words=None)
    by_parts, as_whole = (annotator.annotate(part.without_captions()) for part in (asked, whole))
    tiny = np.finfo(float).tiny
    return (np.log(np.maximum(by_parts, tiny)) - np.log(np.maximum(as_whole, tiny)))[tags]


def _two_as_one(
    labels: list[np.ndarray], tags: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every region: how sure its best tag is, whether its own photo has it, and how often chance would hit."""
    sure, right, chance = [], [], []
    for first, second in enumerate(rng.permutation(len(labels))):
        if first == second or (tags[first] & tags[second]).any():
            continue
        both = tags[first] | tags[second]
        for own in (first, second):
            q = np.where(both, region_posterior(labels[own], np.where(both, 1.0, OTHER)), 0.0)
            best = q.argmax(axis=1)
            sure.append(q[np.arange(len(q)), best])
            right.append(tags[own][best])
            chance.append(np.full(len(q), tags[own].sum() / both.sum()))
    if not sure:
        return np.zeros(0), np.zeros(0, bool), np.zeros(0)
    return np.concatenate(sure), np.concatenate(right), np.concatenate(chance)


def _calibrated(sure: np.ndarray, right: np.ndarray) -> Calibration:
    """Half-way from the certainty itself to its isotonic regression; without any evidence nothing is certain."""
    knots = np.linspace(0, 1, N_KNOTS + 1)
    if not len(sure):
        return Calibration(knots, np.zeros_like(knots))
    found = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(sure, right.astype(float))
    return Calibration(knots, (knots + found.predict(knots)) / 2)
