r"""What rejections teach about a word: photos that were thought to have it and do not.

A row of an annotator sums to 1 over the words; where few words are known, it can't say "none of them". For each word
that was rejected for many photos, a logistic regression on what photos look like tells those that have it from those
it was rejected for,

    logit q = logit p + u' W_w + b_w,     W_w ~ N(0, I / ridge),

u the photo's row less the mean, at length 1; both classes weigh the same, so the term is a ratio of likelihoods: it
moves odds up and down and knows nothing of how frequent a word is, which `answered` learns.

Symbol -> code, shape:  W -> weights L k | b -> offset k, for the k words -> words k
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

__all__ = ["FEWEST_REJECTIONS", "Denials", "fit_denials"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST_REJECTIONS = 20  # of fewer, a regression learns chance
_RIDGE = 0.5
_EDGE = 1e-6
_LEAST, _MOST = -6.0, 1.0  # logits that a look may move: it is asked what speaks against a word


class Denials(NamedTuple):
    """Terms of the words that were rejected often enough."""

    words: NDArray[np.int64]  # (k,)
    weights: Floats  # (L, k)
    offset: Floats  # (k,)

    def __call__(self, presence: Floats, rows: Any) -> Floats:
        """Presence (D, V) of photos with unit rows (D, L)."""
        found = presence.copy()
        if len(self.words):
            term = np.clip(np.asarray(rows @ self.weights) + self.offset, _LEAST, _MOST)
            x = logit(np.clip(presence[:, self.words], _EDGE, 1 - _EDGE))
            found[:, self.words] = expit(x + term)
        return found


def fit_denials(rows: Any, present: Bools, rejected: Bools) -> Denials:
    """From unit rows (D, L) and what people said of each pair, (D, V): that it is so, or that it is not."""
    enough = (rejected.sum(axis=0) >= FEWEST_REJECTIONS) & (present.sum(axis=0) > 0)
    words = np.flatnonzero(enough)
    weights, offset = np.zeros((rows.shape[1], len(words))), np.zeros(len(words))
    for k, word in enumerate(words):
        judged = present[:, word] | rejected[:, word]
        model = LogisticRegression(C=1 / _RIDGE, class_weight="balanced", max_iter=300)
        model.fit(rows[judged], present[judged, word])
        weights[:, k], offset[k] = model.coef_[0], model.intercept_[0]
    return Denials(words, weights, offset)
