"""The photos of a folder tree, found quickly and in a fixed order.

Only names and sizes are looked at; what a file really is, its decoder decides later. No symbolic link is followed: what
a link inside the tree leads to is either found under its own name, or lies outside and is none of ours. That rules out
loops as well.
"""

import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from topicture.collection.excluded import Excluded
from topicture.collection.kinds import PHOTOS, RAW, VIDEOS
from topicture.collection.skipped import Skipped
from topicture.collection.words import printable
from topicture.errors import DataNotFound

__all__ = ["PHOTO_SUFFIXES", "FoundPhoto", "Skipped", "sidecar_names", "walk_photos"]

PHOTO_SUFFIXES = PHOTOS
"""Ends of names, in lower case, that are taken for photos. Other files are passed over without a word."""

_SECOND = 1_000_000_000
_LONGEST_NAME = 255  # bytes, on all common file systems


class FoundPhoto(NamedTuple):
    """A file that looks like a photo.

    Attributes
    ----------
    path : str
        Relative to the root with `/` between its parts; bytes that are not UTF-8 are kept by surrogate escapes, as
        everywhere in Python.
    size : int
        In bytes.
    mtime_ns : int
        When it was last changed.
    sidecars : tuple of (name, size, mtime_ns)
        The sidecar beside it that is read with it, if there is one: by these a later walk sees a change of it.
    raw_sidecars : tuple of (name, size, mtime_ns)
        Further ones, which belong to the RAW file that it was made of: they are read, and never written.
    """

    path: str
    size: int
    mtime_ns: int
    sidecars: tuple[tuple[str, int, int], ...] = ()
    raw_sidecars: tuple[tuple[str, int, int], ...] = ()

    @property
    def latest_ns(self) -> int:
        """When it was last changed, or one of those."""
        return max(self.mtime_ns, *(changed for _, _, changed in self.raw_sidecars), 0)

    @property
    def stamp(self) -> int:
        """A number by which a later walk sees a change of it or of those: its time, but for parts of a second."""
        if not self.raw_sidecars:
            return self.mtime_ns
        told = zlib.crc32(repr((self.mtime_ns, self.raw_sidecars)).encode())
        return self.mtime_ns // _SECOND * _SECOND + told % _SECOND


def walk_photos(
    root: str | os.PathLike,
    *,
    excluded: Excluded | None = None,
    raw: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[FoundPhoto | Skipped]:
    """Every photo below a folder, in the order of names: the files of a folder, then its subfolders.

    Hidden files and folders (a leading dot, the catalog's own `.topicture` among them) are passed over, and what is
    `excluded`: if nothing is said, the caches of other programs. RAW files are photos if `raw` says so, unless a photo
    of the same name lies beside them: the two are one. How many videos and RAW files are none is counted in `left_out`.
    A link, a photo that is no regular file and a folder that can't be read are reported as `Skipped`.

    Raises
    ------
    DataNotFound
        The root is not there, or is no folder.
    """
    top = os.fspath(root)
    if not os.path.isdir(top):
        raise DataNotFound(f"{printable(top)}: {'not a folder' if os.path.exists(top) else 'no such folder'}")
    return _walk(
        os.path.join(top, ""), excluded or Excluded(), raw, Counter() if left_out is None else left_out
    )


def sidecar_names(name: str) -> tuple[str, ...]:
    """The names that the sidecar of a photo may have, in order of precedence; the first that exists is its sidecar.

    Where there is none yet, the first is its name: the full name and `.xmp`, or, where that is longer than file systems
    take, the shared one.
    """
    stem = os.path.splitext(name)[0]
    names = (f"{name}.xmp", f"{name}.XMP", f"{stem}.xmp", f"{stem}.XMP")
    return names if len(os.fsencode(names[0])) <= _LONGEST_NAME else names[2:]


def _walk(top: str, excluded: Excluded, raw: bool, left_out: Counter[str]) -> Iterator[FoundPhoto | Skipped]:
    waiting = [
        ""
    ]  # folders still to be read, relative to the top, each ending in a slash; a stack, so depth is no limit
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(top + folder) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(printable(folder.rstrip("/") or "."), f"folder can't be read ({error.strerror})")
            continue
        inner = []
        sidecars = {entry.name: entry for entry in ordered if entry.name.endswith((".xmp", ".XMP"))}
        parts = [(stem.casefold(), end.lower()) for stem, end in (os.path.splitext(e.name) for e in ordered)]
        developed = {stem for stem, end in parts if end in PHOTOS}
        raws: dict[str, list[str]] = {}  # of this folder, by what a photo that was made of them is called
        for entry, (stem, end) in zip(ordered, parts, strict=True):
            if end in RAW and sidecars:
                raws.setdefault(stem, []).append(entry.name)
        for entry, (stem, end) in zip(ordered, parts, strict=True):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not excluded.folder(f"{folder}{entry.name}/"):
                    inner.append(f"{folder}{entry.name}/")
            elif excluded.file(folder + entry.name) or (end in RAW and stem in developed):
                continue
            elif end in VIDEOS or (end in RAW and not raw):
                left_out["video" if end in VIDEOS else "RAW file"] += 1
            elif (found := _look(entry, folder + entry.name, end, sidecars, raws.get(stem, ()))) is not None:
                yield found
        waiting.extend(reversed(inner))


def _look(
    entry: os.DirEntry[str],
    path: str,
    end: str,
    sidecars: Mapping[str, os.DirEntry[str]],
    raws: Sequence[str],
) -> FoundPhoto | Skipped | None:
    """A file of the tree, with the sidecars of its folder and RAW files of its name; None where it is no photo."""
    is_photo = end in PHOTOS or end in RAW
    try:
        if entry.is_symlink():
            may_hold = is_photo or entry.is_dir()
            return Skipped(printable(path), "symbolic link, not followed") if may_hold else None
        if not is_photo:
            return None
        status = entry.stat(follow_symlinks=False)
    except OSError as error:  # gone since the folder was listed, or a link that leads round in circles
        return Skipped(printable(path), f"can't be looked at ({error.strerror})")
    if not stat.S_ISREG(status.st_mode):
        return Skipped(printable(path), "not a regular file")
    if not sidecars:
        return FoundPhoto(path, status.st_size, status.st_mtime_ns)
    beside = _look_beside(entry.name, sidecars)
    of_raw = {
        one[0]: one
        for raw in (raws if end in PHOTOS else ())
        for one in _look_beside(raw, sidecars)
        if one not in beside
    }
    return FoundPhoto(path, status.st_size, status.st_mtime_ns, beside, tuple(of_raw.values()))


def _look_beside(name: str, sidecars: Mapping[str, os.DirEntry[str]]) -> tuple[tuple[str, int, int], ...]:
    """Size and time of a photo's sidecar; none where it is gone since the folder was listed."""
    own = next((sidecar for sidecar in sidecar_names(name) if sidecar in sidecars), None)
    if own is None:
        return ()
    try:
        status = sidecars[own].stat(follow_symlinks=False)
    except OSError:
        return ()
    return ((own, status.st_size, status.st_mtime_ns),)
