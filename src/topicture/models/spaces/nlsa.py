r"""Nonlinear latent space, NLSA [liu2005nlsa]: kernel PCA of words and pictures together.

Sections: docs/models.md (3.14). Tagged images are vectors x_n = (w_n ; v_n), n = 1..N; an image to
annotate is (0 ; v_q). K is the kernel matrix of the tagged images, H = I - 11'/N, Y = H / sqrt(N).

    Y'KY = V Lambda V',   Dm = Y V_K Lambda_K^(-1/2),   F(x) = Dm' k(x)   or, centred,   F(x) = Dm' (k(x) - K1/N)

Words come from the nearest tagged images in F (neighbours.py).

Large collections (Nystroem): with m drawn tagged images, C = k(x, landmarks) and g(x) = W^(-1/2) c(x) for the
landmarks' own kernel matrix W, the kernel is taken to be g(x)'g(y). Its Y'KY has the nonzero eigenvalues of the
covariance of g, and with that covariance's eigenvectors U, F(x) = U' g(x).

Symbol -> code, shape:  x_n -> anchors m M | Dm or W^(-1/2) U -> directions m K | Dm'K1/N -> offset K
Differs from the paper: kernels other than the Gaussian; sigma is the median distance unless given (the paper gives
none); components of eigenvalue below 1e-10 of the first are dropped; `centre` (the paper projects without centring).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.neighbours import blocks
from topicture.models.spaces.kernels import KERNELS, Kernel, check_vectors, kernel_fn, median_bandwidth
from topicture.models.spaces.lanczos import leading_eigenpairs
from topicture.models.spaces.latent_space import Joint, LatentSpace
from topicture.threads import side_by_side

__all__ = ["NLSA", "KernelSpace", "centred_eigenpairs", "exact_space", "kernel_matrix", "nystroem_space"]

EIGENVALUE_TOL = 1e-10
# Below this many images LAPACK's full decomposition takes a blink; above, Lanczos finds the few leading pairs.
_SMALL = 600
# Rows of the kernel matrix made at a time: large enough for fast products, small enough to waste little on the mirrored
# half of the diagonal blocks.
_STRIP = 512
# Memory of a block of images to project; several are worked on at once.
_BLOCK_BYTES = 16 << 20
_SAMPLE = 1000

# --- Values -------------------------------------------------------------------------------------------------------


class KernelSpace(NamedTuple):
    """F(x) = directions' k(anchors, x) - offset."""

    kernel: Kernel
    anchors: np.ndarray  # (m, M)
    directions: np.ndarray  # (m, K)
    offset: np.ndarray  # (K,)

    def project(self, joint: Joint) -> np.ndarray:
        """F(x), (D, K)."""
        features = np.zeros((len(joint), self.directions.shape[1]))

        def fill(rows: slice) -> None:
            features[rows] = self.kernel(joint.at(rows), self.anchors) @ self.directions

        with side_by_side() as for_each:
            for_each(fill, blocks(len(joint), 8 * (len(self.anchors) + joint.n_columns), _BLOCK_BYTES))
        return features - self.offset


# --- Learn --------------------------------------------------------------------------------------------------------


