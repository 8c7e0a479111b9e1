"""Suggestions from probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from topicture.annotations.predict import Suggestion, above, region_labels, top_words, top_words_of_each
from topicture.corpus import Vocabulary
from topicture.errors import CorpusError

WORDS = Vocabulary(["sky", "sea", "tree", "cat"])


def test_top_words_are_ranked_and_ties_go_to_the_lower_id():
    assert top_words([0.2, 0.4, 0.2, 0.2], WORDS, 3) == [
        Suggestion("sea", 0.4),
        Suggestion("sky", 0.2),
        Suggestion("tree", 0.2),
    ]


def test_all_words_without_k_and_with_a_k_beyond_the_vocabulary():
    ranked = [("cat", 0.4), ("tree", 0.3), ("sea", 0.2), ("sky", 0.1)]
    assert top_words([0.1, 0.2, 0.3, 0.4], WORDS) == ranked
    assert top_words([0.1, 0.2, 0.3, 0.4], WORDS, 9) == ranked


def test_suggestions_are_plain_values():
    (best,) = top_words(np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32), WORDS, 1)
    assert type(best.word) is str
    assert type(best.probability) is float


def test_above_is_strict():
    assert [word for word, _ in above([0.2, 0.5, 0.3, 0.0], WORDS, 0.2)] == ["sea", "tree"]
    assert above([0.2, 0.5, 0.3, 0.0], WORDS, 0.5) == []


def test_nan_is_never_suggested():
    assert top_words([np.nan, 0.5, np.nan, 0.5], WORDS, 4) == [("sea", 0.5), ("cat", 0.5)]
    assert region_labels([[np.nan] * 4], WORDS) == [None]


def test_region_labels_are_the_best_words_above_the_threshold():
    regions = [[0.7, 0.1, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]]
    assert region_labels(regions, WORDS) == [("sky", 0.7), ("sky", 0.25)]
    assert region_labels(regions, WORDS, 0.5) == [("sky", 0.7), None]
    assert region_labels(np.zeros((0, 4)), WORDS) == []


@pytest.mark.parametrize("probabilities", [[0.5, 0.5], [[0.1, 0.2, 0.3, 0.4]]])
def test_one_probability_per_word(probabilities):
    with pytest.raises(CorpusError):
        top_words(probabilities, WORDS)


def test_k_is_at_least_one():
    with pytest.raises(ValueError, match="at least 1"):
        top_words([0.1, 0.2, 0.3, 0.4], WORDS, 0)


@settings(derandomize=True, deadline=None)
@given(hnp.arrays(np.float64, (3, 4), elements=st.floats(0, 1)), st.integers(1, 5))
def test_each_row_alone_equals_all_rows_together(table, k):
    assert top_words_of_each(table, WORDS, k) == [top_words(row, WORDS, k) for row in table]


@settings(derandomize=True, deadline=None)
@given(hnp.arrays(np.float64, 4, elements=st.floats(0, 1)), st.floats(0, 1))
def test_words_above_a_threshold_are_the_first_of_the_ranking(row, threshold):
    chosen = above(row, WORDS, threshold)
    assert chosen == top_words(row, WORDS)[: len(chosen)]
    assert len(chosen) == (row > threshold).sum()
