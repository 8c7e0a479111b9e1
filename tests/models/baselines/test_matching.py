"""Matching: what it maximises, learning a likeness, teaching by untagged images, what is kept of answers."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, softmax

from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.baselines.knn import KNN
from topicture.models.baselines.matching import (
    Draw,
    Matching,
    Space,
    leading_words,
    lessons_of,
    loss,
    remembered,
    updates_for,
)
from topicture.models.baselines.training import width
from topicture.models.view_rows import even_axes, inputs_of


def likelihood(space, x, y, chosen, among, p_w):
    """The objective by hand for one image after the other, nothing dropped."""
    g = np.tanh(x @ space.mapping + space.offset)
    e = g / np.sqrt((g * g).sum(axis=1, keepdims=True) + 1e-6)
    b, n = expit(space.background_logit), y.sum(axis=1)
    total = 0.0
    for i in chosen:
        others = [j for j in among if j != i]
        alpha = softmax(
            np.exp(space.log_sharpness) * e[others] @ e[i] + space.length_power * np.log(n[others])
        )
        q = (1 - b) * alpha @ (y[others] / n[others, None]) + b * p_w
        total -= y[i] @ np.log(q)
    return total / y[chosen].sum()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("log_sharpness", [0.7, 9.0])
def test_the_loss_is_the_likelihood_under_the_other_images(form, log_sharpness):
    rng = np.random.default_rng(0)
    x = rng.poisson(1.0, (17, 64)) * (np.arange(64) % 32 == rng.integers(0, 32, (17, 1)))
    y = np.column_stack([np.ones(17), rng.random((17, 3)) < 0.4])
    scalars = (np.array([v], np.float32) for v in (log_sharpness, 0.4, -1.0))
    space = Space(
        rng.normal(size=(64, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32), *scalars
    )
    p_w = np.full(4, 0.25)
    lessons = lessons_of(remembered(form(x), sparse.csr_array(y)), p_w, (0.0, 0.0))
    chosen = np.array([0, 3, 7, 0])
    among = np.array([1, 2, 3, 5, 7, 8, 17])  # the 18th image is there to fill up
    width_ = width(lessons.rows)
    draw = Draw(
        chosen, np.arange(4) < 3, among, np.ones((4, width_), bool), np.ones((len(among), width_), bool)
    )
    expected = likelihood(space, x, y, chosen[:3], among[:-1], p_w)
    value, slopes = jax.jit(jax.value_and_grad(loss))(space, lessons, draw)
    assert float(value) == pytest.approx(expected, rel=1e-4)
    assert all(np.isfinite(slope).all() for slope in slopes)


def kinds(n_images, n_tagged, rng, loudness):
    """Two kinds of images with twenty visual words each, of which an image has some.

    The four lights that they were taken in have twenty visual words each as well, and say nothing.
    """
    kind, light = np.arange(n_images) % 2, rng.integers(0, 4, n_images)
    own, lit = kind[:, None] == np.arange(40) // 20, light[:, None] == np.arange(80) // 20
    shares = np.hstack([0.03 + 0.1 * own, 0.03 + loudness * lit])
    captions = np.eye(2)[kind]
    captions[n_tagged:] = 0
    bags = (rng.random(shares.shape) < shares).astype(float)
    return Corpus.from_arrays(captions=captions, vocabulary=["even", "odd"], visual_words=bags), kind


def share_right(annotator, corpus, kind, n_tagged):
    p = annotator.fit(corpus).annotate(corpus[n_tagged:])
    return (p.argmax(axis=1) == kind[n_tagged:]).mean()


def test_it_learns_what_makes_images_alike():
    corpus, kind = kinds(600, 300, np.random.default_rng(1), loudness=0.5)
    found = share_right(Matching(16, teach=0, view="visual_words"), corpus, kind, 300)
    plain = max(share_right(KNN(n, view="visual_words"), corpus, kind, 300) for n in (10, 30, 100))
    assert found > plain + 0.05


def test_untagged_images_teach():
    right = {0.0: [], 3.0: []}
    for seed in range(3):
        corpus, kind = kinds(240, 30, np.random.default_rng(seed), loudness=0.0)
        for teach in right:
            annotator = Matching(16, n_spaces=2, teach=teach, view="visual_words", seed=seed)
            right[teach].append(share_right(annotator, corpus, kind, 30))
    assert np.mean(right[3.0]) > np.mean(right[0.0]) + 0.01


def test_descriptors_with_more_columns_than_images(rng):
    kind = np.arange(90) % 3
    descriptor = np.eye(3)[kind] @ rng.normal(size=(3, 200)) + rng.normal(size=(90, 200))
    captions = np.eye(3)[kind]
    captions[60:] = 0
    corpus = Corpus.from_arrays(captions=captions, vocabulary=list("abc"), descriptor=descriptor)
    assert share_right(Matching(8), corpus, kind, 60) > 0.9


@pytest.mark.parametrize("params", [{"drop": 1.0}, {"drop_matched": -0.1}, {"n_updates": 0}, {"n_spaces": 0}])
def test_parameters_are_checked(params, rng):
    with pytest.raises(TopictureError, match=next(iter(params))):
        Matching(view="visual_words", **params).fit(kinds(20, 20, rng, loudness=0.1)[0])


@given(st.integers(1, 200_000))
def test_updates_follow_the_number_of_images_within_bounds(n):
    assert 80 <= updates_for(n) <= updates_for(n + 1000) <= 600


@settings(max_examples=25)
@given(st.integers(1, 8), st.integers(0, 1000))
def test_leading_words_are_the_most_probable_and_keep_the_sum(n_words, seed):
    answers = np.random.default_rng(seed).dirichlet(np.ones(6), 5)
    kept = leading_words(answers, n_words).toarray()
    np.testing.assert_allclose(kept.sum(axis=1), 1)
    least_kept = np.where(kept > 0, answers, np.inf).min(axis=1)
    assert (np.where(kept > 0, 0, answers).max(axis=1) <= least_kept).all()


# --- Inputs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(12, 30), (60, 30)])
def test_even_axes_span_the_principal_directions(shape, rng):
    rows = rng.normal(size=shape) * np.geomspace(10, 0.1, shape[1])
    rows -= rows.mean(axis=0)
    axes = even_axes(rows, 5, rng)
    np.testing.assert_allclose(axes.T @ axes, np.eye(5), atol=1e-9)
    values = np.linalg.svd(rows, compute_uv=False)
    assert np.sum((rows @ axes) ** 2) == pytest.approx(np.sum(values[:5] ** 2))
    # No column stands back as the last of the principal directions would.
    lengths = np.sum((rows @ axes) ** 2, axis=0)
    assert lengths.min() > 1.1 * values[4] ** 2


def test_inputs_have_one_length_whatever_the_view_measures(rng):
    for scale in (1e-3, 1e3):
        corpus = Corpus.from_arrays(
            captions=np.ones((10, 1)), vocabulary=["a"], descriptor=scale * rng.normal(size=(10, 100))
        )
        rows = inputs_of(corpus, "descriptor", 0)(corpus.descriptor)
        assert rows.shape[1] <= 64
        assert np.mean(np.sum(rows**2, axis=1)) == pytest.approx(8)
    same = Corpus.from_arrays(captions=np.ones((3, 1)), vocabulary=["a"], descriptor=np.ones((3, 100)))
    assert np.isfinite(inputs_of(same, "descriptor", 0)(same.descriptor)).all()
