"""Codebooks: real-valued descriptors into visual words, visual words into counts.

A codebook is the k-means centres of a sample of descriptors; the word of a descriptor is its nearest centre. SIFT
patches are quantised as they are [yang2010emm]; blob features, whose columns have different units, are standardised
first [barnard2003matching]. A codebook is fitted on training pictures only and travels with the model as arrays.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from topicture.errors import CorpusError, FitWarning, ModelFileError, TopictureError
from topicture.extras import has_module

__all__ = ["Codebook", "count_words", "fit_codebook"]

BATCH = 65_536  # descriptors assigned at a time: bounds the memory, not the result
POINTS_PER_WORD = 100  # faiss asks for at least 39 and stops at 256; the time of a fit grows with them
N_ITER = 25


@dataclass(frozen=True, eq=False, slots=True)
class Codebook:
    """Centres of visual words, and the scaling that comes before them.

    Attributes
    ----------
    centres : float32 array (U, F)
        In standardised units.
    mean, scale : float32 arrays (F,)
        A descriptor x is compared as (x - mean) / scale; 0 and 1 where nothing is standardised.
    descriptor : str
        `Descriptor.key` of the features it was fitted on, as in `blobs-v1`.
    """

    centres: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    descriptor: str

    @property
    def n_words(self) -> int:
        return len(self.centres)

    @property
    def n_features(self) -> int:
        return self.centres.shape[1]

    def assign(self, points: np.ndarray) -> np.ndarray:
        """Visual word (P,), int32, of each descriptor (P, F): the nearest centre, the first of equally near ones.

        Raises CorpusError when the descriptors have another width or are not finite.
        """
        points = _checked(points, self.n_features)
        words = np.empty(len(points), dtype=np.int32)
        for start in range(0, len(points), BATCH):
            batch = _standardised(points[start : start + BATCH], self.mean, self.scale)
            words[start : start + BATCH] = _nearest(batch, self.centres)
        return words

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Numeric arrays that `from_arrays` turns back into the same codebook."""
        name = np.frombuffer(self.descriptor.encode(), dtype=np.uint8)
        return {"centres": self.centres, "mean": self.mean, "scale": self.scale, "descriptor": name}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Codebook":
        """The codebook that `to_arrays` wrote; raises ModelFileError for anything else."""
        missing = {"centres", "mean", "scale", "descriptor"} - set(arrays)
        if missing:
            raise ModelFileError(f"codebook without {', '.join(sorted(missing))}")
        centres, mean, scale = (
            np.asarray(arrays[name], dtype=np.float32) for name in ("centres", "mean", "scale")
        )
        if centres.ndim != 2 or len(centres) == 0 or not mean.shape == scale.shape == centres.shape[1:]:
            raise ModelFileError(
                f"codebook of odd shapes: centres {centres.shape}, mean {mean.shape}, scale {scale.shape}"
            )
        if not all(np.isfinite(array).all() for array in (centres, mean, scale)) or scale.min(initial=1) <= 0:
            raise ModelFileError("codebook with values that are not finite, or scales that are not positive")
        try:
            descriptor = np.asarray(arrays["descriptor"], dtype=np.uint8).tobytes().decode()
        except UnicodeDecodeError:
            raise ModelFileError("codebook whose descriptor's name is not text") from None
        return cls(centres=centres, mean=mean, scale=scale, descriptor=descriptor)


