"""One writer at a time: a lock that the system releases when its holder ends, however it ends."""

import errno
import json
import os
import socket
import stat
import time
from pathlib import Path
from typing import Self

from topicture.errors import TopictureError
from topicture.store.safety.own_files import CatalogError

__all__ = ["CatalogBusy", "WriterLock"]

PATIENCE = 2.0  # seconds that a writer waits for another that may be about to end
_PAUSE = 0.05
_MOST_BYTES = 4096
_BEGINNING = b'{"command": '
# What systems answer when somebody else holds the lock; anything else says that there can be no lock.
_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}


class CatalogBusy(TopictureError):
    """Another process writes to the catalog; says which, and since when."""


class WriterLock:
    """Held from `acquire` to `release` or the end of the process.

    The lock belongs to the open file, not to its presence, so a killed holder leaves nothing to clean up.
    """

    def __init__(self, path: Path):
        self.path = path
        self._file: int | None = None

    def acquire(self, command: str, patience: float = PATIENCE) -> Self:
        """Take the lock, if need be after waiting for a moment.

        Raises
        ------
        CatalogBusy
            Another process, or another part of this one, holds it.
        CatalogError
            The file is not a lock of ours, or its file system has no locks.
        OSError
            It can't be opened.
        """
        handle = _open(self.path)
        try:
            self._wait(handle, patience)
            if not _is_ours(handle):
                raise CatalogError(f"{self.path}: not a lock of Topicture's; move that file away")
            _write_about(handle, command)
        except BaseException:
            os.close(handle)
            raise
        self._file = handle
        return self

    def _wait(self, handle: int, patience: float) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                return _lock(handle)
            except OSError as error:
                if error.errno not in _HELD:
                    raise CatalogError(
                        f"{self.path}: can't be locked ({error.strerror}); put the catalog on a file system "
                        "with locks, and name it with --catalog"
                    ) from None
            if time.monotonic() >= deadline:
                raise CatalogBusy(f"{self.path.parent}: {_holder(handle)}; wait for it to end") from None
            time.sleep(_PAUSE)

    def release(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None


def _open(path: Path) -> int:
    """The lock's file, made where there is none; never what a link points to, nor a file with a second name."""
    # Without O_NONBLOCK, opening a pipe of that name would wait for ever.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags, 0o644)
    except OSError as error:
        if path.is_symlink():
            raise CatalogError(f"{path}: a link, not a lock of Topicture's; remove the link") from None
        raise error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        raise CatalogError(f"{path}: not a lock of Topicture's; move that file away")
    return handle


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: a lock on a byte far behind the text, so that others can read who holds it
        import msvcrt

        os.lseek(handle, 1 << 20, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        os.lseek(handle, 0, os.SEEK_SET)
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write_about(handle: int, command: str) -> None:
    about = {"command": command, "pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        os.write(handle, json.dumps(about).encode())
    except OSError:  # a full disk: the lock holds all the same, it only does not say whose it is
        os.ftruncate(handle, 0)


def _is_ours(handle: int) -> bool:
    """Whether a lock may be written: empty, or begun as we begin it; zeros and half a text are what a crash leaves."""
    content = _content(handle)
    return len(content) < _MOST_BYTES and (not content.strip(b"\0") or content.startswith(_BEGINNING))


def _content(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, _MOST_BYTES)


def _holder(handle: int) -> str:
    """Who holds the lock, as a clause."""
    try:
        about = json.loads(_content(handle))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(about["since"]))
        return (
            f"'topicture {about['command']}' (process {about['pid']} on {about['host']}) has been writing "
            f"to this catalog since {since}"
        )
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return "another process is writing to this catalog"
