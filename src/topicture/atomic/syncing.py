"""Telling the disk to keep what was written: a file's content, and the names that a folder holds.

A file that was synced can still be lost with its name: the name is the folder's content, and that is synced by itself.
"""

import errno
import os
import stat
from pathlib import Path

__all__ = ["make_folder", "new_mode", "sync_file", "sync_folder", "sync_tree"]

# What file systems without a way to sync a folder answer (some network mounts and FUSE).
_CANNOT = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF}


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on disk. Raises OSError."""
    # Windows syncs only what is open to be written.
    handle = os.open(path, (os.O_RDWR if os.name == "nt" else os.O_RDONLY) | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do that. Raises OSError."""
    if (
        os.name == "nt"
    ):  # it has no handles of folders that could be synced; its file systems log such changes
        return
    handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Sync everything in a folder, itself last. Raises OSError."""
    for inner, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(inner, name)
            if stat.S_ISREG(path.lstat().st_mode):
                sync_file(path)
        sync_folder(Path(inner))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, each of them synced into its parent. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def new_mode(mode: int) -> int:
    """What the user's umask leaves of a mode; temporary files are made private."""
    umask = os.umask(0)
    os.umask(umask)
    return mode & ~umask