def kernel_matrix(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """K (N, N), exactly symmetric; what lies right of the diagonal is mirrored, not computed again."""
    K = np.empty((len(X), len(X)))

    def fill(start: int) -> None:
        end = start + _STRIP
        K[start:end, start:] = kernel(X[start:end], X[start:])
        K[start:end, start:end] = (K[start:end, start:end] + K[start:end, start:end].T) / 2
        K[end:, start:end] = K[start:end, end:].T

    with side_by_side() as for_each:
        for_each(fill, range(0, len(X), _STRIP))
    return K


def centred_eigenpairs(K: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of Y'KY, descending (all, or the k largest of many), and eigenvectors (N, k) of the k largest."""
    N = len(K)
    if N <= _SMALL or 4 * k > N:
        values, vectors = np.linalg.eigh(_centred(_centred(K).T) / N)
        return values[::-1], vectors[:, ::-1][:, :k]
    found = leading_eigenpairs(K, k, rng)
    if found is not None:
        return found[0] / N, found[1]
    # A spectrum that hardly decays; ARPACK restarts until it has its pairs.
    operator = LinearOperator((N, N), dtype=K.dtype, matvec=lambda x: _centred(K @ _centred(x)) / N)
    values, vectors = eigsh(operator, k=k, v0=_centred(rng.standard_normal(N)))
    return values[::-1], vectors[:, ::-1]


def exact_space(
    kernel: Kernel, X: np.ndarray, n_components: int, *, centre: bool, rng: np.random.Generator
) -> tuple[KernelSpace, np.ndarray]:
    """Directions Dm of all training vectors X (N, M), and the coordinates of those vectors, (N, K)."""
    K = kernel_matrix(kernel, X)
    N, scale = len(K), np.trace(K) / len(K)
    values, vectors = centred_eigenpairs(K, min(n_components, N), rng)
    values = values[: vectors.shape[1]]
    keep = _positive(values, N * np.finfo(float).eps * scale)
    lengths, V = np.sqrt(N * values[keep]), _centred(vectors[:, keep])
    directions = np.ascontiguousarray(V / lengths)
    mean = directions.T @ K.mean(axis=1)  # of the coordinates that are not centred
    offset = mean if centre else np.zeros(len(lengths))
    # HKH V = V lengths^2, so K directions need no product with K.
    return KernelSpace(kernel, X, directions, offset), V * lengths + (mean - offset)


def nystroem_space(
    kernel: Kernel, joint: Joint, landmarks: np.ndarray, n_components: int, *, centre: bool
) -> tuple[KernelSpace, np.ndarray]:
    """Directions W^(-1/2) U from landmarks (rows of joint), and the whitening W^(-1/2), (m, rank)."""
    anchors = joint.at(landmarks)
    whitening = _inverse_root(kernel_matrix(kernel, anchors))
    total, square = np.zeros(whitening.shape[1]), np.zeros((whitening.shape[1],) * 2)
    for rows in blocks(len(joint), 8 * (len(anchors) + joint.n_columns)):
        g = kernel(joint.at(rows), anchors) @ whitening
        total += g.sum(axis=0)
        square += g.T @ g
    mean = total / len(joint)
    values, U = np.linalg.eigh(square / len(joint) - np.outer(mean, mean))
    values, U = values[::-1][:n_components], U[:, ::-1][:, :n_components]
    U = U[:, _positive(values, len(values) * np.finfo(float).eps * np.trace(square) / len(joint))]
    offset = U.T @ mean if centre else np.zeros(U.shape[1])
    return KernelSpace(kernel, anchors, np.ascontiguousarray(whitening @ U), offset), whitening


def nystroem_error(
    kernel: Kernel, joint: Joint, anchors: np.ndarray, whitening: np.ndarray, rng: np.random.Generator
) -> float:
    """|K - G G'| / |K| (Frobenius) over the pairs of at most 1,000 drawn images."""
    rows = np.sort(rng.choice(len(joint), min(_SAMPLE, len(joint)), replace=False))
    X = joint.at(rows)
    K, g = kernel_matrix(kernel, X), kernel(X, anchors) @ whitening
    return float(np.linalg.norm(K - g @ g.T) / max(np.linalg.norm(K), np.finfo(float).tiny))


def _centred(x: np.ndarray) -> np.ndarray:
    """H x, for a vector or the columns of a matrix."""
    return x - x.mean(axis=0)


def _positive(values: np.ndarray, floor: float) -> np.ndarray:
    """Which eigenvalues exceed 1e-10 of the first, and rounding."""
    return values > np.maximum(EIGENVALUE_TOL * values.max(initial=0.0), floor)


def _inverse_root(W: np.ndarray) -> np.ndarray:
    """A (m, rank) with A A' = pseudo-inverse of W."""
    values, vectors = np.linalg.eigh(W)
    keep = _positive(values, 0.0)
    return vectors[:, keep] / np.sqrt(values[keep])


# --- Estimator: no mathematics ------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class NLSA(LatentSpace):
    """Kernel PCA of captions and visual features, words from the nearest tagged images; untagged ones are not used.

    Parameters
    ----------
    n_components : number of latent components K; at most N - 1 exist for N tagged images
    kernel : "gaussian", "chi-square", "intersection", "cosine", or a function of two stacks of vectors (n, M), (m, M)
        that gives their kernel (n, m), called from several threads; a model with a function can't be saved
    bandwidth : of the Gaussian (sigma) or chi-square kernel; None for the median distance of training vectors
    centre : whether coordinates are centred as in kernel PCA; False projects as the paper prints it
    n_neighbours : Z of soft inference (3 as published), or "auto": chosen on a held-out fifth of the tagged images
    view : "descriptor" or "visual_words"
    word_weight : factor of the captions in the joint vectors (1 as published); "balanced": captions and visual parts
        get the same mean square length; "auto": that, or less of it, chosen on held-out tagged images
    max_exact : up to this many tagged images the kernel matrix is decomposed itself (it takes 8 N^2 bytes)
    n_landmarks : beyond, this many drawn images stand for all (Nystroem)
    search : "exact", "faiss" or "auto" neighbours
    seed : of all draws

    Attributes
    ----------
    bandwidth_ : the bandwidth used
    approximation_error_ : relative error of the kernel matrix; 0 if it was decomposed itself
    """

    name = "nlsa"

    _: KW_ONLY
    kernel: str | Kernel = "gaussian"
    bandwidth: float | None = None
    centre: bool = False
    max_exact: int = 15_000
    n_landmarks: int = 2000

    def _check_params(self) -> None:
        super()._check_params()
        known = callable(self.kernel) or self.kernel in KERNELS
        self._require("kernel", known, f"be one of {', '.join(KERNELS)} or a function")
        if self.bandwidth is not None:
            self._check_positive("bandwidth")
        self._check_whole("max_exact", "n_landmarks")

    def _joint(self, corpus: Corpus, *, with_words: bool = True) -> Joint:
        check_vectors(self.kernel, getattr(corpus, self.view), self.name)
        return super()._joint(corpus, with_words=with_words)

    def _learn(self, joint: Joint, rng: np.random.Generator) -> tuple[KernelSpace, np.ndarray, str]:
        N = len(joint)
        sample = np.sort(rng.choice(N, min(N, self.n_landmarks), replace=False))
        self.bandwidth_ = self.bandwidth or median_bandwidth(self.kernel, joint.at(sample), rng)
        kernel = kernel_fn(self.kernel, self.bandwidth_)
        if len(joint) <= max(self.max_exact, self.n_landmarks):
            X = joint.at(slice(None))
            space, features = exact_space(kernel, X, self.n_components, centre=self.centre, rng=rng)
            self.approximation_error_ = 0.0
            how = f"the kernel matrix of {N} images decomposed"
        else:
            space, whitening = nystroem_space(kernel, joint, sample, self.n_components, centre=self.centre)
            features = space.project(joint)
            self.approximation_error_ = nystroem_error(kernel, joint, space.anchors, whitening, rng)
            how = (
                f"Nystroem: {len(sample)} of {N} images as landmarks, "
                f"relative error of the kernel {self.approximation_error_:.2g}"
            )
        return space, features, f"{how}; {space.directions.shape[1]} components"

    def _space_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        if callable(self.kernel):
            raise TopictureError(
                f"{self.name}: a model with a kernel function of your own can't be saved; use {', '.join(KERNELS)}"
            )
        arrays = {name: value for name, value in self.space_._asdict().items() if name != "kernel"}
        return arrays, {"bandwidth": self.bandwidth_, "approximation_error": self.approximation_error_}

    def _restore_space(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> KernelSpace:
        self.bandwidth_ = float(facts["bandwidth"])
        self.approximation_error_ = float(facts["approximation_error"])
        # Its square is divided by.
        self._require("bandwidth_", 1e-100 < self.bandwidth_ < 1e100, "be positive, and no extreme")
        if not len(arrays["anchors"]) or not np.isfinite(arrays["anchors"]).all():
            raise ValueError("the array 'space.anchors' is empty or holds infinite numbers")
        check_vectors(self.kernel, arrays["anchors"], self.name)
        kernel = kernel_fn(self.kernel, self.bandwidth_)
        return KernelSpace(kernel, arrays["anchors"], arrays["directions"], arrays["offset"])
