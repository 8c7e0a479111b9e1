"""Companions: at the minimum of its loss; `logistic` without companions; with them better at rare words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from topicture.annotations.measures.retrieval import average_precisions
from topicture.corpus import Corpus
from topicture.models import neighbours
from topicture.models.baselines.companions import (
    Companions,
    Prior,
    companionship,
    fit_companions,
    given_others,
    loss,
    sample,
)
from topicture.models.baselines.logistic import Logistic
from topicture.models.blends.members import members_for

EXACT = {"max_iter": 5000, "tol": 1e-15}
L, V, RIDGE = 3, 4, 2.0


@pytest.fixture
def tiny(rng):
    """Rows, words that are present, a few of them in part, and Omega."""
    rows = rng.normal(size=(30, L))
    present = (rng.random((30, V)) < 0.4) * rng.choice([1.0, 0.7], (30, V))
    return rows, present, companionship(present, 2.0)


def cost(weights, offset, rows, present, omega):
    """As the specification has it, from W itself."""
    scores = rows @ weights + offset
    log_loss = jnp.logaddexp(0, scores).sum() - (present * scores).sum()
    penalty = RIDGE / 2 * jnp.trace(weights @ jnp.linalg.inv(omega) @ weights.T)
    return log_loss + penalty + 0.0005 * (offset**2).sum()


# --- How words go together ----------------------------------------------------------------------------------------


def test_companionship_is_counted_from_captions():
    present = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0.5]])
    omega = companionship(sparse.csr_array(present), 2.0)
    np.testing.assert_allclose(np.diag(omega), 1)
    np.testing.assert_allclose(omega[0], [1, 2 / np.sqrt(6 * 4), 0.5 / np.sqrt(6 * 2.25)])
    np.testing.assert_allclose(omega, companionship(present, 2.0))
    assert np.linalg.eigvalsh(omega).min() > 0


def test_a_word_without_photos_has_no_companions():
    np.testing.assert_array_equal(companionship(np.array([[1.0, 1, 0], [0, 1, 0]]), 1.0)[2], [0, 0, 1])


def test_the_root_is_one_and_does_not_depend_on_the_order_of_words(tiny):
    omega, order = tiny[2], [2, 0, 3, 1]
    root = Prior.of(omega).root
    np.testing.assert_allclose(root @ root, omega, atol=1e-12)
    np.testing.assert_allclose(
        Prior.of(omega[np.ix_(order, order)]).root, root[np.ix_(order, order)], atol=1e-12
    )


# --- Learning -----------------------------------------------------------------------------------------------------


def test_the_loss_and_its_gradient_are_those_of_the_specification(tiny, rng):
    rows, present, omega = tiny
    prior, theta = Prior.of(omega), rng.normal(size=(L + 1, V))

    def whole(theta):
        return cost(theta[:-1] @ prior.root, theta[-1], rows, present, omega)

    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(whole)(jnp.asarray(theta))
    found = loss(theta, rows, sparse.csr_array(present), prior, RIDGE)
    np.testing.assert_allclose(found[0], value, rtol=1e-10)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-8, atol=1e-10)


def test_the_gradient_with_answers_is_that_of_finite_differences(tiny, rng):
    rows, present, omega = tiny
    about = (rng.normal(size=(5, L)), sparse.csr_array(rng.integers(-1, 2, (5, V)).astype(float)))
    prior, theta = Prior.of(omega, rng.normal(size=(L, V))), rng.normal(size=(L + 1, V))
    gradient, h = loss(theta, rows, present, prior, RIDGE, about)[1], 1e-6
    for at in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[at] = h
        up, down = (loss(theta + sign * step, rows, present, prior, RIDGE, about)[0] for sign in (1, -1))
        assert gradient[at] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-6)


def test_the_weights_are_at_the_minimum(tiny):
    rows, present, omega = tiny
    linear, _ = fit_companions(rows, present, Prior.of(omega), RIDGE, **EXACT)
    with jax.enable_x64(True):
        slopes = jax.grad(cost, argnums=(0, 1))(*(jnp.asarray(a) for a in linear), rows, present, omega)
    for slope in slopes:
        np.testing.assert_allclose(slope, 0, atol=1e-4)


def test_blocks_of_images_make_no_difference(tiny, monkeypatch):
    rows, present, omega = tiny
    whole = loss(np.ones((L + 1, V)), rows, present, Prior.of(omega), RIDGE)
    monkeypatch.setattr(neighbours.blocks, "__defaults__", (7 * 4 * 8 * V,))
    parts = loss(np.ones((L + 1, V)), rows, present, Prior.of(omega), RIDGE)
    np.testing.assert_allclose(parts[0], whole[0])
    np.testing.assert_allclose(parts[1], whole[1])


@pytest.mark.parametrize("view", ["descriptor", "visual_words"])
def test_words_that_learn_nothing_from_each_other_are_logistic(rng, view):
    corpus = Corpus.from_arrays(
        (rng.random((40, V)) < 0.4).astype(float),
        descriptor=rng.normal(size=(40, L)),
        visual_words=rng.poisson(1.0, (40, 5)).astype(float),
    )
    alone = Companions(RIDGE, pseudo_count=1e12, view=view, **EXACT).fit(corpus)
    plain = Logistic(RIDGE, view=view, background=0.0, **EXACT).fit(corpus)
    np.testing.assert_allclose(alone.annotate(corpus), plain.annotate(corpus), rtol=1e-4)


# --- Answers ------------------------------------------------------------------------------------------------------


def test_weights_given_the_others_are_those_of_the_joint_prior(rng, tiny):
    omega, weights, words = tiny[2], rng.normal(size=(L, V)), np.array([1, 3])
    prior = given_others(omega, weights, words)
    precision = np.linalg.inv(omega)
    varies = np.linalg.inv(precision[np.ix_(words, words)])
    np.testing.assert_allclose(prior.root @ prior.root, varies, atol=1e-10)
    mean = -weights[:, [0, 2]] @ precision[np.ix_([0, 2], words)] @ varies
    np.testing.assert_allclose(prior.mean, mean, atol=1e-10)


def test_without_answers_learning_again_changes_nothing(tiny):
    """The joint minimum is one in some words where the others stay."""
    rows, present, omega = tiny
    linear, _ = fit_companions(rows, present, Prior.of(omega), RIDGE, **EXACT)
    words = np.array([0, 2])
    again, _ = fit_companions(
        rows, present[:, words], given_others(omega, linear.weights, words), RIDGE, **EXACT
    )
    np.testing.assert_allclose(again.weights, linear.weights[:, words], atol=1e-4)
    np.testing.assert_allclose(again.offset, linear.offset[words], atol=1e-4)


def test_all_words_may_have_answers(tiny):
    omega = tiny[2]
    prior = given_others(omega, np.ones((L, V)), np.arange(V))
    np.testing.assert_allclose(prior.root, Prior.of(omega).root)
    np.testing.assert_array_equal(prior.mean, 0)


def test_answers_are_more_examples_of_their_word(tiny, rng):
    """Against a minimum found over W itself."""
    rows, present, omega = tiny
    asked, said = rng.normal(size=(6, L)), np.array([1, -1, 1, 0, -1, 1.0])
    weights, word = rng.normal(size=(L, V)), np.array([1])
    prior = given_others(omega, weights, word)
    about = (asked, sparse.csr_array(said[:, None]))
    found, _ = fit_companions(rows, present[:, word], prior, RIDGE, asked=about, **EXACT)
    known, others = said != 0, [0, 2, 3]
    x, y = np.vstack([rows, asked[known]]), np.append(present[:, 1], said[known] > 0)

    def whole(theta):
        scores, every = x @ theta[:-1] + theta[-1], np.empty((L, V))
        every[:, others], every[:, 1] = weights[:, others], theta[:-1]
        penalty = RIDGE / 2 * np.trace(every @ np.linalg.inv(omega) @ every.T)
        return np.logaddexp(0, scores).sum() - y @ scores + penalty + 0.0005 * theta[-1] ** 2

    best = minimize(whole, np.zeros(L + 1), method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(found.weights.ravel(), best[:-1], atol=1e-4)
    np.testing.assert_allclose(found.offset, best[-1:], atol=1e-4)


# --- Use ----------------------------------------------------------------------------------------------------------


def test_words_with_few_photos_learn_from_their_companions():
    """Twelve frequent words, each with a rare one whose photos look much the same."""
    pairs = np.kron(np.eye(12), np.array([[1, 0.9], [0.9, 1]]))
    offset, gains = np.tile([-2.0, -5.0], 12), []
    for seed in range(4):
        corpus = sample(np.random.default_rng(seed), pairs, offset, 2300, 20, ridge=2.0)
        learned, new = corpus[:300], corpus[300:]
        truth = new.captions.toarray() > 0
        rare = (np.arange(24) % 2 == 1) & truth.any(axis=0)
        own, logistic = (
            np.mean(average_precisions(model.fit(learned).annotate(new.without_captions()), truth)[rare])
            for model in (Companions(10.0), Logistic(10.0))
        )
        gains.append(own - logistic)
    assert min(gains) > 0


def test_auto_tries_it_on_both_views(rng):
    corpus = Corpus.from_arrays(
        np.eye(4),
        descriptor=rng.normal(size=(4, L)),
        visual_words=rng.poisson(2.0, (4, 5)).astype(float),
    )
    titles = [member.title for member in members_for(corpus)]
    assert {"companions on descriptor", "companions on visual_words"} <= set(titles)
