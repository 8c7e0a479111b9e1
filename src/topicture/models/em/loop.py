"""The only EM loop.

A model is written for ONE image: `e_step` improves that image's posterior q and returns its expected statistics,
`elbo` is its share of the bound. Both read `tables`, the expectations that inference needs (such as E[log beta],
docs/models.md 2.10), which `expected` computes once per pass. This module maps those functions over blocks of images,
sums, runs the M-step, and checks at every iteration that the objective (bound plus log-prior) did not fall.

    repeat:  tables = expected(params)
             q, stats = e_step(tables, image, q)  for every image       [compiled, blocks of images]
             objective = sum of elbo(tables, image, q) + log_prior(params, prior)
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
from enum import Enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus.batches import Batches, Chunk, Image
from topicture.errors import FitWarning
from topicture.models.em import passes
from topicture.models.em.mapping import block_images, map_images, n_devices, unstack
from topicture.models.em.passes import Model, Outer, Product, Scatter, is_stand_in, sum_outer
from topicture.models.interrupts import may_be_kept

__all__ = [
    "FitResult",
    "Model",
    "Outer",
    "Product",
    "Progress",
    "Results",
    "Scatter",
    "block_images",
    "e_step",
    "fit",
    "fit_restarts",
    "fit_stochastic",
    "log_prior",
    "m_step",
    "map_images",
    "n_devices",
    "objective",
    "tables",
    "unstack",
]

# --- Values ----------------------------------------------------------------------------------------------------


class Results(Enum):
    """Why a fit ended; the value is what to tell a person."""

    converged = "converged: the objective changed by less than the tolerance"
    max_iter = "stopped at the largest number of iterations; raise max_iter to go on"
    objective_fell = (
        "the objective fell, which this algorithm must never do; the last good parameters are kept"
    )
    fell_as_allowed = (
        "the objective fell, which this algorithm does not exclude; the step with the largest is kept"
    )
    not_finite = "the objective was not a finite number; the last good parameters are kept"
    interrupted = "interrupted; the best parameters so far are kept"


class Progress(NamedTuple):
    """What a callback is told after every E-step."""

    restart: int
    n_restarts: int
    iteration: int
    max_iter: int
    objective: float


class FitResult(NamedTuple):
    params: Any
    posteriors: list[Any]  # one entry per chunk of the batches, with its leading axes
    trace: np.ndarray  # objective before the first and after every M-step
    reason: Results
    n_iter: int  # number of M-steps behind params
    rejected: float | None = None  # the objective of the step that fell, if one did

    @property
    def objective(self) -> float:
        return float(self.trace[-1]) if len(self.trace) else -math.inf


# --- The loop --------------------------------------------------------------------------------------------------


def fit(
    model: Model,
    batches: Batches,
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

    `posteriors` to start from, one entry per chunk, may be given. `couple(params, posteriors)` gives new posteriors of
    all images and a penalty that the objective subtracts. `may_fall` says that the algorithm does not promise to rise:
    a fall then ends the fit without a warning.
    """
    slack = 1e-9 if batches.dtype == np.float64 else 2e-5
    trace: list[float] = []
    posteriors = [None] * len(batches) if posteriors is None else list(posteriors)
    rejected = None
    good: tuple[Any, list[Any]] | None = None  # parameters, and the posteriors that gave trace[-1] with them
    reason = Results.max_iter
    try:
        for iteration in range(max_iter + 1):
            penalty = 0.0
            if couple is not None:
                posteriors, penalty = couple(params, posteriors)
            posteriors, stats, bound = e_step(model, batches, params, posteriors)
            value = bound + log_prior(model, params, prior) - penalty
            if not math.isfinite(value):
                reason, good = Results.not_finite, good or (params, posteriors)
                break
            if trace and value < trace[-1] - slack * abs(trace[-1]):
                reason = Results.fell_as_allowed if may_fall else Results.objective_fell
                rejected = value
                break
            converged = bool(trace) and abs(value - trace[-1]) <= tol * abs(trace[-1])
            trace.append(value)
            good = (params, posteriors)
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
    if reason in (Results.objective_fell, Results.not_finite, Results.interrupted):
        warnings.warn(f"after {len(trace)} iterations: {reason.value}", FitWarning, stacklevel=2)
    params, posteriors = jax.tree.map(np.asarray, good[0]), good[1]
    return FitResult(params, posteriors, np.array(trace), reason, max(0, len(trace) - 1), rejected)


