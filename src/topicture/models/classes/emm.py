r"""Exponential-Multinomial Mixture [yang2010] by maximum likelihood, EMM_m. Sections: docs/models.md (3.17).

theta_c ~ Exp(rate lam_c), lam_c ~ Gamma(chi1, rate chi2); regions and labels as in class_topics.py.

Symbol -> code, shape:  lam -> lam C | g, r -> g, r L, shapes and scales of Gammas q(theta_c) | zeta = E sum theta
Norms: "jensen" keeps the normaliser of theta in the bound, by -M E ln sum theta >= -M ln sum_c g_c r_c; "dropped" is
the paper's bound with its Eq. (7) turned the right way up. That is no bound, depends on the scale of lam, and learning
lam with it drives lam to 0, so lam stays as it is. "equal" is "jensen" for equal rates, in closed form.
Differs from the paper: the normaliser (unless "dropped"); E[ln beta] where it has ln beta; the labels' partition
function (unless "printed"); w >= 0. Its estimate theta^ = [(g - 1) r]_+ = s r has no exact zeros, because s > 0; the
mode of theta with z summed out (score "map") does. With equal rates theta / sum theta is Dir(1, ..., 1): EMM is then
DBA with alpha = 1.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.models.classes import class_topics
from topicture.models.classes.estimator import ClassAnnotator
from topicture.models.classes.gamma import gamma_expected_log, gamma_exponential_kl, jensen_scale
from topicture.models.classes.sample import sample_corpus
from topicture.models.classes.values import ClassPrior, Proportions, Settings, Stats, Tables, spread, take
from topicture.models.em import loop as em

__all__ = ["EMM", "THETA", "ExponentialMixture", "GammaTheta", "Params", "ThetaStats", "make_model", "sample"]

# --- Values ----------------------------------------------------------------------------------------------------


class Params(NamedTuple):
    mu: Any  # (C, U)
    eta: Any
    lam: Any  # (C,)
    w: Any  # (C,)


class GammaTheta(NamedTuple):
    """q(theta): Gamma(shape g, scale r) for the classes in play; for the others g = 1, r = zeta / (lam zeta + M)."""

    g: Any  # (L,)
    r: Any  # (L,), or one for all where rates are equal
    zeta: Any


class ThetaStats(NamedTuple):
    n: Any  # number of images
    mean: Any  # (C,) sum of g_c r_c


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, params: Params, n_images: int, n_regions: int = 4, n_visual: int = 20
) -> Corpus:
    """The story above, beta = E[beta]: images with this many regions of this many visual words on average."""
    thetas = rng.exponential(1 / np.asarray(params.lam), (n_images, len(params.lam)))
    return sample_corpus(rng, thetas, np.asarray(params.mu), np.asarray(params.w), n_regions, n_visual)


# --- Learn: the theta part of one image ------------------------------------------------------------------------


def fit_theta(norm: str, lam: Any, s: Any, M: Any, classes: Any) -> GammaTheta:
    """g = 1 + s; r = zeta / (lam zeta + M) with zeta the root of sum_c g_c / (lam_c zeta + M) = 1, or r = 1 / lam.

    "equal": sum_c g_c = C + M, so that zeta = C / lam.
    """
    g = 1 + s
    if norm == "dropped":
        return GammaTheta(g, 1 / take(lam, classes), jnp.ones((), s.dtype))
    if norm == "equal":
        zeta = len(lam) / lam[0]
        return GammaTheta(g, _prior_scale(lam[0], zeta, M), zeta)
    r, zeta = jensen_scale(spread(classes, g, jnp.ones_like(lam)), lam, M)
    return GammaTheta(g, take(r, classes), zeta)


def expected_log_theta(lam: Any, theta: GammaTheta, classes: Any) -> Any:
    """psi(g) + ln r, (L,); the normaliser stands in `theta_bound`."""
    return gamma_expected_log(theta.g, theta.r)


def theta_bound(norm: str, lam: Any, theta: GammaTheta, M: Any, classes: Any) -> Any:
    """- KL(q(theta) || prior) - M ln E sum theta (the last for "jensen")."""
    total = -jnp.sum(gamma_exponential_kl(theta.g, theta.r, take(lam, classes)))
    if norm == "dropped":
        return total  # classes out of play have q = prior
    mass = jnp.sum(theta.g * theta.r)
    if norm == "equal":
        n_others = len(lam) - len(theta.g)  # with shape g = 1
        total += n_others * (jnp.log(lam[0] * theta.r) + 1 - lam[0] * theta.r)
        mass += n_others * theta.r
    elif classes is not None:
        r = _prior_scale(lam, theta.zeta, M)
        minus_kl = jnp.log(lam * r) + 1 - lam * r  # with shape g = 1
        total += jnp.sum(minus_kl) - jnp.sum(minus_kl[classes])
        mass += jnp.sum(r) - jnp.sum(r[classes])
    return total - M * jnp.log(mass)


def theta_stats(norm: str, lam: Any, theta: GammaTheta, M: Any, classes: Any) -> ThetaStats:
    if norm == "equal":  # rates that are learned do not stay equal, so nobody asks for the mean
        return ThetaStats(jnp.ones((), lam.dtype), jnp.zeros((), lam.dtype))
    rest = 1 / lam if norm == "dropped" else _prior_scale(lam, theta.zeta, M)
    return ThetaStats(jnp.ones((), lam.dtype), spread(classes, theta.g * theta.r, rest))


def theta_point(lam: Any, theta: GammaTheta, classes: Any) -> Any:
    """theta^ = [(g - 1) r]_+, the mode of q(theta), (C,)."""
    return spread(classes, jnp.maximum(theta.g - 1, 0) * theta.r, jnp.zeros_like(lam))


def map_step(norm: str, lam: Any, theta: Any, counts: Any, M: Any) -> Any:
    """theta_c = counts_c / (lam_c + M / sum theta), or counts_c / lam_c without the normaliser."""
    total = jnp.sum(theta)
    rate = lam if norm == "dropped" else lam + M / jnp.where(total > 0, total, 1)
    return counts / rate


def _prior_scale(lam, zeta, M):
    """r of classes without regions, shaped as lam."""
    return zeta / (lam * zeta + M)


def _theta(norm: str) -> Proportions:
    return Proportions(
        partial(fit_theta, norm),
        expected_log_theta,
        partial(theta_bound, norm),
        partial(theta_stats, norm),
        theta_point,
        partial(map_step, norm),
        even=True,  # g >= 1, so psi(g) is at least -0.58; r differs by no more than the rates do
    )


# "equal" is "jensen" where all rates are the same, which needs no search for zeta.
THETA = {norm: _theta(norm) for norm in ("jensen", "dropped", "equal")}
NORMS = ("jensen", "dropped")

# --- Learn: the corpus -----------------------------------------------------------------------------------------


def expected(params: Params) -> Tables:
    return class_topics.class_tables(params.mu, params.w, params.lam)


def m_step(norm: str, settings: Settings, params: Params, stats: Stats, prior: ClassPrior) -> Params:
    """mu, eta, lam_c = (chi1 + N - 1) / (chi2 + sum_n g_nc r_nc), w, in this order; "dropped" keeps lam."""
    mu, eta, w = class_topics.class_m_step(params.mu, params.eta, params.w, stats, prior, settings)
    lam = params.lam
    if settings.learn_prior and norm == "jensen":
        lam = (prior.chi1 + stats.theta.n - 1) / (prior.chi2 + stats.theta.mean)
    return Params(mu, eta, lam, w)


def log_prior(settings: Settings, params: Params, prior: ClassPrior) -> Any:
    """Of mu, eta and w, and sum_c [(chi1 - 1) ln lam_c - chi2 lam_c]."""
    rates = jnp.sum((prior.chi1 - 1) * jnp.log(params.lam) - prior.chi2 * params.lam)
    return class_topics.class_log_prior(params.mu, params.eta, params.w, prior, settings) + rates


@em.model_maker
def make_model(settings: Settings, norm: str = "jensen") -> em.Model:
    """The functions of one image, for the EM loop."""
    theta = THETA[norm]
    return em.Model(
        views=class_topics.VIEWS,
        expected=expected,
        init_posterior=partial(class_topics.init_posterior, settings),
        e_step=partial(class_topics.e_step, theta, settings),
        elbo=partial(class_topics.elbo, theta, settings),
        m_step=partial(m_step, norm, settings),
        log_prior=partial(log_prior, settings),
    )


# --- Estimator: no mathematics -----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ExponentialMixture(ClassAnnotator):
    """What EMM shares between learning by maximum likelihood and by the margin: the rates of theta."""

    _: KW_ONLY
    chi1: float = 2.0
    chi2: float = 1.0
    learn_lam: bool = False

    @property
    def theta(self) -> Proportions:  # type: ignore[override]
        return THETA[self._form()]

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("chi1", "chi2")

    def _model(self) -> em.Model:
        return make_model(self._settings(), self._form())

    @abstractmethod
    def _form(self) -> str:
        """Which form of q(theta): a key of THETA."""

    def _prior(self) -> ClassPrior:
        return ClassPrior(chi1=self.chi1, chi2=self.chi2)


@dataclass(eq=False, repr=False)
class EMM(ExponentialMixture):
    """Exponential-Multinomial Mixture by maximum likelihood: every word is a topic of the regions' visual words.

    Parameters
    ----------
    label : "chord" (Bernoulli labels, bounded; weights are learned) or "printed" (no partition function; weights stay)
    label_weight : the words' weight w at the start. An image's label term weighs w / (number of regions) in a region
        beside the likelihood of its visual words: a large one keeps a tagged image's regions to its own tags
    norm : "jensen" (a bound of the likelihood) or "dropped" (the paper's, without the normaliser; rates stay 1)
    score : what ranks the words, times their weights: "theta" (the paper's [(g - 1) r]_+), "zbar" (mean of the
        regions' responsibilities) or "map" (mode of theta, with exact zeros)
    chi1, chi2 : shape and rate of the Gamma prior of the rates; `learn_lam` to learn the rates
    eta : Dirichlet parameter of the visual distributions at the start; `learn_eta` to learn it
    n_sweeps, n_sweeps_use : sweeps over an image, in training (where they go on from the last iteration) and in use
    n_candidates : classes in play for an image, its own tags among them; 0 for all. Needed for thousands of words
    max_iter, tol : of the EM loop
    precision : "float64" or "float32" for the E-step

    Attributes
    ----------
    params_ : Params; row c of mu is the Dirichlet posterior of the visual words of vocabulary_[c]
    """

    name = "emm-ml"
    params_types = (Params,)

    _: KW_ONLY
    label: str = "printed"
    label_weight: float = 500.0
    norm: str = "jensen"

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("label", ("chord", "printed"))
        self._check_positive("label_weight")
        self._check_choice("norm", NORMS)

    def _settings(self) -> Settings:
        return Settings(
            label=self.label,
            n_sweeps=self.n_sweeps,
            n_candidates=self.n_candidates,
            learn_eta=self.learn_eta,
            learn_prior=self.learn_lam,
        )

    def _form(self) -> str:
        # Rates start equal, and stay so unless they are learned.
        return "equal" if self.norm == "jensen" and not self.learn_lam else self.norm

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Params:
        C = corpus.n_words
        mu = class_topics.init_mu(corpus, self.eta)
        return Params(mu, np.float64(self.eta), np.ones(C), np.full(C, float(self.label_weight)))
