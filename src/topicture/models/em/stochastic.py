"""The estimator side of an EM model whose fit begins with stochastic steps. It holds no mathematics.

Minibatches bring the parameters near a good place in a few epochs; passes over all images end the fit. Progress is
reported by both parts, and an interrupt keeps what was learned.
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import FitWarning
from topicture.models.em import loop as em
from topicture.models.em.estimator import EMAnnotator
from topicture.models.interrupts import may_be_kept

__all__ = ["StochasticAnnotator"]

# To find the bounds of so many images, which stochastic steps do not need, takes about as long as to load or compile
# the pass of a model a second time, without them.
_FEW_IMAGES = 20_000


class _Start(NamedTuple):
    params: Any
    rng: np.random.Generator  # orders the minibatches


@dataclass(eq=False, repr=False)
class StochasticAnnotator(EMAnnotator):
    """An EM annotator whose passes over all images may follow on stochastic steps.

    A callback is told of every epoch and then of every pass, as iterations of one count; the objective of an epoch is
    NaN, since stochastic steps do not compute it. A subclass implements `_first_model`.
    """

    _: KW_ONLY
    learning: str = "stochastic"
    n_epochs: int = 4
    batch_size: int = 512
    tau0: float = 16.0
    kappa: float = 0.7

    @abstractmethod
    def _first_model(self) -> em.Model:
        """The model of the stochastic steps."""

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("learning", ("stochastic", "batch"))
        self._check_whole("n_epochs", "batch_size")
        self._require("tau0", self.tau0 >= 1, "be at least 1")
        self._require("kappa", 0.5 < self.kappa <= 1, "be more than 0.5 and at most 1")

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        def start(seed: np.random.SeedSequence) -> _Start:
            rng = np.random.default_rng(seed)
            return _Start(self._start(corpus, rng) if first is None else first, rng)

        # Stochastic steps prepare a start; earlier parameters are one.
        first = self._first_params
        minibatches = self._minibatches(corpus) if self.learning == "stochastic" and first is None else None
        seeds = np.random.SeedSequence(self.seed).spawn(self.n_init if first is None else 1)
        shared = minibatches if self._is_brief(corpus) else None
        best, tried = em.fit_restarts(
            self._model() if shared is None else self._first_model(),
            self._batches(corpus) if shared is None else shared,
            [partial(start, seed) for seed in seeds],
            self._prior(),
            run=partial(self._run, minibatches),
            callback=callback,
        )
        self.params_ = best.params
        self.objective_trace_ = best.trace
        self.n_iter_ = best.n_iter
        self.result_ = best.reason.value
        self.restarts_ = np.array([result.objective for result in tried])

    def _run(
        self,
        minibatches: Batches | None,
        model: em.Model,
        batches: Batches,
        start: _Start,
        prior: Any,
        *,
        restart: tuple[int, int],
        callback: Callable[[Any], None] | None,
    ) -> em.FitResult:
        """One restart: the stochastic steps, then the passes."""
        params, n_epochs, interrupted = start.params, 0, False
        if minibatches is not None:
            params, n_epochs, interrupted = self._epochs(
                minibatches, batches is minibatches, start, prior, restart, callback
            )
        # After an interrupt one E-step still tells the objective.
        result = em.fit(
            model,
            batches,
            params,
            prior,
            max_iter=0 if interrupted else self.max_iter,
            tol=self.tol,
            restart=restart,
            callback=_counting_on(callback, n_epochs),
        )
        return result._replace(reason=em.Results.interrupted) if interrupted else result

    def _epochs(
        self,
        minibatches: Batches,
        with_bound: bool,
        start: _Start,
        prior: Any,
        restart: tuple[int, int],
        callback: Callable[[Any], None] | None,
    ) -> tuple[Any, int, bool]:
        """Parameters after the stochastic steps, the number of whole epochs, and whether they were interrupted."""
        params, n_done = start.params, 0
        try:
            for epoch in range(self.n_epochs):
                params = em.fit_stochastic(
                    self._first_model(),
                    minibatches,
                    params,
                    prior,
                    n_epochs=1,
                    rng=start.rng,
                    tau0=self.tau0 + epoch * -(-len(minibatches) // self._chunks_per_step()),
                    kappa=self.kappa,
                    chunks_per_step=self._chunks_per_step(),
                    with_bound=with_bound,
                )
                n_done = epoch + 1
                if callback is not None:
                    callback(em.Progress(*restart, epoch, self.n_epochs + self.max_iter, math.nan))
        except KeyboardInterrupt:
            if n_done == 0 or not may_be_kept():
                raise
            warnings.warn(f"after {n_done} epochs: {em.Results.interrupted.value}", FitWarning, stacklevel=2)
            return params, n_done, True
        return params, n_done, False

    def _is_brief(self, corpus: Corpus) -> bool:
        """Whether steps over few images are all of a fit: the pass that then tells the objective shares their code."""
        n_seen = self.n_init * self.n_epochs * len(corpus)
        return self.max_iter == 0 and n_seen <= _FEW_IMAGES and self._chunks_per_step() == 1

    def _minibatches(self, corpus: Corpus) -> Batches:
        size = min(self.batch_size, em.chunk_images())
        return self._padded(corpus, self._first_model().views, chunk_images=size)

    def _chunks_per_step(self) -> int:
        """Large minibatches are several chunks, on which a cluster can share."""
        return -(-self.batch_size // em.chunk_images())

    def _batches(self, corpus: Corpus, views: tuple[str, ...] | None = None) -> Batches:
        return self._padded(corpus, views or self._model().views, chunk_images=em.chunk_images())

    def _padded(self, corpus: Corpus, views: tuple[str, ...], **settings: Any) -> Batches:
        dtype = np.dtype(self.precision)
        return Batches(
            corpus,
            views,
            dtype=dtype,
            block_images=em.block_images(self.n_topics, dtype, self._width),
            max_shapes=_max_shapes(corpus),
            multiple=em.n_lanes(),
            **settings,
        )


def _max_shapes(corpus: Corpus) -> int:
    """Into how many padded shapes the images of a corpus may be grouped.

    Every shape costs a compilation of one or two seconds. Where the longest image has at most three times the tokens
    of the average one, padding all to its length costs less than that.
    """
    tokens = np.diff(corpus.captions.indptr) + np.diff(corpus.visual_words.indptr)  # type: ignore[union-attr]
    return 1 if tokens.max(initial=0) <= 3 * tokens.mean() else 4


def _counting_on(callback: Callable[[Any], None] | None, n_epochs: int) -> Callable[[Any], None] | None:
    """The callback of the passes, whose iterations follow on the epochs."""
    if callback is None:
        return None

    def told(progress: em.Progress) -> None:
        callback(
            em.Progress(
                progress.restart,
                progress.n_restarts,
                progress.iteration + n_epochs,
                progress.max_iter + n_epochs,
                progress.objective,
            )
        )

    return told
