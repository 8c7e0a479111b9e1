r"""GM-Mixture [blei2003annotated]. Numbers of sections and equations: docs/models.md (3.1).

z ~ Cat(pi); every region r_n ~ N(mu[z], s2[z]), diagonal; every caption word w ~ Cat(beta[z]). One z an image.

Symbol -> code, shape:  pi -> pi K | mu, s2 -> mu, s2 K F | beta -> beta K V, or rho K V and eta () for its Dirichlet
  q_d -> q K | a_d -> log_joint K
Two estimates: "ml" (point estimates) and "eb" (Dirichlet posteriors over the rows of beta, eta by empirical Bayes).
Differs from the paper: lambda, its mixture weights, is called pi and carries a pseudo-count; variances have a floor.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.models.em import loop as em
from topicture.models.em.expfam import (
    GaussianStats,
    gaussian_log_density,
    logsumexp,
    multinomial_m_step,
    softmax,
    times_log,
    xlogx,
    xlogy,
)
from topicture.models.em.tokens import tokens_log_density
from topicture.models.regions.estimator import GaussianTopics
from topicture.models.regions.gaussian_lda import (
    centre_of,
    expected_log_words,
    update_gaussians,
    update_words,
    word_means,
    words_log_prior,
)
from topicture.models.regions.start import (
    image_means,
    start_gaussians,
    start_labels,
    start_word_params,
    start_words,
)

__all__ = ["DirichletParams", "GMMixture", "PointParams", "Prior", "Stats", "Tables", "make_model"]

# --- Values ----------------------------------------------------------------------------------------------------


class Prior(NamedTuple):
    eps_pi: Any  # pseudo-count of the mixture weights
    eps: Any  # pseudo-count of words, point estimates only
    floor: Any  # (F,) least variances


class PointParams(NamedTuple):
    pi: Any  # (K,)
    mu: Any  # (K, F)
    s2: Any  # (K, F)
    beta: Any  # (K, V)


class DirichletParams(NamedTuple):
    pi: Any  # (K,)
    mu: Any  # (K, F)
    s2: Any  # (K, F)
    rho: Any  # (K, V)
    eta: Any  # ()


class Tables(NamedTuple):
    log_pi: Any  # (K,)
    mu: Any  # (K, F)
    s2: Any  # (K, F)
    centre: Any  # (F,) moments are about it
    log_beta: Any  # (V, K)


class Stats(NamedTuple):
    """Expected counts; summed over images q (K,), moments of regions (F, K), words (V, K)."""

    q: Any
    weight: Any
    first: Any
    second: Any
    words: Any


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, params: PointParams, n_images: int, n_regions: int = 5, n_words: int = 3
) -> Corpus:
    """The story above: images with this many regions and words on average, at least one of each."""
    pi, mu, s2, beta = (np.asarray(value) for value in params)
    z = rng.choice(len(pi), n_images, p=pi)
    sizes = 1 + rng.poisson(n_regions - 1, n_images)
    regions = [rng.normal(mu[k], np.sqrt(s2[k]), (n, mu.shape[1])) for k, n in zip(z, sizes, strict=True)]
    words = np.stack([rng.multinomial(1 + rng.poisson(n_words - 1), beta[k]) for k in z])
    return Corpus.from_arrays(captions=words, regions=regions)


def init_params(
    corpus: Corpus,
    n_topics: int,
    prior: Prior,
    rng: np.random.Generator,
    *,
    smoothing: str = "eb",
    eta: float = 0.1,
    start: str = "kmeans",
) -> PointParams | DirichletParams:
    """Clusters of the images' mean regions: their shares, Gaussians and captions (3.1)."""
    assert corpus.regions is not None
    some = np.flatnonzero(corpus.n_regions > 0)
    labels = start_labels(image_means(corpus), n_topics, start, rng)
    mu, s2 = start_gaussians(
        corpus.regions, np.repeat(labels, corpus.n_regions[some]), n_topics, np.asarray(prior.floor)
    )
    # One image more for every cluster: a weight of zero could never grow again.
    size = np.bincount(labels, minlength=n_topics) + 1.0
    share = sparse.csr_array((np.ones(len(some)), (some, labels)), shape=(len(corpus), n_topics))
    words = start_word_params(start_words(corpus, share), smoothing, eta, prior.eps)
    kind: Any = DirichletParams if smoothing == "eb" else PointParams
    return kind(size / size.sum(), mu, s2, *words)


# --- Learn: one image; em.py maps and sums ---------------------------------------------------------------------


def expected(params: PointParams | DirichletParams) -> Tables:
    """Logs of the weights, and ln beta or E[ln beta]."""
    return Tables(jnp.log(params.pi), params.mu, params.s2, centre_of(params.mu), expected_log_words(params))


def init_posterior(tables: Tables, image: Image) -> Any:
    """q is found anew from the parameters in every E-step, so its start does not matter."""
    return jnp.full_like(tables.log_pi, 1 / len(tables.log_pi))


def log_joint(tables: Tables, image: Image) -> Any:
    """a_k = ln pi_k + sum_n ln N(r_n; mu_k, s2_k) + sum_v W_v l_kv, (K,)."""
    G = gaussian_log_density(image.regions, tables.mu, tables.s2)
    return tables.log_pi + image.region_mask @ G + tokens_log_density(tables.log_beta, image.words)


def e_step(tables: Tables, image: Image, q: Any) -> tuple[Any, Stats]:
    """q = softmax(a), exact."""
    q = softmax(log_joint(tables, image))
    return q, statistics(tables, image, q)


