"""Sidecars as a scan finds them, without opening any: whether one has changed, and whether its photo has left it."""

import os
from collections.abc import Iterable, Iterator

from topicture.collection.folder import sidecar_names
from topicture.collection.words import printable
from topicture.store import Catalog

__all__ = ["left_behind", "sidecar_stamp"]


def sidecar_stamp(sidecars: Iterable[tuple[str, int, int]]) -> str:
    """(name, size, modified) of a photo's sidecars as one text that changes when they do."""
    return "\n".join(f"{size} {modified} {printable(name)}" for name, size, modified in sidecars)


def left_behind(catalog: Catalog) -> Iterator[str]:
    """A line for each sidecar that lies where its photo was before it was moved, and that no other photo has."""
    for path, stamp, now in catalog.files.moved_away():
        folder, name = os.path.split(path)
        for sidecar in sidecar_names(name):
            if stamp.endswith(f" {printable(sidecar)}") and (catalog.root / folder / sidecar).is_file():
                beside = os.listdir(catalog.root / folder)
                if not any(sidecar in sidecar_names(other) for other in beside if other != sidecar):
                    where = printable(os.path.join(folder, sidecar))
                    yield f"{where}: its photo is {printable(now)} now; move the sidecar there, or delete it"
