r"""Mixture of unigrams with two vocabularies [shao2010]. Numbers of sections and equations: docs/models.md (3.6).

Z ~ Cat(a); every visual word f ~ Cat(B[Z]); every caption word w ~ Cat(Phi[Z]). One Z an image.

Symbol -> code, shape:  a -> a K | B -> B K U, or rB K U for its Dirichlet | Phi -> Phi K V, or rPhi K V
  p_i -> p K | A_i -> A K
Two estimates: "map" (point estimates with pseudo-counts) and "vb" (Dirichlet posteriors over the rows of B and Phi).
Differs from the paper: the pseudo-counts and Dirichlet parameters are free (the paper's uniform Dirichlet is 1), and
the mixture weights carry a pseudo-count of their own.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Image, Sizes
from topicture.models.em import loop as em
from topicture.models.em.estimator import EMAnnotator
from topicture.models.em.expfam import (
    dirichlet_expected_log,
    dirichlet_kl,
    logsumexp,
    multinomial_m_step,
    softmax,
    times_log,
    xlogx,
    xlogy,
)
from topicture.models.em.start import clusters, soft_assignment
from topicture.models.em.tokens import tokens_log_density

__all__ = [
    "EXACT",
    "MODEL",
    "DirichletParams",
    "MixUnigram",
    "PointParams",
    "Prior",
    "Stats",
    "Tables",
    "UnigramMixture",
]

# --- Values ----------------------------------------------------------------------------------------------------


class Prior(NamedTuple):
    """Pseudo-counts of point estimates, or Dirichlet parameters of the posteriors; eps_a belongs to a in both."""

    eps_a: Any
    eta_b: Any
    eta_phi: Any


class PointParams(NamedTuple):
    a: Any  # (K,)
    B: Any  # (K, U)
    Phi: Any  # (K, V)


class DirichletParams(NamedTuple):
    a: Any  # (K,)
    rB: Any  # (K, U)
    rPhi: Any  # (K, V)


class Tables(NamedTuple):
    """E[log .] of the parameters, one row per word so that the rows of an image's words lie together."""

    log_a: Any  # (K,)
    log_B: Any  # (U, K)
    log_Phi: Any  # (V, K)


class Stats(NamedTuple):
    """Expected counts: summed over images p (K,), F' p (U, K), W' p (V, K)."""

    p: Any
    visual: Any
    words: Any


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, params: PointParams, n_images: int, n_visual: int = 10, n_words: int = 3
) -> Corpus:
    """The story above: images with this many visual words and words on average."""
    a, B, Phi = (np.asarray(value) for value in params)
    z = rng.choice(len(a), n_images, p=a / a.sum())
    visual = np.stack([rng.multinomial(rng.poisson(n_visual), B[k]) for k in z])
    words = np.stack([rng.multinomial(1 + rng.poisson(n_words - 1), Phi[k]) for k in z])
    return Corpus.from_arrays(captions=words, visual_words=visual)


def init_params(
    corpus: Corpus, n_topics: int, prior: Prior, kind: type, start: str, rng: np.random.Generator
) -> Any:
    """k-means on L1-normalised histograms (or random clusters), half of the mass spread evenly, one M-step (3.6)."""
    F = sparse.csr_array(corpus.visual_words)
    if start == "kmeans":
        totals = np.maximum(np.asarray(F.sum(axis=1)), 1e-300)
        labels = clusters(sparse.csr_array(F.multiply(1 / totals[:, None])), n_topics, rng)
    else:
        labels = rng.integers(n_topics, size=len(corpus))
    p = soft_assignment(labels, n_topics)
    stats = Stats(p.sum(axis=0), F.T @ p, corpus.captions.T @ p)
    K, U, V = n_topics, F.shape[1], corpus.n_words
    uniform = kind(np.full(K, 1 / K), np.full((K, U), 1 / U), np.full((K, V), 1 / V))
    return em.m_step(MODEL, uniform, stats, prior)


