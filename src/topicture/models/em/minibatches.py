"""Stochastic steps: the parameters follow the M-step of one chunk after the other."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus.batches import Batches, Chunk, Image
from topicture.models.em import passes
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
    stats = passes.cast(passes.add_up(stats), jnp.float64)
    return passes.part_m_step(model, params, stats, prior, scale, rate)
