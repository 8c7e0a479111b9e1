"""What em.py compiles: passes of a model's one-image functions over chunks of images.

A pass is a `lax.scan` over the blocks of a chunk with `vmap` inside, split over devices where there are several. Only
this module calls `jax.jit`. 64-bit types are switched on by a context manager around every call.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from topicture.corpus.batches import Batches, Image, Sizes
from topicture.models.em.sums import (
    add_block,
    is_none_or_outer,
    is_outer,
    is_stand_in,
    sum_over_devices,
    unless_padding,
    zeros,
)

__all__ = [
    "Model",
    "block_images",
    "bound",
    "cast",
    "init_posterior",
    "log_prior",
    "m_step",
    "map_images",
    "n_devices",
    "no_bound",
    "part_m_step",
    "precision",
    "run_pass",
    "tables",
    "unstack",
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


# --- Over images -------------------------------------------------------------------------------------------------


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


@precision()
def _map_chunk(fn, tables, image, dtype):
    return _map(fn, cast(tables, dtype), image)


@partial(jax.jit, static_argnames="fn")
def _map(fn, tables, image):
    return jax.lax.map(jax.vmap(partial(fn, tables)), image)


def cast(tree: Any, dtype: Any) -> Any:
    """Floating-point leaves in the given precision; integers stay."""

    def cast(x):
        x = jnp.asarray(x)
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(cast, tree)
