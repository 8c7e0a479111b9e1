"""Whether a photo's sidecar has changed since it was last read, without opening anything."""

import os
from collections.abc import Iterable
from pathlib import Path

from topicture.collection.words import printable

__all__ = ["sidecar_stamp", "stamp_of_file"]


def sidecar_stamp(sidecars: Iterable[tuple[str, int, int]]) -> str:
    """(name, size, modified) of a photo's sidecars as one text that changes when they do."""
    return "\n".join(f"{size} {modified} {printable(name)}" for name, size, modified in sidecars)


def stamp_of_file(sidecar: Path) -> str:
    """The same for a sidecar that was just written, or that is not there."""
    try:
        status = os.lstat(sidecar)
    except FileNotFoundError:
        return ""
    return sidecar_stamp([(sidecar.name, status.st_size, status.st_mtime_ns)])
