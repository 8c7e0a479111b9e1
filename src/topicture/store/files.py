"""Pictures and the files that hold them, present and gone."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from topicture.collection.edited_copies import NamedPhoto, edited_copies
from topicture.store.database import CatalogError, Database

__all__ = ["FileCounts", "FileTrouble", "Files", "KnownFile", "LivingImage", "stored_path"]


class KnownFile(NamedTuple):
    """A file as the last scan saw it."""

    image: int
    size: int
    modified: int  # nanoseconds; -1 where the file was too fresh to trust its time stamp
    sidecars: str
    gone: float | None


class LivingImage(NamedTuple):
    """An image that has at least one file, and the first of them."""

    image: int
    content: bytes
    path: str  # relative to the root
    taken: int | None = None  # seconds on the camera's clock
    edit_of: int | None = None  # the image that it is an edited copy of


class FileTrouble(NamedTuple):
    """A file, and why it could not be read, or its sidecar not be written."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class FileCounts(NamedTuple):
    """How many there are of each; of those that are gone, not files whose picture lies elsewhere now."""

    images: int
    files: int
    gone: int
    unreadable: int


def stored_path(stored: object) -> str:
    """A path as the catalog stores it; raises CatalogError for one that leads out of the collection."""
    if not isinstance(stored, bytes):
        raise CatalogError(f"damaged or tampered with: {stored!r} is not the path of a photo; {_WAY_OUT}")
    path = os.fsdecode(stored)
    if (
        b"\0" in stored
        or not _NO_NAMES.isdisjoint(path.split("/"))
        or (os.name == "nt" and not {"\\", ":"}.isdisjoint(path))
    ):
        raise CatalogError(f"damaged or tampered with: {path!r} lies outside the collection; {_WAY_OUT}")
    return path


_NO_NAMES = frozenset({"", ".", ".."})
_WAY_OUT = "restore a backup of the catalog, or make a new one"


