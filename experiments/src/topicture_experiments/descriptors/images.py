"""Descriptors of images compared on Corel-5k, from pixels: the usual 260 words, five words per image.

Every descriptor gives an image one row of numbers, and the images with the nearest rows vote (`knn_vote`). Scalings,
projections, codebooks and the rule of the vote are learned from the training images alone.
"""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.annotations.measures.metrics import PerWord, per_word
from topicture.corpus import Corpus
from topicture.corpus.datasets import MSRC, Corel5k
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.neighbours import nearest
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe
from topicture_experiments.shared.knn_vote import Rule, choose_rule, random_folds, vote

__all__ = [
    "COREL",
    "REFERENCE_RULE",
    "Division",
    "ImageRow",
    "Models",
    "compare_on_corel",
    "described",
    "image_rows",
]

BORDER = 5  # pixels of slide mount on every side of a Corel picture
WORDS_PER_IMAGE = 5
REFERENCE_RULE = Rule(10, 15.0)

COREL = {
    "deep, lite2": Recipe(("deep",), border=BORDER),
    "deep, lite0": Recipe(("deep",), network="lite0", border=BORDER),
    "deep regions (SLIC)": Recipe(("regions:deep",), border=BORDER),
    "deep regions (SLIC), 500 words": Recipe(("visual_words:deep",), border=BORDER),
    "colour layout": Recipe(("colour-layout",), border=BORDER),
    "blobs (SLIC)": Recipe(("regions:blobs",), border=BORDER),
    "blobs (n-cuts)": Recipe(("regions:blobs",), segmentation="ncuts", border=BORDER),
    "blobs (SLIC), 500 words": Recipe(("visual_words:blobs",), border=BORDER),
    "SIFT, 1000 words": Recipe(("visual_words:sift",), n_words=1000, border=BORDER),
}
"""Title -> recipe, of one view, that describes an image."""

Models = Mapping[str, Callable[[], Annotator]]
"""Title -> maker of a fresh annotator."""


class Division(NamedTuple):
    """Training and test images with the same views."""

    train: Corpus
    test: Corpus


class ImageRow(NamedTuple):
    """How well one descriptor let the test images be annotated."""

    descriptor: str
    n_columns: int
    annotator: str
    rule: Rule | None  # of the vote
    measures: PerWord


def compare_on_corel(
    data: Corel5k,
    recipes: Mapping[str, Recipe] = COREL,
    *,
    models: Models | None = None,
    cache: str | os.PathLike | None = None,
    workers: int = 2,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> list[ImageRow]:
    """Annotate the test images by each descriptor.

    Parameters
    ----------
    data : Corel5k, or a part of it
    recipes : title -> recipe of one view
    models : title -> maker of an annotator
        Fitted, besides the vote, wherever the descriptor is one of regions.
    cache, workers : as for `describe`
    seed : of the folds that the rule of the vote is chosen on
    say : told a line for every row
    """
    rows: list[ImageRow] = []
    for title, recipe in recipes.items():
        part = described(data, recipe, cache=cache, workers=workers)
        n_columns = image_rows(part.train[:1]).shape[1]
        for annotator, rule, scores in _annotations(part, models or {}, seed):
            measures = per_word(scores, part.test.captions, WORDS_PER_IMAGE)
            rows.append(ImageRow(title, n_columns, annotator, rule, measures))
            say(f"{title}, {annotator}: {measures}")
    return rows


def described(
    data: Corel5k | MSRC,
    recipe: Recipe,
    *,
    labels: Mapping[str, np.ndarray] | None = None,
    cache: str | os.PathLike | None = None,
    workers: int = 2,
) -> Division:
    """The pictures of a data set by a recipe that is fitted on its training part; `labels` gives them regions.

    Raises CorpusError where a picture can't be read: figures on fewer pictures would compare with nothing.
    """
    n_train = len(data.train)
    captions = sparse.csr_array(sparse.vstack([data.train.captions, data.test.captions]))
    photos = [Photo(image, jpeg, (labels or {}).get(image)) for image, jpeg in data.images()]
    description = describe(
        photos,
        recipe,
        captions=captions,
        vocabulary=data.train.vocabulary,
        train=np.arange(len(photos)) < n_train,
        workers=workers,
        cache=cache,
    )
    if description.unreadable:
        raise CorpusError(f"a picture can't be read: {description.unreadable[0]}")
    return Division(description.corpus[:n_train], description.corpus[n_train:])


def image_rows(corpus: Corpus) -> np.ndarray:
    """One row per image, (D, L): its descriptor, its bag of visual words, or the mean of its regions."""
    if corpus.descriptor is not None:
        return corpus.descriptor
    if corpus.visual_words is not None:
        return corpus.visual_words.toarray()
    if corpus.regions is None or corpus.region_offsets is None or not corpus.n_regions.all():
        raise CorpusError("an image without descriptor, visual words or regions has no row to compare")
    return np.add.reduceat(corpus.regions, corpus.region_offsets[:-1]) / corpus.n_regions[:, None]


def _annotations(part: Division, models: Models, seed: int):
    """(annotator, rule or None, scores (D, V) of the test images) for every annotator that can use the views."""
    rows, questions = image_rows(part.train), image_rows(part.test)
    truth = part.train.captions.toarray()
    # Means over words depend on how often a word occurs in the set: the folds have the size of the test set.
    n_folds = max(2, round(len(rows) / len(questions)))
    chosen = choose_rule(
        rows,
        part.train.captions,
        random_folds(len(rows), n_folds, seed),
        lambda scores, asked: per_word(scores, truth[asked], WORDS_PER_IMAGE).f1,
    )
    rules = {"vote": chosen, "vote, fixed rule": REFERENCE_RULE}
    for name, rule in rules.items():
        yield name, rule, vote(nearest(questions, rows, rule.n_neighbours), part.train.captions, rule)
    if part.train.regions is not None:
        for name, make in models.items():
            yield name, None, make().fit(part.train).annotate(part.test.without_captions())
