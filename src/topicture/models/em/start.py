"""Starting points that several models share: k-means clusters of images or regions, softened."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

__all__ = ["clusters", "soft_assignment"]


def clusters(
    rows: np.ndarray | sparse.csr_array, k: int, rng: np.random.Generator, max_rows: int = 50_000
) -> np.ndarray:
    """Cluster of each row, (n,) in 0..k-1, by k-means++ and Lloyd's iteration on at most `max_rows` of them.

    With fewer distinct rows than clusters, some clusters stay empty.
    """
    n = rows.shape[0]
    if n == 0 or k == 1:
        return np.zeros(n, np.int64)
    chosen = np.sort(rng.choice(n, max_rows, replace=False)) if n > max_rows else slice(None)
    kmeans = KMeans(min(k, n), n_init=1, max_iter=25, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the clusters that remain empty are what we want.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(rows[chosen])
    return kmeans.predict(rows).astype(np.int64)


def soft_assignment(labels: np.ndarray, k: int, share: float = 0.5) -> np.ndarray:
    """Rows (n, k) with `share` of the mass on the cluster and the rest spread evenly."""
    q = np.full((len(labels), k), (1 - share) / k)
    q[np.arange(len(labels)), labels] += share
    return q
