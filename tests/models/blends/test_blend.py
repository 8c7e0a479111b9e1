"""Blends: the best weights, members that go, and the promise never to be worse on what they were learned from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from topicture.errors import FitWarning
from topicture.models.blends.blend import Blend, best_background, fit_blend, nats_by_word, pruned


def problem(seed, n_images=300, n_words=6):
    """Captions drawn from softmax(a + b); the members know a, b, or nothing."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.normal(size=(3, n_images, n_words))
    truth = softmax(a + b, axis=1)
    captions = sparse.csr_array(np.array([rng.multinomial(4, p) for p in truth], float))
    p_w = np.asarray(captions.sum(axis=0)).ravel() / captions.sum()
    return [softmax(part, axis=1) for part in (a, b, noise)], p_w, captions


def test_weights_are_those_that_drew_the_captions():
    members, _, _ = problem(0, n_images=3000)
    rng = np.random.default_rng(1)
    p_w = softmax(np.linspace(0, 2, 6))
    truth = softmax(np.log(members[0]) + 0.5 * np.log(members[1]) - 0.4 * np.log(p_w), axis=1)
    captions = sparse.csr_array(np.array([rng.multinomial(4, p) for p in truth], float))
    blend = fit_blend(members, np.full(3, 1e-4), p_w, captions)
    np.testing.assert_allclose([*blend.weights, blend.prior_weight], [1, 0.5, 0, -0.4], atol=0.08)


def test_a_member_that_knows_nothing_goes():
    members, p_w, captions = problem(1, n_images=3000)
    assert pruned(members, np.full(3, 1e-4), p_w, captions) == [0, 1]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sharpness=st.sampled_from([0.3, 1.0, 4.0]))
def test_no_member_explains_the_captions_better_than_the_blend(seed, sharpness):
    members, p_w, captions = problem(seed, n_images=60)
    members = [softmax(sharpness * np.log(p), axis=1) for p in members]
    backgrounds = np.array([best_background(p, p_w, captions) for p in members])
    blended = nats_by_word(fit_blend(members, backgrounds, p_w, captions)(members, p_w), captions)
    for p, b in zip(members, backgrounds, strict=True):
        assert blended <= nats_by_word((1 - b) * p + b * p_w, captions) + 1e-4


def test_weights_can_not_be_improved():
    members, p_w, captions = problem(2)
    blend = fit_blend(members, np.full(3, 0.1), p_w, captions)
    best = nats_by_word(blend(members, p_w), captions)
    for m in range(3):
        for step in (-0.05, 0.05):
            weights = blend.weights.copy()
            weights[m] = max(0.0, weights[m] + step)
            moved = Blend(blend.backgrounds, weights, blend.prior_weight)
            assert nats_by_word(moved(members, p_w), captions) >= best - 1e-5


def test_overconfident_members_get_more_background():
    members, p_w, captions = problem(3)
    sharp = softmax(6 * np.log(members[0]), axis=1)
    assert best_background(sharp, p_w, captions) > best_background(members[0], p_w, captions)


def test_one_member_without_background_and_prior_is_itself():
    members, p_w, _ = problem(4)
    np.testing.assert_allclose(Blend(np.zeros(1), np.ones(1), 0.0)(members[:1], p_w), members[0])


def test_nats_count_words_as_often_as_they_are_said():
    p = np.array([[0.5, 0.25, 0.25]])
    captions = sparse.csr_array(np.array([[2.0, 1.0, 0.0]]))
    assert nats_by_word(p, captions) == pytest.approx((2 * np.log(2) + np.log(4)) / 3)


def test_weights_stay_finite_where_members_make_no_mistake():
    captions = sparse.csr_array(np.tile(np.eye(3), (15, 1)))
    right = 0.9 * captions.toarray() + 0.1 / 3
    p_w = np.full(3, 1 / 3)
    blend = fit_blend([right, right], np.full(2, 1e-4), p_w, captions)
    assert blend.weights.max() <= 5
    assert nats_by_word(blend([right, right], p_w), captions) < 1e-3
    assert np.isfinite(nats_by_word(np.zeros((45, 3)), captions))


def test_nothing_is_left_to_gain_along_any_weight():
    """The slope of the captions' likelihood, in double precision, at weights that are not on a border."""
    members, p_w, captions = problem(5, n_images=2000, n_words=60)
    members = [softmax(3 * np.log(p), axis=1) for p in members[:2]]
    blend = fit_blend(members, np.full(2, 1e-4), p_w, captions)
    assert (blend.weights > 0.1).all()
    log_p = [np.log((1 - 1e-4) * p + 1e-4 * p_w) for p in members]
    y = captions.toarray()
    expected = y.sum(axis=1, keepdims=True) * blend(members, p_w)
    slopes = [np.vdot(part, y - expected) / y.sum() for part in log_p]
    np.testing.assert_allclose(slopes, 0, atol=1e-5)


def test_a_solver_that_gives_up_is_told(monkeypatch):
    members, p_w, captions = problem(6)
    monkeypatch.setattr("topicture.models.blends.blend.minimize", _of_one_step)
    with pytest.warns(FitWarning, match="may not be the best: .*LIMIT"):
        blend = fit_blend(members, np.full(3, 0.1), p_w, captions)
    assert np.isfinite(blend.weights).all()


def _of_one_step(*args, options, **settings):
    return minimize(*args, options={**options, "maxiter": 1}, **settings)
