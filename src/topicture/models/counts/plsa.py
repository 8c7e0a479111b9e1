r"""pLSA on visual words and caption words together [hofmann2001, monay2004]. Equations: docs/models.md 3.4.

Each of the n_dx occurrences of term x in image d: z ~ Cat(theta[d]); x ~ Cat(phi[z]). theta[d] is a parameter of the
image, not a random variable, so a new image must be folded in: EM on its theta alone.

Symbol -> code, shape:  theta -> theta K, one per image | phi -> phiW K V, phiF K U | p(z) -> p_z K | R_dx -> R n
Two variants: "concat" (words and visual words are one vocabulary, [phiW phiF] sums to one) and "linked" (theta is
shared, phiW and phiF each sum to one). Tempered EM raises theta and phi to a power b <= 1 inside the
responsibilities; the objective is then sum n (1/b) ln sum_k (theta_k phi_kx)^b, which EM never lowers either.
Differs from the papers: pseudo-counts; images start at the uniform theta, and random phi break the symmetry.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches, Image, Tokens
from topicture.models.em import loop as em
from topicture.models.em.expfam import multinomial_m_step, xlogy

__all__ = ["Params", "Posterior", "Prior", "Settings", "Stats", "Tables", "annotate", "fold_in", "model"]

# --- Values ----------------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """What distinguishes one pLSA from another; a compilation key."""

    variant: str = "linked"  # or "concat"
    modalities: tuple[str, ...] = ("words", "visual")  # which counts of an image take part
    learn: tuple[str, ...] = ("theta", "phi")  # what EM improves; the rest stays
    power: float = 1.0  # b of tempered EM


class Prior(NamedTuple):
    eps: Any  # pseudo-count of phi


class Params(NamedTuple):
    p_z: Any  # (K,) weight of the topics in the training images, for an image without counts
    phiW: Any  # (K, V)
    phiF: Any  # (K, U)


class Tables(NamedTuple):
    """phi to the power b, one row a term."""

    words: Any  # (V, K)
    visual: Any  # (U, K)


class Posterior(NamedTuple):
    """theta of one image, which goes with the present phi, and the one that goes with the next (both from old R)."""

    theta: Any  # (K,)
    next: Any  # (K,)


class Stats(NamedTuple):
    """Sums over images: n theta (K,), and R_dx theta^b of the terms, (V, K) and (U, K)."""

    theta: Any
    words: Any
    visual: Any


# --- Start -----------------------------------------------------------------------------------------------------


def sample(rng: np.random.Generator, params: Params, n_images: int, n_visual=30, n_words=10) -> Corpus:
    """The story of the linked variant, theta ~ Dir(p_z)."""
    theta = rng.dirichlet(params.p_z, n_images)
    words = np.stack([rng.multinomial(n_words, t @ params.phiW) for t in theta])
    visual = np.stack([rng.multinomial(n_visual, t @ params.phiF) for t in theta])
    return Corpus.from_arrays(captions=words, visual_words=visual)


def init_params(corpus: Corpus, n_topics: int, variant: str, rng: np.random.Generator) -> Params:
    """phi rows: half the empirical distribution, half a draw from Dir(1)."""
    counts = [corpus.captions, corpus.visual_words]
    totals = [np.asarray(block.sum(axis=0)).ravel() for block in counts]
    if variant == "concat":
        phi = np.split(_rows(np.concatenate(totals), n_topics, rng), [len(totals[0])], axis=1)
    else:
        phi = [_rows(total, n_topics, rng) for total in totals]
    return Params(np.full(n_topics, 1 / n_topics), *phi)


def _rows(totals: np.ndarray, n_topics: int, rng: np.random.Generator) -> np.ndarray:
    size = len(totals)
    empirical = totals / totals.sum() if totals.sum() > 0 else np.full(size, 1 / size)
    return 0.5 * empirical + 0.5 * rng.dirichlet(np.ones(size), n_topics)


# --- Learn: one image; em.py maps and sums ---------------------------------------------------------------------


@em.model_maker
def model(settings: Settings) -> em.Model:
    """The EM model of these settings; the same object for the same settings."""
    names = {"words": "captions", "visual": "visual_words"}
    b = settings.power

    def expected(params: Params) -> Tables:
        return Tables(params.phiW.T**b, params.phiF.T**b)

    def init_posterior(tables: Tables, image: Image) -> Posterior:
        K = tables.words.shape[1]
        uniform = jnp.full(K, 1 / K, tables.words.dtype)
        return Posterior(uniform, uniform)

    def e_step(tables: Tables, image: Image, q: Posterior) -> tuple[Posterior, Stats]:
        return _e_step(settings, tables, image, q.next)

    def elbo(tables: Tables, image: Image, q: Posterior) -> Any:
        return sum(_log_likelihood(t, table, q.theta, b) for t, table in _terms(settings, tables, image))

    def m_step(params: Params, stats: Stats, prior: Prior) -> Params:
        return _m_step(settings, params, stats, prior)

    def log_prior(params: Params, prior: Prior) -> Any:
        learned = [
            phi
            for name, phi in (("words", params.phiW), ("visual", params.phiF))
            if name in settings.modalities
        ]
        return sum(jnp.sum(xlogy(prior.eps, phi)) for phi in learned) if "phi" in settings.learn else 0.0

    views = tuple(names[modality] for modality in settings.modalities)
    return em.Model(views, expected, init_posterior, e_step, elbo, m_step, log_prior)


def _e_step(settings: Settings, tables: Tables, image: Image, theta: Any) -> tuple[Posterior, Stats]:
    """theta_k <- theta_k (R phi')_k normalised, and the statistics of phi, both from the old theta and phi."""
    power = theta**settings.power
    pull, total, parts = jnp.zeros_like(theta), jnp.zeros((), theta.dtype), {}
    for name, (tokens, table) in zip(settings.modalities, _terms(settings, tables, image), strict=True):
        R, rows = _ratios(tokens, table, power)
        pull, total = pull + rows, total + jnp.sum(tokens.counts)
        parts[name] = em.Outer(tokens.ids, R, power, size=table.shape[0])
    new = power * pull
    mass = jnp.sum(new)
    usable = (mass > 0) & ("theta" in settings.learn)
    new = jnp.where(usable, new / jnp.where(mass > 0, mass, 1), theta)
    none = jnp.zeros((), theta.dtype)
    stats = Stats(total * new, parts.get("words", none), parts.get("visual", none))
    return Posterior(theta, new), stats


def _m_step(settings: Settings, params: Params, stats: Stats, prior: Prior) -> Params:
    """phi_kx <- phi_kx^b (theta^b' R)_kx + eps, normalised over the terms of the variant."""
    mass = jnp.sum(stats.theta)
    p_z = jnp.where(mass > 0, stats.theta / jnp.where(mass > 0, mass, 1), params.p_z)
    if "phi" not in settings.learn:
        return Params(p_z, params.phiW, params.phiF)
    old = {"words": params.phiW, "visual": params.phiF}
    counts = {name: old[name] ** settings.power * getattr(stats, name).T for name in settings.modalities}
    if settings.variant == "concat":
        both = multinomial_m_step(
            jnp.concatenate([counts["words"], counts["visual"]], axis=1),
            prior.eps,
            jnp.concatenate([params.phiW, params.phiF], axis=1),
        )
        return Params(p_z, *jnp.split(both, [params.phiW.shape[1]], axis=1))
    new = {name: multinomial_m_step(counts[name], prior.eps, old[name]) for name in counts}
    return Params(p_z, new.get("words", params.phiW), new.get("visual", params.phiF))


def _terms(settings: Settings, tables: Tables, image: Image) -> list[tuple[Tokens, Any]]:
    return [(getattr(image, name), getattr(tables, name)) for name in settings.modalities]


# Tokens that one step of a scan adds up: XLA then runs along K (see tokens.py).
_UNROLL = 8


def _ratios(tokens: Tokens, table: Any, theta: Any) -> tuple[Any, Any]:
    """R_x = n_x / (theta phi)_x of every token, 0 where either is 0, and sum_x R_x phi_x, (K,)."""

    def add(total, piece):
        ratios = []
        for i in range(piece.ids.shape[0]):
            row = table[piece.ids[i]]
            mixture = jnp.sum(row * theta)
            R = jnp.where(mixture > 0, piece.counts[i] / jnp.where(mixture > 0, mixture, 1), 0)
            total = total + R * row
            ratios.append(R)
        return total, jnp.stack(ratios)

    n, start = tokens.ids.shape[0], jnp.zeros_like(theta)
    if n == 0:
        return jnp.zeros(0, theta.dtype), start
    if n <= 2 * _UNROLL or n % _UNROLL:
        total, R = add(start, tokens)
        return R, total
    total, R = jax.lax.scan(add, start, jax.tree.map(lambda x: x.reshape(-1, _UNROLL), tokens))
    return R.reshape(-1), total


def _log_likelihood(tokens: Tokens, table: Any, theta: Any, b: float) -> Any:
    """sum_x n_x (1/b) ln sum_k (theta_k phi_kx)^b; a term that no topic knows is ignored, as in `_ratios`."""
    mixture = table[tokens.ids] @ theta**b
    return jnp.sum(xlogy(tokens.counts, jnp.where(mixture > 0, mixture, 1))) / b


def posteriors(batches: Batches, theta: np.ndarray) -> list[Posterior]:
    """Given theta (D, K) as the posteriors that em.fit starts from."""
    starts = []
    for chunk in batches:
        lead, K = chunk.image.weight.shape, theta.shape[1]
        padded = np.full((lead[0] * lead[1], K), 1 / K, batches.dtype)
        padded[: len(chunk.rows)] = theta[chunk.rows]
        starts.append(Posterior(padded.reshape(*lead, K), padded.reshape(*lead, K)))
    return starts


def thetas(batches: Batches, posteriors: Sequence[Posterior]) -> np.ndarray:
    """theta (D, K) of the images, from the posteriors of a fit."""
    n_images = sum(len(chunk.rows) for chunk in batches)
    theta = np.empty((n_images, posteriors[0].theta.shape[-1]))
    for chunk, q in zip(batches, posteriors, strict=True):
        theta[chunk.rows] = em.unstack(q.theta, len(chunk.rows))
    return theta


# --- Use ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def fold_in(n_steps: int, power: float = 1.0) -> Callable[[tuple[Tables, Any, Any], Image], Any]:
    """tables, image -> theta (K,) from its visual words: this many EM steps from the uniform theta, phi fixed.

    An image without a visual word that some topic knows gets p(z).
    """
    settings = Settings(modalities=("visual",), learn=("theta",), power=power)

    def theta(tables: tuple[Tables, Any, Any], image: Image) -> Any:
        tables_, p_z, _ = tables
        start = model(settings).init_posterior(tables_, image)

        def step(_, q):
            return _e_step(settings, tables_, image, q.next)[0]

        q = jax.lax.fori_loop(0, n_steps, step, start)
        known = image.visual.counts * (tables_.visual.sum(axis=1) > 0)[image.visual.ids]
        return jnp.where(jnp.sum(known) > 0, q.next, p_z)

    return theta


@lru_cache(maxsize=64)
def annotate(n_steps: int, power: float = 1.0) -> Callable[[tuple[Tables, Any, Any], Image], Any]:
    """tables, image -> p(w) (V,) = sum_k theta_k phi_kw, normalised over the words."""
    fold = fold_in(n_steps, power)

    def p_w(tables: tuple[Tables, Any, Any], image: Image) -> Any:
        _, p_z, phiW = tables
        own, prior = fold(tables, image) @ phiW, p_z @ phiW
        # "concat" without pseudo-counts: the image's topics may hold no word at all.
        words = jnp.where(jnp.sum(own) > 0, own, prior)
        return words / jnp.sum(words)

    return p_w
