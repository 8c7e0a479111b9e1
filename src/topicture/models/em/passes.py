"""What em/loop.py compiles: passes of a model's one-image functions over chunks of images, and their sums.

A pass is a `lax.scan` over the blocks of a chunk with `vmap` inside, shared by the cores where they are JAX's devices.
One image's statistics are arrays, or stand-ins for arrays (`Scatter`, `Outer`, `Product`). Passes are compiled here and
in mapping.py alone. 64-bit types are switched on by a context manager around every call.
"""

import math
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from scipy import sparse

from topicture.corpus.batches import Image
from topicture.devices import devices, on_chosen_device, on_cpu
from topicture.models.em.stand_ins import Outer, Product, Scatter

__all__ = [
    "LANES",
    "Model",
    "Outer",
    "Product",
    "Scatter",
    "TreeSum",
    "add_pair",
    "add_up",
    "bound",
    "cast",
    "init_posterior",
    "log_prior",
    "m_step",
    "no_bound",
    "part_m_step",
    "precision",
    "run_pass",
    "segment_sum_outer",
    "spread",
    "tables",
]

# A chunk's blocks make so many lanes, on which 1, 2, 4 or 8 cores work.
LANES = 8


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
    with on_chosen_device(), jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


# --- Compiled passes ---------------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("model", "dtype"))
def tables(model, params, dtype):
    return cast(model.expected(params), dtype)


@partial(jax.jit, static_argnames="model")
def init_posterior(model, tables, image):
    return jax.lax.map(jax.vmap(partial(model.init_posterior, tables)), image)


@partial(jax.jit, static_argnames="model")
def run_pass(model, tables, image, q):
    """Posteriors, statistics and bound of a chunk, all but the posteriors still for `add_up`.

    The blocks are dealt out to lanes, whose number depends on the chunk alone; a device works on some of the lanes.
    Their sums are added as a fixed tree, outside of compiled code: the number of devices does not change a bit.
    """
    mesh = _mesh(image)
    if mesh is None:
        q, outer, sums = _over_lanes(n_lanes(image), model, tables, image, q)
    else:
        split, whole = PartitionSpec("lanes"), PartitionSpec()
        q, outer, sums = jax.shard_map(
            partial(_over_lanes, n_lanes(image) // mesh.size, model),
            mesh=mesh,
            in_specs=(whole, split, split),
            out_specs=split,
            check_vma=False,
        )(tables, image, q)
    stats, bound = jax.tree.map(lambda sum, x: sum if x is None else x, sums, outer, is_leaf=is_none_or_outer)
    return q, stats, bound


def n_lanes(image: Image) -> int:
    return math.gcd(image.weight.shape[0], LANES)


def _mesh(image: Image) -> Mesh | None:
    """As many cores as can share the lanes of a chunk evenly; none where that is one. Accelerators share chunks."""
    shared_by = devices()
    n = 1 << (min(len(shared_by), n_lanes(image)).bit_length() - 1)
    return Mesh(np.array(shared_by[:n]), ("lanes",)) if n > 1 and on_cpu() else None


def spread(q: Any, image: Image) -> Any:
    """Posteriors where the pass leaves them, so that it is not compiled once more for those of its own."""
    mesh = _mesh(image)
    return q if mesh is None else jax.device_put(q, NamedSharding(mesh, PartitionSpec("lanes")))


def _over_lanes(lanes, model, tables, image, q):
    """Posteriors and terms of rank one of all blocks, and the sums of every lane, (lanes, ...)."""
    if lanes == 1:
        q, outer, sums = _over_blocks(model, tables, image, q)
        return q, outer, jax.tree.map(lambda x: x[None], sums)
    # Sizes spelled out: an axis of no words would leave -1 undecided.
    image, q = jax.tree.map(lambda x: x.reshape(lanes, x.shape[0] // lanes, *x.shape[1:]), (image, q))
    q, outer, sums = jax.lax.map(lambda lane: _over_blocks(model, tables, *lane), (image, q))
    return *jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), (q, outer)), sums


def _over_blocks(model, tables, image, q):
    def step(total, block):
        q, values = _one_block(model, tables, *block)
        outer = jax.tree.map(lambda x: x if is_outer(x) else None, values, is_leaf=is_stand_in)
        return add_block(total, values), (q, outer)

    first = jax.tree.map(lambda x: x[0], (image, q))
    shapes = jax.eval_shape(partial(_one_block, model), tables, *first)[1]
    total, (q, outer) = jax.lax.scan(step, zeros(shapes), (image, q))
    return q, outer, total


@partial(
    jax.jit, static_argnames="model"
)  # so that it is traced once, though asked for its shapes before it is used
def _one_block(model, tables, image, q):
    """Posteriors of a block's images, their statistics and bounds."""

    def one_image(image, q):
        q, stats = model.e_step(tables, image, q)
        values = stats, model.elbo(tables, image, q)
        return q, jax.tree.map(partial(unless_padding, image.weight), values, is_leaf=is_stand_in)

    return jax.vmap(one_image)(image, q)


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


def zeros(values):
    """Where the sums of a block's values start: the shape of one image's, tokens spread over their whole vocabulary."""

    def zero(x):
        if isinstance(x, Outer):
            return jnp.zeros(())
        if isinstance(x, Product):
            return jnp.zeros((x.left.shape[-1], x.right.shape[-1]), jnp.float64)
        shape = (x.size, x.values.shape[-1]) if isinstance(x, Scatter) else x.shape[1:]
        return jnp.zeros(shape, jnp.float64)

    return jax.tree.map(zero, values, is_leaf=is_stand_in)


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


class TreeSum:
    """A sum of equal trees of arrays in a fixed order, whoever computed them: ((0 + 1) + (2 + 3)) + (4 + 5) ...

    Parts 2^j i to 2^j (i + 1) always make up one branch, so that whoever has all of them may add them up. It holds as
    many parts as the tree has levels.
    """

    def __init__(self) -> None:
        self._branches: list[tuple[int, Any]] = []

    def add(self, part: Any) -> None:
        size = 1
        while self._branches and self._branches[-1][0] == size:
            part, size = add_pair(self._branches.pop()[1], part), 2 * size
        self._branches.append((size, part))

    def total(self) -> Any:
        *earlier, (_, total) = self._branches
        for _, branch in reversed(earlier):
            total = add_pair(branch, total)
        return total


def add_pair(a: Any, b: Any) -> Any:
    """The sum of two equal trees of arrays: a node of the tree that `TreeSum` makes."""
    if not any(isinstance(x, jax.Array) for x in jax.tree.leaves((a, b))):
        return jax.tree.map(np.add, a, b)
    with precision():
        return _sum_on_device(a, b)


@jax.jit
def _sum_on_device(a, b):
    return jax.tree.map(jnp.add, a, b)


def add_up(values: Any) -> Any:
    """Values of `run_pass` summed over the lanes of a chunk, those of rank one over its images; NumPy's on a CPU."""
    if not on_cpu():
        return _add_up_on_device(values)

    def total(x):
        if is_outer(x):
            return sum_outer(x)
        x = np.asarray(x)
        while len(x) > 1:
            x = x[::2] + x[1::2]
        return x[0]

    return jax.tree.map(total, values, is_leaf=is_outer)


@jax.jit
def _add_up_on_device(values):
    return jax.tree.map(
        lambda x: segment_sum_outer(x) if is_outer(x) else jnp.sum(x, axis=0), values, is_leaf=is_outer
    )


def sum_outer(x):
    """sum over images of weights[i] * row at ids[i], (size, K), from leading axes (blocks, block)."""
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
