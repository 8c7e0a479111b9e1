"""Exponential families against SciPy, 40-digit arithmetic, derivatives, naive formulas and exact enumeration."""

import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from helpers import assert_never_falls, dirichlet_log_prior, enumerate_posterior, match_topics
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, special, stats
from scipy.optimize import minimize, minimize_scalar

from topicture.models.classes import gamma as gamma_terms
from topicture.models.em import expfam
from topicture.models.regions.start import variance_floor

fast = settings(max_examples=40, deadline=None, derandomize=True)
INF = np.inf


@pytest.fixture(autouse=True)
def _strict_x64():
    """What callers guarantee (64-bit types), and stricter than JAX's own rules: no silent promotion."""
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


fit_dirichlet = jax.jit(expfam.fit_dirichlet)
fit_symmetric_dirichlet = jax.jit(expfam.fit_symmetric_dirichlet, static_argnums=2)
fit_dirichlet_multinomial = jax.jit(expfam.fit_dirichlet_multinomial)
jensen_scale = jax.jit(gamma_terms.jensen_scale)


def log_uniform(low, high, n, seed=0):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), n))


def positive(shape, low=1e-3, high=1e3):
    """Arrays spread evenly over orders of magnitude."""
    return hnp.arrays(np.float64, shape, elements=st.floats(math.log(low), math.log(high))).map(np.exp)


# --- Special functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 2e-15), (np.float32, 1e-6)])
def test_digamma_has_full_accuracy(dtype, error):
    x = np.concatenate([log_uniform(1e-9, 1e9, 400), np.linspace(0.5, 20, 400), [1, 8, np.nextafter(8, 0)]])
    x = x.astype(dtype)
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.digamma(float(v))) for v in x])
    got = expfam.digamma(jnp.asarray(x))
    assert got.dtype == dtype
    assert np.all(np.abs(np.asarray(got, np.float64) - exact) <= error * np.maximum(1, np.abs(exact)))


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 2e-15), (np.float32, 1e-6)])
def test_trigamma_has_full_relative_accuracy(dtype, error):
    x = np.concatenate([log_uniform(1e-9, 1e9, 300), np.linspace(0.5, 20, 300)]).astype(dtype)
    exact = special.polygamma(1, x.astype(np.float64))
    got = expfam.trigamma(jnp.asarray(x))
    assert got.dtype == dtype
    np.testing.assert_allclose(np.asarray(got, np.float64), exact, rtol=error)


def test_digamma_at_the_ends_of_its_range():
    np.testing.assert_array_equal(expfam.digamma(jnp.array([0.0, INF])), [-INF, INF])
    np.testing.assert_allclose(
        expfam.digamma(jnp.array([1e-300, 1e300])), [-1e300, np.log(1e300)], rtol=1e-15
    )
    assert np.isnan(expfam.digamma(jnp.array(np.nan)))


def test_derivatives_follow_the_chain_log_gamma_digamma_trigamma():
    x = jnp.asarray(log_uniform(1e-4, 1e4, 200))
    np.testing.assert_allclose(
        jax.vmap(jax.grad(expfam.log_gamma))(x), special.digamma(x), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(jax.vmap(jax.grad(expfam.digamma))(x), special.polygamma(1, x), rtol=1e-13)


def test_log_gamma_against_scipy():
    x = log_uniform(1e-6, 1e8, 500)
    np.testing.assert_allclose(expfam.log_gamma(jnp.asarray(x)), special.gammaln(x), rtol=1e-13, atol=1e-14)


def test_zero_times_log_zero_is_zero():
    np.testing.assert_array_equal(expfam.xlogx(jnp.array([0.0, 1.0])), [0, 0])
    np.testing.assert_array_equal(expfam.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.0])), [0, 0])
    c, log_p = jnp.array([0.0, 2.0, 3.0]), jnp.array([-INF, -1.0, -INF])
    np.testing.assert_array_equal(expfam.times_log(c, log_p), [0, -2, -INF])
    # The derivative in log p is c, also where the product was replaced.
    np.testing.assert_array_equal(jax.grad(lambda l: expfam.times_log(c, l)[:2].sum())(log_p), [0, 2, 0])
    assert np.isnan(expfam.times_log(jnp.array(np.nan), jnp.array(0.0)))


