"""Stochastic steps: the parameters follow the M-step of one chunk after the other."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus.batches import Batches
from topicture.elsewhere import engine_elsewhere
from topicture.models.em import passes
from topicture.models.em.making import without_bound
from topicture.models.em.passes import Model

__all__ = ["fit_stochastic"]


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
    chunks_per_step: int = 1,
    with_bound: bool = False,
) -> Any:
    """Parameters after stochastic steps: each goes part of the way to the M-step of a few chunks alone.

        params <- (1 - rate) params + rate m_step(params, stats of the chunks * images / images of the chunks)

    with rate = (tau0 + step)^-kappa, less in proportion where a step has fewer images than the largest one: scaled
    up, few images are a noisy estimate. For Dirichlet posteriors, which are affine in the statistics, this is the
    stochastic natural gradient. It suits models whose parameters may be averaged. Chunks come in a new random order
    every epoch (in their own order where they are not kept in memory), posteriors start anew every time, and the
    bound is not computed (unless `with_bound`, which spares a compilation where the same chunks go on to `fit`): `fit`
    goes on from here. Several chunks of a step are shared by an engine that works for this
    process (`topicture.elsewhere`); one is not worth sending.
    """
    # All but the pass itself is compiled code that `fit` uses, too.
    passing, dtype = model if with_bound else without_bound(model), batches.dtype
    engine = engine_elsewhere() if chunks_per_step > 1 else None
    shards = None if engine is None else engine.shards(batches, None)
    steps = [_n_images(batches, which) for which in _groups(np.arange(len(batches)), chunks_per_step)]
    n_images, step, largest = len(batches.corpus), 0, max(steps)
    for _ in range(n_epochs):
        order = rng.permutation(len(batches)) if batches.in_memory else np.arange(len(batches))
        for which in _groups(order, chunks_per_step):
            n = _n_images(batches, which)
            rate, scale = (tau0 + step) ** -kappa, n_images / n
            rate *= n / largest
            tables = _tables(model, dtype, params)
            stats = (
                _statistics(model, passing, batches, tables, which)
                if shards is None
                else shards.run_some(passing, tables, which)
            )
            params = _step(model, params, stats, prior, scale, rate)
            step += 1
    return jax.tree.map(np.asarray, params)


def _groups(order: np.ndarray, size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size].tolist()


def _n_images(batches: Batches, which: list[int]) -> int:
    return sum(len(batches.rows(i)) for i in which)


@passes.precision()
def _tables(model: Model, dtype: Any, params: Any) -> Any:
    return passes.tables(model, passes.cast(params, jnp.float64), dtype)


@passes.precision()
def _statistics(model: Model, passing: Model, batches: Batches, tables: Any, which: list[int]) -> Any:
    """Of images whose posteriors start anew."""
    total = passes.TreeSum()
    for i in which:
        image = batches[i].image
        _, stats, _ = passes.run_pass(passing, tables, image, passes.init_posterior(model, tables, image))
        total.add(passes.add_up(stats))
    return total.total()


@passes.precision()
def _step(model: Model, params: Any, stats: Any, prior: Any, scale: float, rate: float) -> Any:
    params, stats = passes.cast(params, jnp.float64), passes.cast(stats, jnp.float64)
    return passes.part_m_step(model, params, stats, prior, scale, rate)
