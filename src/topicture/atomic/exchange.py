"""Replacing a file that other programs write too, without losing what they write.

A check and a rename after it leave a moment in between, in which another program may put its own file there. So the new
file is exchanged with the old one, which Linux does in one step: what was replaced is then in our hands. If it is not
what the new content was made from, it goes back to its place, and the caller starts again from it. A program that had
opened the old file, and writes into it where it lies now, is waited for. Other systems, and file systems that can't
exchange, get the check right before the rename.

Whoever is killed in between leaves what came out under a temporary name, which tells what it was to be. If it is
neither that nor ours, another program wrote it, and `remove_exchanged` puts it back.
"""

import errno
import hashlib
import os
import re
import secrets
import signal
import stat
import time
from contextlib import suppress
from pathlib import Path

from topicture.atomic.renaming import EXCHANGE, ONLY_NEW, rename_specially
from topicture.atomic.syncing import sync_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["holds", "remove_exchanged", "remove_unchanged", "replace_unchanged"]

REST_SECONDS = 1.0  # how long a program that has the old file open for writing is waited for
_PAUSE = 0.005
# What it is for: digests of the target's name, of the content expected there, and of ours. Older versions told nothing.
_TEMPORARY = re.compile(r"\.topicture\.[0-9a-f]{16}(?:\.([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{16}))?\.tmp")
_NOTHING = b""  # in place of the new content: the file is to be removed
_CHANGED = (errno.EEXIST, errno.ENOENT)
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def replace_unchanged(path: Path, expected: bytes | None, content: bytes) -> bool:
    """Give a file a new content, whole and synced, if it still has the expected one (None: if it is not there).

    False where another program has changed it: its file is then in place. The mode is kept. A link, or anything else
    that is no regular file, is never replaced. Raises OSError.
    """
    path = path.absolute()
    temporary = _temporary(path, expected or b"", content)
    try:
        _write(temporary, content, None if expected is None else stat.S_IMODE(os.lstat(path).st_mode))
        if expected is None:
            placed = not os.path.lexists(path) and rename(temporary, path, ONLY_NEW)
        else:
            placed = holds(path, expected) and rename(temporary, path, EXCHANGE)
            if placed and os.path.lexists(temporary):
                return _keep_or_give_back(temporary, path, expected, content)
        if placed:
            sync_folder(path.parent)
        return placed
    except FileNotFoundError:
        if path.parent.is_dir():  # it was removed since it was read
            return False
        raise
    finally:
        temporary.unlink(missing_ok=True)


def remove_unchanged(path: Path, expected: bytes) -> bool:
    """Remove a file if it still has the expected content; False where another program has changed or removed it.

    It is moved aside first, so that what is removed is what was looked at. Raises OSError.
    """
    path = path.absolute()
    temporary = _temporary(path, expected, _NOTHING)
    if not holds(path, expected):
        return False
    try:
        os.rename(path, temporary)
        is_expected = holds(temporary, expected) and _rests(temporary) and holds(temporary, expected)
    except FileNotFoundError:
        return False
    except BaseException:
        rename(temporary, path, ONLY_NEW)
        raise
    if not is_expected:
        rename(temporary, path, ONLY_NEW)  # where there is a file again, that is the newest
    temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return is_expected


def _temporary(path: Path, expected: bytes, content: bytes) -> Path:
    purpose = "-".join(map(_digest, (os.fsencode(path.name), expected, content)))
    return path.with_name(f".topicture.{secrets.token_hex(8)}.{purpose}.tmp")


def rename(source: Path, target: Path, flag: int) -> bool:
    """Exchange two files, or put one where there is none, in one step; a plain rename where that is not known.

    False where the target came, or went, in the meantime.
    """
    code = rename_specially(source, target, flag)
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
            sync_folder(path.parent)
            if _rests(temporary) and holds(temporary, expected):
                return True
    except BaseException:
        _give_back(temporary, path, content)
        raise
    _give_back(temporary, path, content)
    return False


def _give_back(temporary: Path, path: Path, content: bytes) -> None:
    if rename(temporary, path, EXCHANGE) and not holds(temporary, content):
        rename(temporary, path, EXCHANGE)  # another program has already replaced ours: its file is the newest


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


def remove_exchanged(folder: Path) -> None:
    """Clear away what killed exchanges left in a folder; only for whoever alone may exchange files there.

    A file that another program had put there in the last moment goes back to its place.
    """
    with suppress(OSError):
        for name in os.listdir(folder):
            match = _TEMPORARY.fullmatch(name)
            left = folder / name
            is_ours = match and stat.S_ISREG(os.lstat(left).st_mode)
            if match and is_ours and (not match[1] or _put_back(left, *match.groups())):
                left.unlink(missing_ok=True)


def _put_back(left: Path, name: str, expected: str, ours: str) -> bool:
    """Exchange once more where ours took the place of something that was not expected; whether the rest may go.

    Only while ours is still there: else what is left may be a part of ours, or somebody has written anew since. What
    was moved aside to be removed, and turned out to be another program's, is kept: of its name only a digest is known.
    """
    if _digest(left.read_bytes()) in (expected, ours):
        return True
    for target in left.parent.iterdir():
        if _digest(os.fsencode(target.name)) == name and stat.S_ISREG(os.lstat(target).st_mode):
            content = target.read_bytes()
            if _digest(content) == ours:
                _give_back(left, target, content)
                sync_folder(left.parent)
            return True
    return ours != _digest(_NOTHING)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
