r"""Tags that mark a few photos each: no photo says what it lacks, and most photos that have a tag do not carry it.

Where hardly two tags occur together (`are_marks`; groups of tags: `worlds.TAGS`), a model that was shown tagged photos
alone can't say "none of these". All others are unlabelled, a mixture of photos with the tag and without. A ridge
regression tells the tagged photos of each word from all others, which count as 0,

    f_iw = mean_w + x_i'W_w,     x_i: the photo's row on the first K principal axes.

How many unlabelled photos have a higher f than a photo is its rank; tagged photos count with the score that each would
have had untagged, (1 - h_i) times the one with the photo left out. Their ranks tell how presence falls with rank
(`ranks`).

Photos that people were asked about stay among the unlabelled: they were asked about because they rank high, and without
them all that is left would seem to. An accepted word that stands in for a caption is such an answer: its photo has its
rank as if it carried no word, and is no random sample where captions of owners are.

Symbol -> code, shape:  W -> weights K V | mean -> offset V | f at some ranks, P there -> scores, presence, both V G
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.shift.ranks import presence_by_rank
from topicture.models.baselines.ridge import RIDGES, fit_ridge
from topicture.models.neighbours import blocks

__all__ = [
    "COUNTED_ON",
    "MOST_COUNTED",
    "Marks",
    "are_marks",
    "fit_marks",
    "fit_marks_apart",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

N_AXES = 128  # K; with more, photos that were learned from as unlabelled would be told by heart
COUNTED_ON = 0.9  # share of what is told that may be counted on before any answer
MOST_COUNTED = 2000  # photos that it is counted on
_MOST_TOGETHER = 0.05  # share of tagged photos that may carry two words
_N_RANKS = 100  # at which presence is kept
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
    scores, ranks = np.empty((y.shape[1], len(at))), []
    for word in range(y.shape[1]):
        others, sample = np.sort(untagged[unlabelled, word]), given[:, word] & ~unlabelled
        if sample.sum() < _FEWEST_CAPTIONS:
            sample = given[:, word]
        ranks.append(n - np.searchsorted(others, untagged[sample, word], side="right"))
        scores[word] = others[::-1][at][::-1]
    presence = np.array([found(at)[::-1] for found in presence_by_rank(ranks, n, given.sum(axis=0))]).reshape(
        scores.shape
    )
    marks, apart = Marks(middle, axes, weights, offset, scores, presence), f[answered]
    carrying = y[answered].any(axis=1)
    for block in blocks(len(answered), 8 * int(carrying.sum())):
        own = answered[carrying]
        together = groups[block][:, None] == groups[carrying]
        apart[block] -= (together * (reach[answered[block]] @ x[own].T)) @ y[own]
    return marks, marks.of_scores(apart)
