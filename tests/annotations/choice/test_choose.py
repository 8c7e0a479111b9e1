"""Choosing hyper-parameters on held-out captions."""

import numpy as np
import pytest

from topicture.annotations.choice.choose import choose, choose_in_turn
from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.base import Annotator
from topicture.models.counts import mix_unigram


def corpus(n=60, tagged=40):
    rng = np.random.default_rng(8)
    truth = mix_unigram.PointParams(
        np.full(3, 1 / 3), rng.dirichlet(np.full(15, 0.1), 3), rng.dirichlet(np.full(6, 0.1), 3)
    )
    sampled = mix_unigram.sample(rng, truth, n, n_visual=8, n_words=3)
    return sampled.without_captions(np.arange(n) >= tagged)


def test_the_better_number_of_topics_wins():
    seen = []
    choice = choose(
        "mix-unigram", corpus(), {"n_topics": [1, 3]}, n_init=1, max_iter=15, on_candidate=seen.append
    )
    assert choice.params == {"n_topics": 3}
    assert [c.params["n_topics"] for c in seen] == [1, 3]
    assert choice.candidates[0].mean > choice.candidates[1].mean
    assert choice.table().splitlines()[0].endswith("n_topics=3")


def test_smaller_is_better_where_it_is():
    choice = choose("empirical", corpus(), {"pseudo_count": [0.1, 100.0]}, measure="perplexity", n_folds=2)
    assert choice.candidates[0].mean <= choice.candidates[1].mean
    assert choice.params == {"pseudo_count": 0.1}


def test_hidden_captions_are_not_seen():
    """A word that only one image carries can't be known while that image's caption is hidden."""
    words = np.zeros((6, 3))
    words[:, 0] = 1
    words[2] = [0, 0, 1]
    one = Corpus.from_arrays(captions=words, visual_words=np.ones((6, 2)))
    choice = choose("empirical", one, {"pseudo_count": [0.0, 1.0]}, measure="perplexity", n_folds=6)
    assert choice.params == {"pseudo_count": 1.0}
    assert choice.candidates[1].mean == np.inf
    assert np.isnan(choice.candidates[1].standard_error)


def test_in_turn_keeps_the_best_and_fits_nothing_twice():
    seen = []
    choice = choose_in_turn(
        "mix-unigram",
        corpus(),
        [{"n_topics": [1, 3]}, {"eta_words": [0.1, 0.5]}, {"n_topics": [1, 3]}],
        n_init=1,
        max_iter=15,
        eta_words=0.5,
        on_candidate=seen.append,
    )
    # Three topics win; 0.5 is the value that they were tried with, and the last grid adds one combination at most.
    assert [c.params for c in seen[:3]] == [
        {"n_topics": 1},
        {"n_topics": 3},
        {"n_topics": 3, "eta_words": 0.1},
    ]
    assert len(seen) == len(choice.candidates) <= 4
    assert choice.params["n_topics"] == 3
    assert choice.candidates[0].mean == max(c.mean for c in seen)


def test_what_cannot_be_is_refused():
    with pytest.raises(CorpusError, match="n_folds"):
        choose("empirical", corpus(tagged=1), {"pseudo_count": [0.0]})
    with pytest.raises(TopictureError, match="beauty"):
        choose("empirical", corpus(), {"pseudo_count": [0.0]}, measure="beauty")


class Prior(Annotator):
    """Answers with the weights that it was given, whatever the image."""

    name = "prior"

    def __init__(self, weights=None):
        self.weights = weights

    def _fit(self, corpus, callback):
        self.result_, self.n_iter_, self.objective_trace_ = "", 0, np.zeros(0)

    def _annotate(self, corpus):
        return np.tile(self.weights / self.weights.sum(), (len(corpus), 1))


def test_large_arrays_that_differ_in_the_middle_are_two_candidates(monkeypatch):
    """The text of an array of more than 1000 numbers shows the first and the last three."""
    n_words = 1200
    captions = np.zeros((9, n_words))
    captions[:, 600] = 1
    many = Corpus.from_arrays(captions=captions, vocabulary=[f"word {w}" for w in range(n_words)])
    wrong, right = np.ones(n_words), np.ones(n_words)
    wrong[500] = right[600] = 50.0
    assert repr(wrong) == repr(right)
    monkeypatch.setattr(
        "topicture.annotations.choice.choose.make_annotator", lambda name, **params: Prior(**params)
    )
    choice = choose("prior", many, {"weights": [wrong, right, wrong.copy()]})
    assert len(choice.candidates) == 2  # the third is the first again
    np.testing.assert_array_equal(choice.params["weights"], right)
