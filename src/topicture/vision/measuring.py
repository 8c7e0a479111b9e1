"""One pass over photos: which are known to the cache, which must be measured, and what became of them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import PIL

from topicture.collection.identity import seen_id
from topicture.collection.words import printable
from topicture.errors import ImageError
from topicture.vision.cache import FeatureCache
from topicture.vision.measure import Measured, Task, Unmeasured, content_id, exact_id
from topicture.vision.read import (
    CHANGED_MEANWHILE,
    NOT_OPENED,
    READ_VERSION,
    Unreadable,
    check_file,
    optional_decoders,
)
from topicture.vision.recipe import Recipe
from topicture.vision.worker_process import Failure

__all__ = ["Photo", "Progress", "Run", "Shelf", "absolute"]

PhotoSource = str | os.PathLike | bytes | np.ndarray | Callable[[], bytes | np.ndarray]
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, eq=False)
class Photo:
    """A photo to describe.

    Attributes
    ----------
    id : str
        Its name in the Corpus; distinct.
    source : path, bytes, pixels, or a function
        A file; the content of one; uint8 (H, W, 3) sRGB pixels; or a function that gives either of the last two, called
        when the photo's turn comes: for members of a zip file, or scenes rendered on demand.
    labels : int array (H, W), optional
        Regions that the user brings, on the upright picture; the recipe's segmentation and border
        are then not used for this photo.
    """

    id: str
    source: PhotoSource
    labels: np.ndarray | None = None


def absolute(path: str | os.PathLike) -> str:
    return os.path.join(os.getcwd(), os.fspath(path))  # not abspath: `..` behind a link is another folder


class Shelf:
    """The part of a cache that holds one recipe's measurements."""

    def __init__(self, cache: FeatureCache, recipe: Recipe, extra: Sequence[str]) -> None:
        self.cache = cache
        self.keys = recipe.keys(extra)
        # A decoder of another version may read what this one can't; a crash may be another descriptor's fault.
        self._unreadable = f"read{READ_VERSION} pillow{PIL.__version__} {optional_decoders()}"
        self._unmeasurable = " + ".join([self._unreadable, *self.keys.values()])

    def missing(self, content: bytes) -> tuple[str, ...]:
        keys = set(self.cache.missing(content, self.keys.values()))
        return tuple(step for step, key in self.keys.items() if key in keys)

    def raw(self, contents: Sequence[bytes], photo: int, steps: Iterable[str]) -> dict[str, np.ndarray]:
        """The measurements of photo `photo` of `contents`."""
        return {step: self.cache.get(contents[photo], self.keys[step]) for step in steps}

    def put(self, measured: Measured) -> None:
        self.cache.put(measured.content, {self.keys[step]: array for step, array in measured.arrays.items()})

    def reason(self, content: bytes) -> str | None:
        return self.cache.reason(content, self._unreadable) or self.cache.reason(content, self._unmeasurable)

    def put_reason(self, content: bytes, failure: Failure | Unmeasured) -> None:
        key = self._unreadable if isinstance(failure, Unmeasured) else self._unmeasurable
        self.cache.put_reason(content, key, failure.reason)


Outcome = bytes | Unreadable
"""The content whose measurements are in the cache, or why there are none."""


class Run:
    """One pass over the photos: which are known, which are in work, what became of them."""

    def __init__(self, photos: Iterable, shelf: Shelf, progress: Progress | None) -> None:
        self.ids: list[str] = []
        self._photos = photos
        self._shelf = shelf
        self._progress = progress
        self._total = len(photos) if isinstance(photos, Sized) else None
        self._done = 0
        self._contents: list[bytes | None] = []  # by photo
        self._files: dict[int, bytes] = {}  # by photo that was not measured before: hash of all its bytes
        self._reasons: dict[int, str] = {}  # by photo
        self._in_hand: dict[int, tuple[int, Task]] = {}  # task -> photo
        self._n_tasks = 0
        self._in_work: set[bytes] = set()

    def tasks(self) -> Iterator[Task]:
        """The work that is left, found out photo by photo as workers ask for it."""
        for number, given in enumerate(self._photos):
            photo = _as_photo(given)
            self.ids.append(photo.id)
            task = self._look_up(number, photo)
            if task is None:
                self._step()
            else:
                self._in_hand[self._n_tasks] = number, task
                self._n_tasks += 1
                yield task

    def finish(self, task: int, result: Measured | Unmeasured | Failure) -> None:
        """Put a task's result where `outcomes` finds it."""
        number, asked = self._in_hand.pop(task)
        if isinstance(result, Measured) and (doubt := self._doubt(asked, self._contents[number], result)):
            result = Unmeasured(doubt, lasting=False)
        if isinstance(result, Measured):
            self._contents[number] = result.content
            self._shelf.put(result)
        else:
            self._reasons[number] = result.reason
            if result.lasting:
                self._shelf.put_reason(self._files[number], result)
        self._step()

    def _doubt(self, asked: Task, content: bytes | None, result: Measured) -> str:
        """Why a result is not taken: whoever took over a worker must not write what other photos are known by."""
        if result.arrays.keys() != set(asked.steps):
            return "its decoder gave other measurements than were asked for"
        if result.content == content:
            return ""
        try:  # the file may have changed since it was hashed here
            if not isinstance(asked.source, str):
                raise OSError
            now = content_id(asked.source, asked.labels)
        except OSError:
            now = None
        return "" if result.content == now else CHANGED_MEANWHILE

    def outcomes(self) -> list[Outcome]:
        return [self._outcome(number, content) for number, content in enumerate(self._contents)]

    def _outcome(self, number: int, content: bytes | None) -> Outcome:
        reason = self._reasons.get(number)
        if reason is None and content is not None:
            if not self._shelf.missing(content):
                return content
            reason = self._shelf.reason(self._files[number])  # a twin of a photo that failed
        return Unreadable(printable(self.ids[number]), reason or "not measured")

    def _look_up(self, number: int, photo: Photo) -> Task | None:
        """The task for a photo, or None where the cache, or a twin in work, already answers."""
        self._contents.append(None)
        try:
            source = photo.source() if callable(photo.source) else photo.source
            return self._task(number, source, photo.labels)
        except ImageError as error:
            self._reasons[number] = str(error)
            return None
        except (OSError, ValueError) as error:
            self._reasons[number] = f"{NOT_OPENED} ({getattr(error, 'strerror', None) or error})"
        return None

    def _task(self, number: int, source: Any, labels: np.ndarray | None) -> Task | None:
        is_file = isinstance(source, str | os.PathLike)
        if is_file:
            check_file(source)
        content = content_id(source, labels, self._shelf.cache.content_of if is_file else seen_id)
        self._contents[number] = content
        steps = self._shelf.missing(content)
        if not steps:
            return None
        # Damage may lie in what is not seen: a photo that failed, and twins, go by all their bytes.
        whole = self._files[number] = content_id(source, labels, exact_id)
        reason = self._shelf.reason(whole)
        if reason is not None:
            self._reasons[number] = reason
        elif whole not in self._in_work:
            self._in_work.add(whole)
            return Task(absolute(source) if is_file else source, labels, steps)
        return None

    def _step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _as_photo(given: Any) -> Photo:
    if isinstance(given, Photo):
        return given
    if isinstance(given, tuple):
        return Photo(*given)
    return Photo(os.fspath(given), given)
