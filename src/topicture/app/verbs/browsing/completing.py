"""Words that a few typed letters may become."""

import unicodedata
from dataclasses import dataclass
from heapq import nsmallest

from topicture.app.verbs.browsing.columns import columns_of
from topicture.store import Catalog
from topicture.store.listing import Listing

__all__ = ["KnownWord", "complete"]


@dataclass(frozen=True)
class KnownWord:
    """A word and the number of photos that have it."""

    word: str
    photos: int


def complete(catalog: Catalog, typed: str, limit: int = 8) -> list[KnownWord]:
    """Words that begin with what was typed, then those with a part that does, then those that contain it.

    The most frequent first, among equals. Nothing typed stands for any word.
    """
    key = _plain(typed)
    counts = columns_of(catalog).word_counts(catalog)
    found = [
        (rank, -counts.get(number, 0), word)
        for number, word in Listing(catalog.database).words()
        if (rank := _rank(_plain(word), key)) < 3
    ]
    return [KnownWord(word, -photos) for _, photos, word in nsmallest(limit, found)]


def _rank(word: str, key: str) -> int:
    if word.startswith(key):
        return 0
    if any(part.startswith(key) for part in word.split()):
        return 1
    return 2 if key in word else 3


def _plain(word: str) -> str:
    """Without case and accents, as people type in haste."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).strip()
