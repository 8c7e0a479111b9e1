"""The map as pages read it: words with their places, and photos as binary columns."""

from dataclasses import dataclass

import numpy as np

from topicture.app.verbs.mapping.map_file import MapFile, read_map
from topicture.errors import DataNotFound
from topicture.store import Catalog

__all__ = ["GONE", "SUGGESTED", "TAGGED", "MapSummary", "MapWord", "map_points", "map_summary"]

TAGGED, SUGGESTED, GONE = 1, 2, 4
"""Flags of a photo: has a tag, has open suggestions, has no file any more."""


@dataclass(frozen=True)
class MapWord:
    """A word, its place, and the photos that have it now."""

    word: str
    x: float
    y: float
    photos: int


@dataclass(frozen=True)
class MapSummary:
    """What there is to draw. `status` is "none", "ready", or "stale": photos were annotated anew since it was made."""

    status: str
    source: str = ""
    version: str = ""
    points: int = 0
    made: float | None = None
    words: tuple[MapWord, ...] = ()


def map_summary(catalog: Catalog) -> MapSummary:
    """The map that was made last, with words as they are called today."""
    found = read_map(catalog.cache)
    if found is None:
        return MapSummary("none")
    is_current = found.index == str(catalog.get("index"))
    return MapSummary(
        "ready" if is_current else "stale",
        found.source,
        found.version,
        len(found.images),
        found.made,
        _words(catalog, found),
    )


def _words(catalog: Catalog, found: MapFile) -> tuple[MapWord, ...]:
    """Those in use, the most frequent first; of several that were merged, the first has the place."""
    means = catalog.decisions.merged_words()
    photos = {word.word: word.present for word in catalog.words.all()}
    words: dict[str, MapWord] = {}
    for former, x, y in found.words:
        word = means.get(former, former)
        if photos.get(word) and (word not in words or word == former):
            words[word] = MapWord(word, x, y, photos[word])
    return tuple(sorted(words.values(), key=lambda each: (-each.photos, each.word)))


def map_points(catalog: Catalog, version: str) -> bytes:
    """The columns of a map: int32 photos, float32 x, float32 y, uint8 flags; little-endian, one after the other.

    Photos come in no order, always the same, so that the first of them stand for all.
    Raises DataNotFound where that map was replaced.
    """
    found = read_map(catalog.cache)
    if found is None or found.version != version:
        raise DataNotFound("this map was made anew meanwhile; load the page again")
    flags = np.full(len(found.images), GONE, np.uint8)
    _flag(flags, found.images, catalog.files.living_images(), GONE, clear=True)
    _flag(flags, found.images, catalog.decisions.tagged_images(), TAGGED)
    models = catalog.suggestions.models()
    if models:
        suggested = np.fromiter(catalog.suggestions.open_images(models[0].id), np.int64)
        _flag(flags, found.images, suggested, SUGGESTED)
    order = np.random.default_rng(0).permutation(len(found.images))
    columns = (found.images, found.places[:, 0], found.places[:, 1], flags)
    return b"".join(column[order].tobytes() for column in columns)


def _flag(
    flags: np.ndarray, images: np.ndarray, chosen: np.ndarray, bit: int, *, clear: bool = False
) -> None:
    there = np.isin(images, chosen, assume_unique=True)
    if clear:
        flags[there] &= ~np.uint8(bit)
    else:
        flags[there] |= np.uint8(bit)
