r"""How presence falls with rank, told by the ranks of the photos that carry a tag (docs/models.md, marks).

Let u be the number of unlabelled photos that look more like a tag than a photo does: its rank. Presence falls with it,

    P(u) = top g(u),     g(u) = 1 / (1 + (u / a)^b),     n_w = sum over u of P(u),

n_w being the number of unlabelled photos with the tag. Tagged photos are thought a random sample of those with the tag:
their ranks have the density g(u) / G, G = sum over u of g(u). P is its mean under the posterior of a and b, ln a flat
and ln b ~ N(ln 1.8, 0.16), on a grid.

How pure the first ranks are, `top`, no tagged photo can tell: it cancels in the density. What tags of libraries showed
(section on photos that are no random sample in docs/models.md) stands in until answers correct it (`answered`). Where
presence falls off steeply, and not on far more photos than were tagged, the tag is a kind of looks and the first ranks
are pure, 0.97. Else looks tell the tag badly; then n_w is thought to be 2.5 times the n photos that were tagged:

    top = s 0.97 + (1 - s) min(0.97, 2.5 n / G),     s = k r / (1 + r),
    r = (b / 2.5)^20 exp( - ln(G / 2.5 n)^2 / (2 0.6^2) ),     the last factor 1 where G < 2.5 n.

The tags of one owner are of one kind, k says of which: with ln b_w ~ N(mu, 0.09) for each of them and
mu ~ N(ln 1.8, 0.16), k is the mean of 1 / (1 + (2.1 / e^mu)^10) under the posterior of mu, given the ranks of all tags.

Symbol -> code, shape:  g(u) at (a, b) -> Falls, S W for S slopes and W widths | mu -> _KINDS
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

__all__ = ["TOP", "presence_by_rank"]

Floats = NDArray[np.float64]

TOP = 0.97
_STEEP, _HOW_STEEP = 2.5, 20.0  # b from which on a tag is a kind of looks, and how sharp a border that is
_STEEP_KIND, _HOW_STEEP_KIND = 2.1, 10.0  # the same for e^mu
# Untagged photos with a tag per tagged one, and the spread of its logarithm.
_USUAL_SIZE, _SIZE_DEVIATION = 2.5, 0.6
_SLOPES = np.geomspace(1.2, 8.0, 25)  # b
_USUAL_SLOPE, _SLOPE_DEVIATION = 1.8, 0.4
_KINDS, _KIND_DEVIATION = np.linspace(0.0, np.log(8.0), 60), 0.3  # mu, and of ln b about it
_N_WIDTHS, _N_RANKS = 80, 100


class _Falls(NamedTuple):
    """Ways in which presence may fall with rank, of S slopes and W widths."""

    width: Floats  # a (W,)
    slope: Floats  # b (S, 1)
    size: Floats  # G (S, W)

    @classmethod
    def among(cls, n: int) -> "_Falls":
        width, slope = np.geomspace(0.5, 2 * n, _N_WIDTHS), _SLOPES[:, None]
        every, weight = _spread_out(n)
        size = (weight / (1 + (every / width[:, None]) ** slope[..., None])).sum(axis=-1)
        return cls(width, slope, size)

    def log_likelihood(self, ranks: Any) -> Floats:
        """(S, W)."""
        seen = np.asarray(ranks, np.float64) + 0.5
        fall = np.log1p((seen / self.width[:, None]) ** self.slope[..., None]).sum(axis=-1)
        return np.asarray(-fall - len(seen) * np.log(self.size))


def presence_by_rank(
    ranks: Sequence[Any], n_unlabelled: int, n_tagged: Sequence[int] | None = None
) -> list[Callable[[Any], Floats]]:
    """P of each word as a function of ranks, from those of its tagged photos among unlabelled ones.

    `n_tagged` photos are known to have each word: more than its ranks where some of them are no random sample.
    """
    falls = _Falls.among(n_unlabelled)
    told = [falls.log_likelihood(own) for own in ranks]
    evidence = np.array([logsumexp(one, axis=1) for one in told]).reshape(len(ranks), len(_SLOPES))
    kind = _kind_of_looks(evidence)
    known = [len(own) for own in ranks] if n_tagged is None else n_tagged
    return [_presence(falls, one, int(n), kind) for one, n in zip(told, known, strict=True)]


def _kind_of_looks(evidence: Floats) -> float:
    """k, from how well each slope explains the ranks of each word, (V, S)."""
    log_prior = -((np.log(_SLOPES) - _KINDS[:, None]) ** 2) / (2 * _KIND_DEVIATION**2)
    log_prior -= logsumexp(log_prior, axis=1, keepdims=True)
    log_posterior = logsumexp(evidence[:, None] + log_prior, axis=2).sum(axis=0)
    log_posterior -= (_KINDS - np.log(_USUAL_SLOPE)) ** 2 / (2 * _SLOPE_DEVIATION**2)
    posterior = np.exp(log_posterior - logsumexp(log_posterior))
    return float(posterior @ expit(_HOW_STEEP_KIND * (_KINDS - np.log(_STEEP_KIND))))


def _presence(falls: _Falls, log_likelihood: Floats, n_tagged: int, kind: float) -> Callable[[Any], Floats]:
    log_density = log_likelihood - np.log(falls.slope / _USUAL_SLOPE) ** 2 / (2 * _SLOPE_DEVIATION**2)
    posterior = np.exp(log_density - log_density.max())
    posterior /= posterior.sum()
    usual = _USUAL_SIZE * max(n_tagged, 1) / falls.size  # of a word that no photo shows, one is thought to
    odds = (falls.slope / _STEEP) ** _HOW_STEEP
    odds = odds * np.exp(-(np.minimum(np.log(usual), 0) ** 2) / (2 * _SIZE_DEVIATION**2))
    share = kind * odds / (1 + odds)
    height = posterior * (share * TOP + (1 - share) * np.minimum(TOP, usual))

    def presence(at: Any) -> Floats:
        u = np.asarray(at, np.float64) + 0.5
        fall = 1 / (1 + (u / falls.width[:, None]) ** falls.slope[..., None])
        return np.asarray(np.tensordot(height, fall, 2))

    return presence


def _spread_out(n: int) -> tuple[Floats, Floats]:
    """Some of n ranks, the first ones all, and for how many each of them stands."""
    edges = np.unique(np.round(np.geomspace(1, n, 4 * _N_RANKS)).astype(np.int64))
    starts = np.concatenate([[0], edges[:-1]])
    return (starts + edges) / 2, (edges - starts).astype(np.float64)
