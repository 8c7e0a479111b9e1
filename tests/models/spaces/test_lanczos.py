"""Block Lanczos: LAPACK's eigenpairs, also where eigenvalues repeat or run out; what does not settle is told."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from topicture.models.spaces import nlsa
from topicture.models.spaces.lanczos import RESIDUAL_TOL, leading_eigenpairs


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def assert_leading_pairs(K, values, vectors):
    """Eigenpairs to the promised residual, orthonormal, and the largest ones there are."""
    A, k = centred(K), len(values)
    expected = np.linalg.eigvalsh(A)[::-1][:k]
    np.testing.assert_allclose(values, expected, atol=1e-9 * expected[0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    residuals = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    assert residuals.max() <= 10 * RESIDUAL_TOL * values[0]


def gaussian(rng, n_images, n_columns, sigma):
    X = rng.standard_normal((n_images, n_columns))
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))


@pytest.mark.parametrize(("n_columns", "sigma", "k"), [(5, 2.0, 12), (12, 5.0, 30), (3, 3.0, 1)])
def test_pairs_are_those_of_the_dense_decomposition(rng, n_columns, sigma, k):
    K = gaussian(rng, 700, n_columns, sigma)
    values, vectors = leading_eigenpairs(K, k, rng)
    assert_leading_pairs(K, values, vectors)


def test_an_eigenvalue_with_more_copies_than_wanted_is_found_with_all_of_them(rng):
    group = np.repeat(np.arange(40), 20)
    K = (group[:, None] == group).astype(float)
    values, vectors = leading_eigenpairs(K, 15, rng)
    np.testing.assert_allclose(values, 20)
    assert_leading_pairs(K, values, vectors)


def test_eigenvalues_that_run_out_are_zero(rng):
    X = rng.standard_normal((600, 4))
    values, vectors = leading_eigenpairs(X @ X.T, 9, rng)
    np.testing.assert_allclose(values[4:], 0, atol=1e-10 * values[0])
    assert_leading_pairs(X @ X.T, values, vectors)


def test_a_flat_spectrum_is_left_to_another_solver(rng):
    """A kernel so narrow that all images are strangers: eigenvalues from 0.9 to 1.1 or so, all of them different."""
    K = np.eye(800) + 0.001 * gaussian(rng, 800, 40, 3.0) + np.diag(0.2 * rng.random(800))
    assert leading_eigenpairs(K, 3, rng) is None
    values, vectors = nlsa.centred_eigenpairs(K, 3, rng)
    assert_leading_pairs(K, values * len(K), vectors)


def test_too_few_images_for_blocks_are_refused(rng):
    assert leading_eigenpairs(gaussian(rng, 40, 3, 1.0), 10, rng) is None


def test_the_same_seed_gives_the_same_pairs():
    K = gaussian(np.random.default_rng(5), 500, 5, 2.0)
    first, second = (leading_eigenpairs(K, 6, np.random.default_rng(1))[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)
