r"""Kernels between images as vectors x = (words; visual part), for kernel PCA (docs/models.md 3.14).

gaussian      exp(-|x - y|^2 / (2 sigma^2)), sigma = bandwidth
chi-square    exp(-sum (x_i - y_i)^2 / (x_i + y_i) / bandwidth), for vectors without negative values
intersection  sum min(x_i, y_i), for vectors without negative values
cosine        x.y / (|x| |y|); 0 if either is 0

A bandwidth that is not given is the median distance between pairs of (a sample of) the training vectors.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import (
    additive_chi2_kernel,
    cosine_similarity,
    euclidean_distances,
    rbf_kernel,
)

from topicture.errors import CorpusError, TopictureError

__all__ = ["KERNELS", "Kernel", "kernel_fn", "median_bandwidth"]

# (n, M), (m, M) -> (n, m)
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]

KERNELS = ("gaussian", "chi-square", "intersection", "cosine")
_NOT_NEGATIVE = ("chi-square", "intersection")
_SAMPLE = 1000


def kernel_fn(kernel: str | Kernel, bandwidth: float) -> Kernel:
    """The kernel of a name with its bandwidth bound (ignored where it has none), or the user's own, checked."""
    if callable(kernel):
        return _checked(kernel)
    if kernel == "gaussian":
        return lambda X, Y: rbf_kernel(X, Y, 0.5 / bandwidth**2)
    if kernel == "chi-square":
        return lambda X, Y: np.exp(additive_chi2_kernel(X, Y) / bandwidth)
    return {"intersection": _intersection, "cosine": cosine_similarity}[kernel]


def median_bandwidth(kernel: str | Kernel, X: np.ndarray, rng: np.random.Generator) -> float:
    """Median distance of pairs of rows, of at most 1,000 drawn ones; 1 if there is none or the kernel has no bandwidth.

    Euclidean for "gaussian", the sum of (x_i - y_i)^2 / (x_i + y_i) for "chi-square".
    """
    if kernel not in ("gaussian", "chi-square") or len(X) < 2:
        return 1.0
    if len(X) > _SAMPLE:
        X = X[np.sort(rng.choice(len(X), _SAMPLE, replace=False))]
    distances = euclidean_distances(X) if kernel == "gaussian" else -additive_chi2_kernel(X)
    median = float(np.median(distances[np.triu_indices(len(X), 1)]))
    return median if median > 0 else 1.0


def check_vectors(kernel: str | Kernel, visual, name: str) -> None:
    """Raise CorpusError where the kernel is not defined for the visual part."""
    if kernel in _NOT_NEGATIVE and visual.min() < 0:
        raise CorpusError(f"{name}: the {kernel} kernel needs features without negative values; use gaussian")


def _intersection(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """min(x, y) = (x + y - |x - y|) / 2, summed."""
    return 0.5 * (X.sum(axis=1)[:, None] + Y.sum(axis=1) - cdist(X, Y, "cityblock"))


def _checked(kernel: Kernel) -> Kernel:
    def call(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        values = np.array(kernel(X, Y), np.float64)
        if values.shape != (len(X), len(Y)) or not np.isfinite(values).all():
            raise TopictureError(
                f"kernel: gave {values.shape} for {len(X)} and {len(Y)} rows, or values that are not finite"
            )
        return values

    return call
