"""Tags that were left out: the E-step by enumeration, recovery of completeness, and EM that never falls."""

import itertools

import jax
import numpy as np
import pytest
from scipy.special import expit

from topicture.annotations.choice.presence import fit_presence
from topicture.annotations.shift.completeness import (
    STRATA,
    complete,
    completed_captions,
    false_rate,
    fit_completeness,
    fit_photo_slope,
    left_out,
    observed_log_likelihood,
    odds_by_stratum,
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


def test_answers_recover_completeness(rng):
    """300 answers: all words together within 0.05, the 20 words within 0.1 on average."""
    n_words = 20
    c = rng.uniform(0.3, 0.7, n_words)
    p = expit(rng.normal(-1.5, 1.5, (2000, n_words)))
    y = rng.random(p.shape) < p
    given = y & (rng.random(p.shape) < c)
    m = p * c
    photo, word = np.nonzero(~given)
    stratum = np.digitize(m[photo, word], (0.02, 0.05, 0.1, 0.2, 0.35))
    drawn = np.concatenate([rng.choice(np.flatnonzero(stratum == s), 50, replace=False) for s in range(6)])
    photo, word = photo[drawn], word[drawn]
    odds = odds_by_stratum(m, given)
    assert odds.sum() == pytest.approx(np.where(given, 0, m / (1 - m)).sum())
    found = fit_completeness(m[photo, word], word, y[photo, word], given.sum(axis=0).astype(float), odds)
    assert found.overall == pytest.approx(given.sum() / y.sum(), abs=0.05)
    assert np.abs(found.words - given.sum(axis=0) / y.sum(axis=0)).mean() < 0.1
    assert found.n_questions == 300
    assert 0 < found.overall_deviation < 0.05


def test_all_together_stay_right_where_the_surest_words_are_less_often_left_out(rng):
    """Odds above 0.35 promise more than comes true: what is said of other strata must not suffer."""
    c, errors = 0.3, []
    for _ in range(10):
        p = expit(rng.normal(-3, 2, (3000, 20)))
        y = rng.random(p.shape) < p
        given = y & (rng.random(p.shape) < np.where(p > 0.6, 0.6, c))
        m = np.minimum(p * c, 0.9) * np.where(p > 0.6, 2, 1)
        photo, word = np.nonzero(~given)
        stratum = np.digitize(m[photo, word], STRATA)
        drawn = np.concatenate([rng.choice(np.flatnonzero(stratum == s), 50) for s in np.unique(stratum)])
        photo, word = photo[drawn], word[drawn]
        counts = given.sum(axis=0).astype(float)
        found = fit_completeness(m[photo, word], word, y[photo, word], counts, odds_by_stratum(m, given))
        errors.append(found.overall - given.sum() / y.sum())
        assert 0 < found.overall_deviation < 0.1
    assert abs(np.mean(errors)) < 0.03


def test_questions_drawn_by_another_probability_count_by_what_they_stand_for(rng):
    """Many of those with a low probability now had a high one when they were drawn, and more is true of them."""
    c, errors, blind = 0.4, [], []
    for _ in range(10):
        p = expit(rng.normal(-4, 2, (3000, 20)))
        y = rng.random(p.shape) < p
        given = y & (rng.random(p.shape) < c)
        told = p * c  # when questions were drawn; today's m is rougher
        m = expit(np.log(told / (1 - told)) * 0.6 + rng.normal(0, 0.8, p.shape) - 1.5)
        m *= given.sum() / m.sum()
        photo, word = np.nonzero(~given)
        stratum = np.digitize(told[photo, word], STRATA)
        drawn, weight = [], []
        for s, n in enumerate((20, 20, 40, 80, 100, 40)):
            inside = np.flatnonzero(stratum == s)
            n = min(n, len(inside))
            drawn.append(rng.choice(inside, n, replace=False))
            weight.append(np.full(n, len(inside) / max(n, 1)))
        photo, word = photo[np.concatenate(drawn)], word[np.concatenate(drawn)]
        counts, odds = given.sum(axis=0).astype(float), odds_by_stratum(m, given)
        what = (m[photo, word], word, y[photo, word], counts, odds)
        true = given.sum() / y.sum()
        errors.append(fit_completeness(*what, weight=np.concatenate(weight)).overall - true)
        blind.append(fit_completeness(*what).overall - true)
    assert abs(np.mean(errors)) < 0.06
    assert abs(np.mean(errors)) < 0.5 * abs(np.mean(blind))


def test_common_words_that_are_left_out_more_often_are_found_out(rng):
    """Of a word that nobody was asked about, its frequency tells."""
    n_words = 30
    frequency = np.geomspace(0.02, 0.5, n_words)
    c = 0.9 - 0.6 * np.linspace(0, 1, n_words)
    m = np.clip(frequency * rng.uniform(0.2, 1.8, (3000, n_words)), 0, 0.9) * c
    y = rng.random(m.shape) < m / c
    given = y & (rng.random(m.shape) < c)
    photo, word = np.nonzero(~given & (np.arange(n_words) % 5 > 0))
    drawn = rng.choice(len(word), 600, replace=False)
    photo, word = photo[drawn], word[drawn]
    counts = given.sum(axis=0).astype(float)
    found = fit_completeness(m[photo, word], word, y[photo, word], counts, odds_by_stratum(m, given))
    assert found.words[25] < found.words[5] - 0.1  # neither was asked about
    assert np.abs(found.words - c).mean() < 0.15


def test_photos_with_many_tags_are_found_more_complete(rng):
    """Of photos with one tag far more was left out: g is found, and c of each photo is nearer the truth than one c."""
    p = expit(rng.normal(-2, 1.5, (3000, 20)))
    y = rng.random(p.shape) < p
    care = rng.choice([0.2, 0.8], 3000)
    given = y & (rng.random(p.shape) < care[:, None])
    n_tags = given.sum(axis=1)
    m = p * 0.5  # what a model of the photo alone can tell
    photo, word = np.nonzero(~given)
    drawn = rng.choice(np.flatnonzero(m[photo, word] < 0.35), 600, replace=False)
    photo, word = photo[drawn], word[drawn]
    yes = y[photo, word]
    slope = fit_photo_slope(m[photo, word], yes, n_tags[photo], float(n_tags.mean()))
    assert slope.slope < -0.1
    tilted = slope.tilted(m, n_tags[:, None])
    counts = given.sum(axis=0).astype(float)
    found = fit_completeness(tilted[photo, word], word, yes, counts, odds_by_stratum(tilted, given), slope)
    c = found.of_photos(n_tags)
    assert c.shape == p.shape
    assert c[n_tags >= 5].mean() > c[n_tags <= 1].mean() + 0.2
    flat = fit_completeness(m[photo, word], word, yes, counts, odds_by_stratum(m, given))
    truth = y[~given]

    def log_likelihood(rho):
        rho = np.clip(rho, 1e-6, 0.99)[~given]
        return np.where(truth, np.log(rho), np.log1p(-rho)).sum()

    by_photo = log_likelihood(found.odds * tilted / (1 - tilted))
    assert by_photo > log_likelihood(flat.odds * m / (1 - m)) + 20
    assert found.overall == pytest.approx(given.sum() / y.sum(), abs=0.06)


def test_the_same_tags_everywhere_tell_no_slope():
    slope = fit_photo_slope(np.full(50, 0.2), np.arange(50) % 4 == 0, np.full(50, 3), 3.0)
    assert slope.slope == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(slope.tilted(np.array([0.1, 0.5]), np.array([1, 9])), [0.1, 0.5])


def test_only_no_means_nearly_complete(rng):
    m = np.full(200, 0.4)
    found = fit_completeness(
        m, np.zeros(200, int), np.zeros(200), np.array([100.0]), np.array([[0, 0, 0, 0, 0, 150.0]])
    )
    assert found.overall > 0.9
    assert found.words[0] > 0.95
    captions = completed_captions(np.array([[True], [False]]), np.full((2, 1), 0.4), found)
    assert captions[0, 0] == 1
    assert captions[1, 0] < 0.05


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
