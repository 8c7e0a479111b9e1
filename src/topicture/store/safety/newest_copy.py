"""The newest committed state of a database that lies where nothing can be written.

What was committed last may stand in a journal beside the database (-wal), or half a transaction in the database and
what to take back in another (-journal). SQLite needs to write to join them; opened as `immutable` it would not look at
them, and answer from an older state, or a torn one, without a word. So both are copied to where they can be joined.
"""

import os
import shutil
import tempfile
from pathlib import Path

from topicture.store.safety.own_files import CatalogError

__all__ = ["has_journal", "newest_copy"]

_JOURNALS = ("-wal", "-journal")
MOST_BYTES = 4 << 30
_TRIES = 3


def has_journal(path: Path) -> bool:
    """Whether a database is not the whole truth by itself."""
    return any(_stamp(journal)[0] > 0 for journal in _beside(path))


def newest_copy(path: Path) -> tempfile.TemporaryDirectory:
    """A temporary folder that holds a database and its journals under their own names.

    Raises CatalogError where they are too large, there is no room, or somebody writes to them meanwhile.
    """
    files = [path, *_beside(path)]
    way_out = "copy the catalog to a folder that can be written, and name it with --catalog"
    for _ in range(_TRIES):
        before = [_stamp(file) for file in files]
        n_bytes = sum(size for size, _ in before)
        folder = tempfile.TemporaryDirectory(prefix="topicture-")
        try:
            if n_bytes > min(MOST_BYTES, shutil.disk_usage(folder.name).free):
                raise CatalogError(
                    f"{path}: its last changes can't be read from a read-only folder, and a temporary copy of "
                    f"{n_bytes >> 20} MB has no room; {way_out}"
                )
            for file in files:
                if file.exists():
                    shutil.copyfile(file, Path(folder.name) / file.name)
            if [_stamp(file) for file in files] == before:
                return folder
            folder.cleanup()
        except BaseException as error:
            folder.cleanup()
            if isinstance(error, OSError):
                raise CatalogError(f"{path}: can't be read ({error.strerror}); {way_out}") from None
            raise
    raise CatalogError(f"{path}: somebody writes to it, and this user may not; try again, or {way_out}")


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + journal) for journal in _JOURNALS]


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
