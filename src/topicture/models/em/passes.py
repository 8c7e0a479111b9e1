"""What em/loop.py compiles: passes of a model's one-image functions over chunks of images, and their sums.

A pass is a `lax.scan` over the blocks of a chunk with `vmap` inside, split over devices where there are several. One
image's statistics are arrays, or stand-ins for arrays (`Scatter`, `Outer`, `Product`). Passes are compiled here and in
mapping.py alone. 64-bit types are switched on by a context manager around every call.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from scipy import sparse

from topicture.corpus.batches import Image

__all__ = [
    "Model",
    "Outer",
    "Product",
    "Scatter",
    "bound",
    "cast",
    "init_posterior",
    "is_stand_in",
    "log_prior",
    "m_step",
    "no_bound",
    "part_m_step",
    "precision",
    "run_pass",
    "segment_sum_outer",
    "sum_outer",
    "tables",
]


class Model(NamedTuple):
    """The functions of a model. Build it once per setting (module level or lru_cache): it is a compilation key."""

    views: tuple[str, ...]  # what of the corpus an Image must hold
    expected: Callable[[Any], Any]  # params -> tables, in float64
    init_posterior: Callable[[Any, Image], Any]  # tables, image -> q
    e_step: Callable[[Any, Image, Any], tuple[Any, Any]]  # tables, image, q -> q, stats
    elbo: Callable[[Any, Image, Any], Any]  # tables, image, q -> scalar
    m_step: Callable[[Any, Any, Any], Any]  # params, stats, prior -> params
    log_prior: Callable[[Any, Any], Any]  # params, prior -> scalar


@contextmanager
def precision():
    """64-bit types, and float32 products without shortcuts (TF32 loses 2e-2 in the statistics)."""
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


# --- Stand-ins: statistics that one image would fill with zeros, or that are cheaper to form for a block ------------


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
    """Statistics left' right, (K, F), of one image's parts: summed over images they are one matrix product per block.

    The product of every image by itself would be written and read again before it is added: for 5,000 images of
    twelve regions, K = 200 and F = 46 that took 0.64 s where the product of a block takes 0.07.
    """

    left: Any  # (..., n, K)
    right: Any  # (..., n, F)


# --- Compiled passes ---------------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("model", "dtype"))
def tables(model, params, dtype):
    return cast(model.expected(params), dtype)


@partial(jax.jit, static_argnames="model")
def init_posterior(model, tables, image):
    return jax.lax.map(jax.vmap(partial(model.init_posterior, tables)), image)


@partial(jax.jit, static_argnames="model")
def run_pass(model, tables, image, q):
    """Posteriors, statistics and bound of a chunk; statistics of rank one are left for `sum_outer`."""
    devices = jax.local_devices()
    if len(devices) == 1 or image.weight.shape[0] % len(devices):
        return _over_blocks(model, tables, image, q)

    def on_one_device(tables, image, q):
        q, stats, bound = _over_blocks(model, tables, image, q)
        return q, jax.tree.map(sum_over_devices, stats, is_leaf=is_outer), jax.lax.psum(bound, "blocks")

    split, whole = PartitionSpec("blocks"), PartitionSpec()
    shapes = jax.eval_shape(partial(_over_blocks, model), tables, image, q)[1]
    stats_specs = jax.tree.map(lambda x: split if is_outer(x) else whole, shapes, is_leaf=is_outer)
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
        return q, jax.tree.map(partial(unless_padding, image.weight), values, is_leaf=is_stand_in)

    def step(total, block):
        q, values = jax.vmap(one_image)(*block)
        outer = jax.tree.map(lambda x: x if is_outer(x) else None, values, is_leaf=is_stand_in)
        return add_block(total, values), (q, outer)

    first = jax.tree.map(lambda x: x[0], (image, q))
    total, (q, outer) = jax.lax.scan(step, zeros(jax.vmap(one_image), first), (image, q))
    stats, bound = jax.tree.map(
        lambda sum, x: sum if x is None else x, total, outer, is_leaf=is_none_or_outer
    )
    return q, stats, bound


@partial(jax.jit, static_argnames="model")
def bound(model, tables, image, q):
    bound = jax.lax.map(lambda block: jax.vmap(partial(model.elbo, tables))(*block), (image, q))
    return jnp.sum(jnp.where(image.weight > 0, bound, 0), dtype=jnp.float64)


@partial(jax.jit, static_argnames="model")
def m_step(model, params, stats, prior):
    return cast(model.m_step(params, stats, prior), jnp.float64)


@partial(jax.jit, static_argnames="model")
def part_m_step(model, params, stats, prior, scale, rate):
    stats = jax.tree.map(lambda x: scale * x, stats)
    new = cast(model.m_step(params, stats, prior), jnp.float64)
    return jax.tree.map(lambda old, new: (1 - rate) * old + rate * new, params, new)


def no_bound(tables, image, q):
    return jnp.zeros(())


@partial(jax.jit, static_argnames="model")
def log_prior(model, params, prior):
    return model.log_prior(params, prior)


def cast(tree: Any, dtype: Any) -> Any:
    """Floating-point leaves in the given precision; integers stay."""

    def cast(x):
        x = jnp.asarray(x)
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(cast, tree)


# --- Sums over images --------------------------------------------------------------------------------------------


def is_outer(x: Any) -> bool:
    return isinstance(x, Outer)


def is_none_or_outer(x: Any) -> bool:
    return x is None or isinstance(x, Outer)


def is_stand_in(x: Any) -> bool:
    return isinstance(x, Scatter | Outer | Product)


def unless_padding(weight, x):
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


def zeros(step, block):
    """Where the sums start: the shape of one image's values, tokens spread over their whole vocabulary."""

    def zero(x):
        if isinstance(x, Outer):
            return jnp.zeros(())
        if isinstance(x, Product):
            return jnp.zeros((x.left.shape[-1], x.right.shape[-1]), jnp.float64)
        shape = (x.size, x.values.shape[-1]) if isinstance(x, Scatter) else x.shape[1:]
        return jnp.zeros(shape, jnp.float64)

    return jax.tree.map(zero, jax.eval_shape(step, *block)[1], is_leaf=is_stand_in)


def add_block(totals, values):
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

    return jax.tree.map(add, values, totals, is_leaf=is_stand_in)


def sum_over_devices(x):
    return x if is_outer(x) else jax.lax.psum(x, "blocks")


def sum_outer(x):
    """sum over images of weights[i] * row at ids[i], (size, K), from leading axes (blocks, block)."""
    if not is_outer(x):
        return x
    if jax.default_backend() != "cpu":
        return segment_sum_outer(x)
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
def segment_sum_outer(x):
    rows = x.weights[..., None] * x.row[..., None, :]
    rows = rows.reshape(-1, rows.shape[-1]).astype(jnp.float64)
    if x.columns is None:
        return jax.ops.segment_sum(rows, x.ids.reshape(-1), num_segments=x.size)
    cells = (x.ids[..., None].astype(jnp.int64) * x.n_columns + x.columns[..., None, :]).reshape(-1)
    total = jax.ops.segment_sum(rows.reshape(-1), cells, num_segments=x.size * x.n_columns)
    return total.reshape(x.size, x.n_columns)
