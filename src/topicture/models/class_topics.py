r"""What DBA and EMM [yang2010] share: topics that ARE the classes. Section numbers are those of MODELS.md (3.16, 3.17).

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
from math import log
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import sequential_vmap
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.models import em
from topicture.models.class_values import (
    ClassPrior,
    Posterior,
    Proportions,
    Settings,
    Stats,
    Tables,
    spread,
    take,
)
from topicture.models.expfam import (
    dirichlet_expected_log,
    dirichlet_kl,
    fit_symmetric_dirichlet,
    label_chord,
    softmax,
    xlogx,
)
from topicture.models.tokens import tokens_log_density

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
_STEPS = (*(2.0**-k for k in range(11)), 0.0)  # of the safeguard
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
    y = _labels(tables, image, classes)
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
    own = _labels(tables, image, None)
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
    """E[ln beta] = Elog(mu), one row a visual word."""
    return Tables(dirichlet_expected_log(mu).T, w, prior)


def e_step(
    theta: Proportions, settings: Settings, tables: Tables, image: Image, q: Posterior
) -> tuple[Posterior, Stats]:
    """Sweeps: q(theta) from phi, then phi from q(theta) (3.16, 3.17)."""
    log_lik = _region_log_lik(tables, image, q.classes)
    new = _sweeps(theta, settings, settings.n_sweeps, tables, image, log_lik, q)
    if settings.safeguard:
        new = _safeguarded(theta, settings, tables, image, log_lik, q, new)
    return new, statistics(theta, tables, image, new)


def statistics(theta: Proportions, tables: Tables, image: Image, q: Posterior) -> Stats:
    """Expected counts of one image."""
    s, M = jnp.sum(q.phi, 0), jnp.sum(image.region_mask)
    zbar = image.tagged * s / jnp.maximum(M, 1)
    q_theta = theta.fit(tables.prior, s, M, q.classes)
    return Stats(
        visual=_visual_counts(tables, image, q),
        theta=theta.stats(tables.prior, q_theta, M, q.classes),
        zbar=_by_class(tables, q.classes, zbar),
        zbar_hit=_by_class(tables, q.classes, zbar * _labels(tables, image, q.classes)),
    )


def elbo(theta: Proportions, settings: Settings, tables: Tables, image: Image, q: Posterior) -> Any:
    """Its share of the bound: theta terms + sum_mc phi_mc (E ln theta_c + l_mc - ln phi_mc) + LAB (3.16).

    Taken at the best q(theta) for phi, so it is the maximum of the bound over q(theta).
    """
    return _elbo(theta, settings, tables, image, _region_log_lik(tables, image, q.classes), q)


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
    return _sweeps(theta, settings, n_sweeps, tables, image, _region_log_lik(tables, image, q.classes), q)


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
    p = jax.nn.softmax(_region_log_lik(tables, image, classes), 1)  # only ratios between classes matter
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
    coef = _label_coef(settings, tables, image, q.classes)
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


def _safeguarded(theta, settings, tables, image, log_lik, old: Posterior, new: Posterior) -> Posterior:
    """phi_old + t (phi_new - phi_old), the largest t in 1, 1/2 .. 2^-10, 0 that does not raise the image's loss (4).

    The loss is only computed where bounds from the ends of the line do not decide: a refusal is the rule where the
    price of slack is high, and then most steps are far too long.
    """
    M, dtype = jnp.sum(image.region_mask), log_lik.dtype
    ends = jax.vmap(lambda phi: _terms(theta, settings, tables, image, log_lik, old._replace(phi=phi)))(
        jnp.stack([old.phi, new.phi])
    )
    ts = jnp.asarray(_STEPS, dtype)

    def at(t):
        return old._replace(phi=(1 - t) * old.phi + t * new.phi)

    def hinge(s):
        return settings.safeguard * _mean_hinge(tables, image, s, old.classes)

    def loss(t):
        terms = _terms(theta, settings, tables, image, log_lik, at(t))
        return hinge(terms.s) - terms.theta - terms.rest

    def on_chord(ends):
        return (1 - ts) * ends[0] + ts * ends[1]

    hinges = jax.vmap(lambda t: hinge((1 - t) * ends.s[0] + t * ends.s[1]))(ts)
    limit = hinges[-1] - ends.theta[0] - ends.rest[0]
    # Entropy lies above its chord by no more than that of the mixing. The best bound over q(theta) is convex in s with
    # slope E ln theta: it lies below its chord and above its tangents.
    straight = hinges - on_chord(ends.rest)
    mixing = -M * (xlogx(ts) + xlogx(1 - ts))
    rise = ends.e @ (ends.s[1] - ends.s[0])
    tangent = jnp.maximum(ends.theta[0] + ts * rise[0], ends.theta[1] - (1 - ts) * rise[1])
    rounding = 100 * jnp.finfo(dtype).eps * (1 + jnp.abs(limit))
    refused = straight - on_chord(ends.theta) - mixing > limit + rounding
    accepted = (straight - tangent <= limit - rounding) | (ts == 0)

    def next_open(k):
        """The first step from k on that is not surely refused; the last one, 0, never is."""
        return jnp.argmax(~refused & (jnp.arange(len(ts)) >= k) | (ts == 0))

    def unfinished(state):
        return ~state[1]

    def try_step(state):
        k, _ = state
        fits = loss(ts[k]) <= limit
        k = jnp.where(fits, k, next_open(k + 1))
        return k, fits | accepted[k]

    k = next_open(0)
    return at(ts[jax.lax.while_loop(unfinished, try_step, (k, accepted[k]))[0]])


# --- Terms ------------------------------------------------------------------------------------------------------


class _Terms(NamedTuple):
    """The bound of one image in parts, at the best q(theta) for s = sum_m phi_m."""

    s: Any  # (L,)
    e: Any  # (L,) E ln theta
    theta: Any  # theta's terms and s.e: the maximum over q(theta)
    rest: Any  # likelihood, entropy of phi, labels


def _terms(theta, settings, tables, image, log_lik, q: Posterior) -> _Terms:
    s, M = jnp.sum(q.phi, 0), jnp.sum(image.region_mask)
    q_theta = theta.fit(tables.prior, s, M, q.classes)
    e = theta.expected_log(tables.prior, q_theta, q.classes)
    label = jnp.sum(_label_coef(settings, tables, image, q.classes) * s) / jnp.maximum(M, 1)
    if settings.label == "chord":
        label -= jnp.where((image.tagged > 0) & (M > 0), len(tables.w) * log(2), 0)
    rest = jnp.sum(q.phi * log_lik - xlogx(q.phi)) + label
    return _Terms(s, e, theta.bound(tables.prior, q_theta, M, q.classes) + jnp.sum(s * e), rest)


def _elbo(theta, settings, tables, image, log_lik, q: Posterior):
    terms = _terms(theta, settings, tables, image, log_lik, q)
    return terms.theta + terms.rest


def _label_coef(settings, tables, image, classes):
    """coef_c of the label term coef.zbar, (L,): the chord's slope, or kappa y w; 0 without labels."""
    y, w = _labels(tables, image, classes), take(tables.w, classes)
    coef = label_chord(y, w) if settings.label == "chord" else settings.kappa * y * w
    return image.tagged * coef


