r"""Collapsed variational inference of order zero for Link-LDA [asuncion2009, foulds2013]. docs/models.md 3.7.

Proportions and topics are integrated out, tokens' topics are independent, and the expectations that this leaves are
taken at the mean counts: phi_uk ~ (alpha_k + n_dk) (eta + N_ku) / (eta U + N_k). In place of exp E[log .] of the mean
field stand plain means. As in the stochastic form, a token's own share is not taken out of the counts. Symbols:
link_lda.py.

There is no bound. But without that share the updates are EM for a mode of the posterior density of theta and topics
with Dir(alpha + 1), Dir(eta + 1), which gives an objective that batch passes never lower:

    sum_d [sum_u c_u ln sum_k theta_dk B_ku + sum_k alpha_k ln theta_dk]
    + eta_b sum_ku ln B_ku + eta_phi sum_kv ln Phi_kv

with theta_d = gamma_d / sum gamma_d and B, Phi the means of Dir(rB), Dir(rPhi). alpha, eta_b and eta_phi are kept:
they only shift the mode, and the objective does not say how good they are.
"""

from functools import partial
from typing import Any

import jax.numpy as jnp

from topicture.corpus.batches import Image
from topicture.models.counts.link_tokens import (
    Params,
    Posterior,
    Stats,
    Tables,
    even_gamma,
    log_weights,
    scaled,
    sweeps,
    tokens_of,
)
from topicture.models.em import loop as em

__all__ = ["annotate", "model", "proportions"]

# A new image: it is done when a sweep moves no larger share of its tokens (2.6).
COLD_SWEEPS, STILL = 100, 1e-6

# --- Learn: one image; em.py maps and sums ---------------------------------------------------------------------


def expected(params: Params) -> Tables:
    """The topics' means, one row per word, scaled."""
    return scaled(params.alpha, [_log_means(r) for r in (params.rB, params.rPhi)])


def init_posterior(tables: Tables, image: Image) -> Posterior:
    gamma = even_gamma(tables, image)
    return Posterior(gamma, _log_proportions(gamma))


def e_step(
    n_sweeps: int, still: float, tables: Tables, image: Image, q: Posterior
) -> tuple[Posterior, Stats]:
    """Sweeps: phi_uk ~ T_uk gamma_k, then gamma = alpha + sum of counts times phi."""
    new, tokens = sweeps(_log_proportions, n_sweeps, still, tables, image, q.gamma)
    return new, Stats(jnp.ones((), new.gamma.dtype), jnp.zeros_like(new.gamma), tokens)


def log_density(tables: Tables, image: Image, q: Posterior) -> Any:
    """The image's share of the objective, at theta = gamma / sum gamma."""
    ids, c = tokens_of(tables, image)
    theta = q.gamma / jnp.sum(q.gamma)
    likelihood = jnp.sum(c * (jnp.log(tables.T[ids] @ theta) + tables.log_top[ids]))
    return likelihood + jnp.sum(tables.alpha * jnp.log(theta))


def m_step(params: Params, stats: Stats, prior: Any) -> Params:
    """rB = eta_b + counts, rPhi = eta_phi + counts."""
    U = params.rB.shape[1]
    counts = (stats.tokens * expected(params).T).T
    return params._replace(rB=params.eta_b + counts[:, :U], rPhi=params.eta_phi + counts[:, U:])


def log_prior(params: Params, prior: Any) -> Any:
    """eta_b sum ln B + eta_phi sum ln Phi."""
    return params.eta_b * jnp.sum(_log_means(params.rB)) + params.eta_phi * jnp.sum(_log_means(params.rPhi))


@em.model_maker
def model(n_sweeps: int) -> em.Model:
    """The model; the same object for the same number of sweeps."""
    return em.Model(
        ("captions", "visual_words"),
        expected,
        init_posterior,
        partial(e_step, n_sweeps, 0.0),
        log_density,
        m_step,
        log_prior,
    )


# --- Use ---------------------------------------------------------------------------------------------------------


def proportions(tables: tuple[Tables, Any], image: Image) -> Any:
    """gamma / sum gamma, (K,), under frozen topics, from a cold start."""
    q = e_step(COLD_SWEEPS, STILL, tables[0], image, init_posterior(tables[0], image))[0]
    return q.gamma / jnp.sum(q.gamma)


def annotate(tables: tuple[Tables, Any], image: Image) -> Any:
    """p(w | image) = sum_k theta_k E[Phi_kw], (V,)."""
    return proportions(tables, image) @ tables[1]


# --- Updates -----------------------------------------------------------------------------------------------------


def _log_means(r: Any) -> Any:
    return jnp.log(r) - jnp.log(jnp.sum(r, axis=1, keepdims=True))


def _log_proportions(gamma: Any) -> Any:
    return log_weights(jnp.log(gamma))
