"""Starting points: clusters and their softened assignments."""

import numpy as np
import pytest
from scipy import sparse

from topicture.models.em.start import clusters, soft_assignment


def blobs(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(k, size=n)
    return 10 * np.eye(k)[label] + rng.normal(size=(n, k)), label


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_separated_groups_are_found(kind):
    rows, label = blobs()
    got = clusters(kind(rows), 3, np.random.default_rng(0))
    assert got.shape == (60,)
    assert got.dtype == np.int64
    assert same_partition(got, label)


def test_large_sets_are_clustered_from_a_sample():
    rows, label = blobs(300)
    assert same_partition(clusters(rows, 3, np.random.default_rng(0), max_rows=50), label)


def test_the_generator_decides():
    rows = np.random.default_rng(0).normal(size=(50, 4))
    first, again, other = (clusters(rows, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 3), (2, 5), (7, 1)])
def test_few_rows(n, k):
    got = clusters(np.random.default_rng(0).normal(size=(n, 2)), k, np.random.default_rng(0))
    assert len(got) == n
    assert set(got.tolist()) <= set(range(k))


def test_identical_rows_share_a_cluster_without_a_warning():
    assert len(set(clusters(np.ones((20, 3)), 4, np.random.default_rng(0)).tolist())) == 1


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_soft_assignment(share):
    q = soft_assignment(np.array([2, 0]), 4, share)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    np.testing.assert_allclose(q[[0, 1], [2, 0]], share + (1 - share) / 4)
    np.testing.assert_allclose(np.sort(q, axis=1)[:, :3], (1 - share) / 4)


def test_soft_assignment_of_nothing():
    assert soft_assignment(np.zeros(0, int), 3).shape == (0, 3)
