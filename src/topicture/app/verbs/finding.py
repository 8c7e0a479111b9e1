"""Which catalog a command is about when none is named: the nearest one above that this user can trust.

A catalog decides which files are read and where sidecars are written, so one that somebody else has put into a folder
above, say into /tmp or onto a shared disk, must not take over. As git does with its repositories: it has to belong to
the user (with sudo, to root or to the user who called it), and the search ends where the file system does.
"""

import os
from pathlib import Path

from topicture.store import Catalog, CatalogError
from topicture.store.catalog import FOLDER_NAME

__all__ = ["find_above", "named_catalog", "refuse_photos_elsewhere"]


def named_catalog(folder: Path) -> Path:
    """The folder of a catalog that was named itself, or by the collection it lies in."""
    nested = folder / FOLDER_NAME
    return nested if os.path.lexists(nested / "catalog.sqlite") else folder


def find_above(here: Path) -> Path:
    """The folder of the nearest catalog, here or above; raises CatalogError where there is none, or only others'."""
    passed_over = ""
    for folder in (here, *here.parents):
        if not _is_on_one_disk(here, folder):
            passed_over = passed_over or f" (not searched beyond the file system, above {folder})"
            break
        catalog = folder / FOLDER_NAME
        if os.path.lexists(catalog / "catalog.sqlite"):
            if _is_ours(catalog):
                return catalog
            passed_over = passed_over or f" (that in {folder} belongs to somebody else)"
    raise CatalogError(
        f"{here}: no catalog here or above{passed_over}; make one with 'topicture init PHOTOS', or use --catalog"
    )


def _is_on_one_disk(here: Path, folder: Path) -> bool:
    try:
        return os.stat(here).st_dev == os.stat(folder).st_dev
    except OSError:
        return True


def _is_ours(catalog: Path) -> bool:
    if not hasattr(os, "geteuid"):  # Windows: its owners are not numbers
        return True
    users = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    try:
        return {os.lstat(path).st_uid for path in (catalog, catalog / "catalog.sqlite")} <= users
    except OSError:
        return False


def refuse_photos_elsewhere(catalog: Catalog, around: Path | None) -> Catalog:
    """A catalog that was found from a folder of its photos, or named; any other is closed, with a CatalogError."""
    root = catalog.root
    if around is not None and not around.is_relative_to(root.resolve()):
        catalog.close()
        raise CatalogError(
            f"{catalog.folder}: a catalog of the photos in {root}, not of those here; name it with --catalog"
        )
    return catalog
