"""Files that appear whole or not at all."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from topicture.atomic.leftovers import temporary_file
from topicture.atomic.syncing import make_folder, new_mode, sync_folder

__all__ = ["put_in_place", "write_atomically"]


def write_atomically(
    path: Path, content: bytes, *, before_replace: Callable[[], object] | None = None
) -> None:
    """Write a file through a temporary one beside it; the mode of an existing file is kept.

    When this returns, the file is on disk with its name. `before_replace` is called right before the file takes its
    place; where it raises, nothing is replaced. A link, a pipe or a device in that place is never replaced.
    Raises OSError.
    """
    path = path.absolute()
    make_folder(path.parent)
    handle, temporary = temporary_file(path.parent)
    try:
        # The file stays open, since closing it would let go of its lock; Windows can't rename open files.
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.chmod(temporary, mode_for(path))
            os.fsync(file.fileno())
            if os.name != "nt":
                put_in_place(temporary, path, before_replace)
        if os.name == "nt":
            put_in_place(temporary, path, before_replace)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def put_in_place(temporary: Path, path: Path, before_replace: Callable[[], object] | None = None) -> None:
    """Rename a file to its place, over a regular file or nothing. Raises OSError."""
    mode_for(path)
    if before_replace is not None:
        before_replace()
    os.replace(temporary, path)


def mode_for(path: Path) -> int:
    """The mode of an existing regular file, or that of a new one. Raises OSError for anything else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return new_mode(0o666)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return stat.S_IMODE(mode) & 0o777
