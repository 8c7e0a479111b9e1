"""Answers for hidden tags, kept with the model."""

import numpy as np
import pytest

from topicture.annotations.choice.trials import HeldOut
from topicture.app.learning import unseen_answers
from topicture.app.learning.unseen_answers import UnseenAnswers
from topicture.corpus import Corpus
from topicture.errors import ModelFileError


@pytest.fixture
def scores(rng):
    """Eight photos; the last three are in no fold, two of them without answers."""
    p = rng.dirichlet(np.ones(10), 8)
    p[6:] = 0
    return HeldOut(p, np.array([0, 1, 2, 0, 1, -1, -1, -1]))


@pytest.fixture
def corpus():
    ids = [bytes([i, 200 + i]).hex() for i in range(8)]
    return Corpus.from_arrays(vocabulary=list("abcdefghij"), image_ids=ids)


def test_photos_of_a_fold_get_their_answers_and_others_stay(corpus, scores):
    answers = UnseenAnswers.of(corpus, scores)
    answers = UnseenAnswers.from_arrays(answers.to_arrays(), 10, "file")
    order = np.array([7, 3, 5, 0])
    direct = np.full((4, 10), 0.1)
    p = answers.put_into(direct, corpus.image_ids[order])
    np.testing.assert_allclose(p[[1, 3]], scores.p[[3, 0]], rtol=1e-6)
    np.testing.assert_array_equal(p[[0, 2]], direct[[0, 2]])
    assert (direct == 0.1).all()


def test_the_likeliest_words_are_kept(corpus, scores, monkeypatch):
    monkeypatch.setattr(unseen_answers, "MOST_WORDS", 3)
    answers = UnseenAnswers.of(corpus, scores)
    assert answers.p.nnz == 5 * 3
    p = answers.put_into(np.zeros((1, 10)), corpus.image_ids[[2]])[0]
    best = np.argsort(-scores.p[2])[:3]
    np.testing.assert_allclose(p[best], scores.p[2, best], rtol=1e-6)
    assert np.count_nonzero(p) == 3


def test_without_folds_there_is_nothing_to_keep(corpus):
    answers = UnseenAnswers.of(corpus, HeldOut(np.zeros((8, 10)), np.full(8, -1)))
    again = UnseenAnswers.from_arrays(answers.to_arrays(), 10, "file")
    np.testing.assert_array_equal(again.put_into(np.ones((8, 10)), corpus.image_ids), np.ones((8, 10)))


@pytest.mark.parametrize("name", ["content", "words", "starts", "n_words"])
def test_what_is_damaged_is_refused(corpus, scores, name):
    arrays = UnseenAnswers.of(corpus, scores).to_arrays()
    with pytest.raises(ModelFileError, match="file: the answers"):
        UnseenAnswers.from_arrays({**arrays, name: arrays[name][:-1]}, 10, "file")
    with pytest.raises(ModelFileError, match="incomplete"):
        UnseenAnswers.from_arrays({key: a for key, a in arrays.items() if key != name}, 10, "file")
    with pytest.raises(ModelFileError, match="another model"):
        UnseenAnswers.from_arrays(arrays, 11, "file")
