"""The only EM loop.

A model is written for ONE image: `e_step` improves that image's posterior q and returns its expected statistics,
`elbo` is its share of the bound. Both read `tables`, the expectations that inference needs (such as E[log beta],
MODELS.md 2.10), which `expected` computes once a pass. This module maps those functions over blocks of images,
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
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from scipy import sparse

from topicture.corpus.batches import Batches, Chunk, Image, Sizes
from topicture.errors import FitWarning

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


class Model(NamedTuple):
    """The functions of a model. Build it once per setting (module level or lru_cache): it is a compilation key."""

    views: tuple[str, ...]  # what of the corpus an Image must hold
    expected: Callable[[Any], Any]  # params -> tables, in float64
    init_posterior: Callable[[Any, Image], Any]  # tables, image -> q
    e_step: Callable[[Any, Image, Any], tuple[Any, Any]]  # tables, image, q -> q, stats
    elbo: Callable[[Any, Image, Any], Any]  # tables, image, q -> scalar
    m_step: Callable[[Any, Any, Any], Any]  # params, stats, prior -> params
    log_prior: Callable[[Any, Any], Any]  # params, prior -> scalar


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scatter:
    """Statistics of tokens: row `values[i]` (K,) belongs to word `ids[i]`. Summed over images they are (size, K).

    It stands for a dense table that one image would fill almost entirely with zeros.
    """

    ids: Any  # (..., n)
    values: Any  # (..., n, K)
    size: int = field(metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outer:
    """A Scatter of rank one: the row of token i is weights[i] * row. Summed over images it is a sparse product.

    XLA's scatter on a CPU takes 16 ms where SciPy's sparse product takes 1 (5,000 images, K = 100), so there the sum
    is left to SciPy; accelerators use a segment sum.
    """

    ids: Any  # (..., n)
    weights: Any  # (..., n)
    row: Any  # (..., K)
    size: int = field(metadata={"static": True})
    # Where a row holds only some columns of the table: which, (..., K), distinct, and how many there are in all.
    columns: Any = None
    n_columns: int = field(default=0, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Product:
    """Statistics left' right, (K, F), of one image's parts: summed over images they are one matrix product a block.

    The product of every image by itself would be written and read again before it is added: for 5,000 images of
    twelve regions, K = 200 and F = 46 that took 0.64 s where the product of a block takes 0.07.
    """

    left: Any  # (..., n, K)
    right: Any  # (..., n, F)


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
    posteriors: list[Any]  # one entry a chunk of the batches, with its leading axes
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

    `posteriors` to start from, one entry a chunk, may be given. `couple(params, posteriors)` gives new posteriors of
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
        if good is None:
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
    """Parameters after stochastic steps, one a chunk: they go part of the way to the M-step of that chunk alone.

        params <- (1 - rate) params + rate m_step(params, stats of the chunk * images / images of the chunk)

    with rate = (tau0 + step)^-kappa, less in proportion where a chunk holds fewer images than the largest one: scaled
    up, few images are a noisy estimate. For Dirichlet posteriors, which are affine in the statistics, this is the
    stochastic natural gradient. It suits models whose parameters may be averaged. Chunks come in a new random order
    every epoch (in their own order where they are not kept in memory), posteriors start anew every time, and the
    bound is not computed: `fit` goes on from here.
    """
    model = model._replace(elbo=_no_bound)
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
            if best is None:
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


@contextmanager
def _precision():
    """64-bit types, and float32 products without shortcuts (TF32 loses 2e-2 in the statistics)."""
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


@_precision()
def tables(model: Model, params: Any) -> Any:
    """The expectations that inference reads, as NumPy arrays in float64."""
    return jax.tree.map(np.asarray, _tables(model, _cast(params, jnp.float64), np.dtype(np.float64)))


@_precision()
def e_step(
    model: Model, batches: Batches, params: Any, posteriors: Sequence[Any]
) -> tuple[list[Any], Any, float]:
    """One pass: new posteriors, summed statistics and the bound. A posterior that is None is started."""
    expectations = _tables(model, _cast(params, jnp.float64), batches.dtype)
    new: list[Any] = []
    stats, bound, running = None, 0.0, None
    for chunk, q in zip(batches, posteriors, strict=True):
        if q is None:
            q = _init_posterior(model, expectations, chunk.image)
        # XLA works on this chunk while SciPy sums the tokens of the one before.
        started = _pass(model, expectations, chunk.image, q)
        if running is not None:
            stats, bound = _collect(new, stats, bound, running, batches.kept)
        running = started
    if running is not None:
        stats, bound = _collect(new, stats, bound, running, batches.kept)
    return new, stats, bound


def _collect(new: list[Any], stats: Any, bound: float, finished: Any, kept: bool) -> tuple[Any, float]:
    """Add a chunk to the sums and keep its posteriors, on the host where chunks do not stay in memory."""
    q, chunk_stats, chunk_bound = finished
    chunk_stats = jax.tree.map(_sum_outer, chunk_stats, is_leaf=_is_token_stats)
    new.append(q if kept else jax.tree.map(np.asarray, q))
    stats = chunk_stats if stats is None else jax.tree.map(jnp.add, stats, chunk_stats)
    return stats, bound + float(chunk_bound)


def _shuffled(batches: Batches, rng: np.random.Generator) -> Iterator[Chunk]:
    """The chunks of one epoch."""
    if not batches.kept:
        yield from batches
        return
    chunks = list(batches)
    for i in rng.permutation(len(chunks)):
        yield chunks[i]


@_precision()
def _stochastic_step(model: Model, dtype: Any, image: Image, params: Any, prior: Any, scale, rate) -> Any:
    params = _cast(params, jnp.float64)
    expectations = _tables(model, params, dtype)
    _, stats, _ = _pass(model, expectations, image, _init_posterior(model, expectations, image))
    stats = jax.tree.map(_sum_outer, stats, is_leaf=_is_token_stats)
    return _part_m_step(model, params, _cast(stats, jnp.float64), prior, scale, rate)


@_precision()
def m_step(model: Model, params: Any, stats: Any, prior: Any) -> Any:
    """New parameters from summed statistics."""
    return _m_step(model, _cast(params, jnp.float64), _cast(stats, jnp.float64), prior)


@_precision()
def log_prior(model: Model, params: Any, prior: Any) -> float:
    """The terms of the objective that do not belong to an image."""
    return float(_log_prior(model, _cast(params, jnp.float64), prior))


@_precision()
def objective(model: Model, batches: Batches, params: Any, prior: Any, posteriors: Sequence[Any]) -> float:
    """Bound plus log-prior at given parameters and posteriors, nothing updated."""
    expectations = _tables(model, _cast(params, jnp.float64), batches.dtype)
    bounds = [
        _bound(model, expectations, chunk.image, q) for chunk, q in zip(batches, posteriors, strict=True)
    ]
    return math.fsum(float(bound) for bound in bounds) + log_prior(model, params, prior)


def map_images(
    fn: Callable[[Any, Image], Any], tables: Any, batches: Batches
) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield (rows, values) chunk by chunk: `fn(tables, image)` of every image, in the order of rows.

    `fn` must be a module-level or cached function: it is a compilation key.
    """
    for chunk in batches:
        yield chunk.rows, unstack(_map_chunk(fn, tables, chunk.image, batches.dtype), len(chunk.rows))


