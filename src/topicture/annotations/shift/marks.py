r"""Tags that mark a few photos each: no photo says what it lacks, and most photos that have a tag do not carry it.

Where hardly two tags occur together (`are_marks`; groups of tags: `worlds.TAGS`), a model that was shown tagged photos
alone can't say "none of these". All others are unlabelled, a mixture of photos with the tag and without. A ridge
regression tells the tagged photos of each word from all others, which count as 0,

    f_iw = mean_w + x_i'W_w,     x_i: the photo's row on the first K principal axes.

Let u be the number of unlabelled photos that have a higher f than a photo: its rank. Presence falls with it,

    P(u) = top g(u),     g(u) = 1 / (1 + (u / a)^b),     n_w = sum over u of P(u),

n_w being the number of unlabelled photos with the tag. Tagged photos are thought a random sample of those with the tag:
their ranks, each with the score that it would have had untagged, (1 - h_i) times the one with the photo left out, have
the density P(u) / n_w. P is its mean under the posterior of a and b, ln a flat and ln b ~ N(ln 1.8, 0.16), on a grid.

Photos that people were asked about stay among the unlabelled: they were asked about because they rank high, and without
them all that is left would seem to. An accepted word that stands in for a caption is such an answer: its photo has its
rank as if it carried no word, and is no random sample where captions of owners are.

How pure the first ranks are, `top`, no tagged photo can tell: it cancels in the density. What tags of libraries showed
(section on photos that are no random sample in docs/models.md) stands in until answers correct it (`answered`). Where
presence falls off steeply, and not on far more photos than were tagged, the tag is a kind of looks and the first ranks
are pure, 0.97. Else looks tell the tag badly; then n_w is thought to be 2.5 times the n photos that were tagged:

    top = s 0.97 + (1 - s) min(0.97, 2.5 n / G),     G = sum over u of g(u),
    s / (1 - s) = (b / 2.5)^20 exp( - ln(G / 2.5 n)^2 / (2 0.6^2) ),     the last factor 1 where G < 2.5 n.

Symbol -> code, shape:  W -> weights K V | mean -> offset V | f at some ranks, P there -> scores, presence, both V G
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.models.baselines.ridge import RIDGES, fit_ridge
from topicture.models.neighbours import blocks

__all__ = [
    "COUNTED_ON",
    "MOST_COUNTED",
    "Marks",
    "are_marks",
    "fit_marks",
    "fit_marks_apart",
    "presence_by_rank",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

N_AXES = 128  # K; with more, photos that were learned from as unlabelled would be told by heart
TOP = 0.97
_STEEP, _HOW_STEEP = 2.5, 20.0  # b from which on a tag is a kind of looks, and how sharp a border that is
# Untagged photos with a tag per tagged one, and the spread of its logarithm.
_USUAL_SIZE, _SIZE_DEVIATION = 2.5, 0.6
COUNTED_ON = 0.9  # share of what is told that may be counted on before any answer
MOST_COUNTED = 2000  # photos that it is counted on
_MOST_TOGETHER = 0.05  # share of tagged photos that may carry two words
_SLOPES = np.geomspace(1.2, 8.0, 25)  # b
_USUAL_SLOPE, _SLOPE_DEVIATION = 1.8, 0.4
_N_WIDTHS, _N_RANKS = 80, 100
_FEWEST_CAPTIONS = 3  # with a word, that others which were accepted need not stand in for


class Marks(NamedTuple):
    """A fitted regression and what its scores mean; `marks(rows)` is (D, V)."""

    middle: Floats  # (L,) of unit rows
    axes: Floats  # (L, K)
    weights: Floats
    offset: Floats
    scores: Floats  # ascending
    presence: Floats

    def __call__(self, rows: Any) -> Floats:
        """Presence (D, V) of photos with unit rows (D, L), each by itself."""
        return self.of_scores(
            (np.asarray(rows, np.float64) - self.middle) @ self.axes @ self.weights + self.offset
        )

    def of_scores(self, f: Floats) -> Floats:
        """Presence (D, V) of scores (D, V)."""
        found = np.empty_like(f)
        for word, (scores, presence) in enumerate(zip(self.scores, self.presence, strict=True)):
            found[:, word] = np.interp(f[:, word], scores, presence)
        return found


def are_marks(given: Any, captioned: Bools | None = None) -> bool:
    """Whether hardly a photo carries two words: then none says what it lacks. `given` is (D, V), dense or sparse.

    Where photos have captions of their owner's, `captioned` (D,), these decide: people may have accepted two words of
    one photo since. Photos in one of so many categories look just the same, and what looks tell of untagged photos
    can't decide which it is.
    """
    words = np.asarray((given > 0).sum(axis=1)).ravel()
    if captioned is not None and words[captioned].any():
        words = words[captioned]
    return bool((words > 1).sum() <= _MOST_TOGETHER * (words > 0).sum())


def fit_marks(rows: Any, given: Bools, unlabelled: Bools) -> Marks:
    """From unit rows (D, L), the words that photos carry (D, V), and which photos have no caption, (D,)."""
    return fit_marks_apart(rows, given, unlabelled, np.zeros(0, np.int64), np.zeros(0, np.int64))[0]


def fit_marks_apart(
    rows: Any, given: Bools, unlabelled: Bools, answered: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[Marks, Floats]:
    """The same, and what answered photos (n,) of some groups (n,) are told, (n, V), as if they carried no word.

    The regression is linear in the words y: without those of its group, a photo's score is f_i - sum_j h_ij y_j.
    """
    dense = np.asarray(rows, np.float64)
    middle = dense.mean(axis=0)
    centred = dense - middle
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :N_AXES]
    x, y = centred @ axes, np.asarray(given, np.float64)
    offset = y.mean(axis=0)
    weights, ridge = fit_ridge(x, y - offset, RIDGES)
    f = x @ weights + offset
    reach = x @ np.linalg.inv(x.T @ x + ridge * np.eye(x.shape[1]))
    leverage = (reach * x).sum(axis=1)
    untagged = f - leverage[:, None] * y  # where y is 1: (1 - h) times y - (y - f) / (1 - h)
    n = int(unlabelled.sum())
    at = np.unique(np.round(np.geomspace(1, n, _N_RANKS)).astype(np.int64)) - 1
    scores, presence = np.empty((2, y.shape[1], len(at)))
    for word in range(y.shape[1]):
        others, sample = np.sort(untagged[unlabelled, word]), given[:, word] & ~unlabelled
        if sample.sum() < _FEWEST_CAPTIONS:
            sample = given[:, word]
        ranks = n - np.searchsorted(others, untagged[sample, word], side="right")
        scores[word] = others[::-1][at][::-1]
        presence[word] = presence_by_rank(ranks, n, int(given[:, word].sum()))(at)[::-1]
    marks, apart = Marks(middle, axes, weights, offset, scores, presence), f[answered]
    carrying = y[answered].any(axis=1)
    for block in blocks(len(answered), 8 * int(carrying.sum())):
        own = answered[carrying]
        together = groups[block][:, None] == groups[carrying]
        apart[block] -= (together * (reach[answered[block]] @ x[own].T)) @ y[own]
    return marks, marks.of_scores(apart)


def presence_by_rank(ranks: Any, n_unlabelled: int, n_tagged: int = 0) -> Any:
    """P as a function of ranks, from those of tagged photos (n,) among unlabelled ones.

    `n_tagged` photos are known to have the tag, if more than these.
    """
    widths = np.geomspace(0.5, 2 * n_unlabelled, _N_WIDTHS)
    a, b = (grid.ravel() for grid in np.meshgrid(widths, _SLOPES))  # (W,)
    every, weight = _spread_out(n_unlabelled)
    sizes = (weight / (1 + (every / a[:, None]) ** b[:, None])).sum(axis=1)
    log_n, seen = np.log(sizes), np.asarray(ranks, np.float64) + 0.5
    log_density = -np.log1p((seen / a[:, None]) ** b[:, None]).sum(axis=1) - len(seen) * log_n
    log_density -= (np.log(b) - np.log(_USUAL_SLOPE)) ** 2 / (2 * _SLOPE_DEVIATION**2)
    posterior = np.exp(log_density - log_density.max())
    posterior /= posterior.sum()
    usual = (
        _USUAL_SIZE * max(len(seen), n_tagged, 1) / sizes
    )  # of a word that no photo shows, one is thought to
    pure = (b / _STEEP) ** _HOW_STEEP * np.exp(
        -(np.minimum(np.log(usual), 0) ** 2) / (2 * _SIZE_DEVIATION**2)
    )
    share = pure / (1 + pure)
    top = share * TOP + (1 - share) * np.minimum(TOP, usual)

    def presence(at: Any) -> Floats:
        u = np.asarray(at, np.float64) + 0.5
        return np.asarray(((posterior * top)[:, None] / (1 + (u / a[:, None]) ** b[:, None])).sum(axis=0))

    return presence


def _spread_out(n: int) -> tuple[Floats, Floats]:
    """Some of n ranks, the first ones all, and for how many each of them stands."""
    edges = np.unique(np.round(np.geomspace(1, n, 4 * _N_RANKS)).astype(np.int64))
    starts = np.concatenate([[0], edges[:-1]])
    return (starts + edges) / 2, (edges - starts).astype(np.float64)
