"""GM-LDA's own: updates against the gradient of the bound, the bound against the exact evidence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import dirichlet_log_prior, enumerate_posterior
from region_models import evidence, in_double

from topicture.models.regions.gaussian_lda import improve
from topicture.models.regions.gm_lda import STORY, Posterior, bound, caption_topics, init_posterior, sweep


@in_double
def slopes(seen):
    """Gradient of the bound in each block at its update, the other blocks as the sweep had them."""
    old = sweep(seen, init_posterior(seen))
    new = sweep(seen, old)
    softmax = jax.nn.softmax
    return {
        "phi": jax.grad(lambda x: bound(seen, Posterior(old.gamma, softmax(x), old.psi)))(jnp.log(new.phi)),
        "psi": jax.grad(lambda x: bound(seen, Posterior(old.gamma, new.phi, softmax(x))))(jnp.log(new.psi)),
        "gamma": jax.grad(lambda g: bound(seen, Posterior(g, new.phi, new.psi)))(new.gamma),
    }


@in_double
def fitted(seen):
    q, value = improve(STORY, seen, init_posterior(seen), 200, 0.0)
    return q, value, caption_topics(seen, q)


def exact(seen):
    """By enumeration of the topics of all regions and all words."""
    words = np.repeat(seen.l, seen.c.astype(int), axis=0)
    return enumerate_posterior(np.concatenate([seen.G, words]), dirichlet_log_prior(seen.alpha))


@pytest.mark.parametrize("seed", range(3))
def test_every_update_is_a_stationary_point(seed):
    for name, slope in slopes(evidence(np.random.default_rng(seed))).items():
        np.testing.assert_allclose(slope, 0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("seed", range(10))
def test_bound_stays_below_the_evidence(seed):
    seen = evidence(np.random.default_rng(seed))
    value, truth = fitted(seen)[1], exact(seen).log_evidence
    assert value <= truth + 1e-12
    assert truth - value < 1.5


def test_one_topic_is_exact(rng):
    seen = evidence(rng, n_topics=1)
    np.testing.assert_allclose(fitted(seen)[1], seen.G.sum() + (seen.c @ seen.l).sum())


def test_caption_topics_are_near_the_exact_posterior(rng):
    """p(w | r) = sum_k E[theta_k | r] E[beta_kw]: exact but for q."""
    seen = evidence(rng, n_words=0)
    truth = exact(seen)
    theta = (seen.alpha + truth.counts) / (seen.alpha.sum() + len(seen.G))
    np.testing.assert_allclose(fitted(seen)[2], theta, atol=0.1)
