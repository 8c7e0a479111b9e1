"""What tests of several models share: traces that must not fall, topics up to order, posteriors by enumeration."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln, logsumexp

__all__ = [
    "ExactPosterior",
    "assert_never_falls",
    "dirichlet_log_prior",
    "enumerate_posterior",
    "match_topics",
]


def assert_never_falls(trace, rtol=1e-9):
    """Every step of an objective's trace rises or keeps its value to `rtol`; a NaN anywhere fails."""
    trace = np.asarray(trace, dtype=np.float64)
    assert not np.isnan(trace).any(), f"NaN at {np.flatnonzero(np.isnan(trace))}"
    # Values are compared, not the drop with its slack: a fall from or to infinity would read inf <= inf.
    before, after = trace[:-1], trace[1:]
    slack = np.where(np.isfinite(before), rtol * np.abs(before), 0)
    fell = after < before - slack
    assert not fell.any(), f"fell at {np.flatnonzero(fell) + 1} by {(before - after)[fell]}"


def match_topics(a, b):
    """The order of a's rows that brings them nearest to b's: a[match_topics(a, b)] resembles b; both (K, V).

    The assignment that minimises the summed absolute differences.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    distance = np.abs(b[:, None, :] - a[None, :, :]).sum(axis=-1)
    return linear_sum_assignment(distance)[1]


class ExactPosterior(NamedTuple):
    """p(z | data) of T discrete variables with K values each, every configuration listed."""

    log_evidence: float
    configurations: np.ndarray  # (K^T, T) int
    weights: np.ndarray  # (K^T,) posterior probabilities
    marginals: np.ndarray  # (T, K) p(z_t = k | data)

    @property
    def counts(self):
        """(K,) expected number of variables with each value; E theta = (alpha + counts) / (sum(alpha) + T)."""
        return self.marginals.sum(axis=0)


def enumerate_posterior(
    log_lik: np.ndarray,
    log_prior: Callable[[np.ndarray], np.ndarray],
    log_rest: Callable[[np.ndarray], np.ndarray] | None = None,
) -> ExactPosterior:
    """The exact posterior and evidence of one image with T latent variables, by summing over all K^T configurations.

    log_lik (T, K): ln p(data of variable t | z_t = k), for a region or a caption token.
    log_prior: configurations (C, T) -> ln p(z) (C,), theta integrated out (`dirichlet_log_prior`). A mixture: T = 1.
    log_rest: configurations (C, T) -> log-likelihood (C,) of what depends on several z at once, such as Corr-LDA's
    words (a uniform mixture over the regions' topics) or DBA's labels (the mean of z).
    """
    log_lik = np.asarray(log_lik, dtype=np.float64)
    T, K = log_lik.shape
    z = np.indices((K,) * T).reshape(T, -1).T
    log_joint = log_prior(z) + log_lik[np.arange(T), z].sum(axis=1)
    if log_rest is not None:
        log_joint = log_joint + log_rest(z)
    log_evidence = float(logsumexp(log_joint))
    weights = np.exp(log_joint - log_evidence)
    marginals = np.stack([weights @ (z == k) for k in range(K)], axis=1)
    return ExactPosterior(log_evidence, z, weights, marginals)


def dirichlet_log_prior(alpha):
    """ln p(z) as a function of configurations (C, T), for z_t ~ theta and theta ~ Dir(alpha) integrated out.

    ln B(alpha + counts) - ln B(alpha), the Dirichlet-multinomial of a sequence (no multinomial coefficient).
    """
    alpha = np.asarray(alpha, dtype=np.float64)

    def log_prior(z):
        counts = np.stack([(z == k).sum(axis=1) for k in range(len(alpha))], axis=1)
        rise = gammaln(alpha + counts) - gammaln(alpha)
        return rise.sum(axis=1) - gammaln(alpha.sum() + z.shape[1]) + gammaln(alpha.sum())

    return log_prior
