"""Matching: gradients, learning a likeness, teaching by untagged images, what is kept of answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.baselines.knn import KNN
from topicture.models.baselines.matching import (
    Matching,
    Space,
    gradient,
    leading_words,
    remembered,
    updates_for,
)
from topicture.models.view_rows import even_axes, inputs_of


def memory_of(rng, n_images, form=np.asarray):
    captions = (rng.random((n_images, 4)) < 0.4).astype(float)
    captions[:, 0] = 1
    rows = form(rng.poisson(1.0, (n_images, 5)).astype(float))
    memory = remembered(rows, sparse.csr_array(captions))
    # Differences of the loss need more digits than learning does.
    return memory._replace(rows=rows, shares=memory.shares.astype(np.float64))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_gradient_is_that_of_the_likelihood(form):
    rng = np.random.default_rng(0)
    others = memory_of(rng, 9, form)
    chosen = np.array([0, 3, 7])
    asking, own = others.at(chosen), (np.arange(3), chosen)
    space = Space(rng.normal(size=(5, 3)), rng.normal(size=3), *(np.array([v]) for v in (0.7, 0.4, -1.0)))
    p_w = np.full(4, 0.25)
    slopes = gradient(space, asking, others, own, p_w)[1]
    for part, slope in zip(Space._fields, slopes, strict=True):
        for place in np.ndindex(slope.shape):
            step = np.zeros(slope.shape)
            step[place] = 1e-6
            up, down = (
                gradient(space._replace(**{part: getattr(space, part) + s}), asking, others, own, p_w)[0]
                for s in (step, -step)
            )
            assert slope[place] == pytest.approx((up - down) / 2e-6, abs=1e-7)


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
