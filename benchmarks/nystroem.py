"""NLSA's kernel PCA from landmarks against scikit-learn's Nystroem and PCA, with the same landmarks and bandwidth.

Two collections: all photos different, and one photo in two a copy of another, as bursts and exports are. Per row:
CPU seconds to learn and to place every training image, the most memory held by arrays, the relative error of the kernel
on pairs of 1,000 images, and the share of 1,000 other images that find one of their words in those of their 3 nearest
neighbours.
"""

import tracemalloc
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import NearestNeighbors

from benchmarks.nlsa import N_COMPONENTS, N_NEIGHBOURS, N_WORDS, make_corpus
from topicture.models.spaces.kernels import kernel_fn, median_bandwidth
from topicture.models.spaces.latent_space import Joint
from topicture.models.spaces.nlsa import nystroem_space

N_IMAGES, N_LANDMARKS, N_OTHERS = 20_000, 1000, 1000
WORD_WEIGHT = 0.03  # others have no words; much weight on them would hide what is alike


def run(n_images: int = N_IMAGES, n_landmarks: int = N_LANDMARKS) -> list[dict]:
    """One row per collection and implementation."""
    rows = []
    for copies in (False, True):
        corpus = make_corpus(n_images + N_OTHERS, N_WORDS)
        captions, visual = corpus.captions.toarray().astype(float), corpus.descriptor.copy()
        if copies:
            captions[1:n_images:2], visual[1:n_images:2] = captions[:n_images:2], visual[:n_images:2]
        X, asked = np.hstack([WORD_WEIGHT * captions, visual])[:n_images], visual[n_images:]
        Q = np.hstack([np.zeros((N_OTHERS, N_WORDS)), asked])
        bandwidth = median_bandwidth("gaussian", X, np.random.default_rng(0))
        theirs = _measured(lambda X=X, b=bandwidth: _scikit_learn(X, b, n_landmarks))
        chosen = theirs["result"][2]
        ours = _measured(lambda X=X, b=bandwidth, chosen=chosen: _ours(X, b, chosen))
        for name, row in (("topicture", ours), ("scikit-learn", theirs)):
            features, place, _, whitened = row.pop("result")
            rows.append(
                {"name": f"{name}, {'half are copies' if copies else 'all different'}"}
                | row
                | {
                    "kernel_error": _error(X[: 2 * N_OTHERS : 2], whitened, bandwidth),
                    "found": _found(features, place(Q), captions[:n_images], captions[n_images:]),
                }
            )
    return rows


def _ours(X: np.ndarray, bandwidth: float, landmarks: np.ndarray) -> tuple[Any, ...]:
    joint = Joint(sparse.csr_array(X[:, :N_WORDS]), X[:, N_WORDS:])
    kernel = kernel_fn("gaussian", bandwidth)
    space, whitening = nystroem_space(kernel, joint, np.sort(landmarks), N_COMPONENTS, centre=True)

    def place(Q: np.ndarray) -> np.ndarray:
        return space.project(Joint(sparse.csr_array(Q[:, :N_WORDS]), Q[:, N_WORDS:]))

    return space.project(joint), place, landmarks, lambda Y: kernel(Y, space.anchors) @ whitening


def _scikit_learn(X: np.ndarray, bandwidth: float, n_landmarks: int) -> tuple[Any, ...]:
    maps = Nystroem("rbf", gamma=0.5 / bandwidth**2, n_components=n_landmarks, random_state=0)
    pca = PCA(N_COMPONENTS, svd_solver="covariance_eigh")
    features = pca.fit_transform(maps.fit_transform(X))
    return features, lambda Q: pca.transform(maps.transform(Q)), maps.component_indices_, maps.transform


def _measured(call: Callable[[], Any]) -> dict[str, Any]:
    tracemalloc.start()
    start = process_time()
    result = call()
    cpu = process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"result": result, "cpu_seconds": cpu, "peak_mb": peak / 1e6}


def _error(X: np.ndarray, whitened: Callable[[np.ndarray], np.ndarray], bandwidth: float) -> float:
    K, g = kernel_fn("gaussian", bandwidth)(X, X), whitened(X)
    return float(np.linalg.norm(K - g @ g.T) / np.linalg.norm(K))


def _found(features: np.ndarray, asked: np.ndarray, captions: np.ndarray, truth: np.ndarray) -> float:
    index = NearestNeighbors(n_neighbors=N_NEIGHBOURS, metric="cosine").fit(features)
    words = captions[index.kneighbors(asked, return_distance=False)].sum(axis=1)
    return float(((words > 0) & (truth > 0)).any(axis=1).mean())
