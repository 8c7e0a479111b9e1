"""Replacing a file that other programs write too, without losing what they write.

A check and a rename after it leave a moment in between, in which another program may put its own file there. So the new
file is exchanged with the old one, which Linux does in one step: what was replaced is then in our hands. If it is not
what the new content was made from, it goes back to its place, and the caller starts again from it. A program that had
opened the old file, and writes into it where it lies now, is waited for. Other systems, and file systems that can't
exchange, get the check right before the rename.
"""

import ctypes
import errno
import os
import secrets
import signal
import stat
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["holds", "replace_unchanged"]

REST_SECONDS = 1.0  # how long a program that has the old file open for writing is waited for
_PAUSE = 0.005
_HERE = -100  # AT_FDCWD: paths are relative to the working folder, as everywhere
_ONLY_NEW, _EXCHANGE = 1, 2  # RENAME_NOREPLACE, RENAME_EXCHANGE
_CHANGED = (errno.EEXIST, errno.ENOENT)
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def replace_unchanged(path: Path, expected: bytes | None, content: bytes) -> bool:
    """Give a file a new content, whole and synced, if it still has the expected one (None: if it is not there).

    False where another program has changed it: its file is then in place. The mode is kept. A link, or anything else
    that is no regular file, is never replaced. Raises OSError.
    """
    path = path.absolute()
    temporary = path.with_name(f".topicture.{secrets.token_hex(8)}.tmp")
    try:
        _write(temporary, content, None if expected is None else stat.S_IMODE(os.lstat(path).st_mode))
        if expected is None:
            placed = not os.path.lexists(path) and rename(temporary, path, _ONLY_NEW)
        else:
            placed = holds(path, expected) and rename(temporary, path, _EXCHANGE)
            if placed and os.path.lexists(temporary):
                return _keep_or_give_back(temporary, path, expected, content)
        if placed:
            _sync_folder(path.parent)
        return placed
    except FileNotFoundError:
        if path.parent.is_dir():  # it was removed since it was read
            return False
        raise
    finally:
        temporary.unlink(missing_ok=True)


def rename(source: Path, target: Path, flag: int) -> bool:
    """Exchange two files, or put one where there is none, in one step; a plain rename where that is not known.

    False where the target came, or went, in the meantime.
    """
    code = _renameat2(source, target, flag)
    if code == 0:
        return True
    if code in _CHANGED:
        return False
    if code not in _UNSUPPORTED:
        raise OSError(code, os.strerror(code), os.fspath(target))
    os.replace(source, target)
    return True


def _keep_or_give_back(temporary: Path, path: Path, expected: bytes, content: bytes) -> bool:
    """After the exchange: True where what came out is, and stays, what was expected; else it is put back."""
    try:
        if holds(temporary, expected):
            _sync_folder(path.parent)
            if _rests(temporary) and holds(temporary, expected):
                return True
    except BaseException:
        _give_back(temporary, path, content)
        raise
    _give_back(temporary, path, content)
    return False


def _give_back(temporary: Path, path: Path, content: bytes) -> None:
    if rename(temporary, path, _EXCHANGE) and not holds(temporary, content):
        rename(
            temporary, path, _EXCHANGE
        )  # another program has already replaced ours: its file is the newest


def holds(path: Path, content: bytes) -> bool:
    """Whether a path is a regular file, not a link to one, with that content."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(content) + 1) == content


def _rests(path: Path) -> bool:
    """Whether no program has the file open for writing, or none does soon; where that can't be known, True."""
    deadline = time.monotonic() + REST_SECONDS
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while _has_writers(descriptor):
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        return True
    finally:
        os.close(descriptor)


def _has_writers(descriptor: int) -> bool:
    """A read lease is given only on a file that nobody has open for writing."""
    if fcntl is None or not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        fcntl.fcntl(
            descriptor, fcntl.F_SETSIG, signal.SIGURG
        )  # a signal that is ignored, unlike the default one
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _write(path: Path, content: bytes, mode: int | None) -> None:
    """A new, synced file; of the usual mode where none is given."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if mode is not None:
            os.chmod(path, mode)
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk; Windows does that by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that has nothing to sync
            raise
    finally:
        os.close(descriptor)


def _renameat2(source: Path, target: Path, flag: int) -> int:
    """0, or the number of the error; ENOSYS where the system has no such call."""
    call = getattr(_LIBC, "renameat2", None)
    if call is None:
        return errno.ENOSYS
    failed = call(_HERE, os.fsencode(source), _HERE, os.fsencode(target), flag)
    return ctypes.get_errno() if failed else 0


_LIBC = None if os.name == "nt" else ctypes.CDLL(None, use_errno=True)
