"""Terms of the bound and statistics of one image of DBA and EMM; symbols are those of class_topics.py."""

from math import log
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from topicture.models.classes.gamma import label_chord
from topicture.models.classes.values import Posterior, take
from topicture.models.em import loop as em

__all__ = [
    "Terms",
    "bound_of",
    "bound_terms",
    "cells",
    "label_coef",
    "labels",
    "mean_hinge",
    "per_class",
    "region_log_lik",
    "visual_counts",
]

_PIECE = 16  # visual words that are added at once


class Terms(NamedTuple):
    """The bound of one image in parts, at the best q(theta) for s = sum_m phi_m."""

    s: Any  # (L,)
    e: Any  # (L,) E ln theta
    theta: Any  # theta's terms and s.e: the maximum over q(theta)
    rest: Any  # likelihood, entropy of phi, labels


def bound_terms(theta, settings, tables, image, log_lik, q: Posterior) -> Terms:
    s, M = jnp.sum(q.phi, 0), jnp.sum(image.region_mask)
    q_theta = theta.fit(tables.prior, s, M, q.classes)
    e = theta.expected_log(tables.prior, q_theta, q.classes)
    label = jnp.sum(label_coef(settings, tables, image, q.classes) * s) / jnp.maximum(M, 1)
    if settings.label == "chord":
        label -= jnp.where((image.tagged > 0) & (M > 0), len(tables.w) * log(2), 0)
    # 0 ln 0 = 0 by the floor; a choice between two values here takes as long as the logarithm.
    log_phi = jnp.log(jnp.maximum(q.phi, jnp.finfo(q.phi.dtype).tiny))
    rest = jnp.sum(q.phi * (log_lik - log_phi)) + label
    return Terms(s, e, theta.bound(tables.prior, q_theta, M, q.classes) + jnp.sum(s * e), rest)


def bound_of(theta, settings, tables, image, log_lik, q: Posterior):
    terms = bound_terms(theta, settings, tables, image, log_lik, q)
    return terms.theta + terms.rest


def label_coef(settings, tables, image, classes):
    """coef_c of the label term coef.zbar, (L,): the chord's slope, or kappa y w; 0 without labels."""
    y, w = labels(tables, image, classes), take(tables.w, classes)
    coef = label_chord(y, w) if settings.label == "chord" else settings.kappa * y * w
    return image.tagged * coef


def mean_hinge(tables, image, s, classes):
    """Mean over i in Y, j not in Y of [1 - (w_i zbar_i - w_j zbar_j)]_+; 0 without labels, regions or such pairs."""
    M = jnp.sum(image.region_mask)
    score = take(tables.w, classes) * s / jnp.maximum(M, 1)
    relevant = labels(tables, image, classes) > 0
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


def labels(tables, image, classes):
    """y, (L,): 1 for the classes in the caption."""
    ids = jnp.arange(len(tables.w)) if classes is None else classes

    def add_label(y, token):
        word, count = token
        return jnp.where((ids == word) & (count > 0), 1, y), None

    return jax.lax.scan(add_label, jnp.zeros(len(ids), tables.w.dtype), image.words, unroll=8)[0]


def region_log_lik(tables, image, classes):
    """l_mc = sum_u x_mu Elog(mu_c)_u, (N, L)."""
    flat, C = tables.log_mu.reshape(-1), tables.log_mu.shape[1]

    def of_word(ids):  # a visual word of every region: (N,) -> (N, L)
        if classes is None:
            return tables.log_mu[ids]
        return flat[cells(ids[:, None], classes[None, :], C)]

    def add_words(total, words):
        ids, counts = words
        for i in range(ids.shape[1]):
            total = total + counts[:, i, None] * of_word(ids[:, i])
        return total, None

    # By a loop even where it could be written out: else XLA puts the sum into all that reads it, to be done again.
    N, n = image.bags.ids.shape
    n_pieces = max(-(-n // _PIECE), min(n, 2))
    size = -(-n // max(n_pieces, 1))

    def in_pieces(x):
        padded = jnp.pad(x, ((0, 0), (0, n_pieces * size - n)))
        return padded.reshape(N, n_pieces, size).swapaxes(0, 1)

    L = C if classes is None else len(classes)
    start = jnp.zeros((N, L), flat.dtype)
    return jax.lax.scan(add_words, start, jax.tree.map(in_pieces, image.bags))[0]


def cells(rows, columns, n_columns: int):
    """Positions of a table's entries once it is one row; a large vocabulary times many classes needs 64 bits."""
    return rows.astype(jnp.int64) * n_columns + columns


def per_class(tables, classes, values):
    """A statistic of the classes in play, to be summed as (C,), or as (C, 1) where only some are in play."""
    if classes is None:
        return values
    return em.Scatter(classes, values[:, None], size=len(tables.w))


def visual_counts(tables, image, q: Posterior):
    size, C = tables.log_mu.shape
    if q.classes is None:
        return em.Outer(image.bags.ids, image.bags.counts, q.phi, size=size)
    columns = jnp.broadcast_to(q.classes, q.phi.shape)
    return em.Outer(image.bags.ids, image.bags.counts, q.phi, size=size, columns=columns, n_columns=C)
