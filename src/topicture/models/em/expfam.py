r"""Exponential families: what the EM models share. Section numbers are those of the models' specification.

psi(x) is digamma, lnG log-gamma, lnB(a) = sum_k lnG(a_k) - lnG(sum_k a_k), Elog(g)_k = psi(g_k) - psi(sum_j g_j).
Letter -> meaning, shape:  a -> log weights or responsibilities N K | r -> region features N F
  mu, s2 -> means and variances K F | g -> Dirichlet shapes | rho -> Dirichlet rows K V | S -> sum of Elog
Functions are pure, work on the last axis unless they say otherwise, keep the dtype (float32 or float64) and are
compiled by their callers. Solvers run to the accuracy of the dtype, so a result does not depend on its start.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import xlogy
from jax.typing import ArrayLike

__all__ = [
    "GaussianStats",
    "digamma",
    "dirichlet_expected_log",
    "dirichlet_kl",
    "fit_dirichlet",
    "fit_dirichlet_multinomial",
    "fit_symmetric_dirichlet",
    "gaussian_log_density",
    "gaussian_m_step",
    "gaussian_stats",
    "log_beta_fn",
    "log_gamma",
    "logsumexp",
    "multinomial_m_step",
    "softmax",
    "times_log",
    "tolerance",
    "trigamma",
    "xlogx",
    "xlogy",
]

# The asymptotic series starts here; smaller arguments are shifted up by as much.
_SHIFT = 8
# B_2k / 2k, Bernoulli numbers. At y = 8 the first term left out is 4e-18 (float64) or 1e-11 (float32).
_BERNOULLI = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132]
_BERNOULLI += [-691 / 32760, 1 / 12, -3617 / 8160, 43867 / 14364, -174611 / 6600]
_ETA_MIN, _ETA_MAX = 1e-8, 1e8  # range of hyper-parameters, 2.5
_EMPTY = 1e-12  # a component with less weight keeps its parameters, 2.3


# --- Special functions --------------------------------------------------------------------------------------
# Programs of their own: called a score of times in a pass, they are traced once, which takes a sixth off a first fit.


@jax.jit
def digamma(x: Array) -> Array:
    """psi(x) for x > 0, elementwise; -inf at 0. Error below 2e-15 max(1, |psi|) in float64, 1e-6 in float32.

    psi(x) = psi(x + 8) - sum_{i<8} 1/(x + i), then the asymptotic series. The sum is P'(x)/P(x) for
    P(x) = x (x+1) ... (x+7), a polynomial in t = x (x+7): one division in place of eight.
    """
    small = x < _SHIFT
    z = jnp.where(small, x, _SHIFT)  # keeps the unused branch finite
    t = z * (z + 7)
    p = t * (720 + t * (252 + t * (28 + t)))
    dp = (2 * z + 7) * (720 + t * (504 + t * (84 + t * 4)))
    y = jnp.where(small, x + _SHIFT, x)
    return jnp.log(y) - 0.5 / y - _digamma_tail(y) - jnp.where(small, dp / p, 0)


@jax.jit
def log_gamma(x: Array) -> Array:
    """lnG(x) for x > 0, elementwise, to 1e-14 max(1, |lnG|) in float64; inf at 0. Four times as fast as JAX's own.

    Stirling's series at x + 8, less the logarithm of x (x+1) ... (x+7) (see `digamma`).
    """
    x = jnp.asarray(x)
    small = x < _SHIFT
    t = jnp.where(small, x * (x + 7), 1)
    product = t * (720 + t * (252 + t * (28 + t)))
    y = jnp.where(small, x + _SHIFT, x)
    tail = _series([b / (2 * k - 1) for k, b in enumerate(_BERNOULLI, start=1)], 1 / (y * y)) / y
    stirling = (y - 0.5) * jnp.log(y) - y + 0.5 * math.log(2 * math.pi) + tail
    return stirling - jnp.where(small, jnp.log(product), 0)


@jax.jit
def trigamma(x: Array) -> Array:
    """psi'(x) for x > 0, elementwise, to a few units in the last place; the same shift and series as `digamma`."""
    small = x < _SHIFT
    z = jnp.where(small, x, _SHIFT)
    shifts = sum(1 / ((z + i) * (z + i)) for i in range(_SHIFT))
    y = 1 / jnp.where(small, x + _SHIFT, x)
    series = _series([2 * k * b for k, b in enumerate(_BERNOULLI, start=1)], y * y)
    return y + y * y * (0.5 + y * series) + jnp.where(small, shifts, 0)


