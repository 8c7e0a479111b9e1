"""Folds of tagged images: even, reproducible, and no near copy on both sides of a border."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.corpus import Corpus
from topicture.models.folds import folds_of


def corpus_of(tagged, descriptor=None):
    captions = np.asarray(tagged, float)[:, None]
    return Corpus.from_arrays(captions=captions, vocabulary=["a"], descriptor=descriptor)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40), st.integers(2, 5))
def test_groups_stay_together_whatever_their_order(images, n_folds):
    tagged, groups = np.array([t for t, _ in images]), np.array([g for _, g in images])
    corpus = corpus_of(tagged)
    fold_of = folds_of(corpus, n_folds, seed=3, groups=groups)
    np.testing.assert_array_equal(fold_of >= 0, tagged)
    shuffled = np.random.default_rng(0).permutation(len(corpus))
    again = folds_of(corpus[shuffled], n_folds, seed=3, groups=groups[shuffled])
    np.testing.assert_array_equal(again, fold_of[shuffled])
    n_groups = len(np.unique(groups[tagged]))
    if n_groups > 1:
        for group in np.unique(groups[tagged]):
            assert len(np.unique(fold_of[tagged & (groups == group)])) == 1
        assert fold_of.max() + 1 == min(n_folds, n_groups)
    sizes = np.bincount(fold_of[tagged])
    if len(sizes):
        largest = np.bincount(groups[tagged]).max() if n_groups > 1 else 1
        assert sizes.min() > 0
        assert sizes.max() - sizes.min() <= largest


def test_images_without_copies_are_dealt_out_one_by_one(rng):
    corpus = corpus_of(np.arange(50) < 43, rng.normal(size=(50, 64)))
    fold_of = folds_of(corpus, 4, seed=1)
    assert sorted(np.bincount(fold_of[:43])) == [10, 11, 11, 11]
    assert (folds_of(corpus, 4, seed=2) != fold_of).any()


def test_near_copies_share_a_fold(rng):
    scenes = rng.normal(size=(30, 64))
    corpus = corpus_of(np.ones(90), np.repeat(scenes, 3, axis=0) + 0.1 * rng.normal(size=(90, 64)))
    fold_of = folds_of(corpus, 3)
    assert (fold_of.reshape(30, 3) == fold_of[::3, None]).all()
    assert np.bincount(fold_of).tolist() == [30, 30, 30]


@pytest.mark.parametrize("n", [1, 5])
def test_one_group_alone_is_dealt_out(n):
    fold_of = folds_of(corpus_of(np.ones(n)), 3, groups=np.zeros(n))
    assert fold_of.max() + 1 == min(3, n)


def test_without_tags_there_is_no_fold():
    assert folds_of(corpus_of(np.zeros(4)), 3).tolist() == [-1] * 4
