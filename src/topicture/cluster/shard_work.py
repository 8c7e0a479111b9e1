"""What a worker does with the shards of a fit. Posteriors stay in its memory; whatever it forgot, it can find again.

An order names everything that its result depends on, as files that all workers see: images, the tables of the passes
that were kept, and posteriors of an earlier pass. A worker that has the posteriors of the last kept pass goes on from
them. One that has not (it took over from a worker that died) begins with the latest that there are and repeats the
passes in between. Both give the same bits, so it does not matter who gets an order, nor how often.
"""

from collections import OrderedDict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from topicture.cluster.arrays import ArrayFile, read_arrays, write_arrays
from topicture.corpus.batches import Image
from topicture.models.em import passes
from topicture.models.em.making import Made

__all__ = ["Order", "Pass", "find_posterior", "run_shards"]

# Posteriors of so many fits stay in memory: the one at work, and the one before it.
_FITS_IN_MEMORY = 2


class Pass(NamedTuple):
    """One pass over all images."""

    number: int  # unique in its folder
    tables: ArrayFile
    shape_of_tables: Any  # the tree of tables, numbers in place of its leaves
    starts: tuple[ArrayFile, ...] | None = None  # posteriors to begin with, one file per shard
    noted: bool = False  # whether its posteriors are written to the folder


class Order(NamedTuple):
    """Passes over some shards: those that were kept, and the last one, whose statistics are wanted."""

    folder: str
    made: Made
    shape_of_image: Any
    first: int  # number of the first of these shards
    shards: tuple[ArrayFile, ...]
    passes: tuple[Pass, ...]
    keeps: bool = True  # whether anybody will go on from the posteriors


def run_shards(order: Order) -> tuple[Any, Any]:
    """Statistics and bound of the last pass, added up as a fixed tree."""
    total = passes.TreeSum()
    for place in range(len(order.shards)):
        total.add(_run(order, place))
    return total.total()


@passes.precision()
def find_posterior(order: Order) -> Any:
    """The posteriors of the first of these shards after the last pass, as NumPy arrays."""
    return jax.tree.map(np.asarray, _after(order, 0, order.passes))


@passes.precision()
def _run(order: Order, place: int) -> tuple[Any, Any]:
    *earlier, last = order.passes
    q, sums = _pass_over(order, place, last, _after(order, place, tuple(earlier)))
    if not order.keeps:
        return sums
    held = _held(order, place)
    kept = earlier[-1].number if earlier else None
    for number in held.keys() - {kept}:
        del held[number]
    held[last.number] = q
    if last.noted:
        write_arrays(_noted_at(order, place, last.number), jax.tree.leaves(jax.tree.map(np.asarray, q)))
    return sums


def _after(order: Order, place: int, kept: tuple[Pass, ...]) -> Any:
    """The posteriors after the passes that were kept; none where there is no such pass."""
    if not kept:
        return None
    held, q, todo = _held(order, place), None, 0
    for i in reversed(range(len(kept))):
        if kept[i].number in held:
            q, todo = held[kept[i].number], i + 1
            break
        if kept[i].noted:
            q, todo = _read_posterior(order, place, kept[i], None), i + 1
            break
        if kept[i].starts is not None:
            todo = i
            break
    for again in kept[todo:]:
        q, _ = _pass_over(order, place, again, q)
    held[kept[-1].number] = q
    return q


def _pass_over(order: Order, place: int, this: Pass, q: Any) -> tuple[Any, tuple[Any, Any]]:
    model, tables, image = order.made.model(), _tables(this), _image(order, place)
    if this.starts is not None:
        q = _read_posterior(order, place, this, this.starts[order.first + place])
    if q is None:
        q = passes.init_posterior(model, tables, image)
    q, stats, bound = passes.run_pass(model, tables, image, passes.spread(q, image))
    return q, passes.add_up((stats, bound))


def _read_posterior(order: Order, place: int, this: Pass, file: ArrayFile | None) -> Any:
    made, image = order.made.model(), _image(order, place)
    tree = jax.tree.structure(jax.eval_shape(partial(passes.init_posterior, made), _tables(this), image))
    if file is not None:
        return jax.tree.unflatten(tree, read_arrays(file))
    return jax.tree.unflatten(tree, read_arrays(ArrayFile(str(_noted_at(order, place, this.number)))))


def _noted_at(order: Order, place: int, number: int) -> Path:
    return Path(order.folder) / f"posterior-{number:06d}-{order.first + place:06d}.safetensors"


def _image(order: Order, place: int) -> Image:
    return fill(order.shape_of_image, read_arrays(order.shards[place]))


def fill(shape: Any, arrays: list[np.ndarray]) -> Any:
    """The tree with arrays in place of their numbers."""
    return jax.tree.map(lambda number: arrays[number], shape)


@lru_cache(maxsize=4)
def _tables_in(file: ArrayFile) -> list[Any]:
    with passes.precision():
        return [jax.numpy.asarray(array) for array in read_arrays(file)]


def _tables(this: Pass) -> Any:
    return fill(this.shape_of_tables, _tables_in(this.tables))


_HELD: "OrderedDict[str, dict[int, dict[int, Any]]]" = OrderedDict()


def _held(order: Order, place: int) -> dict[int, Any]:
    """Pass -> posteriors of a shard, in this process's memory."""
    fit = _HELD.setdefault(order.folder, {})
    _HELD.move_to_end(order.folder)
    while len(_HELD) > _FITS_IN_MEMORY:
        _HELD.popitem(last=False)
    return fit.setdefault(order.first + place, {})