# --- Learn: one image; em.py maps and sums ---------------------------------------------------------------------


def expected(params: PointParams | DirichletParams) -> Tables:
    """Logs of point estimates, or expectations of logs under the Dirichlet posteriors (3.6)."""
    if isinstance(params, PointParams):
        return Tables(jnp.log(params.a), jnp.log(params.B).T, jnp.log(params.Phi).T)
    return Tables(
        jnp.log(params.a), dirichlet_expected_log(params.rB).T, dirichlet_expected_log(params.rPhi).T
    )


def init_posterior(tables: Tables, image: Image) -> Any:
    """p is found anew from the parameters in every E-step, so its start does not matter."""
    return jnp.full_like(tables.log_a, 1 / len(tables.log_a))


def log_joint(tables: Tables, image: Image) -> Any:
    """A_k = ln a_k + sum_u F_u E[ln B_ku] + sum_v W_v E[ln Phi_kv], (K,)."""
    return (
        tables.log_a
        + tokens_log_density(tables.log_B, image.visual)
        + tokens_log_density(tables.log_Phi, image.words)
    )


def e_step(tables: Tables, image: Image, p: Any) -> tuple[Any, Stats]:
    """p = softmax(A), exact."""
    p = softmax(log_joint(tables, image))
    return p, statistics(tables, image, p)


def statistics(tables: Tables, image: Image, p: Any) -> Stats:
    """Expected counts of one image under p: its share of p'F and p'W."""
    visual = em.Outer(image.visual.ids, image.visual.counts, p, size=tables.log_B.shape[0])
    words = em.Outer(image.words.ids, image.words.counts, p, size=tables.log_Phi.shape[0])
    return Stats(p, visual, words)


def elbo(tables: Tables, image: Image, p: Any) -> Any:
    """F(p) = sum_k p_k (A_k - ln p_k); at p = softmax(A) it is the log evidence LSE(A)."""
    return jnp.sum(times_log(p, log_joint(tables, image)) - xlogx(p))


def m_step(
    params: PointParams | DirichletParams, stats: Stats, prior: Prior
) -> PointParams | DirichletParams:
    """a from sum p, B from p'F and Phi from p'W with pseudo-counts (2.2), or rB = eta_b + p'F, rPhi = eta_phi + p'W."""
    a = multinomial_m_step(stats.p, prior.eps_a, params.a)
    if isinstance(params, PointParams):
        return PointParams(
            a,
            multinomial_m_step(stats.visual.T, prior.eta_b, params.B),
            multinomial_m_step(stats.words.T, prior.eta_phi, params.Phi),
        )
    return DirichletParams(a, prior.eta_b + stats.visual.T, prior.eta_phi + stats.words.T)


def log_prior(params: PointParams | DirichletParams, prior: Prior) -> Any:
    """eps_a sum ln a, and eps sum ln of the point estimates or minus the KL of the Dirichlet posteriors (3.6)."""
    log_a = jnp.sum(xlogy(prior.eps_a, params.a))
    if isinstance(params, PointParams):
        return log_a + jnp.sum(xlogy(prior.eta_b, params.B)) + jnp.sum(xlogy(prior.eta_phi, params.Phi))
    return (
        log_a
        - jnp.sum(dirichlet_kl(params.rB, prior.eta_b))
        - jnp.sum(dirichlet_kl(params.rPhi, prior.eta_phi))
    )


def log_evidence(tables: Tables, image: Image, p: Any) -> Any:
    """LSE(A): the value of F at its maximum, which exact EM is always at; cheaper than F(p) by K logarithms."""
    return logsumexp(log_joint(tables, image))


MODEL = em.Model(("captions", "visual_words"), expected, init_posterior, e_step, elbo, m_step, log_prior)
EXACT = MODEL._replace(elbo=log_evidence)

# --- Use ---------------------------------------------------------------------------------------------------------


