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
    vocabulary, numbers, positions, probabilities = _likely(folder, word)
    deleted = set(catalog.decisions.deleted_words())
    for number, position, probability in zip(numbers, positions, probabilities, strict=True):
        text, image = vocabulary[number], int(images[position])
        if text not in deleted and catalog.decisions.left_out(image, text):
            yield Open(image, text, float(probability))


@lru_cache(maxsize=8)  # an index never changes: a new one gets a folder of its own
def _likely(folder: Path, word: str | None) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """The vocabulary, and number of the word, position of the photo and probability of every likely pair, in order."""
    index = WordIndex.open(folder)
    vocabulary = list(index.vocabulary)
    wanted = range(len(vocabulary)) if word is None else [i for i, each in enumerate(vocabulary) if each == word]
    numbers, positions, probabilities = [], [], []
    for number in wanted:
        row = np.asarray(index.row(number))
        likely = np.flatnonzero(row >= np.log(LEAST))
        numbers.append(np.full(len(likely), number, np.int32))
        positions.append(likely.astype(np.int64))
        probabilities.append(np.exp(row[likely]))
    if not numbers:
        return vocabulary, *(np.zeros(0, np.int64),) * 3
    number, position, probability = map(np.concatenate, (numbers, positions, probabilities))
    order = np.lexsort((number, position, -probability))[:MOST]
    return vocabulary, number[order], position[order], probability[order]
