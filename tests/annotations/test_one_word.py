"""One word from a few clicks: the minimum that the formula says, the prior, and a ranking that helps."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from topicture.annotations.one_word import RATE, RIDGE, WEIGHT, Background, learn_word
from topicture.errors import CorpusError


@pytest.fixture
def rows(rng):
    """300 photos of three kinds, at length 1."""
    kinds = np.repeat(np.arange(3), 100)
    raw = rng.normal(size=(3, 20))[kinds] + 0.8 * rng.normal(size=(300, 20))
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def minimum(rows, clicked, yes):
    """Log odds of all rows by the formula itself, minimised over all weights at once."""
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred / len(rows)
    ridge = RIDGE * np.trace(covariance) / len(covariance)

    def loss(theta):
        w, b = theta[:-1], theta[-1]
        scores = logit(RATE) + centred @ w + b
        fit = np.logaddexp(0, scores[clicked]).sum() - scores[clicked][yes].sum()
        residual = expit(scores[clicked]) - yes
        shrink = covariance @ w + ridge * w
        value = fit + WEIGHT / 2 * (w @ shrink + b * b)
        return value, np.append(centred[clicked].T @ residual + WEIGHT * shrink, residual.sum() + WEIGHT * b)

    found = minimize(loss, np.zeros(rows.shape[1] + 1), jac=True, tol=1e-14, options={"maxiter": 10_000})
    return logit(RATE) + centred @ found.x[:-1] + found.x[-1]


@pytest.mark.parametrize("n_no", [0, 4])
def test_it_is_the_minimum_of_its_formula(rows, n_no):
    clicked = np.array([3, 17, 44, 60, 91, 120, 155, 210, 288])[: 5 + n_no]
    yes = clicked < 100
    learned = learn_word(Background(rows), rows[clicked], yes)
    np.testing.assert_allclose(learned.log_odds(rows), minimum(rows, clicked, yes), atol=2e-5)


def test_without_clicks_every_photo_has_the_prior(rows):
    learned = learn_word(Background(rows), rows[:0], np.zeros(0, bool), rate=0.2)
    np.testing.assert_allclose(expit(learned.log_odds(rows)), 0.2)


def test_five_clicks_rank_the_photos_of_their_kind_first(rows):
    clicked = np.array([3, 17, 44, 60, 91])
    log_odds = learn_word(Background(rows), rows[clicked], np.ones(5, bool)).log_odds(rows)
    rest = np.setdiff1d(np.arange(300), clicked)
    first = rest[np.argsort(-log_odds[rest])][:80]
    assert (first < 100).mean() > 0.9
    before = log_odds.copy()
    wrong = first[first >= 100][:2]
    if len(wrong):
        after = learn_word(
            Background(rows), rows[np.append(clicked, wrong)], np.arange(5 + len(wrong)) < 5
        ).log_odds(rows)
        assert (after[wrong] < before[wrong]).all()


def test_a_click_moves_its_own_photo_most(rows):
    background = Background(rows)
    said = learn_word(background, rows[[10]], np.array([True])).log_odds(rows)
    assert said.argmax() == 10
    denied = learn_word(background, rows[[10]], np.array([False])).log_odds(rows)
    assert denied.argmin() == 10
    assert denied[10] < logit(RATE) < said[10]


def test_a_sample_stands_for_a_large_collection(rows):
    many = np.tile(rows, (4, 1)).astype(np.float16)
    clicked, yes = many[[3, 17, 44, 150]], np.array([True, True, True, False])
    whole = learn_word(Background(many), clicked, yes).log_odds(rows)
    part = learn_word(Background(many, sample=900), clicked, yes).log_odds(rows)
    assert np.corrcoef(whole, part)[0, 1] > 0.995


def test_rows_that_are_no_numbers_are_told(rows):
    rows[5, 2] = np.nan
    with pytest.raises(CorpusError, match="not numbers"):
        Background(rows)
    with pytest.raises(CorpusError, match="no photos"):
        Background(rows[:0])


def test_identical_photos_are_no_trouble():
    rows = np.ones((5, 4)) / 2
    log_odds = learn_word(Background(rows), rows[:2], np.array([True, False])).log_odds(rows)
    assert np.isfinite(log_odds).all()
