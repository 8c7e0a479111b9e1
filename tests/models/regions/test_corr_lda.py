"""Corr-LDA's own: updates against the gradient of the bound, the bound against the exact evidence, odd images."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import dirichlet_log_prior, enumerate_posterior
from region_models import evidence, images, in_double

from topicture.corpus import Corpus
from topicture.models.regions.corr_lda import (
    STORY,
    CorrLDA,
    Posterior,
    bound,
    caption_topics,
    init_posterior,
    sweep,
    sweep_as_written,
)
from topicture.models.regions.gaussian_lda import improve


@in_double
def slopes(seen):
    """Gradient of the bound in each block at its update, the other blocks as the sweep had them."""
    old = sweep(seen, init_posterior(seen))
    new = sweep(seen, old)
    softmax = jax.nn.softmax
    return {
        "phi": jax.grad(lambda x: bound(seen, Posterior(old.gamma, softmax(x), old.lam)))(jnp.log(new.phi)),
        "gamma": jax.grad(lambda g: bound(seen, Posterior(g, new.phi, old.lam)))(new.gamma),
        "lam": jax.grad(lambda x: bound(seen, Posterior(new.gamma, new.phi, softmax(x))))(jnp.log(new.lam)),
    }


@in_double
def fitted(seen):
    q, value = improve(STORY, seen, init_posterior(seen), 200, 0.0)
    return q, value, caption_topics(seen, q)


def exact(seen):
    """By enumeration of the regions' topics; a word comes from a uniform mixture over them."""
    beta = np.exp(seen.l)  # (M, K)
    return enumerate_posterior(
        seen.G,
        dirichlet_log_prior(seen.alpha),
        lambda z: sum(c * np.log(beta[v][z].mean(axis=1)) for v, c in enumerate(seen.c)),
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_update_is_a_stationary_point(seed):
    for name, slope in slopes(evidence(np.random.default_rng(seed))).items():
        np.testing.assert_allclose(slope, 0, atol=1e-10, err_msg=name)


@in_double
def swept_both_ways(seen):
    fast = written = init_posterior(seen)
    for _ in range(3):
        fast, written = sweep(seen, fast), sweep_as_written(seen, written)
    return fast, written


@pytest.mark.parametrize("n_padding", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_sweep_is_the_one_of_the_paper(seed, n_padding):
    seen = evidence(np.random.default_rng(seed))
    seen = seen._replace(
        G=np.pad(seen.G, ((0, n_padding), (0, 0)), constant_values=7.0),
        mask=np.pad(seen.mask, (0, n_padding)),
    )
    for fast, written in zip(*swept_both_ways(seen), strict=True):
        np.testing.assert_allclose(fast, written, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_bound_stays_below_the_evidence(seed):
    seen = evidence(np.random.default_rng(seed))
    _, value, topics = fitted(seen)
    truth = exact(seen)
    assert value <= truth.log_evidence + 1e-12
    assert truth.log_evidence - value < 1.5  # a bound that lost a term, such as - M ln N, is far off
    np.testing.assert_allclose(topics.sum(), 1)


def test_words_uniform_over_regions_cost_their_number(rng):
    """With one topic the bound is exact: densities and words, no ln N left over."""
    seen = evidence(rng, n_topics=1)
    np.testing.assert_allclose(fitted(seen)[1], seen.G.sum() + (seen.c @ seen.l).sum())


def test_caption_topics_are_near_the_exact_posterior(rng):
    """p(w | r) = (1/N) sum_n p(z_n | r) E[beta]: exact but for q."""
    seen = evidence(rng, n_words=0)
    np.testing.assert_allclose(fitted(seen)[2], exact(seen).marginals.mean(axis=0), atol=0.1)


def test_images_without_regions(rng):
    """They are left out when learning; new ones get the prior's words, and no bound if they have a caption."""
    corpus = images(rng, 8)
    bare = Corpus.from_arrays(
        captions=[[3, 0, 0], [0, 0, 0]], regions=[np.zeros((0, 2))] * 2, image_ids=["x", "y"]
    )
    settings = {"n_topics": 2, "max_iter": 4, "n_init": 1, "max_sweeps": 5, "sweep_tol": 0.0}
    alone = CorrLDA(**settings).fit(corpus)
    both = CorrLDA(**settings).fit(Corpus.concat([corpus, bare[1:]]))
    np.testing.assert_allclose(both.objective_trace_, alone.objective_trace_, rtol=1e-12)
    np.testing.assert_array_equal(alone.log_likelihood(bare), [-np.inf, 0])
    rho, alpha = alone.params_.rho, alone.params_.alpha
    expected = (alpha / alpha.sum()) @ (rho / rho.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(alone.annotate(bare), [expected, expected])
    assert [rows.shape for rows in alone.label_regions(bare)] == [(0, 3), (0, 3)]
