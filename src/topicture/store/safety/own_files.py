"""Which files and folders are the catalog's own: regular files only, never links, and folders that bear its mark.

Whoever can put a link into a catalog's folder could otherwise make us empty, overwrite or delete what it points to.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from topicture.errors import TopictureError

__all__ = [
    "MARK",
    "CatalogError",
    "bears_mark",
    "is_plain_name",
    "mark",
    "refuse_links",
    "refuse_others_files",
]

MARK = ".topicture-catalog"
"""A file in every folder that a catalog makes inside itself; it holds the catalog's id. Nothing else is deleted."""

_DATABASE = ("catalog.sqlite", *(f"catalog.sqlite-{part}" for part in ("wal", "shm", "journal")))
_FOLDERS = ("cache", "models", "index")


class CatalogError(TopictureError):
    """The catalog can't be opened or written; says which file, why and what to do."""


class OldCatalog(CatalogError):
    """A catalog of an older version; opened to write, it becomes one of today's."""


def refuse_links(folder: Path) -> None:
    """Raise CatalogError where the catalog's folder or something of its own is a link or of another kind."""
    if folder.is_symlink():
        raise CatalogError(
            f"{folder}: a link to {os.path.realpath(folder)}; name that folder itself with --catalog"
        )
    caches = folder.glob("cache/*.sqlite*") if (folder / "cache").is_dir() else ()
    for path in (*(folder / name for name in (*_DATABASE, "lock")), *caches):
        _refuse_unless(path, stat.S_ISREG, "an ordinary file")
    for name in _FOLDERS:
        _refuse_unless(folder / name, stat.S_ISDIR, "a folder")


def _refuse_unless(path: Path, is_kind: Callable[[int], bool], kind: str) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError:  # not there, or told by whoever opens it
        return
    if not is_kind(mode):
        what = "a link" if stat.S_ISLNK(mode) else "something else"
        raise CatalogError(f"{path}: {what} where a catalog has {kind}; remove it, or restore a backup")


def refuse_others_files(folder: Path) -> None:
    """Raise CatalogError where a folder that is to become a catalog holds anything but an unfinished one."""
    if not folder.is_dir():
        return
    foreign = sorted({path.name for path in folder.iterdir()} - {*_DATABASE, "lock"})
    if foreign and not (folder / "catalog.sqlite").exists():
        raise CatalogError(
            f"{folder}: holds other files ({foreign[0]!r}); a catalog needs a new or an empty folder"
        )


def is_plain_name(name: object) -> bool:
    """Whether a text from a database names a folder as we do: digits, nothing that leads elsewhere."""
    return isinstance(name, str) and name.isascii() and name.isdigit()


def mark(folder: Path, catalog_id: str) -> None:
    """Make a folder one that this catalog may delete."""
    with open(folder / MARK, "x", encoding="ascii") as file:
        file.write(catalog_id)
        file.flush()
        os.fsync(file.fileno())


def bears_mark(folder: Path, catalog_id: str) -> bool:
    """Whether a folder was made by this catalog."""
    try:
        path = folder / MARK
        return not (folder.is_symlink() or path.is_symlink()) and path.read_bytes() == catalog_id.encode()
    except OSError:
        return False
