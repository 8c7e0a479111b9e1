"""What was measured on a photo, kept by what is seen on it: one SQLite file in a cache folder.

A row is (identity of the photo, key of the measurement) -> array. The identity is `collection.identity.seen_id`: a
renamed or copied photo is found again, and so is one that another program has written keywords into; one whose picture,
orientation or colour profile has changed is not. Reasons for failures go by the file's whole content, since damage may
lie anywhere. A new version of one descriptor has another key and leaves the others alone. SQLite commits whole
transactions, so a killed run loses a second of work at most and never leaves half an array.
"""

import errno
import io
import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from topicture.atomic import make_folder
from topicture.collection.identity import seen_id
from topicture.errors import TopictureError
from topicture.user_cache import user_cache_folder

__all__ = ["FeatureCache", "user_cache_folder"]

FORMAT = 1
COMMIT_SECONDS = 1.0
LITTLE_ROOM = 1 << 20  # bytes
# A file touched this recently might change again without its time stamp moving: its hash is not remembered.
SETTLED_SECONDS = 2.0

# `files` is read only: there earlier versions noted the hash of a file's whole content, by which they kept arrays.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS arrays (content BLOB, key TEXT, value BLOB, UNIQUE (content, key));
CREATE TABLE IF NOT EXISTS reasons (content BLOB, key TEXT, value TEXT, UNIQUE (content, key));
CREATE TABLE IF NOT EXISTS files (path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, content BLOB);
CREATE TABLE IF NOT EXISTS seen (path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, content BLOB);
"""


class FeatureCache:
    """Arrays by (content, key), reasons for failures likewise, and the identity of files by path and time stamp.

    Used by one thread; several processes may share the folder. A context manager: leaving it commits.
    """

    def __init__(self, folder: str | os.PathLike) -> None:
        self.path = Path(folder) / f"features-v{FORMAT}.sqlite"
        with self._plainly():
            make_folder(self.path.parent)
            self._database = sqlite3.connect(self.path, timeout=60)
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last seconds
                self._database.executescript(_SCHEMA)
            except BaseException:
                self._database.close()
                raise
        self._committed = time.monotonic()

    def __enter__(self) -> "FeatureCache":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with self._plainly():
                self._database.commit()
        finally:
            self._database.close()

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """Errors of the database or the disk in one line that says what to do."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if _is_full(error, self.path.parent):
                message = "the disk is full; make room and run it again, what was measured before is kept"
            else:
                message = f"can't be used ({error}): remove it or choose another"
            raise TopictureError(f"the cache {self.path}: {message}") from error

    def missing(self, content: bytes, keys: Iterable[str]) -> list[str]:
        """Those of `keys` that are not stored for `content`, in order."""
        stored = {
            key for (key,) in self._database.execute("SELECT key FROM arrays WHERE content = ?", (content,))
        }
        return [key for key in keys if key not in stored]

    def get(self, content: bytes, key: str) -> np.ndarray:
        """A stored array; raises KeyError when there is none."""
        query = "SELECT value FROM arrays WHERE content = ? AND key = ?"
        row = self._database.execute(query, (content, key)).fetchone()
        if row is None:
            raise KeyError(key)
        return np.load(io.BytesIO(row[0]), allow_pickle=False)

    def put(self, content: bytes, arrays: Mapping[str, np.ndarray]) -> None:
        """Store arrays; committed with others about once a second."""
        rows = [(content, key, _to_bytes(array)) for key, array in arrays.items()]
        with self._plainly():
            self._database.executemany("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?)", rows)
            self._commit_now_and_then()

    def reason(self, content: bytes, key: str) -> str | None:
        """Why the photo of that content could not be measured, where that is known."""
        query = "SELECT value FROM reasons WHERE content = ? AND key = ?"
        row = self._database.execute(query, (content, key)).fetchone()
        return None if row is None else row[0]

    def put_reason(self, content: bytes, key: str, reason: str) -> None:
        """Remember why a photo can't be measured, so that the next run does not try again."""
        with self._plainly():
            self._database.execute("INSERT OR REPLACE INTO reasons VALUES (?, ?, ?)", (content, key, reason))
            self._commit_now_and_then()

    def content_of(self, path: str | os.PathLike) -> bytes:
        """The `seen_id` of a file; one whose size and time stamp have not moved is not read again. Raises OSError."""
        where = os.fsencode(os.path.abspath(path))
        status = os.stat(path)
        stamp = (status.st_size, status.st_mtime_ns)
        known = self._noted("seen", where, stamp)
        if known is not None:
            return known
        content = seen_id(path)
        with self._plainly():
            if (former := self._noted("files", where, stamp)) is not None:  # measured by an earlier version
                self._database.execute(
                    "UPDATE OR IGNORE arrays SET content = ? WHERE content = ?", (content, former)
                )
            if time.time() - status.st_mtime > SETTLED_SECONDS:
                self._database.execute(
                    "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", (where, *stamp, content)
                )
            self._commit_now_and_then()
        return content

    def _noted(self, table: str, where: bytes, stamp: tuple[int, int]) -> bytes | None:
        query = f"SELECT content FROM {table} WHERE path = ? AND size = ? AND modified = ?"
        row = self._database.execute(query, (where, *stamp)).fetchone()
        return None if row is None else row[0]

    def _commit_now_and_then(self) -> None:
        if time.monotonic() - self._committed > COMMIT_SECONDS:
            self._database.commit()
            self._committed = time.monotonic()


def _is_full(error: Exception, folder: Path) -> bool:
    """Whether it is for want of room; SQLite calls that an I/O error where its shared memory is concerned."""
    if "disk is full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC:
        return True
    while not folder.exists():
        folder = folder.parent
    return "I/O error" in str(error) and shutil.disk_usage(folder).free < LITTLE_ROOM


def _to_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
