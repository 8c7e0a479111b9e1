r"""Link-LDA: two modalities, one vector of proportions an image [erosheva2004, shao2010]. docs/models.md 3.7 and 3.2.

theta ~ Dir(alpha); every visual token z ~ Cat(theta), f ~ Cat(B[z]); every word token v ~ Cat(theta),
w ~ Cat(Phi[v]); B[k] ~ Dir(eta_b), Phi[k] ~ Dir(eta_phi).

Symbol -> code, shape:  alpha -> alpha K | Dirichlet posteriors of B, Phi -> rB K U, rPhi K V | gamma -> gamma K
  phi of visual and word tokens -> never stored: softmax(E[log .] + h), one h (K,) for all tokens of an image
Both modalities have the same updates, so their tokens are one list and their tables one table of U + V rows. With
T = exp E[log .] and x = exp h, phi_uk = T_uk x_k / norm_u and norm = T x: a sweep is two products of the image's own
rows of T with a vector, and the statistics are T times a sum of rank-one terms (em.Outer). Values and sweeps are in
link_tokens.py; the second algorithm, collapsed variational inference, in cvb0.py; "auto" takes the one that suits the
length of the images.
Differs from the papers: alpha and, if wanted, eta_b and eta_phi are learned; untagged images take part; training may
begin with stochastic natural-gradient steps [hoffman2013]. Prediction ends an image's sweeps when its tokens no longer
move, not when its bound does.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Image, Sizes
from topicture.models.counts import cvb0
from topicture.models.counts.link_tokens import (
    Params,
    Posterior,
    Stats,
    Tables,
    even_gamma,
    init_params,
    log_weights,
    sample,
    scaled,
    share_out,
    sweeps,
    tokens_of,
    tokens_per_image,
)
from topicture.models.em import loop as em
from topicture.models.em.expfam import (
    dirichlet_expected_log,
    dirichlet_kl,
    fit_dirichlet,
    fit_symmetric_dirichlet,
)
from topicture.models.em.stochastic import StochasticAnnotator

__all__ = ["LinkLDA", "Params", "Posterior", "Settings", "Stats", "Tables", "infer", "model", "sample"]

# --- Values ----------------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """What changes the compiled code."""

    n_sweeps: int  # at most so many sweeps of an image in one E-step
    still: float = 0.0  # an image is done when a sweep moves no larger share of its tokens; 0: all sweeps
    learn_alpha: bool = True
    learn_eta: bool = False


# --- Start -----------------------------------------------------------------------------------------------------


def init_posterior(tables: Tables, image: Image) -> Posterior:
    """gamma = alpha + (number of tokens)/K, as if they were spread evenly."""
    gamma = even_gamma(tables, image)
    return Posterior(gamma, _log_proportions(gamma))


# --- Learn: one image; em.py maps and sums ---------------------------------------------------------------------


def expected(params: Params) -> Tables:
    """exp E[log B] and exp E[log Phi], one row per word, scaled."""
    return scaled(params.alpha, [dirichlet_expected_log(r) for r in (params.rB, params.rPhi)])


def e_step(settings: Settings, tables: Tables, image: Image, q: Posterior) -> tuple[Posterior, Stats]:
    """Sweeps from gamma: phi = softmax(E[log .] + Elog(gamma)), then gamma = alpha + sum of counts times phi."""
    new, tokens = sweeps(_log_proportions, settings.n_sweeps, settings.still, tables, image, q.gamma)
    return new, Stats(jnp.ones((), new.gamma.dtype), dirichlet_expected_log(new.gamma), tokens)


def elbo(tables: Tables, image: Image, q: Posterior) -> Any:
    """The bound of 3.2 at any gamma and h. As phi_uk = T_uk exp(h_k) / norm_u, its logarithms leave of it

    sum_u c_u (ln norm_u + log_top_u) + sum_k n_k (Elog(gamma)_k - h_k) - KLDir(gamma || alpha), n = sum_u c_u phi_u.
    """
    ids, c = tokens_of(tables, image)
    norm, n = share_out(tables.T[ids], c, q.h)
    likelihood = jnp.sum(c * (jnp.log(norm) + tables.log_top[ids]))
    links = jnp.sum(n * (dirichlet_expected_log(q.gamma) - q.h))
    return likelihood + links - dirichlet_kl(q.gamma, tables.alpha)


def m_step(settings: Settings, params: Params, stats: Stats, prior: Any) -> Params:
    """rB = eta_b + counts, rPhi = eta_phi + counts; then eta_b and eta_phi (2.5), then alpha (2.4)."""
    U = params.rB.shape[1]
    counts = (stats.tokens * expected(params).T).T
    rB, rPhi = params.eta_b + counts[:, :U], params.eta_phi + counts[:, U:]
    alpha, eta_b, eta_phi = params.alpha, params.eta_b, params.eta_phi
    if settings.learn_eta:
        eta_b, eta_phi = _fit_eta(eta_b, rB), _fit_eta(eta_phi, rPhi)
    if settings.learn_alpha:
        alpha = fit_dirichlet(alpha, stats.n_images, stats.log_theta)
    return Params(alpha, rB, rPhi, eta_b, eta_phi)


def log_prior(params: Params, prior: Any) -> Any:
    """- sum_k KLDir(rB_k || eta_b) - sum_k KLDir(rPhi_k || eta_phi)."""
    return -jnp.sum(dirichlet_kl(params.rB, params.eta_b)) - jnp.sum(
        dirichlet_kl(params.rPhi, params.eta_phi)
    )


@em.model_maker
def model(settings: Settings) -> em.Model:
    """The model with the given settings; the same object every time. It has no prior beyond its parameters."""

    def e_step_(tables, image, q):
        return e_step(settings, tables, image, q)

    def m_step_(params, stats, prior):
        return m_step(settings, params, stats, prior)

    return em.Model(("captions", "visual_words"), expected, init_posterior, e_step_, elbo, m_step_, log_prior)


def _log_proportions(gamma: Any) -> Any:
    return log_weights(dirichlet_expected_log(gamma))


def _fit_eta(eta: Any, r: Any) -> Any:
    return fit_symmetric_dirichlet(eta, r.shape[0], r.shape[1], jnp.sum(dirichlet_expected_log(r)))


# --- Use ---------------------------------------------------------------------------------------------------------

COLD = Settings(n_sweeps=100, still=1e-6)  # inference at prediction time (2.6)


def infer(settings: Settings, tables: Tables, image: Image) -> Posterior:
    """q of an image under frozen topics, from a cold start."""
    return e_step(settings, tables, image, init_posterior(tables, image))[0]


def word_means(params: Params) -> np.ndarray:
    """E[Phi], (K, V): what predictions use (2.10)."""
    rPhi = np.asarray(params.rPhi)
    return rPhi / rPhi.sum(axis=1, keepdims=True)


def proportions(tables: tuple[Tables, Any], image: Image) -> Any:
    """E[theta] = gamma / sum gamma, (K,)."""
    gamma = infer(COLD, tables[0], image).gamma
    return gamma / jnp.sum(gamma)


def annotate(tables: tuple[Tables, Any], image: Image) -> Any:
    """p(w | image) = sum_k E[theta_k] E[Phi_kw], (V,)."""
    return proportions(tables, image) @ tables[1]


def bound(tables: tuple[Tables, Any], image: Image) -> Any:
    """A lower bound of log p(visual words, caption) under the topics' posteriors."""
    return elbo(tables[0], image, infer(COLD, tables[0], image))


