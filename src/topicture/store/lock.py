"""One writer at a time: a lock that the system releases when its holder ends, however it ends."""

import json
import os
import socket
import time
from pathlib import Path
from typing import Self

from topicture.errors import TopictureError

__all__ = ["CatalogBusy", "WriterLock"]


class CatalogBusy(TopictureError):
    """Another process writes to the catalog; says which, and since when."""


class WriterLock:
    """Held from `acquire` to `release` or the end of the process.

    The lock belongs to the open file, not to its presence, so a killed holder leaves nothing to clean up.
    """

    def __init__(self, path: Path):
        self.path = path
        self._file: int | None = None

    def acquire(self, command: str) -> Self:
        """Take the lock; raises CatalogBusy where another process, or another part of this one, holds it."""
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(handle)
        except OSError:
            holder = _read(handle)
            os.close(handle)
            raise CatalogBusy(f"{self.path.parent}: {holder}; wait for it to end") from None
        about = {"command": command, "pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(about).encode())
        self._file = handle
        return self

    def release(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None


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


def _read(handle: int) -> str:
    """Who holds the lock, as a clause."""
    try:
        about = json.loads(os.read(handle, 4096))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(about["since"]))
        return (
            f"'topicture {about['command']}' (process {about['pid']} on {about['host']}) has been writing "
            f"to this catalog since {since}"
        )
    except (ValueError, KeyError, TypeError, OSError):
        return "another process is writing to this catalog"