def fit_codebook(
    points: np.ndarray,
    n_words: int,
    *,
    descriptor: str,
    standardise: bool = False,
    n_restarts: int = 5,
    max_points: int | None = None,
    seed: int = 0,
) -> Codebook:
    """Cluster descriptors into visual words by k-means.

    Parameters
    ----------
    points : array (P, F)
        Descriptors of training pictures.
    n_words : int
        Number of words, U. With fewer distinct descriptors than that, each of them becomes a word of its own and a
        FitWarning says so.
    descriptor : str
        `Descriptor.key` of the features.
    standardise : bool
        Give every column mean 0 and standard deviation 1 first; a constant column becomes 0.
    n_restarts : int
        Runs from different starts; the one with the smallest distortion is kept.
    max_points : int, optional
        Descriptors used, drawn without replacement if there are more; 100 per word unless told.
    seed : int
        Fixes the draw and the starts. The result does not depend on the number of threads.

    Raises
    ------
    CorpusError
        No descriptors, or some that are not finite.
    TopictureError
        `n_words`, `n_restarts` or `max_points` below one.
    """
    max_points = n_words * POINTS_PER_WORD if max_points is None else max_points
    if min(n_words, n_restarts, max_points) < 1:
        raise TopictureError("a codebook needs n_words, n_restarts and max_points of at least 1")
    points = _checked(points)
    if len(points) == 0:
        raise CorpusError("a codebook needs at least one descriptor to be fitted on")
    sample = _sample(points, max_points, seed)
    mean, scale = _scaler(sample, standardise)
    sample = _standardised(sample, mean, scale)
    distinct = np.unique(sample, axis=0)
    if len(distinct) <= n_words:
        if len(distinct) < n_words:
            reason = f"there are {len(distinct)} distinct descriptors"
            warnings.warn(
                f"codebook of {len(distinct)} words, not {n_words}: {reason}", FitWarning, stacklevel=2
            )
        return Codebook(distinct, mean, scale, descriptor)
    return Codebook(_kmeans(sample, n_words, n_restarts, seed), mean, scale, descriptor)


def count_words(words: np.ndarray, owners: np.ndarray, n_owners: int, n_words: int) -> csr_array:
    """Count visual words by owner: the regions of a picture, or the pictures of a collection.

    Parameters
    ----------
    words : int array (P,)
        Visual words, 0 .. n_words - 1.
    owners : int array (P,)
        Region or picture of each word, 0 .. n_owners - 1; words owned by -1 are not counted.

    Returns
    -------
    csr_array (n_owners, n_words) of float64
    """
    if words.shape != owners.shape:
        raise CorpusError(f"{words.shape} visual words but {owners.shape} owners")
    owned = owners >= 0
    ones = np.ones(int(owned.sum()))
    counts = coo_array((ones, (owners[owned], words[owned])), shape=(n_owners, n_words)).tocsr()
    counts.sum_duplicates()
    return counts


def _nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    if not has_module("faiss"):
        return pairwise_distances_argmin(points, centres)
    import faiss

    return faiss.knn(points, centres, 1)[1][:, 0]


def _kmeans(sample: np.ndarray, n_words: int, n_restarts: int, seed: int) -> np.ndarray:
    if not has_module("faiss"):
        # Its starts are better than faiss's random ones: half as many do.
        lloyd = KMeans(n_words, n_init=(n_restarts + 1) // 2, max_iter=N_ITER, tol=0, random_state=seed)
        # Sums over threads come in the order in which the threads are done.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # distinct descriptors can be nearly the same
            return lloyd.fit(sample).cluster_centers_
    import faiss

    clustering = faiss.Kmeans(
        sample.shape[1],
        n_words,
        niter=N_ITER,
        nredo=n_restarts,
        seed=seed,
        # The sample is drawn here: faiss shall neither draw again nor complain that it is small.
        min_points_per_centroid=1,
        max_points_per_centroid=len(sample),
    )
    clustering.train(sample)
    return np.asarray(clustering.centroids)


def _checked(points: np.ndarray, n_features: int | None = None) -> np.ndarray:
    if points.ndim != 2 or (n_features is not None and points.shape[1] != n_features):
        wanted = "(P, F)" if n_features is None else f"(P, {n_features})"
        raise CorpusError(f"descriptors must have the shape {wanted}, not {points.shape}")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise CorpusError(f"descriptor {row} has a value that is not finite")
    return points


def _sample(points: np.ndarray, max_points: int, seed: int) -> np.ndarray:
    if len(points) <= max_points:
        return points
    rows = np.random.default_rng(seed).choice(len(points), max_points, replace=False)
    return points[np.sort(rows)]


def _scaler(points: np.ndarray, standardise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and scale (F,) of the columns; 0 and 1 when nothing is to be standardised."""
    n_features = points.shape[1]
    if not standardise:
        return np.zeros(n_features, dtype=np.float32), np.ones(n_features, dtype=np.float32)
    mean = points.mean(axis=0, dtype=np.float64)
    scale = points.std(axis=0, dtype=np.float64)
    # Rounding gives a constant column a spread of some 1e-16 of its value: nothing to divide by.
    scale[scale <= 1e-10 * np.maximum(np.abs(mean), 1e-10)] = 1.0
    return mean.astype(np.float32), scale.astype(np.float32)


def _standardised(points: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((points - mean) / scale, dtype=np.float32)
