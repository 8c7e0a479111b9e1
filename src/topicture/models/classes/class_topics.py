r"""What DBA and EMM [yang2010] share: topics that ARE the classes. Sections: docs/models.md (3.16, 3.17).

theta ~ a prior over proportions of classes (dba.py: Dirichlet, emm.py: exponential); for every region m of the image
z_m ~ Cat(theta / sum theta), visual words of x_m ~ Cat(beta[z_m]), beta_c ~ Dir(eta);
labels y_c ~ Bernoulli(sigma(w_c zbar_c)), zbar the mean of the regions' z. The classes are the caption words.

Symbol -> code, shape:  mu -> mu C U, Dirichlet of beta | eta -> eta | w -> w C | phi -> phi N L | zbar -> zbar L
  l_mc -> log_lik N L | s_c = sum_m phi_mc -> s L | M -> M, number of regions | coef -> coef L | delta -> delta L
L is the number of classes in play: all C of them, or the candidates of the image (`Settings.n_candidates`). With
candidates, phi is 0 for every other class, whose theta then follows from the prior alone; the bound stays a bound.
Label models: "chord" bounds the Bernoulli's partition function from above by its chord in zbar; "printed" is the
paper's y w zbar without a partition function, to be used with fixed or max-margin weights w.
"""

from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import sequential_vmap
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.models.classes.safeguard import safeguarded
from topicture.models.classes.terms import (
    bound_of,
    label_coef,
    labels,
    per_class,
    region_log_lik,
    visual_counts,
)
from topicture.models.classes.values import (
    ClassPrior,
    Posterior,
    Proportions,
    Settings,
    Stats,
    Tables,
    spread,
    take,
)
from topicture.models.em.expfam import (
    dirichlet_expected_log,
    dirichlet_kl,
    fit_symmetric_dirichlet,
    softmax,
)
from topicture.models.em.tokens import tokens_log_density

__all__ = [
    "VIEWS",
    "class_log_prior",
    "class_m_step",
    "class_tables",
    "e_step",
    "elbo",
    "infer",
    "init_mu",
    "init_posterior",
    "proportions",
    "region_words",
    "word_scores",
]

VIEWS = ("captions", "region_words")
_MAP_SWEEPS = 200
_MAP_ZERO = 1e-8  # share of theta below which the MAP iteration, which only approaches zero, is at zero

# --- Start -----------------------------------------------------------------------------------------------------


def init_mu(corpus: Corpus, eta: float) -> np.ndarray:
    """mu = eta + phi'X, (C, U), with phi uniform over the image's own labels, or over all classes without labels.

    This start decides everything: coef/M is a few tenths beside a feature log-likelihood of tens, so the label term
    can't pull a randomly started class to its label (3.16).
    """
    X = sparse.csr_array(corpus.visual_words)
    Y = sparse.csr_array((corpus.captions > 0).astype(np.float64))
    share = 1 / np.maximum(np.asarray(Y.sum(axis=1)), 1)
    labelled = (sparse.diags_array(share) @ Y).T @ X
    unlabelled = X.T @ (~corpus.tagged).astype(np.float64) / corpus.n_words
    return eta + labelled.toarray() + unlabelled


def init_posterior(settings: Settings, tables: Tables, image: Image) -> Posterior:
    """phi uniform over the image's own labels, over all classes in play without labels (3.16)."""
    classes = _candidates(settings, tables, image)
    y = labels(tables, image, classes)
    n_labels = jnp.sum(y)
    start = jnp.where(n_labels > 0, y / jnp.maximum(n_labels, 1), 1 / len(y))
    delta = jnp.zeros_like(y) if settings.margin else None
    return Posterior(image.region_mask[:, None] * start[None, :], classes, delta)


def _candidates(settings: Settings, tables: Tables, image: Image) -> Any:
    """The classes in play, (L,) ascending: the image's own labels, then those nearest to the best class of a region.

    None if all are. The screen is the likelihood: max over regions of l_mc - max_c' l_mc'.
    """
    C = len(tables.w)
    if not 0 < settings.n_candidates < C:
        return None
    own = labels(tables, image, None)
    return _screen(settings.n_candidates)(tables.log_mu, image.bags, image.region_mask, own)


