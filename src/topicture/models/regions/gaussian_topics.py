r"""What GM-Mixture, GM-LDA and Corr-LDA share: Gaussians over regions, words, where to start. Numbers: MODELS.md.

A topic k has a diagonal Gaussian over region features (mu_k, s2_k) and a distribution over words: a point estimate
beta_k ("ml"), or a Dirichlet posterior Dir(rho_k) under the exchangeable prior Dir(eta) whose eta is learned by
empirical Bayes ("eb"). The models' parameters are tuples that end in (beta,) or (rho, eta); functions below take them
whole and look at those fields only.
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.errors import CorpusError
from topicture.models.em.estimator import EMAnnotator
from topicture.models.em.expfam import (
    GaussianStats,
    dirichlet_expected_log,
    dirichlet_kl,
    fit_dirichlet_multinomial,
    fit_symmetric_dirichlet,
    gaussian_m_step,
    multinomial_m_step,
    variance_floor,
    xlogy,
)
from topicture.models.em.start import clusters

__all__ = [
    "GaussianTopics",
    "centre_of",
    "expected_log_words",
    "start_gaussians",
    "start_labels",
    "start_words",
    "update_gaussians",
    "update_words",
    "word_means",
    "words_log_prior",
]

SMOOTHINGS = ("ml", "eb")
ETA_UPDATES = ("alternate", "direct", "fixed")
STARTS = ("kmeans", "random")

# --- Words: point estimates, or Dirichlet posteriors -------------------------------------------------------------


def expected_log_words(params: Any) -> Any:
    """ln beta, or E[ln beta] under Dir(rho); one row a word, (V, K)."""
    if hasattr(params, "beta"):
        return jnp.log(params.beta).T
    return dirichlet_expected_log(params.rho).T


def word_means(params: Any) -> np.ndarray:
    """beta or E[beta], (K, V): what predictions use (2.10)."""
    rows = np.asarray(params.beta if hasattr(params, "beta") else params.rho)
    return rows / rows.sum(axis=1, keepdims=True)


def update_words(params: Any, counts: Any, eps: Any, eta_update: str) -> tuple[Any, ...]:
    """(beta,) from expected counts (V, K) and pseudo-counts (2.2), or (rho, eta) (2.5).

    "alternate": rho = eta + c, then the eta that is best for this rho. "direct": both at their joint maximum, which
    is the limit of alternating. "fixed": eta stays.
    """
    c = counts.T
    if hasattr(params, "beta"):
        return (multinomial_m_step(c, eps, params.beta),)
    if eta_update == "direct":
        eta = fit_dirichlet_multinomial(params.eta, c)
        return eta + c, eta
    rho = params.eta + c
    if eta_update == "fixed":
        return rho, params.eta
    K, V = rho.shape
    return rho, fit_symmetric_dirichlet(params.eta, K, V, jnp.sum(dirichlet_expected_log(rho)))


def words_log_prior(params: Any, eps: Any) -> Any:
    """eps sum ln beta, or - sum_k KLDir(rho_k || eta)."""
    if hasattr(params, "beta"):
        return jnp.sum(xlogy(eps, params.beta))
    return -jnp.sum(dirichlet_kl(params.rho, params.eta))


# --- Gaussians -----------------------------------------------------------------------------------------------------


def centre_of(mu: Any) -> Any:
    """A point amid the data, (F,), about which moments are collected; the median is not moved by a stray topic."""
    return jnp.median(mu, axis=0)


def update_gaussians(moments: GaussianStats, centre: Any, params: Any, floor: Any) -> tuple[Any, Any]:
    """mu and s2 (K, F) from moments about the common `centre` (2.3).

    Moments about one point are matrix products, where those about every mu_k are not. What the shift to mu_k cancels
    is at most the ratio of the features' variance to the floor, a thousand.
    """
    d = params.mu - centre[None, :]
    weight = moments.weight[:, None]
    about_mu = GaussianStats(
        weight=moments.weight,
        first=moments.first - weight * d,
        second=moments.second - 2 * d * moments.first + weight * d * d,
    )
    return gaussian_m_step(about_mu, params.mu, params.s2, floor)


# --- Start ---------------------------------------------------------------------------------------------------------


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


# --- Estimator: no mathematics -------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class GaussianTopics(EMAnnotator):
    """Settings and checks that the three models share."""

    needs = ("regions",)

    _: KW_ONLY
    smoothing: str = "eb"
    eta: float = 0.1
    eta_update: str = "alternate"
    eps_words: float = 1e-10
    start: str = "kmeans"

    _floor: np.ndarray = field(init=False)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("smoothing", SMOOTHINGS)
        self._check_choice("eta_update", ETA_UPDATES)
        self._check_choice("start", STARTS)
        self._check_positive("eta")

    def _fit(self, corpus: Corpus, callback: Any) -> None:
        n_regions = corpus.n_regions
        if not n_regions.sum():
            raise CorpusError(f"{self.name}: none of the {len(corpus)} images has a region")
        if not (corpus.tagged & (n_regions > 0)).any():
            raise CorpusError(f"{self.name}: no image with regions is tagged, so no word can be learned")
        self._floor = np.asarray(variance_floor(_regions(corpus).var(axis=0)))
        super()._fit(corpus, callback)


def _regions(corpus: Corpus) -> np.ndarray:
    assert corpus.regions is not None
    return corpus.regions


def image_means(corpus: Corpus) -> np.ndarray:
    """Mean region of every image that has one, (D', F)."""
    regions, offsets = _regions(corpus), corpus.region_offsets
    assert offsets is not None
    some = corpus.n_regions > 0
    sums = np.add.reduceat(regions, offsets[:-1][some], axis=0)
    return sums / corpus.n_regions[some][:, None]


def centred_sums(image: Image, centre: Any) -> tuple[Any, Any, Any]:
    """Number of regions of an image, sum of r - centre and of its square, (), (F,) and (F,)."""
    d = (image.regions - centre[None, :]) * image.region_mask[:, None]
    return jnp.sum(image.region_mask), jnp.sum(d, 0), jnp.sum(d * d, 0)
