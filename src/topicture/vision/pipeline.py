"""Photos in, Corpus out: cached, in parallel, resumable, and the same whatever the number of workers.

1. Measure: every photo whose raw measurements are not in the cache is given to a worker (`measure`, `workers`).
2. Fit: scalings, projections and codebooks are learned from the training photos (`features`), unless they are given.
3. Assemble: photo by photo, the cached measurements become the rows of a Corpus (`assemble`).

Memory holds the photos in work, a sample to learn from, and the resulting arrays, of which large ones lie in a
temporary file (`assemble`).
"""

import os
import tempfile
from collections.abc import Iterable, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from topicture.corpus import Corpus, Vocabulary
from topicture.elsewhere import engine_elsewhere
from topicture.errors import CorpusError, TopictureError
from topicture.vision.assemble import assemble, caption_counts
from topicture.vision.cache import FeatureCache
from topicture.vision.deep_regions import DEEP
from topicture.vision.features.transform import Features, fit_features
from topicture.vision.measure import Measured, Measurer, Unmeasured
from topicture.vision.measuring import Photo, Progress, Run, Shelf, absolute
from topicture.vision.networks.manifest import NETWORKS, network_key, own_network_bytes
from topicture.vision.networks.word_vectors import check_texts, word_vectors
from topicture.vision.read import Unreadable
from topicture.vision.recipe import Recipe
from topicture.vision.workers import MEMORY_LIMIT, run_isolated

__all__ = ["Description", "Photo", "describe"]

TIMEOUT_SECONDS = 60.0


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
    positions : int array (D,)
        Position, among the photos given, of each image of the corpus.
    """

    corpus: Corpus
    features: Features
    unreadable: tuple[Unreadable, ...]
    positions: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        """The earlier name of `positions`."""
        return self.positions


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
        One row or list per photo, empty for "not tagged". Word lists without a `vocabulary` make one, sorted.
    vocabulary : Vocabulary or words, optional
        Needed where there are no captions. Words outside it are dropped from word lists.
    train : bool mask or positions, optional
        Photos that scalings, projections and codebooks may be learned from; all by default.
    workers : int
        Processes; 0 works in this one, where a crashing decoder would take it along. A cluster has its own.
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
    recipe.check_installed()
    if features is not None:
        features.check_current()
    if isinstance(photos, Sized):  # a mistake is told before the work, not after it
        caption_counts(captions, vocabulary, len(photos))
        _positions(train, len(photos))
    # Words are learned where there are captions; what a text encoder says of them fits its own network's pictures.
    with_texts = captions is not None and "deep" in recipe.views
    if with_texts:
        check_texts(recipe.network)
    with ExitStack() as stack:
        if cache is None:
            cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="topicture-"))
        shelf = Shelf(stack.enter_context(FeatureCache(cache)), recipe, extra)
        run = Run(photos, shelf, progress)
        by_map = recipe.has_regions and recipe.segmentation == DEEP
        deep = by_map or bool({"deep", "regions:deep"} & set(recipe.steps))
        measurer = Measurer(_placed(recipe), network_key(recipe.network) if deep else "")
        # A loaded network takes its file's size some times over: the graph, its optimised form, its working space.
        memory = MEMORY_LIMIT + (4 * own_network_bytes(recipe.network) if deep else 0)
        engine = engine_elsewhere()
        for task, result in (
            run_isolated(
                measurer, run.tasks(), workers, timeout, records=(Measured, Unmeasured), memory=memory
            )
            if engine is None
            else engine.measure(measurer, run.tasks(), timeout, memory)
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
        positions = np.array(list(contents), dtype=np.int64)
        ids = [run.ids[i] for i in positions]
        vectors = word_vectors(recipe.network, words.words, workers=workers) if with_texts else None
        corpus = assemble(
            ids, partial(shelf.raw, list(contents.values())), features, words, counts[positions], vectors
        )
    return Description(corpus, features, unreadable, positions)


def _plan(views: Any) -> tuple[Recipe, Features | None]:
    if isinstance(views, Features):
        return views.recipe, views
    return (views if isinstance(views, Recipe) else Recipe(views)), None


def _placed(recipe: Recipe) -> Recipe:
    """The recipe for a worker, which has another working folder: the path of a network of one's own is absolute."""
    if recipe.network in NETWORKS:
        return recipe
    return replace(recipe, network=absolute(recipe.network))


def _positions(train: Any, n_photos: int) -> list[int]:
    """Positions of the training photos from a mask or from positions."""
    if train is None:
        return list(range(n_photos))
    train = np.asarray(train)
    if train.dtype == bool and train.shape != (n_photos,):
        raise TopictureError(f"train is a mask of shape {train.shape}, but there are {n_photos} photos")
    return np.arange(n_photos)[train].tolist()
