r"""How probable a word is in a group of photos that nobody tagged, from groups whose tags were hidden.

    presence = sigmoid( a ln(p(w|r) + k q_w) + b ln f_w + c p(w|r) + d + e ln(s_w + 1/2) )

as in `presence`, but f_w, q_w and s_w of a hidden photo are those of the OTHER folds. A word that is in one group alone
is never true where that group is hidden and the word still counts; a word of two groups is true each time that one of
them is hidden. Were their own photos counted in f_w, the first would be told never to occur again, and the second to
occur again for certain. Counted elsewhere, both have been seen in one group when they are asked about, and one of them
comes true: what Good and Turing count to tell how often something that was seen so often is seen again.

s_w = (sum_g n_gw)^2 / sum_g n_gw^2, n_gw the photos of group g that carry w: the number of groups that the word is
spread over, a stray photo counting for little. What is on all photos of one shoot is about the shoot; what is on some
photos of each is found in the next one. Groups are few, and photos of one of them say much the same: there is no
offset per word and no isotonic step, which learned single groups by heart, and all photos of a group count as one
against the prior of the slopes. That matters where a few words are all about as frequent: those that are rarer
elsewhere are then the very ones that the hidden group has, and a slope would be learned from that alone.

Symbol -> code, shape:  f, q, s -> Occurrence, each V | e ln(s + 1/2), less its mean over words -> Presence.offsets V
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicture.models.presence import (
    SLOPE_VARIANCE,
    SMOOTHING,
    Presence,
    drawn_pairs,
    logistic,
    refuse_one_sided,
)

__all__ = ["FEWEST_WORDS", "Occurrence", "cross_fitted_unseen", "elsewhere", "fit_unseen", "occurrence"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

FEWEST_WORDS = 20  # of fewer, how words come again can't be learned
FEWEST_ELSEWHERE = 3  # photos that must have a word beside those of a hidden group


class Occurrence(NamedTuple):
    """How often words occur among some photos, and in how many of their groups; each (V,)."""

    frequency: Floats  # f, share of the photos that carry the word
    share: Floats  # q, of all tags
    spread: Floats  # s, groups that it is spread over


def occurrence(truth: Any, known: Bools, groups: Integers) -> Occurrence:
    """Of V words among n photos: what is true (n, V), what is known (n, V), and the photos' groups (n,)."""
    group = np.unique(groups, return_inverse=True)[1]
    members = sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    given = np.asarray(truth * known, np.float64)
    in_group = members @ given  # n_gw
    counts = given.sum(axis=0) + 0.5
    squares = np.maximum((in_group**2).sum(axis=0), 1e-12)  # of a word that is nowhere: spread 0
    return Occurrence(
        counts / (known.sum(axis=0) + 1.0), counts / counts.sum(), in_group.sum(axis=0) ** 2 / squares
    )


def elsewhere(truth: Any, fold_of: Integers, known: Bools) -> Bools:
    """The known pairs (D, V) whose word occurs often enough outside the photo's fold."""
    found = known.copy()
    for fold in np.unique(fold_of[fold_of >= 0]):
        inside = fold_of == fold
        found[inside] &= (truth[(fold_of >= 0) & ~inside] > 0.5).sum(axis=0) >= FEWEST_ELSEWHERE
    return found


def fit_unseen(
    p: Floats, truth: Any, known: Bools, fold_of: Integers, groups: Integers, *, seed: int = 0
) -> Presence:
    """From word distributions (n, V) of photos by models that had not seen their fold, (n,); a group is in one fold.

    Raises CorpusError where no pair that counts is true, or none is false.
    """
    counted = elsewhere(truth, fold_of, known)
    refuse_one_sided(truth[counted])
    rows, words = drawn_pairs(truth, counted, seed)
    folds, fold = np.unique(fold_of, return_inverse=True)
    others = [
        occurrence(truth[apart], known[apart], groups[apart]) for apart in (fold_of != f for f in folds)
    ]
    frequency, share, spread = (np.array(table)[fold[rows], words] for table in zip(*others, strict=True))
    values = p[rows, words]
    seen = [np.log(values + SMOOTHING * share), np.log(frequency), values, _log_spread(spread)]
    unit = np.array([1.0, 1.0, max(float(values.std()), 1e-6), 1.0])  # logarithms have a scale of their own
    of_photo = len(np.unique(groups)) / len(groups) * counted.sum() / len(rows)
    slopes = logistic(
        np.column_stack(seen), truth[rows, words], unit=unit, variance=SLOPE_VARIANCE * of_photo
    )
    a, b, c, e, d = slopes
    here = occurrence(truth, known, groups)
    log_spread = _log_spread(here.spread)
    middle = log_spread.mean()  # so that an offset of 0 is that of a usual word
    ends = np.array([0.0, 1.0])
    return Presence(
        coefficients=np.array([a, b, c, d + e * middle]),
        frequency=here.frequency,
        share=here.share,
        offsets=e * (log_spread - middle),
        knots=ends,
        values=ends,
    )


def cross_fitted_unseen(
    p: Floats, truth: Any, known: Bools, fold_of: Integers, groups: Integers, *, seed: int = 0
) -> Floats:
    """Presence (n, V) of each photo by what the other folds teach, among which folds are hidden again."""
    presence = np.empty_like(p)
    for fold in np.unique(fold_of):
        inside = fold_of == fold
        rest = (part[~inside] for part in (p, truth, known, fold_of, groups))
        presence[inside] = fit_unseen(*rest, seed=seed)(p[inside])
    return presence


def _log_spread(spread: Floats) -> Floats:
    return np.log(spread + 0.5)