def xlogx(x: Array) -> Array:
    """x ln x, elementwise, with 0 ln 0 = 0."""
    return xlogy(x, x)


def times_log(c: Array, log_p: Array) -> Array:
    """c log p from counts c and log-probabilities, elementwise, with 0 * (-inf) = 0 (2.2)."""
    return jnp.where(c == 0, 0, c * jnp.where(c == 0, 0, log_p))


def logsumexp(a: Array, axis: int = -1) -> Array:
    """ln sum exp a along `axis`; -inf when every argument is."""
    top = _finite_max(a, axis)
    return jnp.squeeze(top, axis) + jnp.log(jnp.sum(jnp.exp(a - top), axis))


def softmax(a: Array, axis: int = -1) -> Array:
    """exp(a - LSE a) along `axis`; uniform when every argument is -inf (2.8)."""
    e = jnp.exp(a - _finite_max(a, axis))
    total = jnp.sum(e, axis, keepdims=True)
    none = total == 0  # a comparison that NaN fails, so NaN stays visible
    return jnp.where(none, 1 / max(a.shape[axis], 1), e / jnp.where(none, 1, total))


# --- Dirichlet ----------------------------------------------------------------------------------------------


def dirichlet_expected_log(g: Array) -> Array:
    """Elog(g), (..., K): the expectation of ln theta under Dir(g)."""
    return digamma(g) - digamma(jnp.sum(g, -1, keepdims=True))


def log_beta_fn(a: Array) -> Array:
    """lnB(a), (..., K) -> (...): the log normaliser of Dir(a)."""
    return jnp.sum(log_gamma(a), -1) - log_gamma(jnp.sum(a, -1))


def dirichlet_kl(rho: Array, p: ArrayLike) -> Array:
    """KLDir(rho || p), (..., K) -> (...); p a scalar (exchangeable), (K,) or (..., K).

    KLDir = lnB(p) - lnB(rho) + sum_k (rho_k - p_k) Elog(rho)_k. With rho = gamma and p = alpha, minus it is the whole
    theta part of the bounds of 3.2, 3.3, 3.7 and 3.16.
    """
    p, V = jnp.asarray(p, rho.dtype), rho.shape[-1]
    log_b = log_beta_fn(p) if p.ndim else V * log_gamma(p) - log_gamma(V * p)
    return log_b - log_beta_fn(rho) + jnp.sum((rho - p) * dirichlet_expected_log(rho), -1)


def fit_dirichlet(alpha: Array, n: ArrayLike, S: Array) -> Array:
    """The maximiser of n [lnG(sum a) - sum lnG(a_k)] + sum_k (a_k - 1) S_k, by Newton from alpha (2.4).

    alpha, S (K,); n images, S_k = sum_d Elog(gamma_d)_k. One topic, or no image: alpha unchanged.
    """
    if alpha.shape[-1] == 1:
        return alpha
    n, tol = jnp.asarray(n, alpha.dtype), tolerance(alpha.dtype)
    # Beyond these trigamma overflows, or alpha is as good as infinite (all images have the same proportions).
    lowest, highest = math.sqrt(float(jnp.finfo(alpha.dtype).tiny)), _ETA_MAX

    def f(a):
        return jnp.sum((a - 1) * S) - n * log_beta_fn(a)

    def rounding(a):  # of f: near its top Newton gains less than this, and must not be refused for it
        log_gammas = jnp.sum(1 + jnp.abs(log_gamma(a))) + jnp.abs(log_gamma(jnp.sum(a)))
        return 64 * jnp.finfo(a.dtype).eps * (jnp.sum(jnp.abs((a - 1) * S)) + n * log_gammas)

    def gradient(a):
        return n * (digamma(jnp.sum(a)) - digamma(a)) + S

    def newton_step(a):
        g, h, z = gradient(a), -n * trigamma(a), n * trigamma(jnp.sum(a))
        c = jnp.sum(g / h) / (1 / z + jnp.sum(1 / h))
        return (g - c) / h

    def unfinished(state):
        a, moved, i = state
        return (moved > tol) & (jnp.max(jnp.abs(a * gradient(a))) > tol * n) & (i < 200)

    def improve(state):
        a, _, i = state
        step, least = newton_step(a), f(a) - rounding(a)

        def refused(t):
            new = a - t * step
            inside = jnp.all((new > lowest) & (new <= jnp.maximum(highest, a)))
            return ~(inside & (f(new) >= least)) & (t > tol)

        t = jax.lax.while_loop(refused, lambda t: t / 2, jnp.ones_like(n))
        new = jnp.where(t > tol, a - t * step, a)
        return new, jnp.max(jnp.abs(new - a) / a), i + 1

    return jax.lax.while_loop(unfinished, improve, (alpha, jnp.full_like(n, jnp.inf), 0))[0]


