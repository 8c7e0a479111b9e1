"""The smallest model for the EM loop: images are numbers x, the one parameter mu is their mean, N(x; mu, 1).

An image's x is the sum of its visual words' (id + 1) times their counts. The M-step goes `rate` of the way to the best
mu, and `shift` beyond: with rate 1 and shift 0 it is right, with a shift it is wrong and the objective falls. The
posterior of an image has no meaning but counts the E-steps that it has been through. Statistics come in every form
that the loop sums.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.models.em import loop as em


class Params(NamedTuple):
    mu: Any


class Prior(NamedTuple):
    precision: Any = 2.0  # mu ~ N(0, 1/precision)
    rate: Any = 0.5
    shift: Any = 0.0
    nan_above: Any = np.inf  # the M-step gives NaN instead of a larger mu


class Stats(NamedTuple):
    n: Any
    x: Any
    scattered: Any
    outer: Any


def value_of(image):
    return jnp.sum(image.visual.counts * (image.visual.ids + 1))


def e_step(mu, image, q):
    x = value_of(image)
    ids, counts = image.visual
    size = N_VISUAL
    rows = counts[:, None] * jnp.stack([jnp.ones_like(x), x])
    stats = Stats(jnp.ones_like(x), x, em.Scatter(ids, rows, size), em.Outer(ids, counts, rows.sum(0), size))
    return q + 1, stats


def elbo(mu, image, q):
    return -0.5 * (value_of(image) - mu) ** 2


def m_step(params, stats, prior):
    best = stats.x / (stats.n + prior.precision)
    mu = params.mu + prior.rate * (best - params.mu) + prior.shift
    return Params(jnp.where(mu > prior.nan_above, jnp.nan, mu))


def log_prior(params, prior):
    return -0.5 * prior.precision * params.mu**2


MODEL = em.Model(
    views=("visual_words",),
    expected=lambda params: params.mu,
    init_posterior=lambda mu, image: jnp.zeros_like(mu),
    e_step=e_step,
    elbo=elbo,
    m_step=m_step,
    log_prior=log_prior,
)

N_VISUAL = 5


def make_corpus(n_images=10, seed=0):
    visual = np.random.default_rng(seed).poisson(0.7, (n_images, N_VISUAL))
    return Corpus.from_arrays(vocabulary=["sky"], visual_words=visual)


def values(corpus):
    """x of every image, (D,)."""
    return corpus.visual_words.toarray() @ np.arange(1.0, N_VISUAL + 1)


def objective(corpus, mu, precision=2.0):
    return -0.5 * ((values(corpus) - mu) ** 2).sum() - 0.5 * precision * mu**2


def best_mu(corpus, precision=2.0):
    return values(corpus).sum() / (len(corpus) + precision)
