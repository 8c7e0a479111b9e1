"""Whether a photo's sidecar has changed since it was last read, without opening anything."""

from collections.abc import Iterable

from topicture.collection.words import printable

__all__ = ["sidecar_stamp"]


def sidecar_stamp(sidecars: Iterable[tuple[str, int, int]]) -> str:
    """(name, size, modified) of a photo's sidecars as one text that changes when they do."""
    return "\n".join(f"{size} {modified} {printable(name)}" for name, size, modified in sidecars)
