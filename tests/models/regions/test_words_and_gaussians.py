"""What the three models share: words under empirical Bayes, moments about a common point, starts."""

import jax
import jax.numpy as jnp
import numpy as np
from region_models import F, K, V, dirichlet_params, images, in_double
from scipy import sparse

from topicture.models.em.expfam import GaussianStats
from topicture.models.regions.gaussian_lda import (
    centre_of,
    update_gaussians,
    update_words,
    words_log_prior,
)
from topicture.models.regions.start import start_gaussians, start_labels, start_words


def test_direct_update_is_the_joint_maximum(rng):
    """rho and eta at once: both gradients of counts . E[ln beta] - KL vanish, and no other eta does better."""
    params, counts = dirichlet_params(rng), np.array([[9.0, 0.5], [0.3, 7.0], [1.0, 0.1]])

    @in_double
    def gain_and_slopes(rho, eta):
        def gain(log_rho, log_eta):
            rho, eta = jnp.exp(log_rho), jnp.exp(log_eta)
            words = jax.scipy.special.digamma(rho) - jax.scipy.special.digamma(rho.sum(1, keepdims=True))
            return jnp.sum(counts.T * words) + words_log_prior(params._replace(rho=rho, eta=eta), 0.0)

        x = jnp.log(rho), jnp.log(eta)
        return gain(*x), jax.grad(gain, (0, 1))(*x)

    rho, eta = in_double(lambda c: update_words(params, c, 0.0, "direct"))(counts)
    best, slopes = gain_and_slopes(rho, eta)
    for slope in slopes:
        np.testing.assert_allclose(slope, 0, atol=1e-9)
    for other in (eta / 2, eta * 2):
        assert gain_and_slopes(other + counts.T, other)[0] < best


def test_moments_about_a_common_point_give_weighted_means_and_variances(rng):
    """Far from the origin too; a topic without weight keeps its Gaussian."""
    r, a = 1e4 + rng.normal(size=(50, F)), rng.uniform(size=(50, 3))
    a[:, 2] = 0
    params = dirichlet_params(rng)._replace(mu=1e4 + rng.normal(size=(3, F)), s2=np.full((3, F), 0.3))
    floor = np.full(F, 1e-6)

    @in_double
    def update(r, a, mu):
        d = r - centre_of(mu)
        stats = GaussianStats(a.sum(0), a.T @ d, a.T @ (d * d))
        return update_gaussians(stats, centre_of(mu), params._replace(mu=mu), floor)

    mu, s2 = update(r, a, params.mu)
    for k in (0, 1):
        mean = np.average(r, axis=0, weights=a[:, k])
        np.testing.assert_allclose(mu[k], mean, rtol=1e-12)
        np.testing.assert_allclose(s2[k], np.average((r - mean) ** 2, axis=0, weights=a[:, k]), rtol=1e-9)
    np.testing.assert_array_equal(mu[2], params.mu[2])
    np.testing.assert_array_equal(s2[2], params.s2[2])


def test_kmeans_start_does_not_depend_on_scale(rng):
    """Two clusters that only a small feature tells apart; a constant feature does no harm."""
    truth = np.arange(40) % 2
    rows = np.column_stack([1e-4 * truth + 1e-7 * rng.normal(size=40), np.full(40, 7.0)])
    labels = start_labels(rows, 2, "kmeans", rng)
    assert len(set(zip(truth, labels, strict=True))) == len(set(labels)) == 2


def test_random_start_takes_the_nearest_of_random_rows(rng):
    rows = rng.normal(size=(9, F))
    assert len(set(start_labels(rows, 9, "random", rng))) == 9
    assert set(start_labels(rows, 4, "random", rng)) == set(range(4))


def test_start_gaussians_are_half_way_to_the_global_variance():
    regions = np.array([[0.0], [2.0], [10.0], [12.0]])
    mu, s2 = start_gaussians(regions, np.array([0, 0, 1, 1]), 3, np.array([1e-3]))
    np.testing.assert_allclose(mu.ravel(), [1, 11, 6])
    np.testing.assert_allclose(s2.ravel(), [(1 + 26) / 2, (1 + 26) / 2, 26])


def test_start_words_add_the_empirical_distribution(rng):
    corpus = images(rng)
    share = sparse.csr_array(np.tile([1.0, 0.0], (len(corpus), 1)))
    counts = start_words(corpus, share)
    total = np.asarray(corpus.captions.sum(axis=0)).ravel()
    np.testing.assert_allclose(counts, [total + total / total.sum(), total / total.sum()])
    assert counts.shape == (K, V)