def fit_symmetric_dirichlet(eta: ArrayLike, n: ArrayLike, V: int, S: Array) -> Array:
    """The maximiser in [1e-8, 1e8] of n [lnG(V eta) - V lnG(eta)] + (eta - 1) S, from eta (2.5).

    Scalars: n rows of length V, S the sum of all their E[log beta]. V = 1, or no row: eta unchanged.
    """
    eta = jnp.asarray(eta, S.dtype)
    if V == 1:
        return eta
    n = jnp.asarray(n, S.dtype)

    def slope(eta):
        return n * V * (digamma(V * eta) - digamma(eta)) + S

    return jnp.where(n > 0, _maximise_in_log(slope, eta), eta)


def fit_dirichlet_multinomial(eta: ArrayLike, counts: Array) -> Array:
    """The maximiser in [1e-8, 1e8] of sum_k [lnB(eta + c_k) - lnB(eta)], the evidence of the counts, from eta (2.5).

    eta scalar, counts (n, V). It is the limit of alternating rho = eta + counts with `fit_symmetric_dirichlet`.
    V = 1, or no count: eta unchanged.
    """
    eta, V = jnp.asarray(eta, counts.dtype), counts.shape[-1]
    if V == 1:
        return eta
    totals = jnp.sum(counts, -1)

    def slope(eta):
        return jnp.sum(_digamma_rise(eta, counts)) - V * jnp.sum(_digamma_rise(V * eta, totals))

    return jnp.where(jnp.sum(totals) > 0, _maximise_in_log(slope, eta), eta)


# --- Multinomial and Gaussian -------------------------------------------------------------------------------


def multinomial_m_step(counts: Array, eps: ArrayLike, previous: Array) -> Array:
    """(c_v + eps) / sum_v (c_v + eps) along the last axis; an empty row with eps = 0 keeps its previous value (2.2)."""
    smoothed = counts + jnp.asarray(eps, counts.dtype)
    total = jnp.sum(smoothed, -1, keepdims=True)
    return jnp.where(total == 0, previous, smoothed / jnp.where(total == 0, 1, total))


class GaussianStats(NamedTuple):
    """Weighted moments of regions about the means they were collected with; they add over images."""

    weight: Any  # (K,) sum_n a_nk
    first: Any  # (K, F) sum_n a_nk (r_n - mu_k)
    second: Any  # (K, F) sum_n a_nk (r_n - mu_k)^2


def gaussian_log_density(r: Array, mu: Array, s2: Array) -> Array:
    """ln N(r_n; mu_k, s2_k), diagonal covariance (2.3): r (N, F), mu and s2 (K, F) -> (N, K).

    A loop over features squares the differences themselves, so nothing cancels. Two matrix products lose
    eps (r - centre)^2 / s2, which float32 can't afford, and were at most 1.6 times faster on a CPU (F = 36).
    """

    def add_feature(total, feature):
        r_p, mu_p, precision = feature
        d = r_p[:, None] - mu_p[None, :]
        return total + d * d * precision[None, :], None

    start = jnp.zeros((r.shape[0], mu.shape[0]), r.dtype)
    distance, _ = jax.lax.scan(add_feature, start, (r.T, mu.T, (1 / s2).T))
    log_volume = jnp.sum(jnp.log(s2), -1) + mu.shape[-1] * math.log(2 * math.pi)
    return -0.5 * (distance + log_volume[None, :])


