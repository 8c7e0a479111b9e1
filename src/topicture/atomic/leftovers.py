"""Names of what is still being written, and clearing away what a killed process left of it.

Whoever writes holds a lock on the temporary file or folder, which the system lets go of when the process ends. What has
our name, belongs to this user and is locked by nobody was left behind. Folders must also hold our mark, since a name
like `.topicture.20260131` may well be a copy of a catalog that its owner made.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from topicture.atomic.syncing import sync_folder

try:
    import fcntl
except ImportError:  # Windows: what a process holds open can't be removed there, which protects it as well
    fcntl = None  # type: ignore[assignment]

__all__ = ["OLD", "TARGET", "recover", "remove_leftovers", "temporary_file", "work_folder"]

PREFIX = ".topicture."
TARGET, OLD = "target", "old"  # of a folder in work: the name that it is for, and what stood there before
_FILE = re.compile(r"\.topicture\.[a-z0-9_]{8}\.tmp")
_FOLDER = re.compile(r"\.topicture\.[a-z0-9_]{8}\.work")
_MARK = "written-by-topicture"


def temporary_file(folder: Path) -> tuple[int, Path]:
    """A new file in a folder, open to be written and locked; closing it lets go of the lock."""
    while True:
        handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=".tmp", dir=folder)
        # In the moment before the lock, another process may have taken the file for a leftover.
        if _lock(handle, wait=True) and os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)


@contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """A folder to prepare something in, on the file system of `parent`; removed with all that is in it at the end."""
    while True:
        work = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=".work", dir=parent))
        handle = _open(work)
        if handle is None or (_lock(handle, wait=True) and work.exists()):
            break
        os.close(handle)
    try:
        (work / _MARK).touch()
        sync_folder(work)
        yield work
    finally:
        with suppress(OSError):
            _clear(work)
        if handle is not None:
            os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left in a folder; half-replaced folders are put back first."""
    try:
        with os.scandir(folder) as entries:
            found = [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for path in found:
        try:
            if _FILE.fullmatch(path.name) and _is_ours(path, stat.S_ISREG):
                _if_unlocked(path, Path.unlink)
            elif _FOLDER.fullmatch(path.name) and _is_ours(path, stat.S_ISDIR):
                _if_unlocked(path, _remove_work)
        except OSError:  # a read-only folder, or gone meanwhile: nothing that we could do
            continue


def recover(work: Path) -> None:
    """Finish a replacement that was cut off after the old folder had been moved away."""
    target, old = work / TARGET, work / OLD
    if target.exists() and old.exists():
        name = os.fsdecode(target.read_bytes())
        place = work.parent / name
        if name == Path(name).name and not os.path.lexists(place):
            os.rename(old, place)
            sync_folder(work.parent)


def _remove_work(work: Path) -> None:
    if (work / _MARK).exists():
        recover(work)
        _clear(work)
    else:  # killed before it could be marked; with anything in it, it is not ours
        work.rmdir()


def _clear(work: Path) -> None:
    """Remove a folder in work; its mark goes last, so that what a crash leaves of it can still be told as ours."""
    with os.scandir(work) as entries:
        for entry in [entry for entry in entries if entry.name != _MARK]:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
    with suppress(OSError):  # a full disk that can't be synced is no reason to leave more on it
        sync_folder(work)
    shutil.rmtree(work)


def _is_ours(path: Path, is_kind: Callable[[int], bool]) -> bool:
    status = path.lstat()
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return mine and is_kind(status.st_mode)


def _if_unlocked(path: Path, remove: Callable[[Path], None]) -> None:
    handle = _open(path)
    try:
        if handle is None or _lock(handle, wait=False):
            remove(path)
    finally:
        if handle is not None:
            os.close(handle)


def _open(path: Path) -> int | None:
    """A handle to lock; None where the system has no such locks."""
    return None if fcntl is None else os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def _lock(handle: int, *, wait: bool) -> bool:
    """Whether the lock was got; a file system without locks has none to respect."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return wait  # without locks nobody can tell whether a file is a leftover: leave it
    return True
