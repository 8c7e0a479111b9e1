"""Words that the owner of tagged photos may have left out: what the page and the terminal ask about.

Probable words come from a short list of the index and are looked at one by one, so that the next question is there at
once in a collection of any size. Whoever draws lots needs all pairs, word by word.
"""

from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topicture.errors import DataNotFound
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.listing import Listing
from topicture.store.suggestions import Open

__all__ = ["Absent", "absent_words", "has_index", "left_out"]

LEAST = 0.02
"""What is less probable is not worth a question."""

MOST = 50_000
"""Pairs of a word and a photo that are kept at hand."""

MANY = 2000  # photos decided since: looking at all of them anew is as quick


def left_out(
    catalog: Catalog, word: str | None = None, among: Container[int] | None = None
) -> Iterator[Open]:
    """Pairs without a verdict on photos that their owner has tagged, the most probable first; of a word, some photos.

    The probabilities are those that the photo got while its own tags were hidden from the model. Raises DataNotFound
    where there is no index yet.
    """
    images = catalog.index_images()
    words = _words_to_ask(catalog)
    implied = cache(lambda text: set(_implied(catalog, text).tolist()))
    for number, position, probability in _likely(catalog, images):
        text, found = words.get(number), int(images[position])
        if text is None or word not in (None, text) or (among is not None and found not in among):
            continue
        if found not in implied(text) and catalog.decisions.left_out(found, text):
            yield Open(found, text, float(probability))


def absent_words(catalog: Catalog, only: frozenset[str] = frozenset()) -> Iterator["Absent"]:
    """Each word, or some, with the tagged photos that nobody has decided it for, and how probable it is there."""
    index, images, listing = _index(catalog), catalog.index_images(), Listing(catalog.database)
    captioned = np.flatnonzero(np.isin(images, np.intersect1d(listing.captioned(), listing.living())))
    by_id = captioned[np.argsort(images[captioned])]
    ids = images[by_id]
    for number, text in _words_to_ask(catalog).items():
        if not only or text in only:
            decided = np.concatenate([listing.decided_on(text), _implied(catalog, text)])
            at = np.minimum(np.searchsorted(ids, decided), max(len(ids) - 1, 0))
            open_ = np.ones(len(ids), bool)
            if len(ids):
                open_[at[ids[at] == decided]] = False
            positions = by_id[open_]
            yield Absent(number, text, positions, np.asarray(index.row(number))[positions])


class Absent(NamedTuple):
    """A word of the index, positions of photos that it has not been decided for, and ln of its probability there."""

    number: int
    word: str
    positions: np.ndarray
    log_p: np.ndarray


def _words_to_ask(catalog: Catalog) -> dict[int, str]:
    """Number in the index -> name of today. Of several words that are one now, that one itself, or else the first."""
    vocabulary = _index(catalog).vocabulary
    unwanted, meant = catalog.decisions.unwanted_words(), catalog.decisions.merged_words()
    numbers: dict[str, int] = {}
    for number, word in enumerate(vocabulary):
        text = meant.get(word, word)
        if text not in unwanted and (text == word or text not in vocabulary):
            numbers.setdefault(text, number)
    return {number: text for text, number in numbers.items()}


def _implied(catalog: Catalog, word: str) -> np.ndarray:
    """Photos that have a word below it: nobody has left out that a tiger is an animal."""
    below = catalog.tree.below().get(word, set())
    listing = Listing(catalog.database)
    return np.concatenate([np.zeros(0, np.int64), *(listing.with_word(each) for each in sorted(below))])


def has_index(catalog: Catalog) -> bool:
    """Whether there is anything to ask about."""
    folder = catalog.index_folder()
    return folder is not None and folder.exists()


def _index(catalog: Catalog) -> WordIndex:
    folder = catalog.index_folder()
    if folder is None or not has_index(catalog):
        raise DataNotFound("there is no index yet; run 'topicture annotate'")
    return WordIndex.open(folder)


# --- The short list ---------------------------------------------------------------------------------------------


class _Short(NamedTuple):
    """The most probable pairs that were open when they were looked for, and the end of the log at that time."""

    about: tuple
    decision: int
    pairs: np.ndarray


_PAIR = np.dtype([("word", np.int32), ("position", np.int64), ("probability", np.float32)])
_kept: dict[Path, _Short] = {}


def _likely(catalog: Catalog, images: np.ndarray) -> np.ndarray:
    """Probable pairs, the most probable first. After a decision only the photos that it was about are looked at."""
    listing, index = Listing(catalog.database), _index(catalog)
    state, folder = listing.state(), catalog.index_folder()
    about = folder, state.files, state.words, len(images)
    short = _kept.get(catalog.folder)
    changed = None if short is None or short.about != about else listing.decided_since(short.decision)
    if short is None or changed is None or len(changed) > MANY:
        short = _Short(about, state.decision, _all_likely(catalog))
        _kept[catalog.folder] = short
        return short.pairs
    if not len(changed):
        return short.pairs
    again = np.flatnonzero(np.isin(images, changed))
    pairs = [short.pairs[~np.isin(short.pairs["position"], again)]]
    pairs += [_pairs(number, again, index.row(number)[again]) for number in _words_to_ask(catalog)]
    return _in_order(np.concatenate(pairs))


def _all_likely(catalog: Catalog) -> np.ndarray:
    pairs = np.zeros(0, _PAIR)
    for absent in absent_words(catalog):
        pairs = np.concatenate([pairs, _pairs(absent.number, absent.positions, absent.log_p)])
        if len(pairs) > MOST:
            pairs = pairs[np.argpartition(-pairs["probability"], MOST)[:MOST]]
    return _in_order(pairs)


def _pairs(word: int, positions: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    likely = np.flatnonzero(log_p >= np.log(LEAST))
    pairs = np.empty(len(likely), _PAIR)
    pairs["word"], pairs["position"], pairs["probability"] = word, positions[likely], np.exp(log_p[likely])
    return pairs


def _in_order(pairs: np.ndarray) -> np.ndarray:
    return pairs[np.lexsort((pairs["word"], pairs["position"], -pairs["probability"]))]
