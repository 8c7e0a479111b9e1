"""The estimator side of DBA and EMM, whose topics are the words. It holds no mathematics."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches, Image, Sizes
from topicture.errors import CorpusError
from topicture.models.classes.class_topics import infer, proportions, region_words, word_scores
from topicture.models.classes.values import Proportions, Settings
from topicture.models.em import loop as em
from topicture.models.em.estimator import EMAnnotator

__all__ = ["SCORES", "ClassAnnotator"]

SCORES = ("theta", "zbar", "map")
# Posteriors of a chunk. Arrays of more than 32 MB are new pages from the system every time, which takes as long as what
# is computed for them.
_FIT_BYTES = 1 << 24
_USE_BYTES = 1 << 28
_ONE_SHAPE = 4096  # images


@dataclass(eq=False, repr=False)
class ClassAnnotator(EMAnnotator):
    """An annotator with one topic per word; a subclass has `theta`, `_settings` and what EMAnnotator asks for."""

    needs = ("region_words",)
    labels_regions = True
    # Not parameters here: topics are the words, and the start follows from the labels, so there is one and no seed.
    n_topics: int = field(default=1, init=False)
    n_init: int = field(default=1, init=False)
    seed: int = field(default=0, init=False)

    _: KW_ONLY
    score: str = "theta"
    eta: float = 20.0
    learn_eta: bool = False
    n_sweeps: int = 5
    n_sweeps_use: int = 50
    n_candidates: int = 0

    theta: ClassVar[Proportions]

    @abstractmethod
    def _settings(self) -> Settings: ...

    # --- Use ---------------------------------------------------------------------------------------------

    def transform(self, corpus: Corpus) -> np.ndarray:
        """Proportions of the words in every image, (D, V), rows sum to 1 (or are 0 where nothing is known).

        By the estimate that `score` names, without the words' weights. Captions of the corpus are not looked at.
        """
        self._check_usable(corpus)
        fn = self._image_fn(_proportions, self.score)
        values = self._values(fn, corpus.without_captions(), corpus.n_words)
        return values / np.maximum(values.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def label_regions(self, corpus: Corpus, *, use_captions: bool = False) -> list[np.ndarray]:
        """p(word | region), one (N_d, V) array per image; with `use_captions` a tagged image's caption takes part."""
        self._check_usable(corpus)
        return self._label_regions(corpus if use_captions else corpus.without_captions())

    def _label_regions(self, corpus: Corpus) -> list[np.ndarray]:
        labels: list[np.ndarray] = [np.zeros((0, corpus.n_words))] * len(corpus)
        for rows, phi in self._map_images(self._image_fn(_region_words), corpus):
            for d, values in zip(rows, phi, strict=True):
                real = np.asarray(values[: corpus.n_regions[d]], np.float64)
                labels[d] = real / real.sum(axis=1, keepdims=True)
        return labels

    def _tables_for_use(self) -> Any:
        return em.tables(self._model(), self.params_)

    def _annotate_image(self) -> Callable[[Any, Image], Any]:
        return self._image_fn(_word_scores, self.score)

    def _image_fn(self, fn: Callable[..., Any], *arguments: Any) -> Callable[[Any, Image], Any]:
        return _bound(fn, self.theta, self._settings(), self.n_sweeps_use, *arguments)

    # --- Fit ---------------------------------------------------------------------------------------------

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        self._check_captions(corpus)
        super()._fit(corpus, callback)

    def _check_captions(self, corpus: Corpus) -> None:
        longest = int(np.diff(corpus.captions.indptr).max(initial=0))
        if 0 < self.n_candidates < min(longest, corpus.n_words):
            raise CorpusError(
                f"{self.name}: an image has {longest} tags, more than n_candidates={self.n_candidates}; raise it"
            )

    def _width(self, sizes: Sizes) -> int:
        # Products over a block run faster on larger blocks, as long as the cache holds them: of 10 regions at 300
        # classes 16 images beat both 8 and 32 by 5 to 10 %.
        return max(1, sizes.regions // 2)

    def _batches(self, corpus: Corpus, views: tuple[str, ...] | None = None) -> Batches:
        return self._chunks(corpus, views, self._in_play(corpus), _FIT_BYTES)

    def _map_images(self, fn: Callable[[Any, Image], Any], corpus: Corpus):
        # What is told of an image or a region is told of all classes.
        return em.map_images(
            fn, self._tables_for_use(), self._chunks(corpus, None, corpus.n_words, _USE_BYTES)
        )

    def _chunks(self, corpus: Corpus, views: tuple[str, ...] | None, n_told: int, at_most: int) -> Batches:
        """Chunks whose `n_told` numbers of every region take about `at_most` bytes."""
        dtype = np.dtype(self.precision)
        widest = max(1, int(corpus.n_regions.max(initial=0)))
        fitting = at_most // (widest * n_told * dtype.itemsize)
        return Batches(
            corpus,
            views or self._model().views,
            dtype=dtype,
            block_images=em.block_images(self._in_play(corpus), dtype, self._width),
            chunk_images=int(np.clip(fitting, 16, 8192)),
            multiple=em.n_lanes(),
            # A compilation takes seconds: so few images are padded to one shape in less.
            max_shapes=1 if len(corpus) < _ONE_SHAPE else 4,
        )

    def _in_play(self, corpus: Corpus) -> int:
        """Classes in play for an image."""
        return self.n_candidates if 0 < self.n_candidates < corpus.n_words else corpus.n_words

    # --- Checks ------------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("score", SCORES)
        self._check_positive("eta")
        self._check_steps("n_sweeps", "n_sweeps_use")
        self._check_whole("n_candidates", least=0)


# --- Functions of one image ------------------------------------------------------------------------------------------


@lru_cache
def _bound(fn: Callable[..., Any], *arguments: Any) -> Callable[[Any, Image], Any]:
    """The function for one setting, always the same object: it is a compilation key."""
    return partial(fn, *arguments)


def _proportions(theta, settings, n_sweeps, score, tables, image):
    q = infer(theta, settings, n_sweeps, tables, image)
    return proportions(theta, score, tables, image, q)


def _word_scores(theta, settings, n_sweeps, score, tables, image):
    q = infer(theta, settings, n_sweeps, tables, image)
    return word_scores(theta, score, tables, image, q)


def _region_words(theta, settings, n_sweeps, tables, image):
    return region_words(tables, infer(theta, settings, n_sweeps, tables, image))
