"""Where GM-Mixture, GM-LDA and Corr-LDA start: clusters of regions, or of images, and the words that go with them."""

from typing import Any

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.em.start import clusters
from topicture.models.regions.gaussian_lda import DirichletParams, PointParams, Prior

__all__ = [
    "image_means",
    "init_params",
    "start_gaussians",
    "start_labels",
    "start_word_params",
    "start_words",
    "variance_floor",
]


def init_params(
    corpus: Corpus,
    n_topics: int,
    prior: Prior,
    rng: np.random.Generator,
    *,
    alpha: float = 1.0,
    smoothing: str = "eb",
    eta: float = 0.1,
    start: str = "kmeans",
) -> PointParams | DirichletParams:
    """Clusters of regions: their Gaussians, and the captions of the images weighted by their share of regions (3.2)."""
    assert corpus.regions is not None
    labels = start_labels(corpus.regions, n_topics, start, rng)
    mu, s2 = start_gaussians(corpus.regions, labels, n_topics, np.asarray(prior.floor))
    image = np.repeat(np.arange(len(corpus)), corpus.n_regions)
    share = sparse.csr_array((1 / corpus.n_regions[image], (image, labels)), shape=(len(corpus), n_topics))
    words = start_word_params(start_words(corpus, share), smoothing, eta, prior.eps)
    kind: Any = DirichletParams if smoothing == "eb" else PointParams
    return kind(np.full(n_topics, float(alpha)), mu, s2, *words)


def start_labels(rows: np.ndarray, n_topics: int, start: str, rng: np.random.Generator) -> np.ndarray:
    """Cluster of each row of features (n, F), on the standardised scale: k-means, or nearest of some random rows."""
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    if start == "kmeans":
        return clusters(scaled, n_topics, rng)
    seeds = scaled[rng.choice(len(scaled), min(n_topics, len(scaled)), replace=False)]
    distance = (seeds * seeds).sum(axis=1) - 2 * scaled @ seeds.T
    return distance.argmin(axis=1)


def start_gaussians(
    regions: np.ndarray, labels: np.ndarray, n_topics: int, floor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """mu and s2 (K, F) of clusters of regions; variances half-way to the global ones, an empty cluster global."""
    member = sparse.csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_topics, len(labels))
    )
    size = np.maximum(member.sum(axis=1), 1)[:, None]
    empty = member.sum(axis=1)[:, None] == 0
    mean, variance = regions.mean(axis=0), regions.var(axis=0)
    mu = mean + np.where(empty, 0, member @ (regions - mean) / size)
    within = member @ (regions - mu[labels]) ** 2 / size
    s2 = np.where(empty, variance, (within + variance) / 2)
    return mu, np.maximum(s2, floor)


def start_words(corpus: Corpus, share: Any) -> np.ndarray:
    """Word counts of every topic, (K, V): captions weighted by the images' shares (D, K), plus their distribution."""
    total = np.asarray(corpus.captions.sum(axis=0)).ravel()
    return np.asarray((share.T @ corpus.captions).todense()) + total / total.sum()


def start_word_params(counts: np.ndarray, smoothing: str, eta: float, eps: float) -> tuple[np.ndarray, ...]:
    """(beta,) or (rho, eta) from word counts (K, V)."""
    if smoothing == "eb":
        return eta + counts, np.asarray(eta, np.float64)
    return ((counts + eps) / (counts + eps).sum(axis=1, keepdims=True),)


def image_means(corpus: Corpus) -> np.ndarray:
    """Mean region of every image that has one, (D', F)."""
    regions, offsets = corpus.regions, corpus.region_offsets
    assert regions is not None
    assert offsets is not None
    some = corpus.n_regions > 0
    sums = np.add.reduceat(regions, offsets[:-1][some], axis=0)
    return sums / corpus.n_regions[some][:, None]


def variance_floor(global_variance: np.ndarray) -> np.ndarray:
    """The least variance of every feature, (F,): max(1e-6, 1e-3 global variance) (2.3)."""
    return np.maximum(1e-6, 1e-3 * global_variance)
