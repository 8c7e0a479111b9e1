r"""What rejections teach about a word: photos that were thought to have it and do not.

A row of an annotator sums to 1 over the words; where few words are known, it can't say "none of them". For each word
that was rejected for many photos, a logistic regression on what photos look like tells those that have it from those
it was rejected for,

    logit q = logit p + u' W_w + b_w,     W_w ~ N(0, I / ridge),

u the photo's row less the mean, at length 1; both classes weigh the same, so the term is a ratio of likelihoods: it
moves odds up and down and knows nothing of how frequent a word is, which `answered` learns. A term is kept where it
goes with the answers of photos that had no part in it (`borne_out`).

Symbol -> code, shape:  W -> weights L k | b -> offset k, for the k words -> words k
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from topicture.annotations.shift.answered import N_PARTS, Sample, Spread, log_evidence, together_as_one

__all__ = ["FEWEST_REJECTIONS", "Denials", "borne_out", "fit_denials", "without_own_answers"]

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

    def at(self, kept: Any) -> "Denials":
        """Terms of some of the words."""
        return Denials(self.words[kept], self.weights[:, kept], self.offset[kept])


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


def without_own_answers(
    presence: Floats, looks: Any, present: Bools, rejected: Bools, rows: Any, part_of: NDArray[np.int64]
) -> Floats:
    """Presence (n, V) of photos that answers are about, with terms learned from the answers of other parts."""
    found = presence.copy()
    for part in range(N_PARTS):
        others = np.ones(len(looks), bool)
        others[rows[part_of == part]] = False
        denials = fit_denials(looks[others], present[others], rejected[others])
        found[part_of == part] = denials(presence[part_of == part], looks[rows[part_of == part]])
    return found


def borne_out(
    words: NDArray[np.int64],
    before: Floats,
    after: Floats,
    truth: Any,
    here: Bools,
    groups: NDArray[np.int64],
) -> Bools:
    """The words (k,) whose answers go better with terms that answers of other parts have taught, or that have none.

    Looks that tell nothing teach terms all the same, and these would make promises wrong where nobody was asked.
    """
    kept = np.ones(len(words), bool)
    for k, word in enumerate(words):
        mine = here[:, word]
        one = np.zeros(int(mine.sum()), np.int64)
        weight = together_as_one(groups[mine], one)
        without, with_term = (
            log_evidence(Sample(p[mine, word], one, truth[mine, word], weight), 1, Spread())
            for p in (before, after)
        )
        kept[k] = with_term > without or not mine.any()
    return kept