@fast
@given(
    hnp.arrays(np.float64, (3, 4), elements=st.one_of(st.floats(-800, 800), st.just(-INF))),
    st.sampled_from([0, -1]),
)
def test_softmax_family(a, axis):
    p, total = (f(jnp.asarray(a), axis) for f in (expfam.softmax, expfam.logsumexp))
    np.testing.assert_allclose(total, special.logsumexp(a, axis=axis), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(np.sum(p, axis), 1, rtol=1e-14)
    empty = np.isneginf(a).all(axis=axis, keepdims=True)
    uniform = np.broadcast_to(empty, a.shape)
    np.testing.assert_array_equal(np.asarray(p)[uniform], 1 / a.shape[axis])
    with np.errstate(invalid="ignore"):
        usual = np.exp(a - special.logsumexp(a, axis=axis, keepdims=True))
    np.testing.assert_allclose(np.asarray(p)[~uniform], usual[~uniform], rtol=1e-11, atol=1e-300)


def test_softmax_keeps_nan_visible_and_differentiates():
    assert np.isnan(expfam.softmax(jnp.array([np.nan, 0.0]))).all()
    a = jnp.array([0.3, -INF, -1.2])
    np.testing.assert_allclose(jax.grad(expfam.logsumexp)(a), expfam.softmax(a), rtol=1e-15)
    assert np.isfinite(jax.jacobian(expfam.softmax)(jnp.full(3, -INF))).all()


# --- Dirichlet ----------------------------------------------------------------------------------------------


@fast
@given(positive((5,)))
def test_dirichlet_normaliser_and_expectations_against_scipy(g):
    np.testing.assert_allclose(
        expfam.log_beta_fn(jnp.asarray(g)),
        special.gammaln(g).sum() - special.gammaln(g.sum()),
        rtol=1e-12,
        atol=1e-9,
    )
    # Elog is the gradient of lnB.
    np.testing.assert_allclose(
        expfam.dirichlet_expected_log(jnp.asarray(g)),
        jax.grad(expfam.log_beta_fn)(jnp.asarray(g)),
        rtol=1e-10,
    )


@fast
@given(positive((2, 4), 1e-2, 50), positive((4,), 1e-2, 50))
def test_dirichlet_kl_is_a_divergence(rho, p):
    rho, p = jnp.asarray(rho), jnp.asarray(p)
    kl = expfam.dirichlet_kl(rho, jnp.broadcast_to(p, rho.shape))
    entropies = [stats.dirichlet(row).entropy() for row in np.asarray(rho)]
    cross = special.gammaln(p).sum() - special.gammaln(p.sum()) - expfam.dirichlet_expected_log(rho) @ (p - 1)
    scale = 1 + np.abs(cross)
    np.testing.assert_allclose(kl / scale, (cross - np.array(entropies)) / scale, atol=1e-12)
    assert np.all(kl >= -1e-10 * scale)
    np.testing.assert_allclose(expfam.dirichlet_kl(rho, rho), 0, atol=1e-10)


def test_dirichlet_kl_with_a_scalar_prior_is_that_with_equal_entries(rng):
    rho = jnp.asarray(rng.gamma(1.0, size=(3, 5)))
    np.testing.assert_allclose(
        expfam.dirichlet_kl(rho, 0.4), expfam.dirichlet_kl(rho, jnp.full(rho.shape, 0.4)), rtol=1e-13
    )


def test_dirichlet_kl_against_quadrature():
    rho, p = (2.5, 0.8), (0.6, 1.7)

    def integrand(t):
        q = stats.beta.logpdf(t, *rho)
        return np.exp(q) * (q - stats.beta.logpdf(t, *p))

    exact = integrate.quad(integrand, 0, 1, epsabs=1e-12)[0]
    np.testing.assert_allclose(expfam.dirichlet_kl(jnp.array(rho), jnp.array(p)), exact, rtol=1e-8)


def test_theta_terms_of_the_bound_are_minus_a_divergence(rng):
    """The theta part of 3.2 written out."""
    alpha, gamma = rng.gamma(1.0, size=4), rng.gamma(3.0, size=4)
    e = special.digamma(gamma) - special.digamma(gamma.sum())

    def terms(a):
        return special.gammaln(a.sum()) - special.gammaln(a).sum() + ((a - 1) * e).sum()

    got = -expfam.dirichlet_kl(jnp.asarray(gamma), jnp.asarray(alpha))
    np.testing.assert_allclose(got, terms(alpha) - terms(gamma), rtol=1e-12)


@fast
@given(positive((4,), 1e-3, 100), st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e4]))
@example(np.ones(4), 0.1)  # lnG vanishes at the answer, so that only its absolute rounding is left
def test_fit_dirichlet_finds_the_stationary_point_from_any_start(true, start):
    """With S = n Elog(true) the maximiser is `true`."""
    n = 50
    S = jnp.asarray(n * (special.digamma(true) - special.digamma(true.sum())))
    alpha = fit_dirichlet(jnp.full(len(true), start), n, S)
    # Ill-conditioned along alpha for concentrated Dirichlets: the error of S / n is magnified by sum(alpha).
    np.testing.assert_allclose(alpha, true, rtol=1e-11 * max(1, true.sum()))


