"""Words that the owner may have left out: probable by the index on photos that have tags, but not this one."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.suggestions import Open

__all__ = ["left_out"]

LEAST = 0.5
MOST = 50_000
"""Pairs of a word and a photo that are kept at hand."""


def left_out(catalog: Catalog, word: str | None = None) -> Iterator[Open]:
    """Pairs without a verdict on photos that their owner has tagged, the most probable first.

    The probabilities are those that the photo got while its own tags were hidden from the model.
    """
    folder = catalog.index_folder()
    if folder is None or not folder.exists():
        return
    images = catalog.index_images()
    vocabulary, pairs = _likely(folder, folder.stat().st_mtime_ns, word)
    unwanted, meant = catalog.decisions.unwanted_words(), catalog.decisions.merged_words()
    for number, position, probability in pairs:
        text, image = meant.get(vocabulary[number], vocabulary[number]), int(images[position])
        if text not in unwanted and catalog.decisions.left_out(image, text):
            yield Open(image, text, float(probability))


@lru_cache(maxsize=8)  # an index never changes; the time tells it from another that took its place
def _likely(folder: Path, made: int, word: str | None) -> tuple[list[str], np.ndarray]:
    """The vocabulary, and every likely pair of a word and the position of a photo, the most probable first."""
    index = WordIndex.open(folder)
    vocabulary = list(index.vocabulary)
    wanted = (
        range(len(vocabulary)) if word is None else [i for i, each in enumerate(vocabulary) if each == word]
    )
    pairs = np.zeros(0, _PAIR)
    for number in wanted:
        pairs = _best(np.concatenate([pairs, _likely_of(index, number)]))
    return vocabulary, pairs[np.lexsort((pairs["word"], pairs["position"], -pairs["probability"]))]


_PAIR = np.dtype([("word", np.int32), ("position", np.int64), ("probability", np.float32)])


def _best(pairs: np.ndarray) -> np.ndarray:
    """The most probable pairs, as many as are kept."""
    if len(pairs) <= MOST:
        return pairs
    return pairs[np.argpartition(-pairs["probability"], MOST)[:MOST]]


def _likely_of(index: WordIndex, word: int) -> np.ndarray:
    row = np.asarray(index.row(word))
    likely = np.flatnonzero(row >= np.log(LEAST))
    pairs = np.empty(len(likely), _PAIR)
    pairs["word"], pairs["position"], pairs["probability"] = word, likely, np.exp(row[likely])
    return pairs
