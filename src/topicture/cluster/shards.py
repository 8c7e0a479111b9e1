"""Shards of a fit on the workers of a cluster: tables go out as files, statistics come back as one sum.

The padded chunks of `Batches` are written once into a folder that all workers see; they are the shards, whoever works.
A worker gets some that stand side by side, and sums their statistics; the sums of workers are added in pairs, also on
the workers. All of it is one fixed tree (`passes.TreeSum`), in which the number of workers has no part.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, final

import jax
import numpy as np

from topicture.cluster.arrays import ArrayFile, write_arrays
from topicture.cluster.shard_work import Order, Pass, find_posterior, run_shards
from topicture.corpus.batches import Batches
from topicture.models.em.making import Made, how_made
from topicture.models.em.passes import Model, add_pair
from topicture.models.em.shards import Shards

__all__ = ["ClusterShards", "ShardFolder"]

# Every so many passes workers write their posteriors down: who takes over repeats at most so many.
NOTE_EVERY = 8
# More orders than workers even out shards that take longer than others; fewer save sums to be sent.
ORDERS_PER_WORKER = 4
# So often a pass that takes long looks whether those that work on it are still there.
LOOK_SECONDS = 5.0


class ShardFolder:
    """The chunks of batches in files, and the numbers of the passes over them."""

    def __init__(self, folder: Path, batches: Batches):
        self.folder, self.dtype = folder, batches.dtype
        self.n_passes = 0
        self.shards: list[ArrayFile] = []
        self.shape_of_image: Any = None
        for i in range(len(batches)):
            image = batches[i].image
            self.shape_of_image, leaves = numbered(image)
            self.shards.append(write_arrays(folder / f"shard-{i:06d}.safetensors", leaves))

    def new_pass(self, tables: Any, starts: Sequence[Any] | None) -> Pass:
        """The next pass: its tables, and what posteriors to begin with, written for the workers."""
        number = self.n_passes
        self.n_passes += 1
        shape, leaves = numbered(tables)
        files = None
        if starts is not None:
            files = tuple(
                write_arrays(self.folder / f"start-{number:06d}-{i:06d}.safetensors", numbered(q)[1])
                for i, q in enumerate(starts)
            )
        written = write_arrays(self.folder / f"tables-{number:06d}.safetensors", leaves)
        return Pass(number, written, shape, files)

    def forget(self, gone: Sequence[Pass]) -> None:
        """Remove what no later pass can need."""
        for each in gone:
            for file in (each.tables, *(each.starts or ())):
                Path(file.path).unlink(missing_ok=True)
            if each.noted:
                for old in self.folder.glob(f"posterior-{each.number:06d}-*"):
                    old.unlink(missing_ok=True)


@final
class ClusterShards(Shards):
    """`Shards` whose images and posteriors are on workers.

    Parameters
    ----------
    client : distributed.Client
    folder : of the batches' shards
    posteriors : to begin with, one entry per shard; None where all are to be started
    """

    def __init__(self, client: Any, folder: ShardFolder, posteriors: Sequence[Any] | None = None):
        self.dtype = folder.dtype
        self._client, self._folder = client, folder
        started = isinstance(posteriors, _Elsewhere) or not any(q is None for q in posteriors or [None])
        self._first = posteriors if started else None
        self._places: dict[int, str] = {}  # first shard of an order -> who had it last
        self.start()

    def start(self) -> None:
        self._kept: list[Pass] = []
        self._given: Sequence[Any] | None = self._first
        self._new: Pass | None = None
        self._made: Made | None = None
        self._n_kept = 0

    def run(self, model: Model, tables: Any) -> tuple[Any, float]:
        if not self._folder.shards:
            return None, 0.0
        self._drop_unkept()
        self._made = how_made(model)
        this = self._folder.new_pass(tables, self._given)
        self._new = this._replace(noted=(self._n_kept + 1) % NOTE_EVERY == 0)
        return self._summed(*self._orders(self._new))

    def run_some(self, model: Model, tables: Any, which: Sequence[int]) -> Any:
        """Statistics of some shards, whose posteriors start anew and are not kept: a stochastic step."""
        self._made = how_made(model)
        this = self._folder.new_pass(tables, None)
        orders = [self._order(i, 1, (this,))._replace(keeps=False) for i in which]
        stats, _ = self._summed(orders, [None] * len(orders))
        self._folder.forget([this])
        return stats

    def _summed(self, orders: list[Order], workers: Sequence[str | None]) -> tuple[Any, float]:
        """The sum over all orders, added in pairs, level by level, which is how TreeSum has them.

        An order is meant for its worker, and goes to any other where that one is gone. But Dask does not give it to
        those that come after a moment with nobody there: then all orders are given out anew, to whoever is there.
        """
        named = set(workers) - {None}
        total = self._sum_of(orders, workers)
        while True:
            try:
                stats, bound = total.result(timeout=LOOK_SECONDS)
                return stats, float(bound)
            except TimeoutError:
                if total.status == "error":  # it is the worker's own, of a file that can't be read, say
                    raise
                there = set(self._client.nthreads())
                if named and there and not named & there:
                    named, total = set(), self._sum_of(orders, [None] * len(orders))

    def _sum_of(self, orders: list[Order], workers: Sequence[str | None]) -> Any:
        submit = self._client.submit
        sums = [
            submit(
                run_shards,
                order,
                pure=False,
                **({"workers": [worker], "allow_other_workers": True} if worker else {}),
            )
            for order, worker in zip(orders, workers, strict=True)
        ]
        while len(sums) > 1:
            pairs = [submit(add_pair, *sums[i : i + 2], pure=False) for i in range(0, len(sums) - 1, 2)]
            sums = [*pairs, *sums[2 * len(pairs) :]]
        return sums[0]

    def _orders(self, this: Pass) -> tuple[list[Order], list[str | None]]:
        """Orders of equally many shards, a power of two, and who should have each: who had it before, while there.

        Who came since, or in the place of one that died, gets its share once posteriors are noted, or start: taking
        over then costs no passes. Where nobody is there, the orders wait for whoever comes.
        """
        shards, workers = self._folder.shards, sorted(self._client.nthreads())
        size = 1 << max(0, int(math.log2(max(1, len(shards) / (ORDERS_PER_WORKER * max(1, len(workers)))))))
        firsts = range(0, len(shards), size)
        at_no_cost = not self._kept or self._kept[-1].noted or this.starts is not None
        self._places = assigned(firsts, workers, self._places, even=at_no_cost)
        return [self._order(first, size, (*self._kept, this)) for first in firsts], [
            self._places.get(first) for first in firsts
        ]

    def _order(self, first: int, size: int, passes: tuple[Pass, ...]) -> Order:
        assert self._made is not None
        folder = self._folder
        shards = tuple(folder.shards[first : first + size])
        return Order(str(folder.folder), self._made, folder.shape_of_image, first, shards, passes)

    def keep(self) -> None:
        if self._new is None:
            return  # no images
        begins_anew = self._new.noted or self._new.starts is not None
        gone, self._kept = (self._kept, [self._new]) if begins_anew else ([], [*self._kept, self._new])
        self._n_kept += 1
        self._given = self._new = None
        self._folder.forget(gone)

    def roll_back(self) -> None:
        self._drop_unkept()
        self._given = None

    def _drop_unkept(self) -> None:
        if self._new is not None:
            self._folder.forget([self._new])
            self._new = None

    def posteriors(self) -> Sequence[Any]:  # type: ignore[override]
        if not self._kept:
            return self._first or [None] * len(self._folder.shards)
        return _Elsewhere(
            self._client, [self._order(i, 1, tuple(self._kept)) for i in range(len(self._folder.shards))]
        )

    def replace(self, posteriors: Sequence[Any]) -> None:
        self._given = list(posteriors)


@final
class _Elsewhere(Sequence[Any]):
    """Posteriors that stay with the workers until somebody asks for them."""

    def __init__(self, client: Any, orders: list[Order]):
        self._client, self._orders = client, orders

    def __len__(self) -> int:
        return len(self._orders)

    def __getitem__(self, i: Any) -> Any:
        return self._all[i]

    @cached_property
    def _all(self) -> list[Any]:
        return self._client.gather(self._client.map(find_posterior, self._orders, pure=False))


def assigned(
    firsts: Sequence[int], workers: Sequence[str], before: Mapping[int, str], *, even: bool = False
) -> dict[int, str]:
    """Order, by its first shard -> worker: who had it before, while there; the rest so that all have equally many.

    Orders side by side go to the same worker, which then adds up their sums. Nobody has more than a fair share unless
    it had before, and `even` then takes away what is too much: a pass takes as long as the worker with the most orders.
    """
    share = math.ceil(len(firsts) / max(1, len(workers)))
    places: dict[int, str] = {}
    loads: Counter[str] = Counter()
    for first in firsts:
        who = before.get(first, "")
        if who in workers and not (even and loads[who] == share):
            places[first] = who
            loads[who] += 1
    for place, first in enumerate(firsts):
        if first not in places and workers:
            beside = workers[place * len(workers) // len(firsts)]
            places[first] = beside if loads[beside] < share else min(workers, key=lambda each: loads[each])
            loads[places[first]] += 1
    return places


def numbered(tree: Any) -> tuple[Any, list[np.ndarray]]:
    """A tree with numbers in place of its leaves, and these."""
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, range(len(leaves))), [np.asarray(leaf) for leaf in leaves]