def test_fit_dirichlet_is_at_least_as_good_as_a_general_optimiser(rng):
    gammas = rng.gamma(1.0, size=(40, 3)) + 0.1
    S, n = (special.digamma(gammas) - special.digamma(gammas.sum(1, keepdims=True))).sum(0), 40

    def f(a):
        return n * (special.gammaln(a.sum()) - special.gammaln(a).sum()) + ((a - 1) * S).sum()

    start = np.array([5.0, 0.01, 1.0])
    alpha = np.asarray(fit_dirichlet(jnp.asarray(start), n, jnp.asarray(S)))
    general = minimize(lambda u: -f(np.exp(u)), np.log(start), method="BFGS", options={"gtol": 1e-9})
    assert f(alpha) >= -general.fun - 1e-10
    np.testing.assert_allclose(alpha, np.exp(general.x), rtol=1e-5)


def test_fit_dirichlet_leaves_degenerate_cases_alone():
    one = jnp.array([0.7])
    np.testing.assert_array_equal(fit_dirichlet(one, 5, jnp.array([-1.0])), one)
    alpha = jnp.array([0.3, 2.0])
    np.testing.assert_array_equal(fit_dirichlet(alpha, 0, jnp.zeros(2)), alpha)


def test_fit_dirichlet_stays_finite_when_all_images_are_alike():
    """Equal, sure proportions: the maximiser is at infinity up to rounding."""
    alpha = fit_dirichlet(jnp.ones(3), 10, jnp.full(3, 10 * math.log(1 / 3)))
    assert np.isfinite(alpha).all()
    assert np.all((alpha > 1e4) & (alpha <= 1e8))


