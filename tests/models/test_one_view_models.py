"""The annotators without a latent variable against brute force, closed forms and scikit-learn."""

import numpy as np
import pytest
from corpora import make_tiny_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from topicture.errors import TopictureError
from topicture.models.baselines.knn import KNN
from topicture.models.baselines.label_spreading import LabelSpreading, spread
from topicture.models.baselines.logistic import Logistic, fit_logistic
from topicture.models.baselines.naive_bayes import NaiveBayes
from topicture.models.baselines.tagprop import (
    EPS,
    TagProp,
    learn_rank_weights,
    learn_sharpness,
    others_only,
    propagate,
    word_sigmoids,
)
from topicture.models.neighbours import Neighbours


@pytest.fixture
def corpus():
    return make_tiny_corpus(np.random.default_rng(5), n_images=40)


def random_captions(rng, n_images=60, n_words=5):
    y = (rng.random((n_images, n_words)) < 0.3).astype(float)
    y[:, 0] = 1
    return sparse.csr_array(y)


# --- Naive Bayes -----------------------------------------------------------------------------------------------


def test_naive_bayes_without_tempering_is_scikit_learns(corpus):
    ours = NaiveBayes(power=1.0, pseudo_count=0.5, background=0.0).fit(corpus)
    image, word = corpus.captions.nonzero()
    times = corpus.captions[image, word]
    theirs = MultinomialNB(alpha=0.5, class_prior=ours.p_w_[np.unique(word)])
    theirs.fit(corpus.visual_words[image], word, sample_weight=times)
    assert len(theirs.classes_) == corpus.n_words
    np.testing.assert_allclose(
        ours.annotate(corpus), theirs.predict_proba(corpus.visual_words), rtol=1e-9, atol=1e-12
    )


def test_background_is_a_share_of_the_word_frequencies(corpus):
    plain = NaiveBayes(background=0.0).fit(corpus)
    mixed = NaiveBayes(background=0.25).fit(corpus)
    np.testing.assert_allclose(
        mixed.annotate(corpus), 0.75 * plain.annotate(corpus) + 0.25 * plain.p_w_, rtol=1e-12
    )


@pytest.mark.parametrize(
    "annotator",
    [NaiveBayes(power=0), KNN(n_neighbours=0), TagProp(weights="distance"), LabelSpreading(alpha=1.0)],
)
def test_settings_that_can_not_work_are_refused(annotator, corpus):
    with pytest.raises(TopictureError, match=annotator.name):
        annotator.fit(corpus)


# --- Neighbours ------------------------------------------------------------------------------------------------


def test_neighbours_vote_as_by_hand(corpus):
    annotator = KNN(n_neighbours=3, power=2.0, background=0.0).fit(corpus)
    tagged = corpus[corpus.tagged]
    centred = tagged.descriptor - tagged.descriptor.mean(axis=0)
    query = corpus.descriptor[20] - tagged.descriptor.mean(axis=0)
    cosines = centred @ query / np.linalg.norm(centred, axis=1) / np.linalg.norm(query)
    best = np.argsort(-cosines)[:3]
    votes = np.maximum(cosines[best], 0) ** 2 @ tagged.captions.toarray()[best]
    np.testing.assert_allclose(annotator.annotate(corpus[20:21])[0], votes / votes.sum(), rtol=1e-9)


def test_no_image_is_its_own_neighbour():
    near = Neighbours(np.array([[0, 2, 1], [2, 1, 0], [0, 1, 3]]), np.arange(9.0).reshape(3, 3))
    others = others_only(near)
    assert others.rows.tolist() == [[2, 1], [2, 0], [0, 1]]
    assert others.cosines.tolist() == [[1, 2], [3, 5], [6, 7]]


# --- TagProp ---------------------------------------------------------------------------------------------------


def tagprop_likelihood(pi, rows, y):
    p = EPS + (1 - 2 * EPS) * np.einsum("k,nkv->nv", pi, y[rows])
    return np.log(p[y > 0]).mean() + np.log1p(-p[y == 0]).mean()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_step_of_the_rank_weights_climbs(seed):
    rng = np.random.default_rng(seed)
    captions = random_captions(rng)
    rows = rng.integers(0, 60, (60, 4))
    y = captions.toarray()
    found = [learn_rank_weights(rows, captions, n_steps) for n_steps in range(6)]
    reached = [tagprop_likelihood(pi, rows, y) for pi in found]
    assert np.all(np.diff(reached) >= -1e-12)
    np.testing.assert_allclose([pi.sum() for pi in found], 1)


