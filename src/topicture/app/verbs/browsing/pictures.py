"""How large pictures are and when they were taken.

Sizes are known to the cache of thumbnails. Dates are read by a scan; of files whose kind it can't read, the cache may
know them, too.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple

import numpy as np

from topicture.store import Catalog
from topicture.store.listing import Listing, Placed

__all__ = ["UNKNOWN", "Picture", "dates_version", "known_pictures", "shown_path", "taken_dates"]

FILE = "thumbnails.sqlite"
MANY = 500  # names of values in one statement


class Picture(NamedTuple):
    """Size in pixels, upright, and when the camera says that it was taken (2024-05-01T12:30:00)."""

    width: int | None
    height: int | None
    taken: str | None


UNKNOWN = Picture(None, None, None)


def known_pictures(catalog: Catalog, placed: Mapping[int, Placed]) -> dict[int, Picture]:
    """What is known of photos, given with their places."""
    found: dict[bytes, Picture] = {}
    wanted = [place.content for place in placed.values()]
    with _cache(catalog) as cache:
        for start in range(0, len(wanted), MANY):
            if cache is None:
                break
            some = wanted[start : start + MANY]
            marks = ", ".join("?" * len(some))
            statement = f"SELECT content, width, height, taken FROM pictures WHERE content IN ({marks})"
            found |= {content: Picture(*rest) for content, *rest in cache.execute(statement, some)}
    pictures = {image: found.get(place.content, UNKNOWN) for image, place in placed.items()}
    return {image: each._replace(taken=placed[image].taken or each.taken) for image, each in pictures.items()}


def dates_version(catalog: Catalog) -> tuple[int, ...]:
    """Something that is the same for as long as the dates are."""
    path = catalog.cache / FILE
    found: list[int] = []
    for file in (path, path.with_name(f"{FILE}-wal")):
        try:
            stat = file.stat()
        except OSError:
            continue
        found += [stat.st_size, stat.st_mtime_ns]
    return tuple(found)


def taken_dates(catalog: Catalog) -> tuple[np.ndarray, np.ndarray]:
    """Photos whose camera noted when they were taken, and the seconds, on the clock of the camera.

    A photo may come twice; then the last counts.
    """
    read = Listing(catalog.database).taken()
    with _cache(catalog) as cache:
        if cache is None:
            return read
        cache.execute("ATTACH ? AS catalog", (f"{catalog.database.path.absolute().as_uri()}?mode=ro",))
        row = cache.execute(
            "WITH found (image, at) AS (SELECT images.id, unixepoch(taken) FROM pictures "
            "JOIN catalog.images USING (content) WHERE unixepoch(taken) IS NOT NULL) "
            "SELECT group_concat(image), group_concat(at) FROM found"
        ).fetchone()
    seen = (np.fromstring(text or "", np.int64, sep=",") for text in row)
    images, seconds = (np.concatenate(both) for both in zip(seen, read, strict=True))
    return images, seconds


def shown_path(path: str) -> str:
    """A path as text that every reader of JSON takes: bytes that are no text become question marks."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@contextmanager
def _cache(catalog: Catalog) -> Iterator[sqlite3.Connection | None]:
    """The cache, to read; None where there is none yet, or it is damaged: thumbnails can be made again."""
    path = catalog.cache / FILE
    if not path.exists():
        yield None
        return
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
    except sqlite3.Error:
        yield None
        return
    with closing(connection):
        try:
            connection.execute("SELECT content, width, height, taken FROM pictures LIMIT 1").fetchone()
            usable = True
        except sqlite3.Error:
            usable = False
        yield connection if usable else None