@lru_cache
def _screen(n_candidates: int) -> Any:
    # One image after the other: a block of images with all their classes would leave the cache, and even the memory.
    @sequential_vmap
    def chosen(log_mu, bags, region_mask, own):
        log_lik = jax.vmap(partial(tokens_log_density, log_mu))(bags)
        short = log_lik - jnp.max(log_lik, 1, keepdims=True)
        short = jnp.max(jnp.where(region_mask[:, None] > 0, short, -jnp.inf), 0, initial=-jnp.inf)
        return jnp.sort(jax.lax.top_k(jnp.where(own > 0, jnp.inf, short), n_candidates)[1])

    return chosen


# --- Learn: one image; em.py maps and sums ---------------------------------------------------------------------


def class_tables(mu: Any, w: Any, prior: Any) -> Tables:
    """E[ln beta] = Elog(mu), one row per visual word."""
    return Tables(dirichlet_expected_log(mu).T, w, prior)


def e_step(
    theta: Proportions, settings: Settings, tables: Tables, image: Image, q: Posterior
) -> tuple[Posterior, Stats]:
    """Sweeps: q(theta) from phi, then phi from q(theta) (3.16, 3.17)."""
    log_lik = region_log_lik(tables, image, q.classes)
    new = _sweeps(theta, settings, settings.n_sweeps, tables, image, log_lik, q)
    if settings.safeguard:
        new = safeguarded(theta, settings, tables, image, log_lik, q, new)
    return new, statistics(theta, tables, image, new)


def statistics(theta: Proportions, tables: Tables, image: Image, q: Posterior) -> Stats:
    """Expected counts of one image."""
    s, M = jnp.sum(q.phi, 0), jnp.sum(image.region_mask)
    zbar = image.tagged * s / jnp.maximum(M, 1)
    q_theta = theta.fit(tables.prior, s, M, q.classes)
    return Stats(
        visual=visual_counts(tables, image, q),
        theta=theta.stats(tables.prior, q_theta, M, q.classes),
        zbar=per_class(tables, q.classes, zbar),
        zbar_hit=per_class(tables, q.classes, zbar * labels(tables, image, q.classes)),
    )


def elbo(theta: Proportions, settings: Settings, tables: Tables, image: Image, q: Posterior) -> Any:
    """Its share of the bound: theta terms + sum_mc phi_mc (E ln theta_c + l_mc - ln phi_mc) + LAB (3.16).

    Taken at the best q(theta) for phi, so it is the maximum of the bound over q(theta).
    """
    return bound_of(theta, settings, tables, image, region_log_lik(tables, image, q.classes), q)


def class_m_step(
    mu: Any, eta: Any, w: Any, stats: Stats, prior: ClassPrior, settings: Settings
) -> tuple[Any, Any, Any]:
    """mu = eta + sum phi x, then eta (2.5); "chord": w_c = logit of the share of zbar with label c, clipped (3.16)."""
    C, U = mu.shape
    mu = eta + stats.visual.T
    if settings.learn_eta:
        eta = fit_symmetric_dirichlet(eta, C, U, jnp.sum(dirichlet_expected_log(mu)))
    if settings.label == "chord":
        zbar, zbar_hit = jnp.ravel(stats.zbar), jnp.ravel(stats.zbar_hit)
        hit, miss = zbar_hit + prior.a_w, zbar - zbar_hit + prior.b_w
        w = jnp.clip(jnp.log(hit) - jnp.log(miss), prior.w_min, prior.w_max)
    return mu, eta, w


def class_log_prior(mu: Any, eta: Any, w: Any, prior: ClassPrior, settings: Settings) -> Any:
    """- sum_c KLDir(mu_c || eta), and for "chord" sum_c [a_w w_c - (a_w + b_w) ln(1 + e^{w_c})] (3.16)."""
    total = -jnp.sum(dirichlet_kl(mu, eta))
    if settings.label == "chord":
        total += jnp.sum(prior.a_w * w - (prior.a_w + prior.b_w) * jnp.logaddexp(w, jnp.zeros_like(w)))
    return total


# --- Use -------------------------------------------------------------------------------------------------------


def infer(theta: Proportions, settings: Settings, n_sweeps: int, tables: Tables, image: Image) -> Posterior:
    """The posterior of a new image from a cold start; label terms take part if it has a caption."""
    q = init_posterior(settings, tables, image)
    return _sweeps(theta, settings, n_sweeps, tables, image, region_log_lik(tables, image, q.classes), q)