class Files:
    """The tables `images` and `places`. Paths are relative to the root; undecodable bytes as surrogates."""

    def __init__(self, database: Database):
        self._db = database

    def known(self) -> dict[str, KnownFile]:
        """Every file ever seen, by path."""
        rows = self._db.execute("SELECT path, image, size, modified, sidecars, gone FROM places")
        return {stored_path(path): KnownFile(*rest) for path, *rest in rows}

    def at(self, path: str) -> KnownFile | None:
        """What is known about one path."""
        query = "SELECT image, size, modified, sidecars, gone FROM places WHERE path = ?"
        row = self._db.execute(query, (os.fsencode(path),)).fetchone()
        return None if row is None else KnownFile(*row)

    def any_in(self, folder: str) -> bool:
        """Whether a folder, or one below it, has or had a file."""
        inside = os.fsencode(folder) + b"/"
        query = "SELECT EXISTS (SELECT 1 FROM places WHERE path >= ? AND path < ?)"
        return bool(self._db.execute(query, (inside, inside[:-1] + b"0")).fetchone()[0])

    def put(
        self, path: str, content: bytes, size: int, modified: int, sidecars: str, taken: str | None = None
    ) -> int:
        """Note that a file holds a picture; the id of its image, new or old."""
        image = self._image(content)
        self._db.execute(
            "INSERT INTO places (path, image, size, modified, sidecars, gone, taken) VALUES (?, ?, ?, ?, ?, NULL, ?) "
            "ON CONFLICT (path) DO UPDATE SET image = excluded.image, size = excluded.size, gone = NULL, "
            "modified = excluded.modified, sidecars = excluded.sidecars, taken = excluded.taken",
            (os.fsencode(path), image, size, modified, sidecars, taken),
        )
        return image

    def distrust(self, path: str) -> None:
        """Have a file read again, whatever its time stamp."""
        self._db.execute("UPDATE places SET modified = -1 WHERE path = ?", (os.fsencode(path),))

    def _image(self, content: bytes) -> int:
        known = self.image_of(content)
        if known is not None:
            return known
        cursor = self._db.execute(
            "INSERT INTO images (content, first_seen) VALUES (?, ?)", (content, time.time())
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def sample(self, n: int) -> list[tuple[str, int]]:
        """(path, size) of up to n living files, from all over the collection."""
        rows = self._db.execute("SELECT path, size FROM places WHERE gone IS NULL ORDER BY path").fetchall()
        step = max(1, len(rows) // n)
        return [(stored_path(path), size) for path, size in rows[::step][:n]]

    def mark_gone(self, paths: Iterable[str]) -> None:
        """Remember that files are no longer there; nothing else about them is forgotten."""
        now = time.time()
        self._db.execute_many(
            "UPDATE places SET gone = ? WHERE path = ? AND gone IS NULL",
            [(now, os.fsencode(path)) for path in paths],
        )

    def living(self, images: Sequence[int] | None = None) -> list[LivingImage]:
        """Images with a file, in the order of their content, which does not depend on when they were found."""
        rows = self._db.execute(
            "SELECT images.id, content, min(path), unixepoch(min(taken)), edit_of FROM places "
            "JOIN images ON images.id = image WHERE gone IS NULL GROUP BY image ORDER BY content"
        )
        wanted = None if images is None else set(images)
        return [
            LivingImage(image, content, stored_path(path), taken, edit_of)
            for image, content, path, taken, edit_of in rows
            if wanted is None or image in wanted
        ]

    def find_edited_copies(self) -> None:
        """Note which images are edited copies of others, by the names of the files that there are now."""
        rows = self._db.execute(
            "SELECT path, image, unixepoch(taken) FROM places WHERE gone IS NULL ORDER BY path"
        )
        now = edited_copies([NamedPhoto(stored_path(path), image, taken) for path, image, taken in rows])
        before = dict(self._db.execute("SELECT id, edit_of FROM images WHERE edit_of IS NOT NULL").fetchall())
        changed = {image for image, _ in now.items() ^ before.items()}
        self._db.execute_many(
            "UPDATE images SET edit_of = ? WHERE id = ?",
            [(now.get(image), image) for image in sorted(changed)],
        )

    def living_images(self) -> np.ndarray:
        """The numbers of all images that have a file, ascending."""
        rows = self._db.execute("SELECT DISTINCT image FROM places WHERE gone IS NULL ORDER BY image")
        return np.fromiter((image for (image,) in rows), np.int64)

    def paths_of(self, image: int, *, gone: bool = False) -> list[str]:
        """The paths of an image's files; with `gone`, of those that are no longer there."""
        condition = "gone IS NOT NULL" if gone else "gone IS NULL"
        query = f"SELECT path FROM places WHERE image = ? AND {condition} ORDER BY path"
        return [stored_path(path) for (path,) in self._db.execute(query, (image,))]

    def first_paths(self, images: Iterable[int]) -> dict[int, str]:
        """The first living path of each image, or the first that it once had."""
        rows = self._db.execute(
            "SELECT image, path FROM places WHERE image IN (SELECT value FROM json_each(?)) "
            "ORDER BY image, gone IS NULL, path DESC",
            (json.dumps([int(image) for image in images]),),
        )
        return {image: stored_path(path) for image, path in rows}  # of several, the last of them stays

    def without_file(self, images: Iterable[int]) -> list[int]:
        """Those of some images that have no file any more."""
        rows = self._db.execute(
            "SELECT value FROM json_each(?) "
            "WHERE NOT EXISTS (SELECT 1 FROM places WHERE image = value AND gone IS NULL) ORDER BY value",
            (json.dumps([int(image) for image in images]),),
        )
        return [image for (image,) in rows]

    def moved_away(self) -> list[tuple[str, str, str]]:
        """Files that are gone while their picture lies elsewhere: path, what was noted of its sidecar, path now."""
        rows = self._db.execute(
            "SELECT p.path, p.sidecars, min(living.path) FROM places AS p JOIN places AS living "
            "ON living.image = p.image AND living.gone IS NULL "
            "WHERE p.gone IS NOT NULL AND p.sidecars != '' GROUP BY p.path ORDER BY p.path"
        )
        return [(stored_path(path), sidecars, stored_path(now)) for path, sidecars, now in rows]

    def gone_images(self) -> list[int]:
        """Images without any file."""
        rows = self._db.execute(
            "SELECT id FROM images WHERE id NOT IN (SELECT image FROM places WHERE gone IS NULL)"
        )
        return [image for (image,) in rows]

    def by_content(self, prefix: str) -> list[int]:
        """Images whose content hash begins with hexadecimal digits."""
        query = "SELECT id FROM images WHERE lower(hex(content)) LIKE ? || '%' LIMIT 3"
        return [image for (image,) in self._db.execute(query, (prefix.lower(),))]

    def image_of(self, content: bytes) -> int | None:
        row = self._db.execute("SELECT id FROM images WHERE content = ?", (content,)).fetchone()
        return None if row is None else row[0]

    def has(self, image: int) -> bool:
        """Whether there is, or was, such a picture."""
        return self._db.execute("SELECT 1 FROM images WHERE id = ?", (image,)).fetchone() is not None

    def content_of(self, image: int) -> bytes:
        return self._db.execute("SELECT content FROM images WHERE id = ?", (image,)).fetchone()[0]

    def set_reasons(self, reasons: dict[int, str | None]) -> None:
        """Why pictures can't be looked at; None where they can."""
        self._db.execute_many(
            "UPDATE images SET reason = ? WHERE id = ? AND reason IS NOT ?",
            [(reason, image, reason) for image, reason in reasons.items()],
        )

    def reason(self, image: int) -> str | None:
        """Why an image could not be looked at; None where it could, or nobody tried."""
        return self._db.execute("SELECT reason FROM images WHERE id = ?", (image,)).fetchone()[0]

    def unreadable(self) -> Iterator[FileTrouble]:
        """The living files whose picture could not be looked at, by path."""
        rows = self._db.execute(
            "SELECT path, reason FROM images CROSS JOIN places ON image = images.id "  # few have a reason
            "WHERE reason IS NOT NULL AND gone IS NULL ORDER BY path"
        )
        return (FileTrouble(stored_path(path), reason) for path, reason in rows)

    def counts(self) -> FileCounts:
        row = self._db.execute(
            "SELECT count(DISTINCT CASE WHEN gone IS NULL THEN image END), count(*) - count(gone), "
            "count(CASE WHEN image NOT IN (SELECT image FROM places WHERE gone IS NULL) THEN 1 END), "
            "(SELECT count(*) FROM images WHERE reason IS NOT NULL "
            "AND id IN (SELECT image FROM places WHERE gone IS NULL)) FROM places"
        ).fetchone()
        return FileCounts(*row)
