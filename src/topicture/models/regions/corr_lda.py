r"""Corr-LDA [blei2003annotated]. Numbers of sections and equations: docs/models.md (3.3).

theta ~ Dir(alpha); z_n ~ Cat(theta); r_n ~ N(mu[z_n], s2[z_n]), diagonal; for every caption word a region
y_m ~ Unif(1..N) and w_m ~ Cat(beta[z[y_m]]).

Symbol -> code, shape:  gamma -> gamma K | phi -> phi N K | lambda -> lam M N, one row per distinct word
  the others as in gaussian_lda.py
Differs from the paper: the bound keeps - M ln N, which p(y_m | N) puts there; p(w | r) has the factor 1/N that the
paper leaves out; variances have a floor; alpha is learned; predictions use E[beta], not exp E[ln beta].
An image without regions has no p(y): it is left out when learning and annotated with the prior's topics.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.devices import on_cpu
from topicture.models.em.expfam import (
    digamma,
    dirichlet_expected_log,
    dirichlet_kl,
    softmax,
    times_log,
    xlogx,
)
from topicture.models.regions.estimator import GaussianLDA
from topicture.models.regions.gaussian_lda import PointParams, Seen, Story
from topicture.models.regions.sampling import sample_images

__all__ = ["STORY", "CorrLDA", "Posterior", "sample"]

# --- Values ----------------------------------------------------------------------------------------------------


class Posterior(NamedTuple):
    """q of one image; phi is zero for padding."""

    gamma: Any  # (K,)
    phi: Any  # (N, K)
    lam: Any  # (M, N)


# --- Start -----------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, params: PointParams, n_images: int, n_regions: int = 5, n_words: int = 3
) -> Corpus:
    """The story above: images with this many regions and words on average, at least one of each."""
    return sample_images(
        rng, params, n_images, n_regions, n_words, lambda theta, z, m: z[rng.integers(len(z), size=m)]
    )


def init_posterior(seen: Seen) -> Posterior:
    """gamma = alpha + N/K, lam = 1/N; phi comes first in a sweep and needs no start."""
    n = jnp.sum(seen.mask)
    gamma = seen.alpha + n / seen.alpha.shape[0]
    lam = jnp.broadcast_to(seen.mask / jnp.maximum(n, 1), (seen.c.shape[0], seen.mask.shape[0]))
    return Posterior(gamma, jnp.zeros_like(seen.G), lam)


# --- Learn: one image ------------------------------------------------------------------------------------------


def sweep(seen: Seen, q: Posterior) -> Posterior:
    """phi, gamma and lam in turn (3.3).

    phi_nk = softmax_k(G_nk + e_k + sum_v c_v lam_vn l_kv), gamma = alpha + sum_n phi_n,
    lam_vn = softmax_n(sum_k phi_nk l_kv). The softmax of phi is divided by its sums late, as a factor of the two
    products that follow: one pass less over the largest array, a fifth of the time. Of e_k = psi(gamma_k) -
    psi(sum gamma) the second term is the same for all k and leaves the softmax as it is.
    """
    e = digamma(q.gamma)
    a = seen.G + e[None, :] + _word_evidence(seen.c[:, None] * q.lam, seen.l)
    x = jnp.exp(a - jnp.max(a, -1, keepdims=True))
    scale = seen.mask / jnp.sum(x, -1)
    gamma = seen.alpha + scale @ x
    lam = softmax(_only_regions(_agreement(seen.l, x) * scale[None, :], seen.mask))
    return Posterior(gamma, x * scale[:, None], lam)


def sweep_as_written(seen: Seen, q: Posterior) -> Posterior:
    """`sweep` in the order of the paper; a test holds the two together."""
    e = dirichlet_expected_log(q.gamma)
    phi = softmax(seen.G + e[None, :] + (seen.c[:, None] * q.lam).T @ seen.l) * seen.mask[:, None]
    lam = softmax(_only_regions(seen.l @ phi.T, seen.mask))
    return Posterior(seen.alpha + jnp.sum(phi, 0), phi, lam)


def bound(seen: Seen, q: Posterior) -> Any:
    """ELBO_d (3.3), with - M ln N; 0 for an image without regions."""
    e = dirichlet_expected_log(q.gamma)
    theta = -dirichlet_kl(q.gamma, seen.alpha)
    regions = jnp.sum(q.phi * (seen.G + e[None, :]) - xlogx(q.phi))
    log_n = jnp.log(jnp.maximum(jnp.sum(seen.mask), 1))
    agreement = jnp.einsum("vk,nk->vn", seen.l, q.phi)
    words = jnp.sum(seen.c[:, None] * (times_log(q.lam, agreement) - xlogx(q.lam) - q.lam * log_n))
    return used(seen) * (theta + regions + words)


def used(seen: Seen) -> Any:
    """Images with regions: p(y | N = 0) does not exist."""
    return jnp.where(jnp.sum(seen.mask) > 0, 1, 0).astype(seen.G.dtype)


def word_topics(seen: Seen, q: Posterior) -> Any:
    """c_v sum_n lam_vn phi_nk, (M, K)."""
    return (seen.c[:, None] * q.lam) @ q.phi


# --- Use -------------------------------------------------------------------------------------------------------


def caption_topics(seen: Seen, q: Posterior) -> Any:
    """The topics of p(w | r) = (1/N) sum_n sum_k phi_nk E[beta_kw], (K,); those of the prior without regions."""
    n = jnp.sum(seen.mask)
    mean = jnp.sum(q.phi, 0) / jnp.maximum(n, 1)
    return jnp.where(n > 0, mean, seen.alpha / jnp.sum(seen.alpha))


def held_out(seen: Seen, bound: Any) -> Any:
    """The bound of a new image; words without regions to come from are impossible."""
    impossible = (used(seen) == 0) & (jnp.sum(seen.c) > 0)
    return jnp.where(impossible, -jnp.inf, bound)


STORY = Story(
    init_posterior, sweep, bound, used, word_topics, caption_topics, held_out, kept=("gamma", "lam")
)

# --- Estimator: no mathematics -----------------------------------------------------------------------------------


class CorrLDA(GaussianLDA):
    """Correspondence LDA: regions come from the image's topics, and every word from the topic of one region.

    Untagged images take part in the fit; images without regions do not.

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

    name = "corr-lda"
    story = STORY


# --- Pieces ------------------------------------------------------------------------------------------------------


def _word_evidence(weights: Any, l: Any) -> Any:
    """sum_v weights_vn l_vk, (N, K).

    An image has a handful of words. A processor likes the product; on an accelerator, whose library for products is
    made for large ones, the sum is written out and becomes one with what surrounds it.
    """
    return weights.T @ l if on_cpu() else jnp.sum(weights[:, :, None] * l[:, None, :], 0)


def _agreement(l: Any, x: Any) -> Any:
    """sum_k l_vk x_nk, (M, N)."""
    return jnp.einsum("vk,nk->vn", l, x) if on_cpu() else jnp.sum(l[:, None, :] * x[None, :, :], -1)


def _only_regions(a: Any, mask: Any) -> Any:
    """-inf for padding, (M, N)."""
    return jnp.where(mask[None, :] > 0, a, -jnp.inf)
