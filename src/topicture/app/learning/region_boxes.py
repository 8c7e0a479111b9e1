"""Where the likely words of photos are: rectangles, found once for many photos, for `write` to put into sidecars.

And how well they fit rectangles that people have marked: in other programs, or in annotations that were imported.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from topicture.annotations.choice.region_evidence import Calibration, Overlaps
from topicture.app.learning.labelling import UNTOLD, WordBox, placed_words, region_p
from topicture.app.learning.word_boxes import Rectangle, box_overlap
from topicture.collection.sidecar.marked import marked_regions
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.store import Catalog
from topicture.store.files import LivingImage
from topicture.store.regions import Box
from topicture.vision.recipe import Recipe
from topicture.vision.region_parts import known_region_parts

__all__ = ["asking_about_marks", "find_boxes"]

BLOCK = 1024  # photos at a time, so that p(word | region) of all of them is never in memory
MOST_READ = 5000  # photos whose metadata are read for marks
WHOLE = (0.0, 0.0, 1.0, 1.0)

Marks = Mapping[int, Mapping[str, list[Rectangle]]]
"""Number of a photo in a corpus -> tag of it -> rectangles around it that people have marked."""


def find_boxes(
    annotator: Annotator,
    corpus: Corpus,
    paths: Sequence[Path],
    likely: Mapping[int, Mapping[str, float]],
    recipe: Recipe,
    cache: Path,
    calibration: Calibration,
) -> dict[int, list[WordBox]]:
    """Rectangles by the number of the photo in the corpus.

    Parameters
    ----------
    paths : of the photos of the corpus, whose measurements are in the cache
    likely : number of a photo -> its likely words and how likely they are, 1 for tags: they compete for its regions,
        since one word alone would get them all. Photos without any are left out.
    """
    wanted = [number for number, words in likely.items() if words and corpus.n_regions[number]]
    found: dict[int, list[WordBox]] = {}
    shapes = known_region_parts((paths[number] for number in wanted), recipe, cache)
    for start in range(0, len(wanted), BLOCK):
        block = wanted[start : start + BLOCK]
        known = {row: likely[number] for row, number in enumerate(block)}
        labels = region_p(annotator, corpus[np.array(block)], known)
        for number, p in zip(block, labels, strict=True):
            shape = next(shapes)
            if shape is None or len(p) != shape.parts[:, 0].max() + 1:
                continue
            found[number] = placed_words(p, shape, corpus.vocabulary, likely[number], calibration)
    return found


def asking_about_marks(
    catalog: Catalog, images: Sequence[LivingImage], corpus: Corpus, recipe: Recipe, seed: int
) -> Callable[[Annotator], Overlaps] | None:
    """How far a model's rectangles overlap with those that people marked on photos; None where nobody marked any.

    `images` are the photos of the corpus, looked at by the recipe.
    """
    paths = [catalog.root / image.path for image in images]
    marks = _marks(catalog.regions.marked(), [image.image for image in images], paths, corpus, seed)
    return partial(_overlaps, marks, corpus, paths, recipe, catalog.cache) if marks else None


def _marks(
    imported: Mapping[int, Sequence[Box]],
    images: Sequence[int],
    paths: Sequence[Path],
    corpus: Corpus,
    seed: int,
) -> Marks:
    found: dict[int, dict[str, list[Rectangle]]] = {}
    tagged = np.random.default_rng(seed).permutation(np.flatnonzero(corpus.tagged)).tolist()
    for place, number in enumerate(tagged):
        marks: list[tuple[str, Rectangle]] = [
            (box.word, box[1:5]) for box in imported.get(images[number], ())
        ]
        if place < MOST_READ:
            marks += [(mark.word, (mark.x, mark.y, mark.w, mark.h)) for mark in marked_regions(paths[number])]
        tags = _tags(corpus, number)
        for word, rectangle in marks:
            if word in tags:  # not one that was taken back, or that is too rare to be learned
                found.setdefault(number, {}).setdefault(word, []).append(rectangle)
    return dict(sorted(found.items()))


def _tags(corpus: Corpus, number: int) -> dict[str, float]:
    return {corpus.vocabulary[word]: 1.0 for word in corpus.captions[[number]].indices.tolist()}


def _overlaps(
    marks: Marks, corpus: Corpus, paths: Sequence[Path], recipe: Recipe, cache: Path, annotator: Annotator
) -> Overlaps:
    known = {number: _tags(corpus, number) for number in marks}
    boxes = find_boxes(annotator, corpus, paths, known, recipe, cache, UNTOLD)
    placed, whole = [], []
    for number, words in marks.items():
        where = {box.word: box[1:5] for box in boxes.get(number, ())}
        for word, rectangles in words.items():
            placed.append(
                max(box_overlap(where[word], each) for each in rectangles) if word in where else 0.0
            )
            whole.append(max(box_overlap(WHOLE, each) for each in rectangles))
    return Overlaps(np.array(placed), np.array(whole))
