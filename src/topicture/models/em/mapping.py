"""A function of one image mapped over the images of a corpus, which is what prediction does, and how to block them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np

from topicture.corpus.batches import Batches, Image, Sizes
from topicture.devices import on_cpu
from topicture.models.em import passes
from topicture.models.em.accelerators import BLOCK_BYTES, CHUNK_IMAGES

__all__ = ["block_images", "chunk_images", "map_images", "n_lanes", "unstack"]


def map_images(
    fn: Callable[[Any, Image], Any], tables: Any, batches: Batches
) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield (rows, values) chunk by chunk: `fn(tables, image)` of every image, in the order of rows.

    `fn` must be a module-level or cached function: it is a compilation key.
    """
    for chunk in batches:
        yield chunk.rows, unstack(_map_chunk(fn, tables, chunk.image, batches.dtype), len(chunk.rows))


def unstack(values: Any, n_images: int) -> Any:
    """Leaves of leading axes (blocks, block) as NumPy arrays with one row per image, padding dropped."""

    def rows(a):  # sizes spelled out: an axis of no regions would leave -1 undecided
        return np.asarray(a).reshape(a.shape[0] * a.shape[1], *a.shape[2:])[:n_images]

    return jax.tree.map(rows, values)


def block_images(
    n_topics: int, dtype: Any, width: Callable[[Sizes], int] = lambda sizes: max(1, sizes.regions)
) -> Callable[[Sizes], int]:
    """How many images one scan step should hold, from the padded sizes.

    `width` is the number of rows of length `n_topics` in the largest array that the E-step keeps for one image. On a
    CPU a block should take about 192 kB an array, so that it stays in the cache (measured: 8 images at K = 200 with
    ten regions, 64 at K = 50); on an accelerator it holds as many images as there is room for.
    """
    n_bytes, most = (192_000, 9) if on_cpu() else (BLOCK_BYTES, 16)

    def images(sizes: Sizes) -> int:
        fitting = n_bytes / (np.dtype(dtype).itemsize * n_topics * width(sizes))
        return 1 << int(np.clip(np.log2(max(fitting, 1)), 2, most))

    return images


def n_lanes() -> int:
    """The number of blocks of a chunk should be a multiple of this, so that all cores share them.

    It does not depend on their number: a fit gives the same bits on all machines of a kind.
    """
    return passes.LANES if on_cpu() else 1


def chunk_images() -> int:
    """How many images are padded and worked on at once."""
    return 8192 if on_cpu() else CHUNK_IMAGES


@passes.precision()
def _map_chunk(fn, tables, image, dtype):
    return _map(fn, passes.cast(tables, dtype), image)


@partial(jax.jit, static_argnames="fn")
def _map(fn, tables, image):
    return jax.lax.map(jax.vmap(partial(fn, tables)), image)