def unstack(values: Any, n_images: int) -> Any:
    """Leaves of leading axes (blocks, block) as NumPy arrays with one row an image, padding dropped."""

    def rows(a):  # sizes spelled out: an axis of no regions would leave -1 undecided
        return np.asarray(a).reshape(a.shape[0] * a.shape[1], *a.shape[2:])[:n_images]

    return jax.tree.map(rows, values)


def block_images(
    n_topics: int, dtype: Any, width: Callable[[Sizes], int] = lambda sizes: max(1, sizes.regions)
) -> Callable[[Sizes], int]:
    """How many images one scan step should hold, from the padded sizes.

    `width` is the number of rows of length `n_topics` in the largest array that the E-step keeps for one image. On a
    CPU a block should take about 192 kB an array, so that it stays in the cache (measured: 8 images at K = 200 with
    ten regions, 64 at K = 50); on an accelerator it holds as many images as there are.
    """
    if jax.default_backend() != "cpu":
        return lambda sizes: 1 << 30

    def images(sizes: Sizes) -> int:
        fitting = 192_000 / (np.dtype(dtype).itemsize * n_topics * width(sizes))
        return 1 << int(np.clip(np.log2(max(fitting, 1)), 2, 9))

    return images


def n_devices() -> int:
    """Over how many devices a pass is split: the number of blocks of a chunk should be a multiple of it."""
    return jax.local_device_count()