def test_weights_find_the_neighbour_that_knows():
    rng = np.random.default_rng(0)
    captions = random_captions(rng, n_images=30)
    twice = sparse.csr_array(sparse.vstack([captions, captions]))
    copy = (np.arange(60) + 30) % 60
    rows = np.column_stack([rng.integers(0, 60, 60), copy, rng.integers(0, 60, 60)])
    assert learn_rank_weights(rows, twice)[1] > 0.9
    cosines = np.column_stack([np.full(60, 0.8), np.full(60, 0.7)])
    informed = learn_sharpness(Neighbours(np.column_stack([copy, rows[:, 0]]), cosines), twice)
    misled = learn_sharpness(Neighbours(np.column_stack([rows[:, 0], copy]), cosines), twice)
    assert informed > 10 * misled


def test_propagation_is_a_weighted_mean_of_captions():
    rng = np.random.default_rng(1)
    captions = random_captions(rng)
    near = Neighbours(rng.integers(0, 60, (7, 3)), rng.random((7, 3)))
    weights = np.array([0.5, 0.3, 0.2])
    expected = np.einsum("k,nkv->nv", weights, captions.toarray()[near.rows])
    np.testing.assert_allclose(propagate(near, captions, weights), expected)


def test_word_sigmoids_are_scikit_learns_logistic_regressions():
    rng = np.random.default_rng(2)
    x = rng.random((200, 3)) * 0.3
    y = (rng.random((200, 3)) < expit(20 * x - [2, 3, 4])).astype(float)
    slope, offset = word_sigmoids(x, y)
    for w in range(3):
        theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(10 * x[:, [w]], y[:, w])
        np.testing.assert_allclose(
            [slope[w] / 10, offset[w]], [theirs.coef_[0, 0], theirs.intercept_[0]], rtol=1e-4
        )


# --- Logistic regression ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_all_words_at_once_are_scikit_learns_one_by_one(form):
    rng = np.random.default_rng(3)
    x = rng.poisson(0.7, (150, 6)).astype(float)
    y = (rng.random((150, 4)) < expit(x @ rng.normal(size=(6, 4)) - 1)).astype(float)
    linear, _ = fit_logistic(form(x), y, ridge=2.0, max_iter=2000, tol=1e-14)
    for w in range(4):
        theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=2000).fit(x, y[:, w])
        np.testing.assert_allclose(linear.weights[:, w], theirs.coef_[0], atol=1e-3)


def test_the_scale_of_descriptors_does_not_matter(corpus):
    from dataclasses import replace

    larger = replace(corpus, descriptor=1000 * corpus.descriptor + 7)
    answers = [Logistic(max_iter=500, tol=1e-13).fit(c).annotate(c) for c in (corpus, larger)]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-4)


# --- Label spreading -------------------------------------------------------------------------------------------


def test_spreading_comes_to_its_fixed_point():
    rng = np.random.default_rng(4)
    links = sparse.random_array((20, 20), density=0.2, rng=rng)
    links = sparse.csr_array(links.maximum(links.T))
    links.setdiag(0)
    Y = np.zeros((20, 3))
    Y[:6] = rng.random((6, 3))
    degrees = np.asarray(links.sum(axis=1)).ravel()
    root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    S = root[:, None] * links.toarray() * root
    expected = 0.3 * np.linalg.solve(np.eye(20) - 0.7 * S, Y)
    np.testing.assert_allclose(spread(links, Y, 0.7, n_steps=200), expected, atol=1e-10)


def test_captions_reach_images_through_untagged_ones(corpus):
    """Images in a row, the first tagged: words arrive at the far end although no tagged image is near."""
    from topicture.corpus import Corpus

    angles = np.linspace(0, 1.2, 13)
    descriptor = np.column_stack([np.cos(angles), np.sin(angles)])
    captions = np.zeros((13, 2))
    captions[0, 0] = captions[12, 1] = 1
    chain = Corpus.from_arrays(captions=captions, vocabulary=["near", "far"], descriptor=descriptor)
    p = LabelSpreading(n_neighbours=2, alpha=0.9, background=0.0).fit(chain).annotate(chain)
    assert p[3, 0] > 0.5 > p[9, 0]
