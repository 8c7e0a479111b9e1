"""Probabilities that mean what they say, on data whose true probabilities are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.annotations.choice.presence import (
    EVEN_ODDS,
    JudgedPairs,
    ReliabilityBin,
    calibration_error,
    cross_fitted,
    error_by_chance,
    fit_presence,
    reliability,
    thresholds,
)
from topicture.errors import CorpusError
from topicture.models import presence as presence_fits


def known_truth(seed=0, n_images=600, n_words=12):
    """Word distributions whose presences are known: true words draw more mass, words differ in how well they show."""
    rng = np.random.default_rng(seed)
    frequency = np.linspace(0.05, 0.5, n_words)
    truth = rng.random((n_images, n_words)) < frequency
    evidence = rng.normal(size=truth.shape) + truth * np.linspace(0.5, 3, n_words)
    p = np.exp(evidence)
    return p / p.sum(axis=1, keepdims=True), truth, np.ones_like(truth)


@pytest.fixture(scope="module")
def fitted():
    p, truth, known = known_truth()
    return fit_presence(p, truth, known)


def test_promised_is_observed_on_new_images(fitted):
    p, truth, known = known_truth(seed=1, n_images=3000)
    bins = reliability(JudgedPairs.of(fitted(p), truth, known))
    for b in bins:
        standard_error = np.sqrt(b.promised * (1 - b.promised) / b.n)
        assert abs(b.promised - b.observed) < 0.05 + 4 * standard_error
    assert calibration_error(bins) < 0.05


def test_presences_are_probabilities_and_keep_the_ranking_of_a_word(fitted):
    p, _, _ = known_truth(seed=2)
    presence = fitted(p)
    assert np.all((presence >= 0) & (presence <= 1))
    for word in range(p.shape[1]):
        assert np.all(np.diff(presence[np.argsort(p[:, word]), word]) >= -1e-12)


def test_words_that_show_badly_are_trusted_less(fitted):
    """The last word is ten times as frequent and shows far better than the first."""
    p, _, _ = known_truth(seed=3)
    surest = np.quantile(fitted(p), 0.95, axis=0)
    assert surest[-1] > 0.9
    assert surest[0] < 0.5


def test_an_annotator_that_knows_nothing_gives_the_frequency_of_the_word():
    _, truth, known = known_truth()
    p = np.full(truth.shape, 1 / truth.shape[1])
    assert fit_presence(p, truth, known)(p)[0] == pytest.approx(truth.mean(axis=0), abs=0.06)


def test_pairs_that_nobody_judged_do_not_count():
    p, truth, known = known_truth()
    partly = known & (np.random.default_rng(0).random(known.shape) < 0.5)
    scrambled = np.where(partly, truth, np.random.default_rng(1).random(truth.shape) < 0.5)
    assert np.array_equal(fit_presence(p, truth, partly)(p), fit_presence(p, scrambled, partly)(p))


def test_cross_fitting_hides_the_fold_that_is_judged():
    p, truth, known = known_truth(n_images=90)
    fold_of = np.arange(90) % 3
    honest = cross_fitted(p, truth, known, fold_of)
    flipped = np.where((fold_of == 1)[:, None], ~truth, truth)
    again = cross_fitted(p, flipped, known, fold_of)
    assert np.array_equal(honest[fold_of == 1], again[fold_of == 1])
    assert not np.array_equal(honest[fold_of == 0], again[fold_of == 0])


def test_nothing_judged_is_told():
    p, truth, known = known_truth(n_images=5)
    for nothing, what in ((np.zeros_like(truth), "tag more photos"), (np.ones_like(truth), "reject some")):
        with pytest.raises(CorpusError, match=f"too few judged tags .*; {what}"):
            fit_presence(p, nothing, known)


@pytest.mark.parametrize("target", [0.7, 0.8, 0.9])
def test_what_is_above_a_threshold_is_as_precise_on_new_images(fitted, target):
    p, truth, known = known_truth()
    pairs = JudgedPairs.of(cross_fitted(p, truth, known, np.arange(len(p)) % 3), truth, known)
    least = thresholds(pairs, p.shape[1], target)
    p, truth, _ = known_truth(seed=4, n_images=3000)
    accepted = fitted(p) >= least
    assert accepted.sum() > 200
    assert truth[accepted].mean() > target - 0.03


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_thresholds_rise_with_the_precision_and_never_fall_below_even_odds(pairs):
    words, presence, truth = (np.array(column) for column in zip(*pairs, strict=True))
    judged = JudgedPairs(words, presence.astype(float), truth)
    found = [thresholds(judged, 3, target) for target in (0.5, 0.8, 0.95)]
    assert np.all(np.array(found) >= EVEN_ODDS)
    assert np.all(found[0] <= found[1])
    assert np.all(found[1] <= found[2])


def test_pairs_below_a_presence_change_no_threshold():
    p, truth, known = known_truth()
    pairs = JudgedPairs.of(fit_presence(p, truth, known)(p), truth, known)
    assert thresholds(pairs, 12, 0.9) == pytest.approx(thresholds(pairs.above(0.02), 12, 0.9))


def test_one_true_pair_among_very_many_is_enough(rng, monkeypatch):
    """Not all pairs are drawn for a regression; the only true one may not be missed."""
    monkeypatch.setattr(presence_fits, "MAX_PAIRS", 100)
    truth = np.zeros((500, 4), bool)
    truth[7, 2] = True
    for seed in range(5):
        found = fit_presence(rng.dirichlet(np.ones(4), 500), truth, np.ones_like(truth), seed=seed)
        assert np.isfinite(found.coefficients).all()


def test_few_pairs_are_off_by_chance_as_much_as_exact_promises_are(rng):
    """Mean over samples of 200 pairs whose promises hold."""
    off, told = [], []
    for _ in range(300):
        presence = rng.uniform(0.1, 1, 200)
        bins = reliability(JudgedPairs(np.zeros(200, int), presence, rng.random(200) < presence))
        off.append(calibration_error(bins))
        told.append(error_by_chance(bins))
    assert np.mean(told) == pytest.approx(np.mean(off), abs=0.004)
    assert np.mean(told) > 0.04
    assert np.isnan(error_by_chance([]))


@pytest.mark.parametrize("is_grouped", [False, True])
def test_thresholds_are_what_counting_says(rng, is_grouped):
    """Each word's share from a presence on, ties together, drawn to that of all words; that is lessened over groups."""
    n = 600
    p, word = (
        rng.integers(20, 99, n) / 100 + 0.003,
        rng.integers(0, 4, n),
    )  # between the presences that are looked at
    truth, weight = rng.random(n) < 1.05 * p, rng.uniform(0.5, 1.5, n)
    group = rng.integers(0, 25, n)
    pairs = JudgedPairs(word, p, truth, weight, group if is_grouped else None)

    def share_of_all(presence):
        above = p >= presence
        n_above = weight[above].sum() + 1
        share = (weight[above] @ truth[above] + presence) / n_above
        if not is_grouped:
            return share
        groups = np.unique(group[above])
        if len(groups) < 3:
            return None
        misses = [(weight * (truth - share))[above & (group == one)].sum() for one in groups]
        return share - 1.64 * np.sqrt(np.square(misses).sum() * len(groups) / (len(groups) - 1)) / n_above

    grid, shares = np.linspace(0, 1, 101), []
    for presence in grid:
        found = share_of_all(presence)
        shares.append(shares[-1] if found is None else found)
    pull = 20 if is_grouped else 5
    for precision in (0.7, 0.8, 0.85):
        expected = np.full(4, np.inf)
        for one in range(4):
            for presence in np.unique(p[word == one])[::-1]:
                mine = (word == one) & (p >= presence)
                hits = weight[mine] @ truth[mine] + pull * np.interp(presence, grid, shares)
                if hits < precision * (weight[mine].sum() + pull):
                    break
                expected[one] = max(presence, 0.5)
        np.testing.assert_allclose(thresholds(pairs, 4, precision), expected)
        assert np.isfinite(expected).any() or precision > 0.8


def test_errors_count_from_a_tenth_on():
    low, tenth = ReliabilityBin(0.0, 0.1, 90, 0.05, 0.5), ReliabilityBin(0.1, 0.2, 10, 0.15, 0.25)
    for measure in (calibration_error, error_by_chance):
        assert measure([low, tenth]) == measure([tenth])
        assert np.isnan(measure([low]))
    assert calibration_error([tenth]) == pytest.approx(0.1)
