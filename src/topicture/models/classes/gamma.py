r"""Gamma posteriors of EMM's proportions, and the labels of DBA and EMM. Sections: docs/models.md.

Letter -> meaning, shape:  g, r -> shape and scale of q(theta_c) C | lam -> rates of the prior C | M -> regions
Functions are pure and keep the dtype, as those of em/expfam.py.
"""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from topicture.models.em.expfam import digamma, log_gamma, tolerance

__all__ = ["gamma_expected_log", "gamma_exponential_kl", "jensen_scale", "label_chord"]


def gamma_expected_log(g: Array, r: Array) -> Array:
    """E ln theta = psi(g) + ln r under Gamma(shape g, scale r), elementwise (3.17)."""
    return digamma(g) + jnp.log(r)


def gamma_exponential_kl(g: Array, r: Array, lam: Array) -> Array:
    """KL of q = Gamma(shape g, scale r) from the prior Exp(rate lam), elementwise (3.17).

    The theta part of the bound is minus the sum of these, plus sum_c s_c E ln theta_c, less M ln sum_c g_c r_c
    (the last for norm "jensen").
    """
    entropy = jnp.log(r) + g + log_gamma(g) - (g - 1) * digamma(g)
    return lam * g * r - jnp.log(lam) - entropy


def jensen_scale(g: Array, lam: Array, M: ArrayLike) -> tuple[Array, Array]:
    """Scales r (C,) and zeta = E sum theta of norm "jensen", from shapes g and rates lam (C,) (3.17).

    sum_c g_c / (lam_c zeta + M) = 1 and r_c = zeta / (lam_c zeta + M). With f(zeta) the left side of the first, Newton
    from 0 solves 1/f = 1. Harmonic means are concave, so it rises to the root as Newton on f would, but in fewer
    steps: one when the rates are equal. No instances (M = 0): zeta = sum_c g_c / lam_c.
    """
    M, tol = jnp.asarray(M, g.dtype), tolerance(g.dtype)

    def unfinished(state):
        zeta, step, i = state
        return (step > tol * zeta) & (i < 50)

    def rise(state):
        zeta, _, i = state
        rate = lam * zeta + M
        f, slope = jnp.sum(g / rate), jnp.sum(g * lam / (rate * rate))
        step = f * (f - 1) / slope
        return zeta + step, step, i + 1

    start = jnp.where(M > 0, 0, jnp.sum(g / lam))
    zeta = jax.lax.while_loop(unfinished, rise, (start, jnp.full_like(start, jnp.inf), 0))[0]
    return zeta / (lam * zeta + M), zeta


def label_chord(y: Array, w: Array) -> Array:
    """Slope of the chord bound of a Bernoulli label in zbar: y w - ln((1 + e^w)/2), elementwise (3.16).

    ln p(y | zbar) >= label_chord(y, w) zbar - ln 2 on 0 <= zbar <= 1, with equality at both ends.
    """
    return y * w - jnp.logaddexp(w, jnp.zeros_like(w)) + math.log(2)
