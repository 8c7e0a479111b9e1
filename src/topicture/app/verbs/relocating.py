"""Relocate: tell a catalog where its photos are now."""

import os
from dataclasses import dataclass
from pathlib import Path

from topicture.app.verbs.library import Library
from topicture.collection.words import printable
from topicture.errors import DataNotFound

__all__ = ["Relocated", "relocate"]


@dataclass(frozen=True)
class Relocated:
    """Where the photos were and are, how many the catalog knows, and how many of them lie there."""

    before: str
    now: str
    known: int
    found: int


def relocate(library: Library, folder: str | os.PathLike) -> Relocated:
    """Turn to the photos in `folder`, which were moved there with their tree as it was; nothing is read yet.

    Raises DataNotFound where none of the known photos is there; the catalog is then left as it is.
    """
    now = Path(folder).resolve()
    with library.reading() as catalog:
        before = str(catalog.root)
        paths = [path for path, known in catalog.files.known().items() if known.gone is None]
    found = sum((now / path).is_file() for path in paths)
    if paths and not found:
        raise DataNotFound(
            f"{printable(str(now))}: none of the {len(paths)} photos of this catalog is there; name the folder that "
            f"took the place of {printable(before)}"
        )
    library.writing("relocate", now).close()
    return Relocated(before, str(now), len(paths), found)