def proportions(theta: Proportions, score: str, tables: Tables, image: Image, q: Posterior) -> Any:
    """The image's proportions of classes, (C,), not normalised: "theta" (the model's estimate), "zbar" or "map"."""
    s, M = jnp.sum(q.phi, 0), jnp.sum(image.region_mask)
    if score == "theta":
        return theta.point(tables.prior, theta.fit(tables.prior, s, M, q.classes), q.classes)
    value = s / jnp.maximum(M, 1) if score == "zbar" else _map_theta(theta, tables, image, q.classes)
    return spread(q.classes, value, jnp.zeros_like(tables.w))


def word_scores(theta: Proportions, score: str, tables: Tables, image: Image, q: Posterior) -> Any:
    """w_c times the proportions, normalised, (C,); uniform if all vanish (3.17)."""
    scores = tables.w * proportions(theta, score, tables, image, q)
    total = jnp.sum(scores)
    return jnp.where(total > 0, scores / jnp.where(total > 0, total, 1), 1 / len(scores))


def region_words(tables: Tables, q: Posterior) -> Any:
    """phi, (N, C): the class of every region."""
    if q.classes is None:
        return q.phi
    return jax.vmap(lambda row: spread(q.classes, row, jnp.zeros_like(tables.w)))(q.phi)


def _map_theta(theta: Proportions, tables: Tables, image: Image, classes: Any) -> Any:
    """The mode of theta with every z summed out, (L,), by EM on the mixture weights; zeros are exact."""
    p = jax.nn.softmax(region_log_lik(tables, image, classes), 1)  # only ratios between classes matter
    mask, prior = image.region_mask[:, None], take(tables.prior, classes)

    def step(_, value):
        joint = p * value[None, :]
        total = jnp.sum(joint, 1, keepdims=True)
        counts = jnp.sum(mask * joint / jnp.where(total > 0, total, 1), 0)
        return theta.map_step(prior, value, counts, jnp.sum(mask))

    value = jax.lax.fori_loop(0, _MAP_SWEEPS, step, jnp.ones_like(prior))
    return jnp.where(value > _MAP_ZERO * jnp.sum(value), value, 0)


# --- Updates -----------------------------------------------------------------------------------------------------


def _sweeps(theta, settings, n_sweeps, tables, image, log_lik, q: Posterior) -> Posterior:
    """phi_mc = softmax_c(l_mc + E ln theta_c + coef_c / M), n_sweeps times."""
    M = jnp.sum(image.region_mask)
    coef = label_coef(settings, tables, image, q.classes)
    if q.delta is not None:
        coef += take(tables.w, q.classes) * q.delta
    fixed = log_lik + (coef / jnp.maximum(M, 1))[None, :]

    form = _by_products if theta.even else _by_softmax
    counts, responsibilities = form(image, fixed)

    def expected_log(s):
        return theta.expected_log(tables.prior, theta.fit(tables.prior, s, M, q.classes), q.classes)

    # A sweep needs no more of the last phi than its sums, so phi itself is made by the last sweep alone.
    s = jax.lax.fori_loop(0, n_sweeps - 1, lambda _, s: counts(expected_log(s)), jnp.sum(q.phi, 0))
    return Posterior(responsibilities(expected_log(s)), q.classes, q.delta)


def _by_softmax(image, fixed):
    """E ln theta -> s, and E ln theta -> phi."""

    def responsibilities(e):
        return image.region_mask[:, None] * softmax(fixed + e[None, :])

    return lambda e: jnp.sum(responsibilities(e), 0), responsibilities


def _by_products(image, fixed):
    """The same with phi_mc proportional to exp(fixed_mc) exp(e_c): one exponential for all sweeps, then two products.

    For priors under which E ln theta differs little between classes; else exp(e_c) could leave the range of floats.
    """
    p = image.region_mask[:, None] * jnp.exp(fixed - jnp.max(fixed, 1, keepdims=True))

    def scales(e):
        t = jnp.exp(e - jnp.max(e))
        total = p @ t
        return t, jnp.where(total > 0, 1 / jnp.where(total > 0, total, 1), 0)

    def counts(e):
        t, per_region = scales(e)
        return t * (per_region @ p)

    def responsibilities(e):
        t, per_region = scales(e)
        return p * per_region[:, None] * t[None, :]

    return counts, responsibilities
