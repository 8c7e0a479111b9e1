"""Small pictures on demand: from the cache, or made by workers that stay warm; never by the server itself."""

import asyncio
import os
import threading
from concurrent.futures import Future
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from topicture.app.verbs.library import Library
from topicture.errors import DataNotFound
from topicture.vision.thumbnails import Made, ThumbnailCache, make_thumbnails
from topicture.vision.thumbnails.making import Wanted
from topicture.vision.worker_process import Failure
from topicture.vision.workers import WarmPool

__all__ = ["NoPicture", "Shown", "Studio"]

TIMEOUT_SECONDS = 30.0
WORKERS = min(2, os.cpu_count() or 1)


class NoPicture(DataNotFound):
    """A photo that can't be shown; says why."""


@dataclass(frozen=True)
class Shown:
    """A small picture."""

    jpeg: bytes
    tag: str  # another picture has another one


class Studio:
    """The small pictures of one collection."""

    def __init__(self, library: Library):
        self._library = library
        with library.reading() as catalog:
            self._cache = ThumbnailCache(catalog.cache)
        self._pool: WarmPool | None = None
        self._hiring = threading.Lock()
        self._contents: dict[int, bytes] = {}  # an image is always the same picture

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._cache.close()

    def missing(self) -> int:
        """The number of photos that nobody has looked at yet."""
        with self._library.reading() as catalog:
            return len(self._cache.missing(living.content for living in catalog.files.living()))

    def tag(self, image: int, size: str) -> str:
        """What the picture will be known by, before it is read or made."""
        return f"{self._content(image).hex()}-{size}"

    async def show(self, image: int, size: str) -> Shown:
        """A picture of a photo; raises NoPicture where it has none."""
        tag = await run_in_threadpool(self.tag, image, size)
        content = self._contents[image]
        jpeg = await run_in_threadpool(self._cache.get, content, size)
        if jpeg is None:
            jpeg = await self._make(image, content, size)
        return Shown(jpeg, tag)

    def _content(self, image: int) -> bytes:
        if image not in self._contents:
            with self._library.reading() as catalog:
                row = catalog.database.execute("SELECT content FROM images WHERE id = ?", (image,)).fetchone()
            if row is None:
                raise NoPicture(f"there is no photo {image}")
            self._contents[image] = row[0]
        return self._contents[image]

    async def _make(self, image: int, content: bytes, size: str) -> bytes:
        asked = await run_in_threadpool(self._ask, image, content, size)
        made = await asyncio.wrap_future(asked)
        if isinstance(made, Failure):
            if made.lasting:
                await run_in_threadpool(self._cache.put_reason, content, made.reason)
            raise NoPicture(made.reason)
        assert isinstance(made, Made)
        if made.content == content:  # else the file has changed since the last scan: shown, but not kept
            await run_in_threadpool(self._cache.put, content, made)
        return made.jpegs[size]

    def _ask(self, image: int, content: bytes, size: str) -> Future:
        if (reason := self._cache.reason(content)) is not None:
            raise NoPicture(reason)
        with self._library.reading() as catalog:
            paths = catalog.files.paths_of(image)
            if not paths:
                raise NoPicture("its file is gone")
            path = str(catalog.file_of(paths[0]))
        with self._hiring:
            if self._pool is None:
                self._pool = WarmPool(make_thumbnails, WORKERS, TIMEOUT_SECONDS, records=[Made])
        return self._pool.ask(Wanted(path, (size,)))