def gaussian_stats(a: Array, r: Array, mu: Array) -> GaussianStats:
    """Moments of regions r (N, F) with weights a (N, K) about the CURRENT means mu (K, F).

    Means move little between iterations, so the variance that follows from these does not cancel (2.3, two-pass).
    """

    def add_region(stats, region):
        a_n, r_n = region
        d = r_n[None, :] - mu
        ad = a_n[:, None] * d
        return (stats[0] + ad, stats[1] + ad * d), None

    zero = jnp.zeros(mu.shape, r.dtype)
    (first, second), _ = jax.lax.scan(add_region, (zero, zero), (a, r))
    return GaussianStats(weight=jnp.sum(a, 0), first=first, second=second)


def gaussian_m_step(stats: GaussianStats, mu: Array, s2: Array, floor: Array) -> tuple[Array, Array]:
    """New mu and s2 (K, F) from moments about the old mu; s2 >= floor (F,), empty components unchanged (2.3).

    With d = first / weight: mu + d is the weighted mean and second / weight - d^2 the variance about it.
    """
    empty = (stats.weight < _EMPTY)[:, None]
    weight = jnp.where(empty, 1, stats.weight[:, None])
    d = stats.first / weight
    variance = jnp.maximum(stats.second / weight - d * d, floor[None, :])
    return jnp.where(empty, mu, mu + d), jnp.where(empty, s2, variance)


# --- Pieces -------------------------------------------------------------------------------------------------


def _series(coefficients: Sequence[float], u: Array) -> Array:
    """sum_k coefficients[k] u^k by Horner's rule, with as many terms as the dtype needs."""
    last = len(coefficients) if u.dtype == jnp.float64 else 4
    return functools.reduce(lambda total, c: total * u + c, coefficients[last - 1 :: -1], jnp.zeros_like(u))


def _digamma_tail(y):
    """ln y - 1/(2y) - psi(y) for y >= 8."""
    u = 1 / (y * y)
    return u * _series(_BERNOULLI, u)


def _digamma_rise(x, c):
    """psi(x + c) - psi(x) for a scalar x > 0 and c >= 0, without cancellation when x is large."""
    z = jnp.where(x < _SHIFT, _SHIFT, x)
    large = jnp.log1p(c / z) + c / (2 * z * (z + c)) + _digamma_tail(z) - _digamma_tail(z + c)
    return jnp.where(x < _SHIFT, digamma(x + c) - digamma(x), large)


def _finite_max(a, axis: int):
    """The largest argument, or 0 where all are -inf: what may be subtracted before exp."""
    top = jnp.max(a, axis, keepdims=True, initial=-jnp.inf)
    return jax.lax.stop_gradient(jnp.where(top == -jnp.inf, 0, top))


def tolerance(dtype) -> float:
    """Where a solver stops, relative: 1e-13 (2.4), or what float32 can reach."""
    return max(1e-13, 64 * float(jnp.finfo(dtype).eps))


def _maximise_in_log(slope: Callable[[Array], Array], eta: Array) -> Array:
    """The root in [1e-8, 1e8] of a slope that falls through zero once; the end it points to if it keeps its sign.

    Newton on ln eta; a step that leaves the bracket is replaced by halving it.
    """
    tol, ends = tolerance(eta.dtype), jnp.asarray([_ETA_MIN, _ETA_MAX], eta.dtype)

    def unfinished(state):
        _, low, high, step, i = state
        return (step > tol) & (high - low > tol) & (i < 200)

    def improve(state):
        u, low, high, _, i = state
        s, ds = jax.jvp(lambda u: slope(jnp.exp(u)), (u,), (jnp.ones_like(u),))
        low, high = jnp.where(s >= 0, u, low), jnp.where(s <= 0, u, high)
        step = jnp.abs(s / ds)
        newton = u - s / ds
        trusted = (step <= tol) | ((low <= newton) & (newton <= high))
        return jnp.where(trusted, newton, (low + high) / 2), low, high, step, i + 1

    low, high = jnp.log(ends)
    state = (jnp.clip(jnp.log(eta), low, high), low, high, jnp.full_like(eta, jnp.inf), 0)
    root = jnp.exp(jax.lax.while_loop(unfinished, improve, state)[0])
    return jnp.where(slope(ends[1]) > 0, ends[1], jnp.where(slope(ends[0]) < 0, ends[0], root))
