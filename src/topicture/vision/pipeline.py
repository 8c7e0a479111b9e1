"""Photos in, Corpus out: cached, in parallel, resumable, and the same whatever the number of workers.

1. Measure: every photo whose raw measurements are not in the cache is given to a worker (`measure`, `workers`).
2. Fit: scalings, projections and codebooks are learned from the training photos (`features`), unless they are given.
3. Assemble: photo by photo, the cached measurements become the rows of a Corpus (`assemble`).

Memory holds the photos in work, a sample to learn from, and the resulting arrays, of which large ones lie in a
temporary file (`assemble`).
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import PIL

from topicture.collection.identity import seen_id
from topicture.collection.words import printable
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError, ImageError, TopictureError
from topicture.vision.assemble import assemble, caption_counts
from topicture.vision.cache import FeatureCache
from topicture.vision.features.transform import Features, fit_features
from topicture.vision.measure import Measured, Measurer, Task, Unmeasured, content_id, exact_id
from topicture.vision.networks.manifest import NETWORKS, own_network_bytes
from topicture.vision.read import READ_VERSION, Unreadable, check_file
from topicture.vision.recipe import Recipe
from topicture.vision.workers import MEMORY_LIMIT, Failure, run_isolated

__all__ = ["Description", "Photo", "describe"]

TIMEOUT_SECONDS = 60.0

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
        Regions that the user brings, on the upright picture (see `user_regions`); the recipe's segmentation and border
        are then not used for this photo.
    """

    id: str
    source: PhotoSource
    labels: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Description:
    """What `describe` gives.

    Attributes
    ----------
    corpus : Corpus
        The photos that could be read, in their order.
    features : Features
        The fitted way from photo to numbers: save it with the model, give it to `describe` for new photos.
    unreadable : tuple of Unreadable
        The photos left out, each with its reason.
    kept : int array (D,)
        Position, among the photos given, of each image of the corpus.
    """

    corpus: Corpus
    features: Features
    unreadable: tuple[Unreadable, ...]
    kept: np.ndarray


def describe(
    photos: Iterable[Photo | tuple | str | os.PathLike],
    views: str | Sequence[str] | Recipe | Features = ("deep",),
    *,
    captions: Any = None,
    vocabulary: Vocabulary | Sequence[str] | None = None,
    train: Any = None,
    workers: int = 2,
    cache: str | os.PathLike | None = None,
    extra: Sequence[str] = (),
    progress: Progress | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> Description:
    """Describe photos by numbers.

    Parameters
    ----------
    photos : iterable
        Paths, (id, source) pairs, or `Photo` values.
    views : names in `VIEWS`, a Recipe, or fitted Features
        Names take the defaults of `Recipe`; Features describe new photos exactly as those they were fitted on.
    captions : (n_photos, V) counts, or a sequence of word lists, optional
        One row or list a photo, empty for "not tagged". Word lists without a `vocabulary` make one, sorted.
    vocabulary : Vocabulary or words, optional
        Needed where there are no captions. Words outside it are dropped from word lists.
    train : bool mask or positions, optional
        Photos that scalings, projections and codebooks may be learned from; all by default.
    workers : int
        Processes; 0 works in this one, where a crashing decoder would take it along.
    cache : folder, optional
        Where measurements are kept; a second run then measures only what is new or has changed. Without it they last
        for this call.
    extra : steps, optional
        Raw measurements to keep in the cache besides those of the views, such as `recipe.REGION_PARTS`.
    progress : callable, optional
        Called with (photos done, photos in all or None) after every photo.
    timeout : float
        Seconds a photo may take before it is given up (after a second try).

    Raises
    ------
    CorpusError
        No photo could be read, or captions, vocabulary or ids do not fit.
    ModelFileError
        The given Features were fitted on measurements that this version does not make.
    """
    recipe, features = _plan(views)
    if features is not None:
        features.check_current()
    if isinstance(photos, Sized):  # a mistake is told before the work, not after it
        caption_counts(captions, vocabulary, len(photos))
        _positions(train, len(photos))
    with ExitStack() as stack:
        if cache is None:
            cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="topicture-"))
        shelf = _Shelf(stack.enter_context(FeatureCache(cache)), recipe, extra)
        run = _Run(photos, shelf, progress)
        measurer = Measurer(_placed(recipe))
        # A loaded network takes its file's size some times over: the graph, its optimised form, its working space.
        deep = {"deep", "regions:deep"} & set(recipe.steps)
        memory = MEMORY_LIMIT + (4 * own_network_bytes(recipe.network) if deep else 0)
        for task, result in run_isolated(
            measurer, run.tasks(), workers, timeout, records=(Measured, Unmeasured), memory=memory
        ):
            run.finish(task, result)
        outcomes = run.outcomes()
        unreadable = tuple(outcome for outcome in outcomes if isinstance(outcome, Unreadable))
        contents = {i: outcome for i, outcome in enumerate(outcomes) if isinstance(outcome, bytes)}
        if not contents:
            why = f": {unreadable[0]}" if unreadable else ""
            raise CorpusError(f"none of {len(outcomes)} photos could be read{why}")
        words, counts = caption_counts(captions, vocabulary, len(outcomes))
        if features is None:
            training = [contents[i] for i in _positions(train, len(outcomes)) if i in contents]
            features = fit_features(recipe, len(training), partial(shelf.raw, training))
        kept = np.array(list(contents), dtype=np.int64)
        ids = [run.ids[i] for i in kept]
        corpus = assemble(ids, partial(shelf.raw, list(contents.values())), features, words, counts[kept])
    return Description(corpus, features, unreadable, kept)


def _plan(views: Any) -> tuple[Recipe, Features | None]:
    if isinstance(views, Features):
        return views.recipe, views
    return (views if isinstance(views, Recipe) else Recipe(views)), None


def _placed(recipe: Recipe) -> Recipe:
    """The recipe for a worker, which has another working folder: the path of a network of one's own is absolute."""
    if recipe.network in NETWORKS:
        return recipe
    return replace(recipe, network=_absolute(recipe.network))


def _absolute(path: str | os.PathLike) -> str:
    return os.path.join(os.getcwd(), os.fspath(path))  # not abspath: `..` behind a link is another folder


# --- Measure -----------------------------------------------------------------------------------------------------


class _Shelf:
    """The part of a cache that holds one recipe's measurements."""

    def __init__(self, cache: FeatureCache, recipe: Recipe, extra: Sequence[str]) -> None:
        self.cache = cache
        self.keys = recipe.keys(extra)
        # A decoder of another version may read what this one can't; a crash may be another descriptor's fault.
        self._unreadable = f"read{READ_VERSION} pillow{PIL.__version__}"
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


class _Run:
    """One pass over the photos: which are known, which are in work, what became of them."""

    def __init__(self, photos: Iterable, shelf: _Shelf, progress: Progress | None) -> None:
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
        return "" if result.content == now else "it changed while it was read: try again"

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
            self._reasons[number] = f"can't be opened ({getattr(error, 'strerror', None) or error})"
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
            return Task(_absolute(source) if is_file else source, labels, steps)
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


def _positions(train: Any, n_photos: int) -> list[int]:
    """Positions of the training photos from a mask or from positions."""
    if train is None:
        return list(range(n_photos))
    train = np.asarray(train)
    if train.dtype == bool and train.shape != (n_photos,):
        raise TopictureError(f"train is a mask of shape {train.shape}, but there are {n_photos} photos")
    return np.arange(n_photos)[train].tolist()