def statistics(tables: Tables, image: Image, q: Any) -> Stats:
    """Weight q_k on every region and every word of the image."""
    n, first, second = _centred_sums(image, tables.centre)
    F = first.shape[0]
    features = jnp.arange(F)
    return Stats(
        q=q,
        weight=n * q,
        first=em.Outer(features, first, q, size=F),
        second=em.Outer(features, second, q, size=F),
        words=em.Outer(image.words.ids, image.words.counts, q, size=tables.log_beta.shape[0]),
    )


def _centred_sums(image: Image, centre: Any) -> tuple[Any, Any, Any]:
    """Number of regions of an image, sum of r - centre and of its square, (), (F,) and (F,)."""
    d = (image.regions - centre[None, :]) * image.region_mask[:, None]
    return jnp.sum(image.region_mask), jnp.sum(d, 0), jnp.sum(d * d, 0)


def elbo(tables: Tables, image: Image, q: Any) -> Any:
    """sum_k q_k (a_k - ln q_k); at q = softmax(a) it is the log evidence LSE(a)."""
    return jnp.sum(times_log(q, log_joint(tables, image)) - xlogx(q))


def m_step(params: Any, stats: Stats, prior: Prior, *, eta_update: str) -> Any:
    """pi from sum q; Gaussians from the moments (2.3); beta, or rho and eta, from q'W."""
    pi = multinomial_m_step(stats.q, prior.eps_pi, params.pi)
    moments = GaussianStats(stats.weight, stats.first.T, stats.second.T)
    mu, s2 = update_gaussians(moments, centre_of(params.mu), params, prior.floor)
    return type(params)(pi, mu, s2, *update_words(params, stats.words, prior.eps, eta_update))


def log_prior(params: Any, prior: Prior) -> Any:
    """eps_pi sum ln pi, and the words' term (3.1)."""
    return jnp.sum(xlogy(prior.eps_pi, params.pi)) + words_log_prior(params, prior.eps)


@em.model_maker
def make_model(eta_update: str = "alternate") -> em.Model:
    """The functions of the model; the same object for the same setting."""
    update = partial(m_step, eta_update=eta_update)
    return em.Model(("captions", "regions"), expected, init_posterior, e_step, elbo, update, log_prior)


# --- Use ---------------------------------------------------------------------------------------------------------


def topic_posterior(tables: tuple[Tables, Any], image: Image) -> Any:
    """p(z | image), (K,); pi for an image with neither regions nor caption."""
    return softmax(log_joint(tables[0], image))


def annotate(tables: tuple[Tables, Any], image: Image) -> Any:
    """p(w | r) = sum_k p(k | r) E[beta_kw], (V,)."""
    return topic_posterior(tables, image) @ tables[1]


def log_evidence(tables: tuple[Tables, Any], image: Image) -> Any:
    """log p(r, w) = LSE(a); with E[ln beta] in place of ln beta a lower bound."""
    return logsumexp(log_joint(tables[0], image))


# --- Estimator: no mathematics -----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class GMMixture(GaussianTopics):
    """Mixture of Gaussians over regions and multinomials over words: one topic per image.

    It has no word distribution for a single region. With n_topics = 1 it is the reference of independent regions and
    words (`GMMixture.independent`): one Gaussian, one multinomial. Untagged images take part in the fit.

    Parameters
    ----------
    n_topics : number of mixture components K
    smoothing : "eb" (Dirichlet posteriors over the topics' words) or "ml" (point estimates, which overfit as K grows)
    eta : Dirichlet parameter of "eb" to start from
    eta_update : how "eb" learns eta: "alternate", "direct" (faster, bolder) or "fixed"
    eps_words, eps_weights : pseudo-counts of the words in "ml", and of the mixture weights
    start : "kmeans" or "random" clusters
    max_iter, tol, n_init, seed : of the EM loop; the restart with the largest objective is kept
    precision : "float64" or "float32" for the E-step
    """

    name = "gm-mixture"
    params_types = (PointParams, DirichletParams)

    _: KW_ONLY
    eps_weights: float = 1e-2

    @classmethod
    def independent(cls, smoothing: str = "ml", **settings: Any) -> Self:
        """The reference of blei2003's Figure 4: one Gaussian and one multinomial for the whole collection."""
        return cls(1, **{"smoothing": smoothing, "n_init": 1, **settings})

    def transform(self, corpus: Corpus) -> np.ndarray:
        """p(z | regions) of every image, (D, K). Captions of the corpus are not looked at."""
        self._check_usable(corpus)
        return self._values(topic_posterior, corpus.without_captions(), self.n_topics)

    def log_likelihood(self, corpus: Corpus) -> np.ndarray:
        """log p(regions, caption) of every image, (D,): exact with "ml", a lower bound with "eb" smoothing."""
        self._check_usable(corpus)
        return self._values(log_evidence, corpus)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_not_negative("eps_words", "eps_weights")

    def _model(self) -> em.Model:
        return make_model(self.eta_update)

    def _prior(self) -> Prior:
        return Prior(self.eps_weights, self.eps_words, self._floor)

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Any:
        return init_params(
            corpus,
            self.n_topics,
            self._prior(),
            rng,
            smoothing=self.smoothing,
            eta=self.eta,
            start=self.start,
        )

    def _annotate_image(self) -> Callable[[Any, Image], Any]:
        return annotate

    def _tables_for_use(self) -> Any:
        return em.tables(self._model(), self.params_), word_means(self.params_)
