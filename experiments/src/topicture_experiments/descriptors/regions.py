"""Descriptors of regions compared on MSRC v2: the words of regions against the true classes of their pixels.

Three ways to learn, from most to least told: training regions vote with their true words, which shows what the
descriptor allows; they vote with the captions of their images; models learn from captions alone which word belongs to
which region.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.annotations.measures.metrics import region_accuracy
from topicture.corpus import Corpus
from topicture.corpus.datasets import MSRC
from topicture.models.neighbours import nearest
from topicture.vision.recipe import Recipe
from topicture_experiments.descriptors.images import Division, Models, described
from topicture_experiments.shared.knn_vote import Rule, choose_rule, random_folds, vote
from topicture_experiments.shared.region_truth import RegionTruth, msrc_label_maps, region_truth

__all__ = ["MSRC_REGIONS", "RegionRow", "compare_on_msrc"]

MSRC_REGIONS = {
    f"{title} ({method})": Recipe((view,), segmentation=segmentation)
    for segmentation, method in (("slic", "SLIC"), ("ncuts", "n-cuts"))
    for view, title in (("regions:blobs", "blobs"), ("regions:deep", "deep regions"))
}
"""Title -> recipe, of one view, that describes regions."""


class RegionRow(NamedTuple):
    """How well one descriptor let the test regions be labelled."""

    descriptor: str
    n_columns: int
    annotator: str
    rule: Rule | None  # of the vote
    top_1: float  # share of the regions whose true word is their best
    top_3: float  # or among their best three
    pixels: float  # share of the labelled pixels that are right when each region has its best word
    ceiling: float  # the same when each region has its true word
    n_regions: int  # with a true word


def compare_on_msrc(
    data: MSRC,
    recipes: Mapping[str, Recipe] = MSRC_REGIONS,
    *,
    models: Models | None = None,
    cache: str | os.PathLike | None = None,
    workers: int = 2,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> list[RegionRow]:
    """Label the regions of the test images by each descriptor.

    Parameters
    ----------
    data : MSRC, or a part of it
    recipes : title -> recipe of one view of regions
    models : title -> maker of an annotator that labels regions
    cache, workers : as for `describe`; the regions themselves are kept in the cache, too
    seed : of the folds that the rules of the votes are chosen on
    say : told a line for every row
    """
    rows: list[RegionRow] = []
    for title, recipe in recipes.items():
        train_maps, test_maps = (
            msrc_label_maps(data, corpus.image_ids, recipe, cache) for corpus in (data.train, data.test)
        )
        part = described(data, recipe, labels=train_maps | test_maps, cache=cache, workers=workers)
        known, truth = _truth(data, train_maps), _truth(data, test_maps)
        for annotator, rule, scores in _labellings(part, known.words, models or {}, seed):
            top_1, top_3 = (region_accuracy(scores, truth.words, k) for k in (1, 3))
            row = RegionRow(
                descriptor=title,
                n_columns=part.train.n_features or 0,
                annotator=annotator,
                rule=rule,
                top_1=top_1,
                top_3=top_3,
                pixels=truth.pixel_accuracy(scores),
                ceiling=truth.ceiling,
                n_regions=int((truth.words >= 0).sum()),
            )
            rows.append(row)
            say(f"{title}, {annotator}: top 1 {top_1:.3f}, top 3 {top_3:.3f}")
    return rows


def _truth(data: MSRC, maps: Mapping[str, np.ndarray]) -> RegionTruth:
    n_words = len(data.vocabulary)
    counts = [region_truth(data.class_map(image), labels, n_words) for image, labels in maps.items()]
    return RegionTruth(np.concatenate(counts))


def _labellings(
    part: Division, labels: np.ndarray, models: Models, seed: int
) -> Iterator[tuple[str, Rule | None, np.ndarray]]:
    """(annotator, rule, scores (R, V) of the test regions); `labels` (R,) are the true words of the training ones."""
    n_words, image = part.train.n_words, _image_of_region(part.train)
    fold = random_folds(len(part.train), seed=seed)[image]
    seen = labels >= 0

    frequency = np.bincount(labels[seen], minlength=n_words)
    yield "most frequent word", None, np.tile(frequency, (int(part.test.n_regions.sum()), 1))

    true_words = sparse.csr_array(np.eye(n_words)[labels[seen]])
    right = _share_right(labels[seen][:, None] == np.arange(n_words))
    yield "vote of true words", *_votes(part, seen, true_words, fold, right)

    captions = part.train.captions[image]
    # The true words of regions are not known here: a region is taken to be right if its image has the word.
    right = _share_right(captions.toarray() > 0)
    yield "vote of captions", *_votes(part, np.ones_like(seen), captions, fold, right)

    for name, make in models.items():
        yield name, None, np.concatenate(make().fit(part.train).label_regions(part.test.without_captions()))


def _votes(
    part: Division,
    voters: np.ndarray,
    words: sparse.csr_array,
    fold: np.ndarray,
    measure: Callable[[np.ndarray, np.ndarray], float],
) -> tuple[Rule, np.ndarray]:
    """The rule that `measure` prefers and the scores (R, V) of the test regions; `voters` (R,) bool have `words`."""
    assert part.train.regions is not None
    assert part.test.regions is not None
    features = part.train.regions[voters]
    rule = choose_rule(features, words, fold[voters], measure)
    return rule, vote(nearest(part.test.regions, features, rule.n_neighbours), words, rule)


def _share_right(accepted: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float]:
    """(scores (m, V), rows (m,)) -> share of those rows whose best word is among those accepted, (n, V) bool."""
    return lambda scores, rows: float(accepted[rows, scores.argmax(axis=1)].mean())


def _image_of_region(corpus: Corpus) -> np.ndarray:
    return np.repeat(np.arange(len(corpus)), corpus.n_regions)