# --- Compiled passes ---------------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("model", "dtype"))
def _tables(model, params, dtype):
    return _cast(model.expected(params), dtype)


@partial(jax.jit, static_argnames="model")
def _init_posterior(model, tables, image):
    return jax.lax.map(jax.vmap(partial(model.init_posterior, tables)), image)


@partial(jax.jit, static_argnames="model")
def _pass(model, tables, image, q):
    """Posteriors, statistics and bound of a chunk; statistics of rank one are left for `_sum_outer`."""
    devices = jax.local_devices()
    if len(devices) == 1 or image.weight.shape[0] % len(devices):
        return _over_blocks(model, tables, image, q)

    def on_one_device(tables, image, q):
        q, stats, bound = _over_blocks(model, tables, image, q)
        return q, jax.tree.map(_sum_over_devices, stats, is_leaf=_is_outer), jax.lax.psum(bound, "blocks")

    split, whole = PartitionSpec("blocks"), PartitionSpec()
    shapes = jax.eval_shape(partial(_over_blocks, model), tables, image, q)[1]
    stats_specs = jax.tree.map(lambda x: split if _is_outer(x) else whole, shapes, is_leaf=_is_outer)
    return jax.shard_map(
        on_one_device,
        mesh=Mesh(np.array(devices), ("blocks",)),
        in_specs=(whole, split, split),
        out_specs=(split, stats_specs, whole),
        check_vma=False,
    )(tables, image, q)


def _over_blocks(model, tables, image, q):
    def one_image(image, q):
        q, stats = model.e_step(tables, image, q)
        values = stats, model.elbo(tables, image, q)
        return q, jax.tree.map(partial(_unless_padding, image.weight), values, is_leaf=_is_token_stats)

    def step(total, block):
        q, values = jax.vmap(one_image)(*block)
        outer = jax.tree.map(lambda x: x if _is_outer(x) else None, values, is_leaf=_is_token_stats)
        return _add_block(total, values), (q, outer)

    first = jax.tree.map(lambda x: x[0], (image, q))
    total, (q, outer) = jax.lax.scan(step, _zeros(jax.vmap(one_image), first), (image, q))
    stats, bound = jax.tree.map(
        lambda sum, x: sum if x is None else x, total, outer, is_leaf=_is_none_or_outer
    )
    return q, stats, bound


@partial(jax.jit, static_argnames="model")
def _bound(model, tables, image, q):
    bound = jax.lax.map(lambda block: jax.vmap(partial(model.elbo, tables))(*block), (image, q))
    return jnp.sum(jnp.where(image.weight > 0, bound, 0), dtype=jnp.float64)


@partial(jax.jit, static_argnames="model")
def _m_step(model, params, stats, prior):
    return _cast(model.m_step(params, stats, prior), jnp.float64)


@partial(jax.jit, static_argnames="model")
def _part_m_step(model, params, stats, prior, scale, rate):
    stats = jax.tree.map(lambda x: scale * x, stats)
    new = _cast(model.m_step(params, stats, prior), jnp.float64)
    return jax.tree.map(lambda old, new: (1 - rate) * old + rate * new, params, new)


def _no_bound(tables, image, q):
    return jnp.zeros(())


@partial(jax.jit, static_argnames="model")
def _log_prior(model, params, prior):
    return model.log_prior(params, prior)


@_precision()
def _map_chunk(fn, tables, image, dtype):
    return _map(fn, _cast(tables, dtype), image)


@partial(jax.jit, static_argnames="fn")
def _map(fn, tables, image):
    return jax.lax.map(jax.vmap(partial(fn, tables)), image)


