r"""Dirichlet-Bernoulli Alignment, DBA. Sections: docs/models.md (3.16).

theta ~ Dir(alpha); regions and labels as in class_topics.py.

Symbol -> code, shape:  alpha -> alpha C | gamma -> gamma L, Dirichlet parameters of q(theta) of the classes in play
Differs from the paper: [yang2010] only describes DBA as a rival; the labels' likelihood is a reconstruction (3.16).
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.models.classes import class_topics
from topicture.models.classes.estimator import ClassAnnotator
from topicture.models.classes.sample import sample_corpus
from topicture.models.classes.values import ClassPrior, Proportions, Settings, Stats, Tables, spread, take
from topicture.models.em import loop as em
from topicture.models.em.expfam import digamma, fit_dirichlet, log_gamma

__all__ = ["DBA", "THETA", "Params", "ThetaStats", "make_model", "sample"]

# --- Values ----------------------------------------------------------------------------------------------------


class Params(NamedTuple):
    mu: Any  # (C, U)
    eta: Any
    alpha: Any  # (C,)
    w: Any  # (C,)


class ThetaStats(NamedTuple):
    """sum_n Elog(gamma_n)_c = n psi(alpha_c) + rise_c - total."""

    n: Any  # number of images
    rise: Any  # (C,) sum of psi(gamma_c) - psi(alpha_c)
    total: Any  # sum of psi(sum_c gamma_c)


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, params: Params, n_images: int, n_regions: int = 4, n_visual: int = 20
) -> Corpus:
    """The story above, beta = E[beta]: images with this many regions of this many visual words on average."""
    thetas = rng.dirichlet(np.asarray(params.alpha), n_images)
    return sample_corpus(rng, thetas, np.asarray(params.mu), np.asarray(params.w), n_regions, n_visual)


# --- Learn: the theta part of one image ------------------------------------------------------------------------


def fit_theta(alpha: Any, s: Any, M: Any, classes: Any) -> Any:
    """gamma = alpha + sum_m phi_m, (L,)."""
    return take(alpha, classes) + s


def expected_log_theta(alpha: Any, gamma: Any, classes: Any) -> Any:
    """Elog(gamma)_c, (L,)."""
    return digamma(gamma) - digamma(_total(alpha, gamma, classes))


def theta_bound(alpha: Any, gamma: Any, M: Any, classes: Any) -> Any:
    """- KLDir(gamma || alpha); a class out of play has gamma = alpha, and only enters through the totals."""
    a = take(alpha, classes)
    log_b = jnp.sum(log_gamma(gamma) - log_gamma(a))
    log_b += log_gamma(jnp.sum(alpha)) - log_gamma(_total(alpha, gamma, classes))
    return log_b - jnp.sum((gamma - a) * expected_log_theta(alpha, gamma, classes))


def theta_stats(alpha: Any, gamma: Any, M: Any, classes: Any) -> ThetaStats:
    rise = digamma(gamma) - digamma(take(alpha, classes))
    return ThetaStats(
        n=jnp.ones((), gamma.dtype),
        rise=spread(classes, rise, jnp.zeros_like(alpha)),
        total=digamma(_total(alpha, gamma, classes)),
    )


def theta_point(alpha: Any, gamma: Any, classes: Any) -> Any:
    """E theta = gamma / sum gamma, (C,)."""
    return spread(classes, gamma, alpha) / _total(alpha, gamma, classes)


def map_step(alpha: Any, theta: Any, counts: Any, M: Any) -> Any:
    """theta_c proportional to [alpha_c - 1 + counts_c]_+: exact zeros where alpha_c < 1."""
    new = jnp.maximum(alpha - 1 + counts, 0)
    total = jnp.sum(new)
    return jnp.where(total > 0, new / jnp.where(total > 0, total, 1), theta)


def _total(alpha, gamma, classes):
    """sum of gamma over all classes."""
    total = jnp.sum(gamma)
    return total if classes is None else total + jnp.sum(alpha) - jnp.sum(alpha[classes])


THETA = Proportions(
    fit_theta, expected_log_theta, theta_bound, theta_stats, theta_point, map_step, even=False
)

# --- Learn: the corpus -----------------------------------------------------------------------------------------


def expected(params: Params) -> Tables:
    return class_topics.class_tables(params.mu, params.w, params.alpha)


def m_step(settings: Settings, params: Params, stats: Stats, prior: ClassPrior) -> Params:
    """mu, eta, alpha (2.4), w, in this order."""
    mu, eta, w = class_topics.class_m_step(params.mu, params.eta, params.w, stats, prior, settings)
    alpha = params.alpha
    if settings.learn_prior:
        n, rise, total = stats.theta
        alpha = fit_dirichlet(alpha, n, n * digamma(alpha) + rise - total)
    return Params(mu, eta, alpha, w)


def log_prior(settings: Settings, params: Params, prior: ClassPrior) -> Any:
    return class_topics.class_log_prior(params.mu, params.eta, params.w, prior, settings)


@em.model_maker
def make_model(settings: Settings) -> em.Model:
    """The functions of one image, for the EM loop."""
    return em.Model(
        views=class_topics.VIEWS,
        expected=expected,
        init_posterior=partial(class_topics.init_posterior, settings),
        e_step=partial(class_topics.e_step, THETA, settings),
        elbo=partial(class_topics.elbo, THETA, settings),
        m_step=partial(m_step, settings),
        log_prior=partial(log_prior, settings),
    )


# --- Estimator: no mathematics -----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class DBA(ClassAnnotator):
    """Dirichlet-Bernoulli Alignment: every word of the vocabulary is a topic of the regions' visual words.

    Parameters
    ----------
    label : "chord" (Bernoulli labels, bounded; weights are learned) or "printed" (no partition function; weights stay)
    label_weight : the words' weight w at the start. An image's label term weighs w / (number of regions) in a region
        beside the likelihood of its visual words: a large one keeps a tagged image's regions to its own tags
    score : what ranks the words, times their weights: "theta" (mean proportions), "zbar" (mean of the regions'
        responsibilities) or "map" (mode of theta, with exact zeros)
    alpha : Dirichlet parameter of the proportions at the start; `learn_alpha` to learn it
    eta : Dirichlet parameter of the visual distributions at the start; `learn_eta` to learn it
    n_sweeps, n_sweeps_use : sweeps over an image, in training (where they go on from the last iteration) and in use
    n_candidates : classes in play for an image, its own tags among them; 0 for all. Needed for thousands of words
    max_iter, tol : of the EM loop
    precision : "float64" or "float32" for the E-step

    Attributes
    ----------
    params_ : Params; row c of mu is the Dirichlet posterior of the visual words of vocabulary_[c]
    """

    name = "dba"
    params_types = (Params,)
    theta = THETA

    _: KW_ONLY
    label: str = "printed"
    label_weight: float = 500.0
    alpha: float = 1.0
    learn_alpha: bool = False

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("label", ("chord", "printed"))
        self._check_positive("label_weight")
        self._check_positive("alpha")

    def _settings(self) -> Settings:
        return Settings(
            label=self.label,
            n_sweeps=self.n_sweeps,
            n_candidates=self.n_candidates,
            learn_eta=self.learn_eta,
            learn_prior=self.learn_alpha,
        )

    def _model(self) -> em.Model:
        return make_model(self._settings())

    def _prior(self) -> ClassPrior:
        return ClassPrior()

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Params:
        C = corpus.n_words
        mu = class_topics.init_mu(corpus, self.eta)
        return Params(
            mu, np.float64(self.eta), np.full(C, float(self.alpha)), np.full(C, float(self.label_weight))
        )
