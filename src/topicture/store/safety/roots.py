"""Where a catalog's photos are: the whole collection may move, a copy or a catalog alone must not take over others.

A catalog inside its collection (PHOTOS/.topicture) notes the absolute path of PHOTOS, its home. When it is opened
somewhere else, one of three things happened:

moved     nothing with its id is at home any more, and the photos came along: the new place becomes home
copied    the original is still at home: two catalogs of the same decisions, so the user says what the copy is for
alone     the photos did not come along: those around it belong to somebody else
"""

import os
import sqlite3
import stat
from pathlib import Path
from shlex import quote

from topicture.store.files import Files, stored_path
from topicture.store.safety.own_files import CatalogError

__all__ = ["file_inside", "settle"]

SAMPLE = 64  # photos to look for where a catalog turns up elsewhere


def settle(folder: Path, home: str | None, catalog_id: str | None, files: Files) -> Path | None:
    """Check that the folder around a catalog is its collection; the former home where all of it has moved, else None.

    `home` is None for a catalog that was made before homes were noted.

    Raises CatalogError where the catalog was copied, or moved without its photos.
    """
    here = folder.parent
    if home == str(here):
        return None
    way_out = f"to use it for the photos here: topicture scan --catalog {quote(str(folder))} --root {quote(str(here))}"
    if home is not None:
        original = Path(home) / folder.name
        if _is_same(original, folder):
            return None
        if _is_copy(original / "catalog.sqlite", catalog_id):
            raise CatalogError(f"{folder}: a copy of the catalog in {home}, which is still there; {way_out}")
    if not _photos_are_here(here, files):
        where = home or "another folder"
        raise CatalogError(f"{folder}: its photos are not here but were in {where}; {way_out}")
    return None if home is None else Path(home)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one folder, as those of a mount do."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _is_copy(original: Path, catalog_id: str | None) -> bool:
    """Whether the catalog at home has our id; one that can't be asked counts as ours."""
    if not os.path.lexists(original):
        return False
    try:
        database = sqlite3.connect(f"{original.as_uri()}?mode=ro", uri=True)
        try:
            row = database.execute("SELECT value FROM settings WHERE key = 'id'").fetchone()
        finally:
            database.close()
    except sqlite3.Error:
        return True
    return row is not None and row[0] == f'"{catalog_id}"'


def _photos_are_here(here: Path, files: Files) -> bool:
    """Whether at least half of some known files are there at their size; true where none are known."""
    sample = files.sample(SAMPLE)
    found = 0
    for path, size in sample:
        try:
            about = os.lstat(here / path)
        except OSError:
            continue
        found += stat.S_ISREG(about.st_mode) and about.st_size == size
    return 2 * found >= len(sample)


def file_inside(root: Path, stored: str) -> Path:
    """The file of a path in the catalog, checked again for whoever is about to write beside it.

    Raises CatalogError where it lies, or a link on the way leads, outside the collection.
    """
    path = root / stored_path(os.fsencode(stored))
    real = os.path.realpath(root)
    if os.path.commonpath([os.path.realpath(path.parent), real]) != real:
        raise CatalogError(f"{path}: a link on the way leads out of the collection; scan again")
    return path