def _mean_hinge(tables, image, s, classes):
    """Mean over i in Y, j not in Y of [1 - (w_i zbar_i - w_j zbar_j)]_+; 0 without labels, regions or such pairs."""
    M = jnp.sum(image.region_mask)
    score = take(tables.w, classes) * s / jnp.maximum(M, 1)
    relevant = _labels(tables, image, classes) > 0
    n_unlisted = len(tables.w) - len(score)  # irrelevant classes outside the candidates: their score is 0
    own = score[image.words.ids] if classes is None else _at_ids(classes, score, image.words.ids)
    slack = jnp.sum(jnp.where(relevant, 0, jax.nn.relu(1 - own[:, None] + score[None, :])), 1)
    slack += n_unlisted * jax.nn.relu(1 - own)
    total = jnp.sum(jnp.where(image.words.counts > 0, slack, 0))
    n_pairs = jnp.sum(relevant) * (len(tables.w) - jnp.sum(relevant))
    counts = (image.tagged > 0) & (M > 0) & (n_pairs > 0)
    return jnp.where(counts, total / jnp.maximum(n_pairs, 1), 0)


def _at_ids(classes, values, ids):
    """Of values (L,) of the classes in play those of the given ones, 0 where they are not in play."""
    return jnp.sum(jnp.where(classes[None, :] == ids[:, None], values[None, :], 0), 1)


def _labels(tables, image, classes):
    """y, (L,): 1 for the classes in the caption."""
    ids = jnp.arange(len(tables.w)) if classes is None else classes

    def add_label(y, token):
        word, count = token
        return jnp.where((ids == word) & (count > 0), 1, y), None

    return jax.lax.scan(add_label, jnp.zeros(len(ids), tables.w.dtype), image.words, unroll=8)[0]


def _region_log_lik(tables, image, classes):
    """l_mc = sum_u x_mu Elog(mu_c)_u, (N, L)."""
    if classes is None:
        return jax.vmap(partial(tokens_log_density, tables.log_mu))(image.bags)
    flat, C = tables.log_mu.reshape(-1), tables.log_mu.shape[1]

    def add_token(total, token):  # one visual word of every region: ids and counts (N,)
        ids, counts = token
        return total + counts[:, None] * flat[ids[:, None] * C + classes[None, :]], None

    start = jnp.zeros((image.bags.ids.shape[0], len(classes)), flat.dtype)
    return jax.lax.scan(add_token, start, jax.tree.map(jnp.transpose, image.bags), unroll=4)[0]


def _by_class(tables, classes, values):
    """A statistic of the classes in play, to be summed as (C,), or as (C, 1) where only some are in play."""
    if classes is None:
        return values
    return em.Scatter(classes, values[:, None], size=len(tables.w))


def _visual_counts(tables, image, q: Posterior):
    size, C = tables.log_mu.shape
    if q.classes is None:
        return em.Outer(image.bags.ids, image.bags.counts, q.phi, size=size)
    columns = jnp.broadcast_to(q.classes, q.phi.shape)
    return em.Outer(image.bags.ids, image.bags.counts, q.phi, size=size, columns=columns, n_columns=C)
