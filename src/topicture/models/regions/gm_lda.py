r"""GM-LDA [blei2003annotated]. Numbers of sections and equations: docs/models.md (3.2).

theta ~ Dir(alpha); regions z_n ~ Cat(theta), r_n ~ N(mu[z_n], s2[z_n]), diagonal; words v_m ~ Cat(theta),
w_m ~ Cat(beta[v_m]). Regions and words share theta and nothing else.

Symbol -> code, shape:  gamma -> gamma K | phi -> phi N K | psi -> psi M K, one row per distinct word
  the others as in gaussian_lda.py
Differs from the paper: variances have a floor; alpha is learned. p(w | r, r_n) is a convention: given theta no word
depends on z_n, so the exact conditional is the same for every region.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.models.em.expfam import dirichlet_expected_log, dirichlet_kl, softmax, xlogx
from topicture.models.regions.estimator import GaussianLDA
from topicture.models.regions.gaussian_lda import PointParams, Seen, Story
from topicture.models.regions.sampling import sample_images

__all__ = ["GMLDA", "STORY", "Posterior", "sample"]

# --- Values ----------------------------------------------------------------------------------------------------


class Posterior(NamedTuple):
    """q of one image; phi is zero for padding."""

    gamma: Any  # (K,)
    phi: Any  # (N, K)
    psi: Any  # (M, K)


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, params: PointParams, n_images: int, n_regions: int = 5, n_words: int = 3
) -> Corpus:
    """The story above: images with this many regions and words on average, at least one of each."""
    return sample_images(
        rng, params, n_images, n_regions, n_words, lambda theta, z, m: rng.choice(len(theta), m, p=theta)
    )


def init_posterior(seen: Seen) -> Posterior:
    """gamma = alpha + (N + M)/K; phi and psi come first in a sweep and need no start."""
    gamma = seen.alpha + (jnp.sum(seen.mask) + jnp.sum(seen.c)) / seen.alpha.shape[0]
    return Posterior(gamma, jnp.zeros_like(seen.G), jnp.zeros_like(seen.l))


# --- Learn: one image ------------------------------------------------------------------------------------------


def sweep(seen: Seen, q: Posterior) -> Posterior:
    """phi_nk = softmax_k(G_nk + e_k), psi_vk = softmax_k(l_kv + e_k), gamma = alpha + sum_n phi_n + sum_v c_v psi_v."""
    e = dirichlet_expected_log(q.gamma)
    phi = softmax(seen.G + e[None, :]) * seen.mask[:, None]
    psi = softmax(seen.l + e[None, :])
    return Posterior(seen.alpha + jnp.sum(phi, 0) + seen.c @ psi, phi, psi)


def bound(seen: Seen, q: Posterior) -> Any:
    """ELBO_d (3.2)."""
    e = dirichlet_expected_log(q.gamma)
    regions = jnp.sum(q.phi * (seen.G + e[None, :]) - xlogx(q.phi))
    words = seen.c @ jnp.sum(q.psi * (seen.l + e[None, :]) - xlogx(q.psi), -1)
    return regions + words - dirichlet_kl(q.gamma, seen.alpha)


def used(seen: Seen) -> Any:
    """Every image has a theta."""
    return jnp.ones((), seen.G.dtype)


def word_topics(seen: Seen, q: Posterior) -> Any:
    """c_v psi_vk, (M, K)."""
    return seen.c[:, None] * q.psi


# --- Use -------------------------------------------------------------------------------------------------------


def caption_topics(seen: Seen, q: Posterior) -> Any:
    """The topics of p(w | r) = sum_k E[theta_k] E[beta_kw], (K,)."""
    return q.gamma / jnp.sum(q.gamma)


def held_out(seen: Seen, bound: Any) -> Any:
    """The bound of a new image, whatever it lacks."""
    return bound


STORY = Story(init_posterior, sweep, bound, used, word_topics, caption_topics, held_out, kept=("gamma",))

# --- Estimator: no mathematics -----------------------------------------------------------------------------------


class GMLDA(GaussianLDA):
    """LDA with Gaussian regions and multinomial words: both come from the image's topics, independently.

    Untagged images take part in the fit. Its words for a region follow the region's topic, by convention.

    Parameters
    ----------
    n_topics : number of topics K
    alpha, learn_alpha : Dirichlet parameter of the proportions to start from, and whether it is learned
    smoothing : "eb" (Dirichlet posteriors over the topics' words) or "ml" (point estimates)
    eta : Dirichlet parameter of "eb" to start from
    eta_update : how "eb" learns eta: "alternate", "direct" (faster, bolder) or "fixed"
    eps_words : pseudo-count of the words in "ml"
    start : "kmeans" or "random" clusters
    max_sweeps, sweep_tol : of an image's E-step; it ends when the image's bound changes by less than sweep_tol,
        relatively. With sweep_tol = 0 every image gets max_sweeps.
    max_iter, tol, n_init, seed : of the EM loop; the restart with the largest objective is kept
    precision : "float64" or "float32" for the E-step
    """

    name = "gm-lda"
    story = STORY
