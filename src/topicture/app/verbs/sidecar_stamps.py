"""Photos and sidecars as a scan finds them, without opening any: whether they have changed, or left one another."""

import os
from collections.abc import Iterable, Iterator

from topicture.collection.folder import FoundPhoto, sidecar_names
from topicture.collection.words import printable
from topicture.store import Catalog
from topicture.store.files import KnownFile

__all__ = ["has_same_photo", "is_unchanged", "left_behind", "sidecar_stamp"]


def sidecar_stamp(sidecars: Iterable[tuple[str, int, int]]) -> str:
    """(name, size, modified) of a photo's sidecars as one text that changes when they do."""
    return "\n".join(f"{size} {modified} {printable(name)}" for name, size, modified in sidecars)


def is_unchanged(found: FoundPhoto, before: KnownFile | None) -> bool:
    """Whether a photo and its sidecars are as they were."""
    return (
        before is not None
        and has_same_photo(found, before)
        and before.sidecars == sidecar_stamp(found.sidecars)
    )


def has_same_photo(found: FoundPhoto, before: KnownFile | None) -> bool:
    return (
        before is not None
        and before.gone is None
        and (before.size, before.modified) == (found.size, found.stamp)
    )


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