# --- Estimator: no mathematics -----------------------------------------------------------------------------------

ALGORITHMS = ("variational", "cvb0")
# Tokens per image from which mean field is the better choice: where they are few it takes what is left open about the
# proportions for settled, and long first steps settle the topics by that. Measured in docs/models.md 3.7.
SHORT_IMAGES = 100.0


@dataclass(eq=False, repr=False)
class LinkLDA(StochasticAnnotator):
    """Link-LDA: latent Dirichlet allocation over visual words and caption words; untagged images take part in the fit.

    Parameters
    ----------
    n_topics : number of topics K
    alpha : Dirichlet parameter of the proportions, to start from
    eta_visual, eta_words : Dirichlet parameters of the topics' distributions, to start from
    learn_alpha, learn_eta : whether these are learned, by the passes over all images
    learning : "stochastic" (steps from minibatches, then passes over all images) or "batch" (passes only)
    n_epochs, batch_size : how often the stochastic steps see every image, and how many images a step sees
    tau0, kappa : step t = 0, 1, ... goes (tau0 + t)^-kappa of the way
    start : "random" or "kmeans"
    n_sweeps : sweeps over the tokens of an image in a pass
    algorithm : "variational" (mean field), or "cvb0" (collapsed: less biased on images of few tokens, alpha and the
        etas stay as they are; the objective is the log density of a mode, not a bound), or "auto": "cvb0" where
        stochastic steps are all (max_iter=0) and the images have fewer than 100 tokens on average, visual words and
        words together, else "variational"
    max_iter, tol, n_init, seed : of the passes over all images; the restart with the largest objective is kept
    precision : "float64" or "float32" for the E-step

    Attributes
    ----------
    algorithm_ : "variational" or "cvb0", whichever found the topics
    """

    name = "link-lda"
    least_part = 0.05
    needs = ("visual_words",)
    params_types = (Params,)

    algorithm_: str = field(init=False)

    _: KW_ONLY
    alpha: float = 0.05
    eta_visual: float = 0.05
    eta_words: float = 0.3
    learn_alpha: bool = True
    learn_eta: bool = False
    start: str = "random"
    n_sweeps: int = 8
    algorithm: str = "variational"

    def transform(self, corpus: Corpus, *, use_captions: bool = False) -> np.ndarray:
        """E[theta] of every image, (D, K), from its visual words alone or, if wanted, with its caption.

        With captions, training images get the proportions that the fit gave them (the transductive estimate).
        """
        self._check_usable(corpus)
        seen = corpus if use_captions else corpus.without_captions()
        fn = cvb0.proportions if self._is_collapsed() else proportions
        return self._values(fn, seen, self.n_topics)

    def log_likelihood(self, corpus: Corpus) -> np.ndarray:
        """A lower bound of log p(visual words, caption) of every image, (D,), from q(theta), whatever the algorithm."""
        self._check_usable(corpus)
        tables = em.tables(model(COLD), self.params_), word_means(self.params_)
        found = np.zeros(len(corpus))
        for rows, values in em.map_images(bound, tables, self._batches(corpus)):
            found[rows] = values
        return found

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("start", ("random", "kmeans"))
        self._check_choice("algorithm", (*ALGORITHMS, "auto"))
        self._check_steps("n_sweeps")
        for name in ("alpha", "eta_visual", "eta_words"):
            self._require(name, getattr(self, name) >= 1e-3, "be at least 0.001")

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        self.algorithm_ = self._settled_algorithm(corpus)
        super()._fit(corpus, callback)

    def _settled_algorithm(self, corpus: Corpus) -> str:
        if self.algorithm != "auto":
            return self.algorithm
        # Passes over all images would bring CVB0 to its mode, which fits images of few tokens all too well.
        has_passes = self.learning == "batch" or self.max_iter > 0
        return "variational" if has_passes or tokens_per_image(corpus) >= SHORT_IMAGES else "cvb0"

    def _is_collapsed(self) -> bool:
        return getattr(self, "algorithm_", self.algorithm) == "cvb0"

    def _model(self) -> em.Model:
        if self._is_collapsed():
            return cvb0.model(self.n_sweeps)
        return model(Settings(self.n_sweeps, learn_alpha=self.learn_alpha, learn_eta=self.learn_eta))

    def _first_model(self) -> em.Model:
        if self._is_collapsed():
            return cvb0.model(self.n_sweeps)
        # While the topics are still alike, so are the proportions, and alpha would run away: it is learned later.
        return model(Settings(self.n_sweeps, learn_alpha=False))

    def _prior(self) -> Any:
        return None

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Params:
        etas = self.eta_visual, self.eta_words
        return init_params(corpus, self.n_topics, self.alpha, etas, self.start, rng)

    def _width(self, sizes: Sizes) -> int:
        return max(1, sizes.visual + sizes.words)

    def _tables_for_use(self) -> Any:
        return em.tables(self._model(), self.params_), word_means(self.params_)

    def _annotate_image(self) -> Callable[[Any, Image], Any]:
        return cvb0.annotate if self._is_collapsed() else annotate

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._state()
        return arrays, {**facts, "algorithm": self.algorithm_}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        # Files from before "auto" have only the parameter.
        self.algorithm_ = facts.get("algorithm", self.algorithm)
        self._check_choice("algorithm_", ALGORITHMS)
