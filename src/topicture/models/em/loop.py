"""The only EM loop.

A model is written for ONE image: `e_step` improves that image's posterior q and returns its expected statistics,
`elbo` is its share of the bound. Both read `tables`, the expectations that inference needs (such as E[log beta],
docs/models.md 2.10), which `expected` computes once per pass. This module maps those functions over blocks of images,
sums, runs the M-step, and checks at every iteration that the objective (bound plus log-prior) did not fall.

    repeat:  tables = expected(params)
             q, stats = e_step(tables, image, q)  for every image       [Shards.run: compiled, blocks of images]
             objective = sum of elbo(tables, image, q) + log_prior(params, prior)        [rises: Shards.keep]
             stop if converged, fallen, not finite, interrupted, or after max_iter M-steps
             params = m_step(params, sum of stats, prior)

Where the posteriors of images depend on each other (models/lap.py), `couple` replaces them all before the E-step and
names what the objective loses by that.

Posteriors are carried from one iteration to the next: redrawing them makes the bound fall. The E-step runs in the
precision of the batches; sums, M-step and objective are always float64. JAX's global settings are never touched:
64-bit types are switched on by a context manager around every call.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus.batches import Batches, Image
from topicture.devices import on_cpu
from topicture.elsewhere import engine_elsewhere
from topicture.errors import FitWarning
from topicture.models.em import passes
from topicture.models.em.accelerators import Accelerators
from topicture.models.em.making import model_maker
from topicture.models.em.mapping import block_images, chunk_images, map_images, n_lanes, unstack
from topicture.models.em.minibatches import fit_stochastic
from topicture.models.em.passes import Model, Outer, Product, Scatter
from topicture.models.em.results import FitResult, Progress, Results
from topicture.models.em.shards import Shards
from topicture.models.interrupts import may_be_kept

__all__ = [
    "FitResult",
    "LocalShards",
    "Model",
    "Outer",
    "Product",
    "Progress",
    "Results",
    "Scatter",
    "Shards",
    "block_images",
    "chunk_images",
    "e_step",
    "fit",
    "fit_restarts",
    "fit_stochastic",
    "log_prior",
    "m_step",
    "map_images",
    "model_maker",
    "n_lanes",
    "objective",
    "tables",
    "unstack",
]

# --- The loop --------------------------------------------------------------------------------------------------


def fit(
    model: Model,
    batches: Batches | Shards,
    params: Any,
    prior: Any,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callable[[Progress], None] | None = None,
    restart: tuple[int, int] = (0, 1),
    posteriors: Sequence[Any] | None = None,
    couple: Callable[[Any, list[Any]], tuple[list[Any], float]] | None = None,
    may_fall: bool = False,
) -> FitResult:
    """Run EM from the given parameters. `tol` is the relative change of the objective at which to stop.

    Batches become `LocalShards`, or those of the engine that works for this process (`topicture.elsewhere`);
    `posteriors` to start from, one entry per chunk, may be given with them.
    `couple(params, posteriors)` gives new posteriors of all images and a penalty that the objective subtracts.
    `may_fall` says that the algorithm does not promise to rise: a fall then ends the fit without a warning.
    """
    shards = batches if isinstance(batches, Shards) else _shards(batches, posteriors)
    shards.start()
    slack = 1e-9 if shards.dtype == np.float64 else 2e-5
    trace: list[float] = []
    rejected = None
    good: Any = None  # the parameters that gave trace[-1] with the kept posteriors
    reason = Results.max_iter
    try:
        for iteration in range(max_iter + 1):
            penalty = 0.0
            if couple is not None:
                coupled, penalty = couple(params, shards.posteriors())
                shards.replace(coupled)
            stats, bound = shards.run(model, _expectations(model, params, shards.dtype))
            value = bound + log_prior(model, params, prior) - penalty
            if not math.isfinite(value):
                reason = Results.not_finite
                if good is None:
                    good = params
                    shards.keep()
                break
            if trace and value < trace[-1] - slack * abs(trace[-1]):
                reason = Results.fell_as_allowed if may_fall else Results.objective_fell
                rejected = value
                break
            converged = bool(trace) and abs(value - trace[-1]) <= tol * abs(trace[-1])
            trace.append(value)
            good = params
            shards.keep()
            if callback is not None:
                callback(Progress(*restart, iteration, max_iter, value))
            if converged:
                reason = Results.converged
                break
            if iteration < max_iter:
                params = m_step(model, params, stats, prior)
    except KeyboardInterrupt:
        if good is None or not may_be_kept():
            raise
        reason = Results.interrupted
    assert good is not None
    shards.roll_back()  # a pass that was not kept
    if reason in (Results.objective_fell, Results.not_finite, Results.interrupted):
        warnings.warn(f"after {len(trace)} iterations: {reason.value}", FitWarning, stacklevel=2)
    params = jax.tree.map(np.asarray, good)
    return FitResult(params, shards.posteriors(), np.array(trace), reason, max(0, len(trace) - 1), rejected)


def fit_restarts(
    model: Model,
    batches: Batches,
    starts: Sequence[Callable[[], Any]],
    prior: Any,
    *,
    run: Callable[..., FitResult] = fit,
    **settings: Any,
) -> tuple[FitResult, list[FitResult]]:
    """Fit from every start: the result with the largest objective, and all results without their posteriors.

    `run` stands in for `fit` where one start takes several fits in turn.
    """
    best: FitResult | None = None
    tried: list[FitResult] = []
    for i, start in enumerate(starts):
        try:
            result = run(model, batches, start(), prior, restart=(i, len(starts)), **settings)
        except KeyboardInterrupt:
            if best is None or not may_be_kept():
                raise
            warnings.warn(f"after {i} restarts: {Results.interrupted.value}", FitWarning, stacklevel=2)
            return best._replace(reason=Results.interrupted), tried
        tried.append(result._replace(posteriors=[]))
        if best is None or result.objective > best.objective:
            best = result
        if result.reason is Results.interrupted:  # the best may be an earlier, finished one
            return best._replace(reason=Results.interrupted), tried
    if best is None:
        raise ValueError("fit_restarts: no start was given")
    return best, tried


# --- Its steps, each over the whole corpus -----------------------------------------------------------------------


@passes.precision()
def tables(model: Model, params: Any) -> Any:
    """The expectations that inference reads, as NumPy arrays in float64."""
    return jax.tree.map(
        np.asarray, passes.tables(model, passes.cast(params, jnp.float64), np.dtype(np.float64))
    )


def e_step(
    model: Model, batches: Batches, params: Any, posteriors: Sequence[Any]
) -> tuple[list[Any], Any, float]:
    """One pass: new posteriors, summed statistics and the bound. A posterior that is None is started."""
    shards = _shards(batches, posteriors)
    stats, bound = shards.run(model, _expectations(model, params, batches.dtype))
    shards.keep()
    return shards.posteriors(), stats, bound


def _shards(batches: Batches, posteriors: Sequence[Any] | None) -> Shards:
    engine = engine_elsewhere()
    elsewhere = None if engine is None else engine.shards(batches, posteriors)
    return elsewhere or LocalShards(batches, posteriors)


@passes.precision()
def _expectations(model: Model, params: Any, dtype: np.dtype) -> Any:
    return passes.tables(model, passes.cast(params, jnp.float64), dtype)


@final
class LocalShards(Shards):
    """The chunks of batches in this process, one shard each, with their posteriors."""

    def __init__(self, batches: Batches, posteriors: Sequence[Any] | None = None):
        self.batches, self.dtype = batches, batches.dtype
        self._first = [None] * len(batches) if posteriors is None else list(posteriors)
        self._elsewhere = None if on_cpu() else Accelerators(batches)
        self.start()

    def start(self) -> None:
        self._kept: list[Any] = self._first
        self._given: list[Any] | None = None
        self._new: list[Any] | None = None

    @passes.precision()
    def run(self, model: Model, tables: Any) -> tuple[Any, float]:
        self._new, total, running = [], passes.TreeSum(), None
        given = self._kept if self._given is None else self._given
        for (image, own_tables, stays), q in zip(self._chunks(tables), given, strict=True):
            if q is None:
                q = passes.init_posterior(model, own_tables, image)
            # XLA works on this chunk while SciPy sums the tokens of the one before, or the next one is padded and sent.
            started = passes.run_pass(model, own_tables, image, passes.spread(q, image)), stays
            if running is not None:
                total.add(self._collect(*running))
            running = started
        if running is None:
            return None, 0.0
        total.add(self._collect(*running))
        stats, bound = total.total()
        return stats, float(bound)

    def _chunks(self, tables: Any) -> Iterator[tuple[Image, Any, bool]]:
        """Images, the tables where the images are, and whether these stay there."""
        if self._elsewhere is None:
            for chunk in self.batches:
                yield chunk.image, tables, self.batches.in_memory
            return
        copies = self._elsewhere.copies(tables)
        for image, device, stays in self._elsewhere:
            yield image, copies[device], stays

    def _collect(self, found: tuple[Any, Any, Any], stays: bool) -> tuple[Any, Any]:
        """A chunk's sums, its posteriors noted: on the host where the chunk does not stay."""
        q, stats, bound = found
        assert self._new is not None
        self._new.append(q if stays else jax.tree.map(np.asarray, q))
        sums = passes.add_up((stats, bound))
        return sums if self._elsewhere is None else jax.device_put(sums, self._elsewhere.devices[0])

    def keep(self) -> None:
        assert self._new is not None, "nothing was run"
        self._kept, self._given, self._new = self._new, None, None

    def roll_back(self) -> None:
        self._given = self._new = None

    def posteriors(self) -> list[Any]:
        return self._kept

    def replace(self, posteriors: Sequence[Any]) -> None:
        self._given = list(posteriors)


@passes.precision()
def m_step(model: Model, params: Any, stats: Any, prior: Any) -> Any:
    """New parameters from summed statistics."""
    return passes.m_step(model, passes.cast(params, jnp.float64), passes.cast(stats, jnp.float64), prior)


@passes.precision()
def log_prior(model: Model, params: Any, prior: Any) -> float:
    """The terms of the objective that do not belong to an image."""
    return float(passes.log_prior(model, passes.cast(params, jnp.float64), prior))


@passes.precision()
def objective(model: Model, batches: Batches, params: Any, prior: Any, posteriors: Sequence[Any]) -> float:
    """Bound plus log-prior at given parameters and posteriors, nothing updated."""
    expectations = passes.tables(model, passes.cast(params, jnp.float64), batches.dtype)
    bounds = [
        passes.bound(model, expectations, chunk.image, q)
        for chunk, q in zip(batches, posteriors, strict=True)
    ]
    return math.fsum(float(bound) for bound in bounds) + log_prior(model, params, prior)
