"""What the two algorithms of Link-LDA share: values, the start, and sweeps over the tokens of one image.

Shapes and symbols: link_lda.py. With T a row per token type and x = exp h a weight per topic, a token's topics are
phi_uk = T_uk x_k / norm_u, norm = T x. The algorithms differ in T and in how h follows from gamma.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.models.em import loop as em
from topicture.models.em.start import clusters, soft_assignment

__all__ = [
    "Params",
    "Posterior",
    "Stats",
    "Tables",
    "even_gamma",
    "init_params",
    "log_weights",
    "sample",
    "scaled",
    "share_out",
    "sweeps",
    "tokens_of",
    "tokens_per_image",
]

# --- Values ----------------------------------------------------------------------------------------------------


class Params(NamedTuple):
    alpha: Any  # (K,)
    rB: Any  # (K, U)
    rPhi: Any  # (K, V)
    eta_b: Any  # ()
    eta_phi: Any  # ()


class Tables(NamedTuple):
    """One row a token type, visual words first. Rows are divided by their largest entry, which phi does not notice."""

    alpha: Any  # (K,)
    T: Any  # (U + V, K) exp(E[log .] - log_top)
    log_top: Any  # (U + V,)
    n_visual: Any  # () U


class Posterior(NamedTuple):
    """q of one image: theta ~ Dir(gamma), and every token's phi = softmax(E[log .] + h)."""

    gamma: Any  # (K,)
    h: Any  # (K,)


class Stats(NamedTuple):
    n_images: Any  # ()
    log_theta: Any  # (K,) sum of E[log theta]
    tokens: Any  # (U + V, K) expected counts, still to be multiplied by T


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator,
    alpha: Any,
    B: Any,
    Phi: Any,
    n_images: int,
    n_visual: int = 10,
    n_words: int = 3,
) -> Corpus:
    """The story above: images with on average so many visual words and words."""
    theta = rng.dirichlet(alpha, n_images)
    visual = np.stack([rng.multinomial(rng.poisson(n_visual), p) for p in theta @ B])
    words = np.stack([rng.multinomial(1 + rng.poisson(n_words - 1), p) for p in theta @ Phi])
    return Corpus.from_arrays(captions=words, visual_words=visual)


def init_params(
    corpus: Corpus,
    n_topics: int,
    alpha: float,
    etas: tuple[float, float],
    start: str,
    rng: np.random.Generator,
) -> Params:
    """ "random": almost flat topics. "kmeans": clusters of visual histograms, half of the mass spread evenly."""
    K, U, V = n_topics, corpus.visual_words.shape[1], corpus.n_words  # type: ignore[union-attr]
    if start == "random":
        # Noise of one part in seven: less leaves long images undecided for many passes, more decides for the topics.
        counts = rng.gamma(50.0, 1 / 50, (U + V, K))
    else:
        F = sparse.csr_array(corpus.visual_words)
        totals = np.maximum(np.asarray(F.sum(axis=1)), 1e-300)
        labels = clusters(sparse.csr_array(F.multiply(1 / totals[:, None])), K, rng)
        counts = sparse.hstack([F, corpus.captions]).T @ soft_assignment(labels, K)
    rB, rPhi = etas[0] + counts[:U].T, etas[1] + counts[U:].T
    return Params(np.full(K, alpha), rB, rPhi, np.float64(etas[0]), np.float64(etas[1]))


def tokens_per_image(corpus: Corpus) -> float:
    """Visual words and words of an image, on average over the images that have any; 0 if none has."""
    tokens = sparse.hstack([corpus.visual_words, corpus.captions]).sum(axis=1)
    return float(tokens.sum() / max(1, np.count_nonzero(tokens)))


# --- One image ---------------------------------------------------------------------------------------------------


def scaled(alpha: Any, log_rows: list[Any]) -> Tables:
    """Tables from logarithms (K, U) and (K, V), one row per word, each divided by its largest entry."""
    log_T = jnp.concatenate([rows.T for rows in log_rows])
    top = jnp.max(log_T, axis=1)
    return Tables(alpha, jnp.exp(log_T - top[:, None]), top, jnp.asarray(log_rows[0].shape[1]))


def tokens_of(tables: Tables, image: Image) -> tuple[Any, Any]:
    """Rows of T and counts of all tokens of an image, (n,): its visual words, then its words."""
    ids = jnp.concatenate([image.visual.ids, image.words.ids + tables.n_visual.astype(image.words.ids.dtype)])
    return ids, jnp.concatenate([image.visual.counts, image.words.counts])


def even_gamma(tables: Tables, image: Image) -> Any:
    """gamma = alpha + (number of tokens)/K, as if they were spread evenly."""
    _, c = tokens_of(tables, image)
    return tables.alpha + jnp.sum(c) / tables.alpha.shape[0]


def log_weights(e: Any) -> Any:
    """e less its largest entry, (K,), and not so low that norm = T exp(h) could underflow.

    Every row of T has an entry 1. With e = Elog(gamma) topics without tokens reach the floor where alpha < 1/560
    (float32: 1/70); phi then stays a distribution, and the bound a bound.
    """
    return jnp.maximum(e - jnp.max(e), 0.8 * jnp.log(jnp.finfo(e.dtype).tiny))


def share_out(rows: Any, c: Any, h: Any) -> tuple[Any, Any]:
    """norm_u = sum_k T_uk exp(h_k), (n,), and the expected counts n_k = sum_u c_u phi_uk, (K,)."""
    x = jnp.exp(h)
    norm = rows @ x
    return norm, x * ((c / norm) @ rows)


def sweeps(
    log_proportions: Callable[[Any], Any],
    n_sweeps: int,
    still: float,
    tables: Tables,
    image: Image,
    gamma: Any,
) -> tuple[Posterior, em.Outer]:
    """From gamma: phi, then gamma = alpha + sum of counts times phi; q and the tokens' topics, less the factor T.

    At most `n_sweeps`; an image is done when a sweep moves no larger share of its tokens than `still`.
    """
    ids, c = tokens_of(tables, image)
    rows = tables.T[ids]  # gathered once for all the sweeps
    enough = still * jnp.sum(c)

    def sweep(state):
        gamma, _, _, _, i = state
        h = log_proportions(gamma)
        norm, n = share_out(rows, c, h)
        new = tables.alpha + n
        return new, h, norm, jnp.sum(jnp.abs(new - gamma)), i + 1

    def unfinished(state):
        moved, i = state[-2:]
        # Without a threshold all images of a block end together, which spares the selection among them.
        return (i < n_sweeps) & (moved > enough) if still else i < n_sweeps

    start = (gamma, log_proportions(gamma), jnp.ones_like(c), jnp.full((), jnp.inf, c.dtype), 0)
    gamma, h, norm, _, _ = jax.lax.while_loop(unfinished, sweep, start)
    return Posterior(gamma, h), em.Outer(ids, c / norm, jnp.exp(h), size=tables.T.shape[0])