def test_solvers_map_and_accept_float32():
    S = jnp.asarray([[-8.7, -19.8, -20.2], [-10.0, -12.0, -30.0]])
    both = jax.vmap(lambda S: fit_dirichlet(jnp.ones(3), 9, S))(S)
    for k in range(2):
        np.testing.assert_allclose(both[k], fit_dirichlet(jnp.ones(3), 9, S[k]), rtol=1e-12)
    single = fit_dirichlet(jnp.ones(3, jnp.float32), 9, S[0].astype(jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, both[0], rtol=1e-4)
    eta = fit_symmetric_dirichlet(1.0, 3, 5, jnp.float32(-30.7))
    assert eta.dtype == jnp.float32
    np.testing.assert_allclose(eta, fit_symmetric_dirichlet(1.0, 3, 5, jnp.float64(-30.7)), rtol=1e-4)


@fast
@given(
    st.floats(math.log(1e-6), math.log(1e3)),
    st.sampled_from([2, 7, 300]),
    st.sampled_from([1e-8, 0.1, 1.0, 1e8]),
)
def test_fit_symmetric_dirichlet_finds_the_root_from_any_start(log_eta, V, start):
    eta, n = math.exp(log_eta), 4
    S = n * V * (special.digamma(eta) - special.digamma(V * eta))
    got = fit_symmetric_dirichlet(start, n, V, jnp.asarray(S))
    np.testing.assert_allclose(got, eta, rtol=1e-12 * max(1, eta) * 10)


def test_fit_symmetric_dirichlet_clips_and_leaves_degenerate_cases_alone():
    n, V = 3, 5
    assert fit_symmetric_dirichlet(0.1, n, V, jnp.asarray(-0.9 * n * V * math.log(V))) == 1e8
    assert fit_symmetric_dirichlet(0.1, n, V, jnp.asarray(-1e12)) == 1e-8
    assert fit_symmetric_dirichlet(0.1, n, 1, jnp.asarray(0.0)) == 0.1
    assert fit_symmetric_dirichlet(0.1, 0, V, jnp.asarray(0.0)) == 0.1


def evidence(eta, counts):
    return sum(
        special.gammaln(eta + c).sum()
        - special.gammaln((eta + c).sum())
        - len(c) * special.gammaln(eta)
        + special.gammaln(len(c) * eta)
        for c in counts
    )


@pytest.mark.parametrize("start", [1e-6, 0.1, 1e5])
def test_fit_dirichlet_multinomial_maximises_the_evidence(start, rng):
    counts = np.array([rng.multinomial(30, rng.dirichlet(np.full(6, 0.4))) for _ in range(5)]) + 0.01
    eta = float(fit_dirichlet_multinomial(start, jnp.asarray(counts)))
    best = minimize_scalar(lambda u: -evidence(np.exp(u), counts), bounds=(-18, 18), method="bounded")
    assert evidence(eta, counts) >= -best.fun - 1e-10
    gradient = jax.grad(
        lambda e: jnp.sum(expfam.log_beta_fn(e + counts)) - 5 * expfam.log_beta_fn(jnp.full(6, e))
    )
    assert abs(gradient(eta)) < 1e-9


def test_alternating_rho_and_eta_ends_at_the_evidence_maximiser(rng):
    counts = jnp.asarray([rng.multinomial(20, rng.dirichlet(np.full(4, 0.5))) for _ in range(6)], jnp.float64)

    @jax.jit
    def alternate(eta):
        S = jnp.sum(expfam.dirichlet_expected_log(eta + counts))
        return fit_symmetric_dirichlet(eta, 6, 4, S)

    eta = jnp.asarray(0.1)
    for _ in range(300):
        eta = alternate(eta)
    np.testing.assert_allclose(eta, fit_dirichlet_multinomial(0.1, counts), rtol=1e-9)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (np.full((3, 4), 5.0), 1e8),  # under-dispersed
        (np.eye(3, 4) * 7, 1e-8),  # one word per row
        (np.zeros((3, 4)), 0.25),  # nothing to learn from: kept
        (np.array([[3.0], [1.0]]), 0.25),  # one word in all
    ],
)
def test_fit_dirichlet_multinomial_at_the_ends(counts, expected):
    assert fit_dirichlet_multinomial(0.25, jnp.asarray(counts)) == expected


# --- Multinomial and Gaussian -------------------------------------------------------------------------------