# --- Sums over images --------------------------------------------------------------------------------------------


def _is_outer(x: Any) -> bool:
    return isinstance(x, Outer)


def _is_none_or_outer(x: Any) -> bool:
    return x is None or isinstance(x, Outer)


def _is_token_stats(x: Any) -> bool:
    return isinstance(x, Scatter | Outer | Product)


def _unless_padding(weight, x):
    """Zero for a padded image, whatever its arithmetic gave."""

    def real(value):
        return jnp.where(weight > 0, value, 0)

    if isinstance(x, Scatter):
        return Scatter(x.ids, real(x.values), x.size)
    if isinstance(x, Product):
        return Product(real(x.left), x.right)
    if isinstance(x, Outer):
        return x  # padding has weights 0 already, and copies cost as much as the arithmetic
    return real(x)


def _zeros(step, block):
    """Where the sums start: the shape of one image's values, tokens spread over their whole vocabulary."""

    def zero(x):
        if isinstance(x, Outer):
            return jnp.zeros(())
        if isinstance(x, Product):
            return jnp.zeros((x.left.shape[-1], x.right.shape[-1]), jnp.float64)
        shape = (x.size, x.values.shape[-1]) if isinstance(x, Scatter) else x.shape[1:]
        return jnp.zeros(shape, jnp.float64)

    return jax.tree.map(zero, jax.eval_shape(step, *block)[1], is_leaf=_is_token_stats)


def _add_block(totals, values):
    """Add the values of a block of images, (block, ...), to the totals; those of rank one wait."""

    def add(x, total):
        if isinstance(x, Outer):
            return total
        if isinstance(x, Scatter):
            rows = x.values.reshape(-1, x.values.shape[-1]).astype(total.dtype)
            return total.at[x.ids.reshape(-1)].add(rows)
        if isinstance(x, Product):
            return total + jnp.einsum("bnk,bnf->kf", x.left, x.right).astype(total.dtype)
        return total + jnp.sum(x, axis=0, dtype=total.dtype)

    return jax.tree.map(add, values, totals, is_leaf=_is_token_stats)


def _sum_over_devices(x):
    return x if _is_outer(x) else jax.lax.psum(x, "blocks")


def _sum_outer(x):
    """sum over images of weights[i] * row at ids[i], (size, K), from leading axes (blocks, block)."""
    if not _is_outer(x):
        return x
    if jax.default_backend() != "cpu":
        return _segment_sum_outer(x)
    row = np.asarray(x.row, np.float64).reshape(-1, x.row.shape[-1])
    ids, weights = np.asarray(x.ids).reshape(-1), np.asarray(x.weights, np.float64).reshape(-1)
    tokens = _compressed(weights, ids, len(row), x.size)
    if x.columns is None:
        return tokens.T @ row
    return (tokens.T @ _compressed(row, np.asarray(x.columns), len(row), x.n_columns)).toarray()


def _compressed(values, columns, n_rows, n_columns):
    """A sparse matrix from rows of equally many entries, zeros (most of them padding) left out."""
    shape = n_rows, values.size // max(n_rows, 1)
    values, columns = values.reshape(shape), columns.reshape(shape)
    real = values != 0
    starts = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
    return sparse.csr_array((values[real], columns[real], starts), shape=(n_rows, n_columns))


@jax.jit
def _segment_sum_outer(x):
    rows = x.weights[..., None] * x.row[..., None, :]
    rows = rows.reshape(-1, rows.shape[-1]).astype(jnp.float64)
    if x.columns is None:
        return jax.ops.segment_sum(rows, x.ids.reshape(-1), num_segments=x.size)
    cells = (x.ids[..., None].astype(jnp.int64) * x.n_columns + x.columns[..., None, :]).reshape(-1)
    total = jax.ops.segment_sum(rows.reshape(-1), cells, num_segments=x.size * x.n_columns)
    return total.reshape(x.size, x.n_columns)


def _cast(tree: Any, dtype: Any) -> Any:
    """Floating-point leaves in the given precision; integers stay."""

    def cast(x):
        x = jnp.asarray(x)
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(cast, tree)
