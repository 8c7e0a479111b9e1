r"""What GM-LDA and Corr-LDA share [blei2003annotated]; sections: docs/models.md (3.2, 3.3).

theta ~ Dir(alpha); z_n ~ Cat(theta); r_n ~ N(mu[z_n], s2[z_n]): the same story of the regions, the same parameters,
M-step and start. The models differ in how words come from topics, which their files say in a `Story`: posterior,
sweep, bound. This file runs sweeps to convergence and makes from a Story the functions that em.py maps over images.

A topic's words are a point estimate beta_k ("ml"), or a Dirichlet posterior Dir(rho_k) under the exchangeable prior
Dir(eta) whose eta is learned by empirical Bayes ("eb"). Parameters are tuples that end in (beta,) or (rho, eta);
functions of words and Gaussians take them whole and look at those fields only, so that GM-Mixture shares them.

Symbol -> code, shape:  alpha -> alpha K | mu, s2 -> mu, s2 K F | beta -> beta K V, or rho K V and eta ()
  e -> e K, E[ln theta] | G -> G N K, ln N(r_n; k) | l -> l M K, (E of) ln beta of the image's words | c -> c M
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus.batches import Image
from topicture.models.em import loop as em
from topicture.models.em.expfam import (
    GaussianStats,
    dirichlet_expected_log,
    dirichlet_kl,
    fit_dirichlet,
    fit_dirichlet_multinomial,
    fit_symmetric_dirichlet,
    gaussian_log_density,
    gaussian_m_step,
    multinomial_m_step,
    xlogy,
)

__all__ = [
    "Answers",
    "DirichletParams",
    "PointParams",
    "Prior",
    "Seen",
    "Stats",
    "Story",
    "Tables",
    "centre_of",
    "expected_log_words",
    "make_infer",
    "make_model",
    "observe",
    "update_gaussians",
    "update_words",
    "word_means",
    "words_log_prior",
]

# Inference for a new image (2.6).
NEW_IMAGE_SWEEPS, NEW_IMAGE_TOL = 100, 1e-6

# --- Values ----------------------------------------------------------------------------------------------------


class Prior(NamedTuple):
    eps: Any  # pseudo-count of words, point estimates only
    floor: Any  # (F,) least variances


class PointParams(NamedTuple):
    alpha: Any  # (K,)
    mu: Any  # (K, F)
    s2: Any  # (K, F)
    beta: Any  # (K, V)


class DirichletParams(NamedTuple):
    alpha: Any  # (K,)
    mu: Any  # (K, F)
    s2: Any  # (K, F)
    rho: Any  # (K, V)
    eta: Any  # ()


class Tables(NamedTuple):
    alpha: Any  # (K,)
    mu: Any  # (K, F)
    s2: Any  # (K, F)
    centre: Any  # (F,) moments are about it
    log_beta: Any  # (V, K)


class Seen(NamedTuple):
    """What the sweeps of one image read; it does not change between them."""

    alpha: Any  # (K,)
    G: Any  # (N, K) ln N(r_n; mu_k, s2_k)
    mask: Any  # (N,) 1 for a region
    l: Any  # (M, K) ln beta, or E[ln beta], of the image's distinct words
    c: Any  # (M,) their counts


class Stats(NamedTuple):
    """Expected statistics, summed over images."""

    n: Any  # () images that count for alpha
    log_theta: Any  # (K,) their E[ln theta]
    regions: GaussianStats  # about tables.centre
    words: Any  # (V, K)


class Story(NamedTuple):
    """Where GM-LDA and Corr-LDA differ. q is the model's own tuple with fields gamma (K,) and phi (N, K)."""

    init_posterior: Callable[[Seen], Any]
    sweep: Callable[[Seen, Any], Any]  # every block of q updated once
    bound: Callable[[Seen, Any], Any]  # ELBO_d; 0 for an image that the model leaves out
    used: Callable[[Seen], Any]  # 1 for an image that the model learns from
    word_topics: Callable[[Seen, Any], Any]  # (M, K) expected topics of the words, with their counts
    caption_topics: Callable[[Seen, Any], Any]  # (K,) topics of a new word of the image
    held_out: Callable[[Seen, Any], Any]  # the image's bound -> what a new image is given
    kept: tuple[str, ...]  # the fields of q that the next sweep reads


class Kept(NamedTuple):
    """What is carried from one EM iteration to the next: phi, by far the largest part of q, is not."""

    q: tuple[Any, ...]
    bound: Any


# --- Learn -----------------------------------------------------------------------------------------------------


def expected(params: PointParams | DirichletParams) -> Tables:
    """The parameters, with ln beta or E[ln beta]."""
    return Tables(params.alpha, params.mu, params.s2, centre_of(params.mu), expected_log_words(params))


def observe(tables: Tables, image: Image) -> Seen:
    """Densities of the image's regions, and the rows of its words."""
    return Seen(
        alpha=tables.alpha,
        G=gaussian_log_density(image.regions, tables.mu, tables.s2),
        mask=image.region_mask,
        l=tables.log_beta[image.words.ids],
        c=image.words.counts,
    )


def improve(story: Story, seen: Seen, q: Any, n_sweeps: int, tol: float) -> tuple[Any, Any]:
    """q after at most `n_sweeps` sweeps, and its bound.

    With tol > 0 the sweeps of an image end when its bound changes by less than that, relatively.
    """
    if tol == 0:
        q = _repeat(story, seen, q, n_sweeps)
        return q, story.bound(seen, q)

    def unfinished(state):
        _, bound, change, i = state
        return (i < n_sweeps) & (change > tol * jnp.abs(bound))

    def once_more(state):
        q, before, _, i = state
        q = story.sweep(seen, q)
        bound = story.bound(seen, q)
        return q, bound, jnp.abs(bound - before), i + 1

    # The change starts infinite and the bound at zero: an image without data, of bound zero, gets one sweep.
    start = (q, jnp.zeros((), seen.G.dtype), jnp.full((), jnp.inf, seen.G.dtype), 0)
    return jax.lax.while_loop(unfinished, once_more, start)[:2]