def word_means(params: PointParams | DirichletParams) -> Any:
    """E[Phi], (K, V): what predictions use (2.10)."""
    if isinstance(params, PointParams):
        return np.asarray(params.Phi)
    rPhi = np.asarray(params.rPhi)
    return rPhi / rPhi.sum(axis=1, keepdims=True)


def topic_posterior(tables: Tables, image: Image) -> Any:
    """p(Z | image), (K,)."""
    return softmax(log_joint(tables, image))


def annotate(tables: tuple[Tables, Any], image: Image) -> Any:
    """p(w | f) = sum_k p_k E[Phi_kw], (V,)."""
    tables_, means = tables
    return topic_posterior(tables_, image) @ means


# --- Estimator: no mathematics -----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class UnigramMixture(EMAnnotator):
    """What the mixtures of unigrams share, with a graph (lap_mix_unigram.py) or without: parameters, start, tables."""

    needs = ("visual_words",)
    params_types = (PointParams, DirichletParams)
    word_tables = ("Phi", "rPhi")

    _: KW_ONLY
    smoothing: str = "vb"
    eta_visual: float = 1.0
    eta_words: float = 0.3
    eps_weights: float = 1e-2
    start: str = "kmeans"
    n_init: int = 5

    @abstractmethod
    def transform(self, corpus: Corpus) -> np.ndarray:
        """p(Z | visual words) of every image, (D, K). Captions of the corpus are not looked at."""

    def log_likelihood(self, corpus: Corpus) -> np.ndarray:
        """log p(visual words, caption) of every image, (D,); with "vb" smoothing a lower bound."""
        self._check_usable(corpus)
        value = np.zeros(len(corpus))
        for rows, values in em.map_images(
            _log_evidence, em.tables(MODEL, self.params_), self._batches(corpus)
        ):
            value[rows] = values
        return value

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("smoothing", ("vb", "map"))
        self._check_choice("start", ("kmeans", "random"))
        self._check_not_negative("eta_visual", "eta_words", "eps_weights")
        if self.smoothing == "vb":
            for name in ("eta_visual", "eta_words"):
                self._require(name, getattr(self, name) >= 1e-12, "be positive")

    def _model(self) -> em.Model:
        return EXACT

    def _width(self, sizes: Sizes) -> int:
        return 1  # the E-step keeps p alone

    def _prior(self) -> Prior:
        return Prior(self.eps_weights, self.eta_visual, self.eta_words)

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Any:
        kind = DirichletParams if self.smoothing == "vb" else PointParams
        return init_params(corpus, self.n_topics, self._prior(), kind, self.start, rng)

    def _tables_for_use(self) -> Any:
        return em.tables(MODEL, self.params_), word_means(self.params_)


class MixUnigram(UnigramMixture):
    """Mixture of unigrams over visual words and caption words; untagged images take part in the fit.

    Parameters
    ----------
    n_topics : number of mixture components K
    smoothing : "vb" (Dirichlet posteriors over the topics' distributions) or "map" (point estimates)
    eta_visual, eta_words : Dirichlet parameters ("vb") or pseudo-counts ("map") of the topics' distributions
    eps_weights : pseudo-count of the mixture weights
    start : "kmeans" or "random"
    max_iter, tol, n_init, seed : of the EM loop; the restart with the largest objective is kept
    precision : "float64" or "float32" for the E-step
    """

    name = "mix-unigram"
    least_part = 0.05

    def transform(self, corpus: Corpus) -> np.ndarray:
        """p(Z | visual words) of every image, (D, K). Captions of the corpus are not looked at."""
        self._check_usable(corpus)
        p = np.zeros((len(corpus), self.n_topics))
        batches = self._batches(corpus.without_captions())
        for rows, values in em.map_images(topic_posterior, em.tables(MODEL, self.params_), batches):
            p[rows] = values
        return p

    def _annotate_image(self) -> Callable[[Any, Image], Any]:
        return annotate


def _log_evidence(tables: Tables, image: Image) -> Any:
    return log_evidence(tables, image, None)