def fit_stochastic(
    model: Model,
    batches: Batches,
    params: Any,
    prior: Any,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    tau0: float = 16.0,
    kappa: float = 0.7,
) -> Any:
    """Parameters after stochastic steps, one per chunk: they go part of the way to the M-step of that chunk alone.

        params <- (1 - rate) params + rate m_step(params, stats of the chunk * images / images of the chunk)

    with rate = (tau0 + step)^-kappa, less in proportion where a chunk holds fewer images than the largest one: scaled
    up, few images are a noisy estimate. For Dirichlet posteriors, which are affine in the statistics, this is the
    stochastic natural gradient. It suits models whose parameters may be averaged. Chunks come in a new random order
    every epoch (in their own order where they are not kept in memory), posteriors start anew every time, and the
    bound is not computed: `fit` goes on from here.
    """
    model = model._replace(elbo=passes.no_bound)
    n_images, step = len(batches.corpus), 0
    largest = max(len(chunk.rows) for chunk in batches)
    for _ in range(n_epochs):
        for chunk in _shuffled(batches, rng):
            rate, scale = (tau0 + step) ** -kappa, n_images / len(chunk.rows)
            rate *= len(chunk.rows) / largest
            params = _stochastic_step(model, batches.dtype, chunk.image, params, prior, scale, rate)
            step += 1
    return jax.tree.map(np.asarray, params)


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


@passes.precision()
def e_step(
    model: Model, batches: Batches, params: Any, posteriors: Sequence[Any]
) -> tuple[list[Any], Any, float]:
    """One pass: new posteriors, summed statistics and the bound. A posterior that is None is started."""
    expectations = passes.tables(model, passes.cast(params, jnp.float64), batches.dtype)
    new: list[Any] = []
    stats, bound, running = None, 0.0, None
    for chunk, q in zip(batches, posteriors, strict=True):
        if q is None:
            q = passes.init_posterior(model, expectations, chunk.image)
        # XLA works on this chunk while SciPy sums the tokens of the one before.
        started = passes.run_pass(model, expectations, chunk.image, q)
        if running is not None:
            stats, bound = _collect(new, stats, bound, running, batches.in_memory)
        running = started
    if running is not None:
        stats, bound = _collect(new, stats, bound, running, batches.in_memory)
    return new, stats, bound


def _collect(new: list[Any], stats: Any, bound: float, finished: Any, in_memory: bool) -> tuple[Any, float]:
    """Add a chunk to the sums and keep its posteriors, on the host where chunks do not stay in memory."""
    q, chunk_stats, chunk_bound = finished
    chunk_stats = jax.tree.map(sum_outer, chunk_stats, is_leaf=is_stand_in)
    new.append(q if in_memory else jax.tree.map(np.asarray, q))
    stats = chunk_stats if stats is None else jax.tree.map(jnp.add, stats, chunk_stats)
    return stats, bound + float(chunk_bound)


def _shuffled(batches: Batches, rng: np.random.Generator) -> Iterator[Chunk]:
    """The chunks of one epoch."""
    if not batches.in_memory:
        yield from batches
        return
    chunks = list(batches)
    for i in rng.permutation(len(chunks)):
        yield chunks[i]


@passes.precision()
def _stochastic_step(model: Model, dtype: Any, image: Image, params: Any, prior: Any, scale, rate) -> Any:
    params = passes.cast(params, jnp.float64)
    expectations = passes.tables(model, params, dtype)
    _, stats, _ = passes.run_pass(
        model, expectations, image, passes.init_posterior(model, expectations, image)
    )
    stats = jax.tree.map(sum_outer, stats, is_leaf=is_stand_in)
    return passes.part_m_step(model, params, passes.cast(stats, jnp.float64), prior, scale, rate)


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
