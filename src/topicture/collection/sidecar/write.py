"""Writing tags beside a photo: an XMP sidecar, merged with what is there, whole or not at all.

The photo itself is never opened for writing. A sidecar that can't be understood is left alone.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from topicture.atomic.exchange import holds, remove_unchanged, replace_unchanged
from topicture.collection.metadata.keywords import embedded_paths, read_sidecar, sidecar_path
from topicture.collection.metadata.xmp import MAX_XMP, BadXmp, parse_xmp
from topicture.collection.sidecar.marked import stored_picture
from topicture.collection.sidecar.merge import merge
from topicture.collection.sidecar.values import ObjectRegion, SidecarError, Tag
from topicture.collection.sidecar.verbatim import with_original_bytes
from topicture.collection.sidecar.xmp_edit import is_ours_and_empty, new_document, serialise
from topicture.collection.words import clean_word, printable
from topicture.errors import DataNotFound

__all__ = ["ObjectRegion", "SidecarError", "SidecarReport", "Tag", "sidecar_path", "write_sidecar"]

_TRIES = 8  # how often a sidecar may be changed under our hands before we give up
_PAUSE = 0.005  # seconds, longer every time


@dataclass(frozen=True)
class SidecarReport:
    """What writing a sidecar did, or would do.

    `added` are words that the sidecar did not have; `removed` words of ours that it no longer has; `kept` words that
    were to be removed and that others wrote. `changed` is also True where only a region, a probability or who chose a
    word changed. `sidecars` are (name, size, mtime_ns) of the sidecar as it was left, as a walk finds it
    (`FoundPhoto.sidecars`); None where another program has changed it since.
    """

    path: Path
    changed: bool
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    sidecars: tuple[tuple[str, int, int], ...] | None = field(default=None, compare=False)


def write_sidecar(
    photo: str | os.PathLike,
    *,
    add: Iterable[Tag] = (),
    remove: Iterable[str] = (),
    regions: Iterable[ObjectRegion] = (),
    places: Mapping[str, tuple[str, ...]] | None = None,
    dry_run: bool = False,
) -> SidecarReport:
    """Bring a photo's sidecar to the wanted state, keeping everything else that it holds.

    The same call again changes nothing, to the byte. A sidecar that Topicture made, and that says nothing any
    more, is removed. One that another program changes in the meantime is read and merged again.

    Parameters
    ----------
    photo : path
        The photo; its sidecar is `sidecar_path(photo)`.
    add : tags
        Words to write. A word that somebody else wrote stays theirs and is not recorded as ours.
    remove : words
        Words to take back, with our regions of them. Only what Topicture wrote is removed.
    regions : regions
        Of the upright picture; they are written for the pixels as stored, as other programs expect. They take the place
        of our earlier regions of the same words; those of other words stay.
    places : words with their paths in a tree of tags
        Where words of others belong that are copied into a list of trees and whose place no list tells.
    dry_run : bool
        Report, but write nothing.

    Raises
    ------
    SidecarError
        The sidecar is malformed, has a DTD, is too large, is a link, says more in place of a list than a list can hold,
        or never stops changing; it is left as it is.
    BadWord
        A word to remove is none.
    DataNotFound
        There is no such photo.
    OSError
        It can't be written now: disk full, read-only, no permission. The old sidecar is whole.
    """
    photo = Path(photo)
    if not photo.is_file():
        raise DataNotFound(f"{printable(str(photo))}: no such photo")
    tags = {tag.word: tag for tag in add}
    unwanted = tuple(dict.fromkeys(map(clean_word, remove)))
    boxes, size = _on_stored_pixels(photo, tuple(regions))
    if both := tags.keys() & unwanted:
        raise SidecarError(f"'{min(both)}' is both to be added and to be removed")
    embedded = embedded_paths(photo) if tags else {}
    for word in unwanted:
        embedded.pop(word, None)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for turn in range(_TRIES):
        time.sleep(turn * _PAUSE)
        path = sidecar_path(photo)
        try:
            before = _content(path)
            tree = new_document() if before is None else parse_xmp(before)
            changes = merge(tree, tuple(tags.values()), unwanted, boxes, embedded, now, size, places)
        except BadXmp as reason:
            raise SidecarError(f"{printable(path.name)}: {reason}; left as it is") from None
        content = before
        if changes.touched and before is not None and is_ours_and_empty(tree):
            content = None
            if not dry_run and not remove_unchanged(path, before):
                continue
        elif changes.touched:
            content = serialise(tree, before)
            if before is not None:
                content = with_original_bytes(before, content)
            if len(content) > MAX_XMP:
                raise SidecarError(
                    f"{printable(path.name)}: with our words its {len(content)} bytes would be over the limit of "
                    f"{MAX_XMP}; left as it is"
                )
            if not dry_run and not replace_unchanged(path, before, content):
                continue
        return SidecarReport(
            path,
            changes.touched,
            tuple(changes.added),
            tuple(changes.removed),
            tuple(changes.kept),
            _left(path, content),
        )
    raise SidecarError(
        f"{printable(sidecar_path(photo).name)}: another program keeps changing it; try again later"
    )


def _on_stored_pixels(
    photo: Path, regions: tuple[ObjectRegion, ...]
) -> tuple[tuple[ObjectRegion, ...], tuple[int, int] | None]:
    """Regions as the standards have them: programs put them upright together with the picture; and its size."""
    if not regions:
        return (), None
    size, orientation = stored_picture(photo)
    return tuple(region.as_stored(orientation) for region in regions), size


def _left(path: Path, content: bytes | None) -> tuple[tuple[str, int, int], ...] | None:
    """The sidecar if it has that content; looked at first, so that a later change shows."""
    try:
        status = os.lstat(path)
    except OSError:
        return () if content is None else None
    known = content is not None and holds(path, content)
    return ((path.name, status.st_size, status.st_mtime_ns),) if known else None


def _content(path: Path) -> bytes | None:
    return read_sidecar(path) if os.path.lexists(path) else None
