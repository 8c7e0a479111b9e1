"""Tags that were left out: the E-step by enumeration, the bend of what is told, and EM that never falls."""

import itertools

import jax
import numpy as np
import pytest

from topicture.annotations.choice.presence import fit_presence
from topicture.annotations.shift.completeness import (
    ENOUGH,
    SHARES,
    STRATA,
    Completeness,
    PhotoSlope,
    bend,
    bent,
    complete,
    false_rate,
    left_out,
    observed_log_likelihood,
    rightly_given,
)


@pytest.mark.parametrize(
    ("p", "c", "e"), list(itertools.product((0.05, 0.5, 0.97), (0.1, 0.6, 1.0), (0.0, 0.02)))
)
def test_the_e_step_is_the_posterior_by_enumeration(p, c, e):
    joint = {
        (y, t): (p if y else 1 - p) * ((c if y else e) if t else (1 - c if y else 1 - e))
        for y in (0, 1)
        for t in (0, 1)
    }
    assert left_out(np.array([p]), c, e)[0] == pytest.approx(joint[1, 0] / (joint[0, 0] + joint[1, 0]))
    assert rightly_given(np.array([p]), c, e)[0] == pytest.approx(joint[1, 1] / (joint[0, 1] + joint[1, 1]))
    given = np.array([True, False])
    expected = np.log(joint[1, 1] + joint[0, 1]) + np.log(joint[1, 0] + joint[0, 0])
    assert observed_log_likelihood(np.array([p, p]), given, c, e) == pytest.approx(expected)


def test_the_limits():
    np.testing.assert_array_equal(rightly_given(np.array([0.0, 0.3]), 0.5), 1)  # no false tags
    assert rightly_given(np.array([0.0]), 0.5, 0.01)[0] == 0
    p = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(left_out(p[:-1], 1.0), 0)  # complete tags: absent means no, as it was
    np.testing.assert_allclose(left_out(p, 1e-12), p)  # nothing is ever given: what is absent tells nothing
    assert left_out(np.array([1.0]), 0.5)[0] == 1


def test_false_tags_have_the_rate_of_words_that_were_taken_back(rng):
    """Of pairs that are not true, so many were given; a person finds them all and takes them back."""
    false = rng.random(20_000) < 0.03
    assert false_rate(int(false.sum()), int((~false).sum())) == pytest.approx(0.03, abs=0.005)
    assert 0 < false_rate(0, 20_000) < 1e-4  # none so far
    assert false_rate(3, 10) == 3.5 / 14


def test_its_slope_is_that_of_the_observed_likelihood():
    """The expected complete log-likelihood touches the observed one: equal slopes in p (Fisher's identity)."""
    p, c, t = np.array([0.2, 0.7, 0.4]), np.array([0.5, 0.3, 0.9]), np.array([1.0, 0.0, 0.0])
    with jax.enable_x64(True):
        slope = jax.grad(lambda q: (t * jax.numpy.log(q * c) + (1 - t) * jax.numpy.log(1 - q * c)).sum())(p)
    rho = np.where(t > 0, 1.0, left_out(p, c))
    np.testing.assert_allclose(np.asarray(slope), rho / p - (1 - rho) / (1 - p), rtol=1e-6)


def test_em_never_lowers_the_observed_likelihood(rng):
    """p is a share per word and stratum, so that each M-step is exact."""
    stratum = rng.integers(0, 5, 400)
    given = rng.random((400, 3)) < np.linspace(0.05, 0.5, 5)[stratum][:, None] * 0.5
    c = np.array([0.4, 0.5, 0.7])
    heights = []

    def fit(targets):
        p = np.stack([targets[stratum == s].mean(axis=0) for s in range(5)])[stratum]
        heights.append(observed_log_likelihood(p, given, c))
        return p

    p, targets = complete(fit, given, c, np.full(given.shape, 0.3), n_steps=60)
    assert (np.diff(heights) >= -1e-9).all()
    heights_with_false = []

    def fit_with_false(targets):
        p = np.stack([targets[stratum == s].mean(axis=0) for s in range(5)])[stratum]
        heights_with_false.append(observed_log_likelihood(p, given, c, 0.01))
        return p

    _, soft = complete(fit_with_false, given, c, np.full(given.shape, 0.3), n_steps=30, e=0.01)
    assert (np.diff(heights_with_false) >= -1e-9).all()
    assert (soft[given] < 1).all()
    shares = np.stack([given[stratum == s].mean(axis=0) for s in range(5)])
    np.testing.assert_allclose(
        p, np.minimum(shares / c, 1)[stratum], atol=0.02
    )  # p c is the share that was given
    assert (targets[given] == 1).all()