def _repeat(story: Story, seen: Seen, q: Any, n_sweeps: int) -> Any:
    """q after this many sweeps; all but the last leave out what the next one does not read.

    phi is most of q: a loop that carries it writes it once more in every sweep.
    """
    if n_sweeps == 0:
        return q

    def once_more(_, kept):
        new = story.sweep(seen, q._replace(**dict(zip(story.kept, kept, strict=True))))
        return tuple(getattr(new, name) for name in story.kept)

    kept = jax.lax.fori_loop(0, n_sweeps - 1, once_more, tuple(getattr(q, name) for name in story.kept))
    return story.sweep(seen, q._replace(**dict(zip(story.kept, kept, strict=True))))


def statistics(story: Story, tables: Tables, image: Image, seen: Seen, q: Any) -> Stats:
    """Weights phi_nk on the regions, the words' expected topics, and E[ln theta] for alpha."""
    used = story.used(seen)
    d = image.regions - tables.centre[None, :]
    return Stats(
        n=used,
        log_theta=used * dirichlet_expected_log(q.gamma),
        regions=GaussianStats(jnp.sum(q.phi, 0), em.Product(q.phi, d), em.Product(q.phi, d * d)),
        words=em.Scatter(image.words.ids, story.word_topics(seen, q), size=tables.log_beta.shape[0]),
    )


def m_step(params: Any, stats: Stats, prior: Prior, *, learn_alpha: bool, eta_update: str) -> Any:
    """Gaussians (2.3); beta, or rho and eta (2.2, 2.5); alpha over the images used (2.4)."""
    mu, s2 = update_gaussians(stats.regions, centre_of(params.mu), params, prior.floor)
    words = update_words(params, stats.words, prior.eps, eta_update)
    alpha = fit_dirichlet(params.alpha, stats.n, stats.log_theta) if learn_alpha else params.alpha
    return type(params)(alpha, mu, s2, *words)


def log_prior(params: Any, prior: Prior) -> Any:
    """The words' term: eps sum ln beta, or - sum_k KLDir(rho_k || eta)."""
    return words_log_prior(params, prior.eps)


@em.model_maker
def make_model(
    story: Story,
    n_sweeps: int,
    sweep_tol: float,
    learn_alpha: bool = True,
    eta_update: str = "alternate",
    keep_phi: bool = False,
) -> em.Model:
    """The functions of the model; the same object for the same setting.

    With `keep_phi` posteriors are whole, and the bound may be asked for at other parameters. Without it a posterior
    is what the next E-step reads and the bound that this one found: phi would take N K numbers per image.
    """

    def init_posterior(tables, image):
        q = story.init_posterior(observe(tables, image))
        return q if keep_phi else _keep(story, q, jnp.zeros((), tables.mu.dtype))

    def e_step(tables, image, q):
        seen = observe(tables, image)
        start = (
            q if keep_phi else story.init_posterior(seen)._replace(**dict(zip(story.kept, q.q, strict=True)))
        )
        new, bound = improve(story, seen, start, n_sweeps, sweep_tol)
        stats = statistics(story, tables, image, seen, new)
        return (new if keep_phi else _keep(story, new, bound)), stats

    def elbo(tables, image, q):
        return story.bound(observe(tables, image), q) if keep_phi else q.bound

    update = partial(m_step, learn_alpha=learn_alpha, eta_update=eta_update)
    return em.Model(("captions", "regions"), expected, init_posterior, e_step, elbo, update, log_prior)


def _keep(story: Story, q: Any, bound: Any) -> Kept:
    return Kept(tuple(getattr(q, name) for name in story.kept), bound)


# --- Words: point estimates, or Dirichlet posteriors -------------------------------------------------------------


def expected_log_words(params: Any) -> Any:
    """ln beta, or E[ln beta] under Dir(rho); one row per word, (V, K)."""
    if hasattr(params, "beta"):
        return jnp.log(params.beta).T
    return dirichlet_expected_log(params.rho).T


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


# --- Use ---------------------------------------------------------------------------------------------------------


def word_means(params: Any) -> np.ndarray:
    """beta or E[beta], (K, V): what predictions use (2.10)."""
    rows = np.asarray(params.beta if hasattr(params, "beta") else params.rho)
    return rows / rows.sum(axis=1, keepdims=True)


class Answers(NamedTuple):
    """What inference says about a new image."""

    gamma: Any  # (K,) of q(theta)
    caption: Any  # (K,) topics of a new word: p(w | r) = caption @ E[beta]
    bound: Any  # () bound on log p(r, w)


@lru_cache
def make_infer(
    story: Story, n_sweeps: int = NEW_IMAGE_SWEEPS, tol: float = NEW_IMAGE_TOL
) -> tuple[Callable[[Tables, Image], Answers], Callable[[Tables, Image], Any]]:
    """Two functions of a new image, each with inference from a cold start: its Answers, and its phi (N, K)."""

    def infer(tables, image):
        seen = observe(tables, image)
        return seen, *improve(story, seen, story.init_posterior(seen), n_sweeps, tol)

    def answers(tables, image):
        seen, q, bound = infer(tables, image)
        return Answers(q.gamma, story.caption_topics(seen, q), story.held_out(seen, bound))

    def phi(tables, image):
        return infer(tables, image)[1].phi

    return answers, phi
