"""How complete tags are, from answers: recovery, the most probable line by its gradient, shares by enumeration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from topicture.annotations.shift.completeness import STRATA, PhotoSlope, bent
from topicture.annotations.shift.how_complete import (
    Questions,
    _counted,
    _frequent,
    _left_out_altogether,
    _line,
    fit_completeness,
)


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
    found = fit_completeness(m, given, Questions(photo, word, y[photo, word]))
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
        found = fit_completeness(m, given, Questions(photo, word, y[photo, word]))
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
        asked = Questions(photo, word, y[photo, word], np.concatenate(weight))
        true = given.sum() / y.sum()
        errors.append(fit_completeness(m, given, asked).overall - true)
        blind.append(fit_completeness(m, given, asked._replace(weight=None)).overall - true)
    assert abs(np.mean(errors)) < 0.06
    assert abs(np.mean(errors)) < 0.5 * abs(np.mean(blind))


def test_words_of_which_hardly_any_was_given_are_told_so(rng):
    """kappa is 15: far from 1, and no border of the grid."""
    p = rng.uniform(0.05, 0.95, (3000, 5))
    y = rng.random(p.shape) < p
    given = y & (rng.random(p.shape) < 1 / 16)
    row, word = np.nonzero(~given)
    few = rng.choice(len(row), 300, replace=False)
    found = fit_completeness(p / 16, given, Questions(row[few], word[few], y[row[few], word[few]]))
    np.testing.assert_allclose(found.words, given.sum(axis=0) / y.sum(axis=0), atol=0.03)


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
    found = fit_completeness(m, given, Questions(photo, word, y[photo, word]))
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
    found = fit_completeness(m, given, Questions(photo, word, y[photo, word]))
    assert found.photos.slope < -0.1
    c = found.of_photos(n_tags)
    assert c.shape == p.shape
    assert c[n_tags >= 5].mean() > c[n_tags <= 1].mean() + 0.2
    truth = y[~given]

    def log_likelihood(rho):
        return np.where(truth, np.log(rho[~given]), np.log1p(-rho[~given])).sum()

    flat = found._replace(photos=PhotoSlope())
    assert log_likelihood(found.left_out(m, n_tags)) > log_likelihood(flat.left_out(m, n_tags)) + 20
    assert found.overall == pytest.approx(given.sum() / y.sum(), abs=0.06)


def test_the_same_number_of_tags_everywhere_tells_no_slope(rng):
    given = np.eye(3, dtype=bool)[np.arange(60) % 3]
    row, word = np.nonzero(~given)
    found = fit_completeness(np.full((60, 3), 0.2), given, Questions(row, word, row % 4 == 0))
    assert found.photos.slope == pytest.approx(0.0, abs=1e-6)


def test_only_no_means_nearly_complete():
    given = np.arange(300)[:, None] < 100
    row = np.arange(100, 300)
    asked = Questions(row, np.zeros(200, int), np.zeros(200, bool))
    found = fit_completeness(np.full((300, 1), 0.4), given, asked)
    assert found.overall > 0.9
    assert found.words[0] > 0.95
    assert found.left_out(np.full((1, 1), 0.4), [1])[0, 0] < 0.05


@pytest.mark.parametrize("is_yes", [True, False])
@pytest.mark.parametrize(("n_photos", "n_asked"), [(1, 1), (60, 20), (60, 0)])
def test_of_a_word_that_no_caption_has_no_share_was_given(rng, n_photos, n_asked, is_yes):
    """It has only ever been an answer. However little was said, all is finite."""
    given = np.stack([np.zeros(n_photos, bool), np.arange(n_photos) % 3 == 0], axis=1)
    row, word = (each[:n_asked] for each in np.nonzero(~given))
    asked = Questions(row, word, np.full(len(row), is_yes))
    found = fit_completeness(rng.uniform(0.01, 0.6, given.shape), given, asked)
    assert (found.words[0], found.deviation[0]) == (0, 0)
    assert 0 < found.words[1] <= 1
    assert all(np.isfinite(part).all() for part in found)


def test_the_line_is_the_most_probable_one(rng):
    """The gradient that the search follows is that of the posterior, by automatic differentiation."""
    odds, z_word, z_photo = rng.uniform(0.02, 2, 80), rng.normal(size=80), rng.normal(size=80)
    yes, counted = rng.random(80) < 0.5 * bent(odds), rng.uniform(0.5, 1.5, 80)
    found, spread = _line(odds, z_word, z_photo, yes, counted)

    def height(line):
        u = odds * jnp.exp(line[0] + line[1] * z_word + line[2] * z_photo)
        rho = u / (1 + (u / 0.95) ** 2.5) ** (1 / 2.5)
        told = counted @ jnp.where(yes, jnp.log(rho), jnp.log1p(-rho))
        return told - line[0] ** 2 / 8 - line[1] ** 2 / 2 - line[2] ** 2 / 0.5

    with jax.enable_x64(True):
        np.testing.assert_allclose(np.asarray(jax.grad(height)(jnp.asarray(found))), 0, atol=1e-2)

    def told_by(line, rho):
        u = odds * jnp.exp(line[0] + line[1] * z_word + line[2] * z_photo)
        told = u / (1 + (u / 0.95) ** 2.5) ** (1 / 2.5)
        return counted @ (rho * jnp.log(told) + (1 - rho) * jnp.log1p(-told))

    with jax.enable_x64(True):  # the curvature that answers have on average, at the most probable line
        line = jnp.asarray(found)
        rho = bent(odds * np.exp(found[0] + found[1] * z_word + found[2] * z_photo))
        curvature = -np.asarray(jax.hessian(told_by)(line, jnp.asarray(rho)))
        expected = np.linalg.inv(curvature + np.diag([1 / 4, 1.0, 4.0]))
    np.testing.assert_allclose(spread, expected, rtol=1e-6)


def test_deviations_hold_as_often_as_they_promise(rng):
    """Nineteen in twenty words within 1.96 deviations: by the line's uncertainty and by chance, too.

    All words together are one deviation off on average: neither fewer nor more, within three standard errors.
    """
    inside, off, n = [], [], 60
    for _ in range(n):
        frequency, c = np.geomspace(0.01, 0.2, 40), expit(0.4 * rng.normal() + 0.3 * rng.normal(size=40))
        p = np.clip(frequency * rng.gamma(0.5, 2, (1500, 40)), 0, 0.95)
        y = rng.random(p.shape) < p
        given = y & (rng.random(p.shape) < c)
        m = p * c
        row, word = np.nonzero(~given)
        few = rng.choice(np.flatnonzero(m[row, word] > 0.02), 200, replace=False)
        found = fit_completeness(m, given, Questions(row[few], word[few], y[row[few], word[few]]))
        share = given.sum(axis=0) / np.maximum(y.sum(axis=0), 1)
        inside.append((np.abs(found.words - share) < 1.96 * found.deviation).mean())
        off.append((found.overall - given.sum() / y.sum()) / found.overall_deviation)
    assert np.mean(inside) > 0.9
    assert np.mean(inside) < 0.995
    assert abs(np.sqrt(np.mean(np.square(off))) - 1) < 3 / np.sqrt(2 * n)


def test_all_that_was_left_out_is_told_by_gamma_posteriors(rng):
    """Drawn from them: the ratio f of all strata but the highest, then f_h of each, Gamma(8, 8 / f) before answers."""
    n, n_yes = np.array([150, 100, 100, 150, 150, 60]), np.array([2, 8, 12, 40, 60, 40])
    told, absent = np.array([4.0, 6, 16, 30, 50, 48]), np.array([900.0, 300, 200, 100, 80, 30])
    stratum, place = np.repeat(np.arange(6), n), np.concatenate([np.arange(k) for k in n])
    rho = np.repeat(told / n, n)
    # Those of the highest stratum count by half.
    yes, counted = place < n_yes[stratum], np.where(stratum == 5, 0.5, 1.0)
    found, deviation = _left_out_altogether(rho, stratum, counted, yes, absent)
    n_yes, told = n_yes * [1, 1, 1, 1, 1, 0.5], told * [1, 1, 1, 1, 1, 0.5]
    f = rng.gamma(n_yes[:5].sum() + 0.5, 1 / (told[:5].sum() + 0.5), (100_000, 1))
    drawn = rng.gamma(n_yes + 8, 1 / (told + 8 / f)) @ absent
    # Uncertain f comes in by its slope, which is a little less than exact.
    assert found == pytest.approx(drawn.mean(), rel=0.01)
    assert deviation == pytest.approx(drawn.std(), rel=0.02)


def test_questions_of_a_stratum_count_as_much_as_they_tell(rng):
    """(sum w)^2 / sum w^2 even ones, each by its weight; in what unit weights are does not matter."""
    stratum, weight = rng.integers(0, 4, 100), rng.uniform(0.2, 5, 100)
    found = _counted(stratum, weight)
    for one in range(4):
        w = weight[stratum == one]
        assert found[stratum == one].sum() == pytest.approx(w.sum() ** 2 / (w**2).sum())
        assert np.ptp(found[stratum == one] / w) < 1e-12
    np.testing.assert_allclose(_counted(stratum, weight * np.array([1, 2, 5, 0.1])[stratum]), found)
    np.testing.assert_array_equal(_counted(stratum, None), 1)


def test_the_frequency_of_words_is_measured_from_that_of_the_average_tag():
    """Not from that of the average word: most words are rare."""
    n_given = np.array([1000.0, 3, 2, 1, 0])
    z = _frequent(n_given)
    assert np.average(z, weights=n_given + 0.5) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.diff(z), np.diff(np.log(n_given + 0.5)))


@pytest.mark.parametrize(("low", "high", "n_asked", "yes"), [(0.01, 0.6, 40, 0.3), (0.2, 0.9, 100, 0.5)])
def test_the_share_of_a_word_is_its_posterior_mean_by_enumeration(rng, low, high, n_asked, yes):
    """Over the grid of kappa, with S_w summed anew at each: the power law near the middle is close to it.

    It bends where much of what is absent is true. Means are off by a seventh of a deviation at most, and that by 5%.
    """
    m = rng.uniform([0.01, low], [0.6, high], (400, 2))
    given = rng.random(m.shape) < m
    row, word = np.nonzero(~given)
    few = rng.permutation(len(row))[:n_asked]
    weight = rng.choice([1.0, 8.0], n_asked)
    is_yes = rng.random(n_asked) < yes * np.where(
        given[row[few]].any(axis=1), 0.2, 1.5
    )  # less of photos with more
    asked = Questions(row[few], word[few], is_yes, weight)
    found = fit_completeness(m, given, asked)
    assert found.photos.slope < -0.3
    n_given, n_tags = given.sum(axis=0), given.sum(axis=1)
    z = np.log(n_given + 0.5)
    z -= np.average(z, weights=n_given + 0.5)
    odds = m / (1 - m) * found.photos.factor(n_tags)[:, None]
    pair = asked.row, asked.word
    z_photo = PhotoSlope(0.0, n_tags.mean()).z(n_tags)[asked.row]
    stratum = np.digitize(m[pair], STRATA)
    total, square = np.bincount(stratum, weight)[stratum], np.bincount(stratum, weight**2)[stratum]
    counted = weight * total / square
    line, spread = _line(m[pair] / (1 - m[pair]), z[asked.word], z_photo, asked.yes, counted)
    grid = np.linspace(np.log(1e-3), np.log(50), 200)
    for one in range(2):
        mine, absent = asked.word == one, ~given[:, one]
        rho = bent(odds[asked.row[mine], one][:, None] * np.exp(grid))
        density = (np.where(asked.yes[mine][:, None], rho, 1 - rho) ** counted[mine][:, None]).prod(axis=0)
        variance = 0.1 + np.array([1, z[one]]) @ spread[:2, :2] @ np.array([1, z[one]])
        density = density * np.exp(-((grid - line[0] - line[1] * z[one]) ** 2) / (2 * variance))
        left = np.array([bent(np.exp(g) * odds[absent, one]).sum() for g in grid])
        share = n_given[one] / (n_given[one] + left)
        expected = np.average(share, weights=density)
        rho = found.left_out(m, n_tags)[absent, one]
        chance = (rho * (1 - rho)).sum() * (expected * (1 - expected) / rho.sum()) ** 2
        deviation = np.sqrt(np.average((share - expected) ** 2, weights=density) + chance)
        assert found.words[one] == pytest.approx(expected, abs=0.15 * deviation)
        assert found.deviation[one] == pytest.approx(deviation, rel=0.05)
    assert len(np.unique(stratum)) > 3


def test_estimates_that_are_off_do_not_tell_that_more_is_left_out(rng):
    """m is off by a factor for every pair, as a model's are: all together within a hundredth or two on average."""
    errors = []
    for _ in range(8):
        p = expit(rng.normal(-2, 2, (2000, 20)))
        y = rng.random(p.shape) < p
        given = y & (rng.random(p.shape) < 0.4)
        rough = np.exp(rng.normal(0, 0.5, p.shape)) * p
        borders = np.quantile(rough, np.linspace(0, 1, 60)[1:-1])
        at = np.digitize(rough, borders)
        m = (np.bincount(at.ravel(), given.ravel()) / np.bincount(at.ravel()))[at]  # what of those is given
        row, word = np.nonzero(~given)
        few = rng.choice(np.flatnonzero(m[row, word] > 0.02), 400, replace=False)
        asked = Questions(row[few], word[few], y[row[few], word[few]])
        errors.append(fit_completeness(m, given, asked).overall - given.sum() / y.sum())
    assert abs(np.mean(errors)) < 0.025 + 2 * np.std(errors) / np.sqrt(8)