def test_multinomial_m_step_maximises_and_keeps_empty_rows():
    counts, previous = (
        jnp.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),
        jnp.array([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]),
    )
    np.testing.assert_allclose(
        expfam.multinomial_m_step(counts, 0.0, previous), [[0.75, 0.25, 0], [0.1, 0.2, 0.7]]
    )
    smoothed = expfam.multinomial_m_step(counts, 0.5, previous)
    np.testing.assert_allclose(
        smoothed, [[3.5 / 5.5, 1.5 / 5.5, 0.5 / 5.5], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-15
    )
    # The gradient of sum (c + eps) log beta at the answer is constant over words: no move along the simplex helps.
    gradient = (counts + 0.5) / smoothed
    np.testing.assert_allclose(gradient, jnp.broadcast_to(gradient[:, :1], (2, 3)), rtol=1e-14)


def random_gaussians(rng, offset=0.0, n=40, k=4, f=6):
    r = offset + rng.normal(size=(n, f)) * log_uniform(0.1, 10, f)
    mu = r[rng.choice(n, k, replace=False)] + 0.01 * rng.normal(size=(k, f))
    s2 = r.var(0) * log_uniform(1e-3, 1, k * f, seed=5).reshape(k, f)
    return r, mu, s2, rng.dirichlet(np.full(k, 0.3), size=n)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_gaussian_log_density_against_scipy(offset, rng):
    r, mu, s2, _ = random_gaussians(rng, offset)
    r[0] += 1e4
    mu[0] = r[0] + 0.01  # a component on an outlier: where a product of matrices would cancel
    exact = stats.norm.logpdf(r[:, None], mu, np.sqrt(s2)).sum(-1)
    got = jax.jit(expfam.gaussian_log_density)(jnp.asarray(r), jnp.asarray(mu), jnp.asarray(s2))
    np.testing.assert_allclose(got, exact, rtol=1e-12, atol=1e-12)


def test_gaussian_log_density_in_float32_and_mapped(rng):
    r, mu, s2, _ = random_gaussians(rng)
    exact = expfam.gaussian_log_density(jnp.asarray(r), jnp.asarray(mu), jnp.asarray(s2))
    images = jnp.asarray(r, jnp.float32).reshape(4, 10, -1)
    per_image = jax.vmap(expfam.gaussian_log_density, (0, None, None))
    got = per_image(images, jnp.asarray(mu, jnp.float32), jnp.asarray(s2, jnp.float32))
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got.reshape(40, -1), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_gaussian_m_step_equals_the_two_pass_formula(offset, rng):
    r, mu, s2, a = random_gaussians(rng, offset)
    floor = np.full(6, 1e-6)
    moments = expfam.gaussian_stats(jnp.asarray(a), jnp.asarray(r), jnp.asarray(mu))
    new_mu, new_s2 = expfam.gaussian_m_step(moments, jnp.asarray(mu), jnp.asarray(s2), jnp.asarray(floor))
    mean = (a.T @ r) / a.sum(0)[:, None]
    variance = np.einsum("nk,nkf->kf", a, (r[:, None] - mean) ** 2) / a.sum(0)[:, None]
    np.testing.assert_allclose(new_mu, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(new_s2, variance, rtol=1e-11 if offset else 1e-12)


def test_gaussian_stats_add_over_images(rng):
    r, mu, _, a = random_gaussians(rng)
    whole = expfam.gaussian_stats(jnp.asarray(a), jnp.asarray(r), jnp.asarray(mu))
    parts = jax.vmap(expfam.gaussian_stats, (0, 0, None))(
        jnp.asarray(a).reshape(4, 10, -1), jnp.asarray(r).reshape(4, 10, -1), jnp.asarray(mu)
    )
    for total, part in zip(whole, parts, strict=True):
        np.testing.assert_allclose(total, part.sum(0), rtol=1e-12, atol=1e-10)


def test_gaussian_m_step_is_a_maximum_under_the_floor(rng):
    r, mu, s2, a = (jnp.asarray(x) for x in random_gaussians(rng))
    floor = jnp.full(6, float(jnp.median(jnp.var(r, 0))))
    new_mu, new_s2 = expfam.gaussian_m_step(expfam.gaussian_stats(a, r, mu), mu, s2, floor)

    def objective(mu, s2):
        return jnp.sum(a * expfam.gaussian_log_density(r, mu, s2))

    d_mu, d_s2 = jax.grad(objective, (0, 1))(new_mu, new_s2)
    np.testing.assert_allclose(d_mu, 0, atol=1e-9)
    free = np.asarray(new_s2 > floor[None, :])
    assert free.any()
    assert not free.all()
    np.testing.assert_allclose(np.asarray(d_s2)[free], 0, atol=1e-9)
    assert np.all(np.asarray(d_s2)[~free] <= 0)  # only a smaller variance would be better
    assert np.all(np.asarray(new_s2) >= np.asarray(floor))


def test_empty_components_keep_their_values(rng):
    r, mu, s2, a = random_gaussians(rng)
    a[:, 1] = 1e-15
    moments = expfam.gaussian_stats(jnp.asarray(a), jnp.asarray(r), jnp.asarray(mu))
    floor = jnp.asarray(variance_floor(r.var(0)))
    new_mu, new_s2 = expfam.gaussian_m_step(moments, jnp.asarray(mu), jnp.asarray(s2), floor)
    np.testing.assert_array_equal(new_mu[1], mu[1])
    np.testing.assert_array_equal(new_s2[1], s2[1])
    assert not np.any(np.asarray(new_mu)[[0, 2, 3]] == mu[[0, 2, 3]])


def test_variance_floor():
    np.testing.assert_allclose(variance_floor(np.array([0.0, 1e-4, 5.0])), [1e-6, 1e-6, 5e-3], rtol=1e-15)


# --- Gamma and labels ---------------------------------------------------------------------------------------


@fast
@given(positive((3,), 0.1, 50), positive((3,), 0.01, 100), positive((3,), 0.01, 100))
def test_gamma_expectations_and_divergence(g, r, lam):
    q = stats.gamma(g, scale=r)
    args = [jnp.asarray(x) for x in (g, r, lam)]
    np.testing.assert_allclose(
        gamma_terms.gamma_expected_log(*args[:2]), special.digamma(g) + np.log(r), rtol=1e-12, atol=1e-14
    )
    exact = lam * q.mean() - np.log(lam) - q.entropy()
    np.testing.assert_allclose(gamma_terms.gamma_exponential_kl(*args), exact, rtol=1e-10, atol=1e-10)
    # Exp(lam) is Gamma(1, 1/lam): no divergence from itself.
    np.testing.assert_allclose(
        gamma_terms.gamma_exponential_kl(jnp.ones(3), 1 / args[2], args[2]), 0, atol=1e-12
    )


def test_gamma_expected_log_against_quadrature():
    q = stats.gamma(2.3, scale=0.7)
    exact = q.expect(np.log, epsabs=1e-12)
    np.testing.assert_allclose(
        gamma_terms.gamma_expected_log(jnp.array(2.3), jnp.array(0.7)), exact, rtol=1e-8
    )


@fast
@given(positive((5,), 1e-6, 100), positive((5,), 1e-4, 1e4), st.integers(0, 60))
def test_jensen_scale_solves_its_equation(s, lam, M):
    g = 1 + s * (M / s.sum())
    r, zeta = jensen_scale(jnp.asarray(g), jnp.asarray(lam), M)
    np.testing.assert_allclose((g / (lam * zeta + M)).sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(r, zeta / (lam * zeta + M), rtol=1e-14)
    np.testing.assert_allclose((g * r).sum(), zeta, rtol=1e-12)  # zeta = E sum theta


def test_jensen_scale_with_equal_rates_has_a_closed_form():
    C, M, lam = 4, 6, 0.3
    r, _ = jensen_scale(1 + jnp.array([1.0, 2.0, 3.0, 0.0]), jnp.full(C, lam), M)
    np.testing.assert_allclose(r, C / (lam * (C + M)), rtol=1e-14)


def test_jensen_scale_and_shape_are_stationary_in_the_bound(rng):
    """g = 1 + s and this r together maximise the theta part of 3.17."""
    s, lam, M = jnp.asarray(rng.gamma(1.0, size=4)), jnp.asarray(rng.gamma(2.0, size=4)), 5
    s = s * M / s.sum()

    def bound(g, r):
        expected = jnp.sum(s * gamma_terms.gamma_expected_log(g, r)) - M * jnp.log(jnp.sum(g * r))
        return expected - jnp.sum(gamma_terms.gamma_exponential_kl(g, r, lam))

    r, _ = jensen_scale(1 + s, lam, M)
    for gradient in jax.grad(bound, (0, 1))(1 + s, r):
        np.testing.assert_allclose(gradient, 0, atol=1e-12)


@fast
@given(st.floats(-30, 30), st.floats(0, 1), st.sampled_from([0.0, 1.0]))
def test_label_chord_is_a_bound_and_tight_at_the_ends(w, z, y):
    slope = float(gamma_terms.label_chord(jnp.array(y), jnp.array(w)))

    def log_p(z):
        return y * w * z - np.logaddexp(0, w * z)

    assert slope * z - math.log(2) <= log_p(z) + 1e-12
    for end in (0, 1):
        np.testing.assert_allclose(slope * end - math.log(2), log_p(end), atol=1e-12)


# --- The helpers of other tests -----------------------------------------------------------------------------


def test_assert_never_falls_sees_every_step():
    assert_never_falls([-INF, -3.0, -3.0, -2.0, -2.0 - 1e-10])
    for bad in ([1.0, 3.0, 2.0], [0.0, np.nan], [np.nan], [np.nan, 1.0], [1.0, -INF], [INF, 1.0]):
        with pytest.raises(AssertionError):
            assert_never_falls(bad)


def test_match_topics_undoes_a_permutation(rng):
    b = rng.dirichlet(np.ones(6), size=4)
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(b[order][match_topics(b[order], b)], b)


def test_enumerated_evidence_against_quadrature_over_theta(rng):
    alpha, log_lik = np.array([0.7, 1.6]), rng.normal(size=(3, 2))
    exact = enumerate_posterior(log_lik, dirichlet_log_prior(alpha))

    def joint(t):
        return stats.beta.pdf(t, *alpha) * np.prod(np.exp(log_lik) @ [t, 1 - t])

    np.testing.assert_allclose(
        np.exp(exact.log_evidence), integrate.quad(joint, 0, 1, epsabs=1e-12)[0], rtol=1e-7
    )
    np.testing.assert_allclose(exact.marginals.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(exact.counts.sum(), 3, rtol=1e-12)


def test_enumeration_with_data_that_depend_on_all_variables(rng):
    """A naive triple loop, with words that follow a uniformly chosen region as in Corr-LDA."""
    K, N = 2, 3
    log_lik, beta, words = rng.normal(size=(N, K)), rng.dirichlet(np.ones(4), size=K), [0, 3, 3]
    alpha = np.array([0.5, 1.5])
    exact = enumerate_posterior(
        log_lik, dirichlet_log_prior(alpha), lambda z: np.log(beta[z][:, :, words].mean(axis=1)).sum(axis=1)
    )
    total = 0.0
    for z in itertools.product(range(K), repeat=N):
        p, seen = 1.0, alpha.copy()
        for n, k in enumerate(z):  # a Polya urn
            p *= seen[k] / seen.sum() * math.exp(log_lik[n, k])
            seen[k] += 1
        for word in words:
            p *= sum(beta[k, word] for k in z) / N
        total += p
    np.testing.assert_allclose(exact.log_evidence, math.log(total), rtol=1e-12)