def test_what_is_told_bends_where_nearly_all_was_left_out():
    """Proportional to the odds where these are small, never above the ceiling, and rising."""
    u = np.geomspace(1e-4, 1e3, 200)
    rho = bent(u)
    np.testing.assert_allclose(rho[u < 0.02], u[u < 0.02], rtol=1e-3)
    assert (np.diff(rho) > 0).all()
    assert rho[-1] == pytest.approx(0.95, rel=1e-3)
    slope = np.gradient(np.log(rho), np.log(u))
    np.testing.assert_allclose(slope[1:-1], bend(u)[1:-1], atol=0.01)


def test_the_bend_is_what_estimates_that_are_off_by_a_factor_come_to(rng):
    """u is off by a factor e^0.6: what is true on average where u is told lies along the curve."""
    u, ceiling = np.linspace(0.05, 2.5, 25), 0.95
    factor = np.exp(rng.normal(-0.18, 0.6, 40_000))
    true = ceiling * np.minimum(u[:, None] / ceiling * factor, 1).mean(axis=1)
    np.testing.assert_allclose(true, bent(u), atol=0.03)


def test_most_questions_are_asked_where_answers_tell_most():
    """Of ln kappa an answer tells rho / (1 - rho) (d ln rho / d ln u)^2 on average; here half of all is left out."""
    borders = np.array([0.0, *STRATA, 0.8])
    m = (borders[1:] + borders[:-1]) / 2
    u = m / (1 - m)
    told = bent(u) / (1 - bent(u)) * bend(u) ** 2
    assert np.argmax(SHARES) == np.argmax(told)
    assert np.average(told, weights=SHARES) > 1.4 * told.mean()
    assert min(SHARES) > 0  # everywhere some: is kappa the same?


def test_completeness_of_photos_and_what_they_lack():
    found = Completeness(
        np.array([0.5]), np.zeros(1), np.array([1.0]), 0.5, 0.0, 30, PhotoSlope(np.log(0.5), 2.0)
    )
    n_tags = np.array([1, 2, 3, 50])  # z is within 3
    np.testing.assert_allclose(found.of_photos(n_tags)[:, 0], 1 / (1 + np.array([2, 1, 0.5, 0.125])))
    m = np.full((4, 1), 0.01)
    np.testing.assert_allclose(found.left_out(m, n_tags)[:, 0], np.array([2, 1, 0.5, 0.125]) / 99, rtol=1e-3)


def told_by(n_questions, log_deviation=0.8):
    return Completeness(
        np.ones(1), np.zeros(1), np.ones(1), 0.5, 0.0, n_questions, log_deviation=log_deviation
    )


def test_bounds_of_what_was_left_out_hold_nine_times_in_ten(rng):
    """Odds are told e^0.8 too high or too low: in nine of ten worlds no more is counted on than is true."""
    told, factor = 0.6, np.exp(rng.normal(0, 0.8, 20_000))
    true = factor * told / (1 - told + factor * told)
    assert (told_by(0).counted_on(told) <= true).mean() == pytest.approx(0.9, abs=0.01)
    assert (told <= true).mean() == pytest.approx(0.5, abs=0.02)


def test_the_more_answers_the_more_is_counted_on():
    rho = np.linspace(0, 1, 11)
    counted = np.stack([told_by(n).counted_on(rho) for n in (20, 45, 70, ENOUGH)])
    assert (np.diff(counted[:, 1:-1], axis=0) > 0.01).all()
    np.testing.assert_allclose(counted[-1], rho)
    np.testing.assert_array_equal(told_by(3 * ENOUGH).counted_on(rho), counted[-1])
    # What is certain stays so, and the order stays.
    np.testing.assert_array_equal(counted[:, [0, -1]], np.repeat([[0.0, 1.0]], 4, axis=0))
    assert (np.diff(counted, axis=1) > 0).all()
    np.testing.assert_allclose(told_by(20, log_deviation=0.0).counted_on(rho), rho)


def test_presence_takes_targets_between_no_and_yes(rng):
    """Half of the true tags were left out: with what was probably left out filled in, promises are for the truth."""
    p = rng.dirichlet(np.full(4, 0.4), 3000)
    y = rng.random(p.shape) < np.clip(1.5 * p, 0, 0.95)
    given = y & (rng.random(p.shape) < 0.5)
    known = np.ones_like(given)
    naive = fit_presence(p, given, known)(p)
    told, _ = complete(lambda targets: fit_presence(p, targets, known)(p), given, 0.5, naive, n_steps=8)
    likely = told > 0.5
    assert likely.sum() > 3 * (naive > 0.5).sum()
    assert told[likely].mean() == pytest.approx(y[likely].mean(), abs=0.06)
