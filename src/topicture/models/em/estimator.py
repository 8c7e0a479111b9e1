"""The estimator side of an EM model: restarts, fitted attributes, files. It holds no mathematics."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from topicture.corpus import Corpus, Vocabulary
from topicture.corpus.batches import Batches, Image, Sizes
from topicture.models.base import Annotator
from topicture.models.em import loop as em

__all__ = ["EMAnnotator"]

PRECISIONS = ("float64", "float32")
# Settings that say how parameters are looked for, not what they are.
_OF_THE_LOOP = dict.fromkeys(("max_iter", "tol", "n_init", "seed", "precision", "start"))


@dataclass(eq=False, repr=False)
class EMAnnotator(Annotator):
    """An annotator whose parameters come from `em.fit_restarts`.

    A subclass implements `_model`, `_prior`, `_start`, `_tables_for_use` and the functions of one image that
    `_annotate_image` names.

    Attributes
    ----------
    params_ : the model's Params, NumPy arrays
    restarts_ : final objective of every restart
    """

    # Value types that params_ may have, by their class names; a model file says which one it holds.
    params_types: ClassVar[tuple[type, ...]]
    # Names of params_ that have a column per word, (K, V), where a fit can go on in other words.
    word_tables: ClassVar[tuple[str, ...]] = ()

    n_topics: int = 50
    _: KW_ONLY
    max_iter: int = 200
    tol: float = 1e-5
    n_init: int = 3
    seed: int = 0
    precision: str = "float64"

    params_: Any = field(init=False)
    restarts_: np.ndarray = field(init=False)

    # --- Learn -------------------------------------------------------------------------------------------

    def fit(
        self,
        corpus: Corpus,
        *,
        callback: Callable[[Any], None] | None = None,
        earlier: "EMAnnotator | None" = None,
    ) -> Self:
        """Learn from the images, tagged and untagged; see `Annotator.fit`.

        `earlier` is a model that was fitted to much the same images. Where it has the same columns, topics and
        settings, the fit begins at its parameters, instead of `n_init` starts of its own: the objective rises from
        there, and few steps are left. Where it has not, and in a model that takes no steps of EM, all begins anew; and
        where its words are others, unless the model knows which of its tables are of words (`word_tables`).
        """
        self._first_params = None if earlier is None else self._params_of(earlier, corpus)
        try:
            return super().fit(corpus, callback=callback)
        finally:
            del self._first_params

    def _params_of(self, earlier: "EMAnnotator", corpus: Corpus) -> Any:
        """Parameters of an earlier fit, in the words of a corpus; None where this one seeks others."""
        if type(earlier) is not type(self) or earlier.columns_ != self._columns(corpus):
            return None
        own, its = ({**one.get_params(deep=False), **_OF_THE_LOOP} for one in (self, earlier))
        if own != its:
            return None
        if earlier.vocabulary_ == corpus.vocabulary:
            return earlier.params_
        tables = {
            name: table for name, table in earlier.params_._asdict().items() if name in self.word_tables
        }
        changes = {
            name: _in_words(np.asarray(table), earlier.vocabulary_, corpus.vocabulary)
            for name, table in tables.items()
        }
        return earlier.params_._replace(**changes) if changes else None

    def _starts(self, corpus: Corpus) -> list[Callable[[], Any]]:
        """Where the fit begins: at earlier parameters, or `n_init` times at some of its own."""
        if self._first_params is not None:
            return [lambda: self._first_params]
        seeds = np.random.SeedSequence(self.seed).spawn(self.n_init)
        return [partial(self._start, corpus, np.random.default_rng(seed)) for seed in seeds]

    @abstractmethod
    def _model(self) -> em.Model: ...

    @abstractmethod
    def _prior(self) -> Any: ...

    @abstractmethod
    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Any:
        """Parameters to start from."""

    @abstractmethod
    def _tables_for_use(self) -> Any:
        """What the functions of one image need at prediction time."""

    def _annotate_image(self) -> Callable[[Any, Image], Any]:
        """tables, image -> p(w), (V,), always the same function object; none for a model with its own `_annotate`."""
        raise NotImplementedError

    def _check_params(self) -> None:
        self._check_whole("n_topics", "n_init")
        self._check_whole("max_iter", least=0)
        self._check_choice("precision", PRECISIONS)

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        best, tried = em.fit_restarts(
            self._model(),
            self._batches(corpus),
            self._starts(corpus),
            self._prior(),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=callback,
        )
        self.params_ = best.params
        self.objective_trace_ = best.trace
        self.n_iter_ = best.n_iter
        self.result_ = best.reason.value
        self.restarts_ = np.array([result.objective for result in tried])

    def _width(self, sizes: Sizes) -> int:
        """Rows of length n_topics that the E-step keeps for one image (see em.block_images)."""
        return max(1, sizes.regions)

    def _batches(self, corpus: Corpus, views: tuple[str, ...] | None = None) -> Batches:
        dtype = np.dtype(self.precision)
        blocks = em.block_images(self.n_topics, dtype, self._width)
        return Batches(
            corpus,
            views or self._model().views,
            dtype=dtype,
            block_images=blocks,
            chunk_images=em.chunk_images(),
            multiple=em.n_lanes(),
        )

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        p_w = self._values(self._annotate_image(), corpus.without_captions(), corpus.n_words)
        # float32 inference sums to one only to 1e-6.
        return p_w / p_w.sum(axis=1, keepdims=True)

    def _values(self, fn: Callable[[Any, Image], Any], corpus: Corpus, *shape: int) -> np.ndarray:
        """`fn(tables, image)` of every image, (D, *shape)."""
        found = np.zeros((len(corpus), *shape))
        for rows, values in self._map_images(fn, corpus):
            found[rows] = values
        return found

    def _map_images(self, fn: Callable[[Any, Image], Any], corpus: Corpus):
        return em.map_images(fn, self._tables_for_use(), self._batches(corpus))

    # --- Files -------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {f"params.{name}": np.asarray(value) for name, value in self.params_._asdict().items()}
        return {**arrays, "restarts": self.restarts_}, {"params": type(self.params_).__name__}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        kinds = {kind.__name__: kind for kind in self.params_types}
        kind: Any = kinds[facts["params"]]
        self.params_ = kind(**{name: arrays[f"params.{name}"] for name in kind._fields})
        self.restarts_ = arrays["restarts"]


def _in_words(table: np.ndarray, own: Vocabulary, words: Vocabulary) -> np.ndarray:
    """A table (K, V) in other words; new ones are in every topic as rare as its rarest. Distributions stay such."""
    found = np.repeat(table.min(axis=1, keepdims=True), len(words), axis=1)
    pairs = [(column, own.index(word)) for column, word in enumerate(words) if word in own]
    here, there = np.array(pairs, np.int64).reshape(-1, 2).T
    found[:, here] = table[:, there]
    is_point = np.allclose(table.sum(axis=1), 1)
    return found / found.sum(axis=1, keepdims=True) if is_point else found
