"""Small pictures and the facts of photos, kept by picture identity: one SQLite file in a catalog's cache folder.

pictures     (content, width, height, taken, reason): what the header says; `reason` is an earlier version's
reasons      (content, decoder, reason, at): why, by that decoder, the photo can't be read
thumbnails   (content, size, jpeg, used): small ones for good, large ones until there are too many

It can be removed at any time and is filled again.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from topicture.atomic import make_folder
from topicture.errors import TopictureError
from topicture.vision.read import decoder_key
from topicture.vision.thumbnails.making import Made

__all__ = ["FILE_NAME", "PictureFacts", "ThumbnailCache"]

FILE_NAME = "thumbnails.sqlite"
LARGE_BYTES = 512 << 20
"""So much room large pictures may take; those that nobody looked at for longest go first."""

REASON_SECONDS = 3600.0
"""So long a reason keeps a photo from being tried when it is looked at: a busy machine is one, too."""

_VERSION = 1
_MOST_VALUES = 500  # in one statement
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS pictures (content BLOB PRIMARY KEY, width INTEGER, height INTEGER, taken TEXT,
                                     reason TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pictures_by_date ON pictures (taken);
CREATE TABLE IF NOT EXISTS reasons (content BLOB PRIMARY KEY, decoder TEXT NOT NULL, reason TEXT NOT NULL,
                                    at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS thumbnails (content BLOB NOT NULL, size TEXT NOT NULL, jpeg BLOB NOT NULL,
                                       used REAL NOT NULL, PRIMARY KEY (content, size));
CREATE INDEX IF NOT EXISTS thumbnails_by_use ON thumbnails (size, used, length(jpeg));
PRAGMA user_version = {_VERSION};
"""


class PictureFacts(NamedTuple):
    """What is known of a picture without decoding it."""

    width: int
    height: int
    taken: str | None  # "YYYY-MM-DDTHH:MM:SS"


class ThumbnailCache:
    """May be used by several threads, and the file by several processes."""

    def __init__(self, folder: str | os.PathLike, large_bytes: int = LARGE_BYTES) -> None:
        self.path = Path(folder) / FILE_NAME
        self._large_bytes = large_bytes
        self._decoder = decoder_key()
        self._lock = threading.Lock()
        with self._plainly():
            make_folder(self.path.parent)
            self._database = sqlite3.connect(
                self.path, timeout=30, check_same_thread=False, isolation_level=None
            )
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = OFF")  # it can be made again
                self._database.executescript(_SCHEMA)
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> "ThumbnailCache":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except (OSError, sqlite3.Error) as error:
                raise TopictureError(
                    f"the cache {self.path}: can't be used ({error}); remove that file"
                ) from error

    def get(self, content: bytes, size: str) -> bytes | None:
        """A small picture, if it was made."""
        with self._plainly():
            row = self._database.execute(
                "SELECT jpeg FROM thumbnails WHERE content = ? AND size = ?", (content, size)
            ).fetchone()
            if row is not None and size == "large":
                self._database.execute(
                    "UPDATE thumbnails SET used = ? WHERE content = ? AND size = ?",
                    (time.time(), content, size),
                )
        return None if row is None else bytes(row[0])

    def reason(self, content: bytes) -> str | None:
        """Why a picture can't be shown, where that was found not long ago by the decoders of today."""
        now = time.time()
        with self._plainly():
            row = self._database.execute(
                "SELECT reason FROM reasons WHERE content = ? AND decoder = ? AND at BETWEEN ? AND ?",
                (content, self._decoder, now - REASON_SECONDS, now),
            ).fetchone()
        return None if row is None else row[0]

    def put(self, content: bytes, made: Made) -> None:
        now = time.time()
        with self._plainly():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.execute(
                    "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?, NULL)",
                    (content, made.width, made.height, made.taken),
                )
                self._database.execute("DELETE FROM reasons WHERE content = ?", (content,))
                self._database.executemany(
                    "INSERT OR REPLACE INTO thumbnails VALUES (?, ?, ?, ?)",
                    [(content, size, jpeg, now) for size, jpeg in made.jpegs.items()],
                )
                if "large" in made.jpegs:
                    self._make_room()
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _make_room(self) -> None:
        (taken,) = self._database.execute(
            "SELECT coalesce(sum(length(jpeg)), 0) FROM thumbnails WHERE size = 'large'"
        ).fetchone()
        if taken <= self._large_bytes:
            return
        oldest = self._database.execute(
            "SELECT rowid, length(jpeg) FROM thumbnails WHERE size = 'large' ORDER BY used"
        ).fetchall()
        for row, size in oldest:
            if taken <= self._large_bytes:
                break
            self._database.execute("DELETE FROM thumbnails WHERE rowid = ?", (row,))
            taken -= size

    def put_reason(self, content: bytes, reason: str) -> None:
        """Remember that a picture can't be read."""
        with self._plainly():
            self._database.execute(
                "INSERT OR REPLACE INTO reasons VALUES (?, ?, ?, ?)",
                (content, self._decoder, reason, time.time()),
            )

    def sizes(self, contents: Sequence[bytes]) -> dict[bytes, PictureFacts]:
        """Width, height and date of those pictures that were looked at."""
        found = {}
        with self._plainly():
            for start in range(0, len(contents), _MOST_VALUES):
                some = contents[start : start + _MOST_VALUES]
                rows = self._database.execute(
                    "SELECT content, width, height, taken FROM pictures WHERE width IS NOT NULL "
                    f"AND content IN ({', '.join('?' * len(some))})",
                    some,
                )
                found.update({bytes(content): PictureFacts(*rest) for content, *rest in rows})
        return found

    def missing(self, contents: Iterable[bytes]) -> list[bytes]:
        """Those that were never looked at, or by other decoders in vain, in order."""
        with self._plainly():
            rows = self._database.execute(
                "SELECT content FROM pictures WHERE width IS NOT NULL "
                "UNION ALL SELECT content FROM reasons WHERE decoder = ?",
                (self._decoder,),
            )
            known = {bytes(content) for (content,) in rows}
        return [content for content in contents if content not in known]
