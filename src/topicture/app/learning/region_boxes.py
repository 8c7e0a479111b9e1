"""Where the likely words of photos are: rectangles, found once for many photos, for `write` to put into sidecars."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from topicture.annotations.choice.region_evidence import Calibration
from topicture.app.learning.labelling import WordBox, placed_words, region_p
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
