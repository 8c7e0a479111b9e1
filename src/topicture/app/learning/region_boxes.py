"""Where the likely words of photos are: rectangles, found once for many photos, for `write` to put into sidecars."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from topicture.app.learning.labelling import WordBox, best_words, word_boxes
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.vision.recipe import Recipe
from topicture.vision.region_parts import known_region_parts

__all__ = ["find_boxes"]

BLOCK = 1024  # photos at a time, so that p(word | region) of all of them is never in memory


def find_boxes(
    annotator: Annotator,
    corpus: Corpus,
    paths: Sequence[Path],
    likely: Mapping[int, Sequence[str]],
    recipe: Recipe,
    cache: Path,
) -> dict[int, list[WordBox]]:
    """Rectangles by the number of the photo in the corpus.

    Parameters
    ----------
    paths : of the photos of the corpus, whose measurements are in the cache
    likely : number of a photo -> its likely words, of the vocabulary: they compete for its regions, since one word
        alone would get them all. Photos without any are left out.
    """
    wanted = [number for number, words in likely.items() if words and corpus.n_regions[number]]
    found: dict[int, list[WordBox]] = {}
    shapes = known_region_parts((paths[number] for number in wanted), recipe, cache)
    for start in range(0, len(wanted), BLOCK):
        block = wanted[start : start + BLOCK]
        for number, p in zip(block, annotator.label_regions(corpus[np.array(block)]), strict=True):
            shape = next(shapes)
            if shape is None or len(p) != shape.parts[:, 0].max() + 1:
                continue
            areas = np.bincount(shape.parts[:, 0].astype(int), weights=shape.parts[:, 5], minlength=len(p))
            regions = best_words(p, corpus.vocabulary, areas, likely[number])
            found[number] = word_boxes(shape, regions)
    return found
