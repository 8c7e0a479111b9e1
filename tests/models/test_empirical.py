"""The baseline: word frequencies of the tagged images."""

import numpy as np
import pytest

from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.empirical import Empirical, word_frequencies

CAPTIONS = [[2, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_every_image_gets_the_word_frequencies():
    corpus = Corpus.from_arrays(captions=CAPTIONS)
    model = Empirical().fit(corpus)
    np.testing.assert_allclose(model.annotate(corpus), np.tile([0.5, 0, 0.5], (3, 1)))
    np.testing.assert_allclose(model.annotate(corpus.without_captions()[:1]), [[0.5, 0, 0.5]])
    assert model.n_iter_ == 0
    assert len(model.objective_trace_) == 0
    assert "no iterations" in model.result_


def test_pseudo_counts_leave_no_word_out():
    p = Empirical(pseudo_count=1).fit(Corpus.from_arrays(captions=CAPTIONS)).p_w_
    np.testing.assert_allclose(p, np.array([3, 1, 3]) / 7)


def test_uniform_if_nothing_is_tagged():
    np.testing.assert_allclose(word_frequencies(Corpus.from_arrays(captions=np.zeros((4, 5)))), 0.2)


@pytest.mark.parametrize("pseudo_count", [-0.1, float("nan"), float("inf")])
def test_senseless_pseudo_counts_are_refused(pseudo_count):
    with pytest.raises(TopictureError, match="pseudo_count must be at least 0"):
        Empirical(pseudo_count=pseudo_count).fit(Corpus.from_arrays(captions=CAPTIONS))
