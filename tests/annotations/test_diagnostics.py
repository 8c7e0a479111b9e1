"""Tables about words, by hand and by their properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from topicture.annotations.diagnostics import (
    Confusion,
    calibration_curve,
    per_word_table,
    word_confusions,
    word_examples,
)
from topicture.errors import CorpusError

# Four photos, three words: sea, lake, sky. The last photo was only asked about sky.
PRESENCE = np.array([[0.9, 0.1, 0.8], [0.6, 0.2, 0.1], [0.7, 0.3, 0.9], [0.9, 0.9, 0.7]])
TRUTH = np.array([[1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 0]], bool)
KNOWN = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1]], bool)
SEA, LAKE, SKY = range(3)


@st.composite
def tables(draw):
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 5)))
    presence = draw(arrays(float, shape, elements=st.floats(0, 1)))
    truth, known = (draw(arrays(bool, shape)) for _ in range(2))
    return presence, truth, known


def test_words_by_hand():
    sea, lake, sky = per_word_table(PRESENCE, TRUTH, KNOWN, 0.5)
    assert (sea.photos, sea.suggested, sea.right) == (1, 3, 1)
    assert (sea.precision, sea.recall, sea.average_precision) == (1 / 3, 1.0, 1.0)
    assert (lake.photos, lake.suggested, lake.recall, lake.average_precision) == (2, 0, 0.0, 1.0)
    assert np.isnan(lake.precision)
    assert (sky.photos, sky.suggested, sky.right, sky.precision) == (2, 3, 2, 2 / 3)


def test_a_word_that_nobody_judged_says_nothing():
    (quality,) = per_word_table(np.array([[0.9]]), np.array([[True]]), np.array([[False]]), 0.5)
    assert quality[1:4] == (0, 0, 0)
    assert all(np.isnan(value) for value in quality[4:])


def test_confusions_by_hand():
    confusions = word_confusions(PRESENCE, TRUTH, KNOWN, 0.5)
    assert confusions.top(9) == [Confusion(LAKE, SEA, 2, 2)]
    np.testing.assert_array_equal(confusions.found, [1, 0, 2])
    shares = confusions.shares([LAKE, SEA])
    np.testing.assert_array_equal(shares, [[0.0, 1.0], [0.0, 1.0]])


def test_equal_confusions_begin_with_the_rarer_word():
    truth = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], bool)
    presence = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 1]], float)
    found = word_confusions(presence, truth, np.ones_like(truth), 0.5).top(5)
    assert found == [Confusion(1, 2, 1, 1), Confusion(0, 2, 1, 2)]


@given(tables(), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_counts_agree_with_each_other(table, threshold):
    presence, truth, known = table
    confusions = word_confusions(presence, truth, known, threshold)
    words = per_word_table(presence, truth, known, threshold)
    np.testing.assert_array_equal(confusions.photos, [word.photos for word in words])
    np.testing.assert_array_equal(confusions.found, [word.right for word in words])
    missed = confusions.photos - confusions.found
    wrong = np.array([word.suggested - word.right for word in words])
    assert (confusions.counts <= missed[:, None]).all()
    assert (confusions.counts <= wrong[None, :]).all()
    assert (np.diag(confusions.counts) == 0).all()
    shares = confusions.shares(range(len(words)))
    assert ((shares >= 0) & (shares <= 1)).all()
    assert sum(point.n for point in calibration_curve(presence, truth, known)) == known.sum()


@given(tables())
@settings(max_examples=40, deadline=None)
def test_the_truth_itself_is_perfect(table):
    _, truth, known = table
    for word in per_word_table(truth.astype(float), truth, known, 0.5):
        assert word.photos == 0 or word[4:] == (1.0, 1.0, 1.0)
    assert not word_confusions(truth.astype(float), truth, known, 0.5).counts.any()


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_of_photos_and_words_does_not_matter(table, random):
    presence, truth, known = table
    rows, columns = list(range(len(truth))), list(range(truth.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = [part[np.ix_(rows, columns)] for part in table]
    counts = word_confusions(presence, truth, known, 0.4).counts
    np.testing.assert_array_equal(word_confusions(*shuffled, 0.4).counts, counts[np.ix_(columns, columns)])
    before, after = per_word_table(presence, truth, known, 0.4), per_word_table(*shuffled, 0.4)
    # Ties in a ranking are broken by the order, so average precision is not compared.
    assert [word[1:4] for word in after] == [before[c][1:4] for c in columns]


def test_calibration_by_hand():
    presence, truth = np.array([[0.05, 0.05, 0.55, 0.55]]), np.array([[0, 0, 1, 0]], bool)
    low, middle = calibration_curve(presence, truth, np.ones_like(truth))
    assert (low.n, low.promised, low.observed, low.observed_low) == (2, 0.05, 0.0, 0.0)
    assert (middle.low, middle.high, middle.n, middle.observed) == (0.5, 0.6, 2, 0.5)
    # Wilson's interval of 1 in 2, from tables.
    np.testing.assert_allclose([middle.observed_low, middle.observed_high], [0.0945, 0.9055], atol=1e-4)


def test_examples_are_typical_untypical_or_missing():
    presence = np.array([[0.9], [0.2], [0.6], [0.8], [0.95], [0.4], [0.99]])
    truth = np.array([[1], [1], [1], [1], [0], [0], [0]], bool)
    known = np.array([[1], [1], [1], [1], [1], [1], [0]], bool)
    (found,) = word_examples(presence, truth, known, [0], n=4)
    assert found.typical == (0, 3)
    assert found.untypical == (1, 2)
    assert found.missing == (4,)  # the next is not probable enough, the last was never judged


def test_a_word_on_one_photo_has_one_example():
    (found,) = word_examples(np.array([[0.1]]), np.array([[True]]), np.array([[True]]), [0])
    assert (found.typical, found.untypical, found.missing) == ((0,), (), ())


def test_tables_of_other_shapes_are_refused():
    with pytest.raises(CorpusError, match="one row per image"):
        per_word_table(PRESENCE, TRUTH[:2], KNOWN, 0.5)
