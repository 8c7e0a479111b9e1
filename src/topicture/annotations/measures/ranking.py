"""The ranking rule every measure shares, and true words seen in rank order.

Descending score, ties to the lower index. NaN counts as minus infinity: a word without a score ranks last.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from topicture.errors import CorpusError

__all__ = ["Judged", "RankedTruth", "judged", "rank", "ranked_truth", "true_words"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Judged(NamedTuple):
    """Scores and truth of the images that have at least one true word (D' of them), and how many had none."""

    scores: Floats  # D' V
    truth: Bools  # D' V
    n_skipped: int


class RankedTruth(NamedTuple):
    """True words in rank order, for the D' images that have any."""

    hits: Bools  # D' V; hits[d, r]: the word at rank r + 1 of image d is true
    n_true: NDArray[np.int64]  # D'


def rank(scores: ArrayLike) -> NDArray[np.int64]:
    """Indices along the last axis, best first; same shape as `scores`, of any number of axes from one up."""
    values = np.asarray(scores, dtype=np.float64)
    key = np.where(np.isnan(values), np.inf, -values).reshape(-1, values.shape[-1])
    # NumPy's default sort is several times faster than its stable one; only rows with ties need the latter.
    order = np.argsort(key, axis=1)
    ordered = np.take_along_axis(key, order, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    order[tied] = np.argsort(key[tied], axis=1, kind="stable")
    return order.reshape(values.shape)


def true_words(truth: Any) -> Bools:
    """Truth, dense or scipy sparse, as a dense boolean array: a count above 0 means true."""
    # Comparing a sparse matrix would sort its indices in place, and a frozen corpus forbids that.
    return (truth.toarray() if scipy.sparse.issparse(truth) else np.asarray(truth)) > 0


def judged(scores: ArrayLike, truth: Any) -> Judged:
    """Leave out the images with empty truth; scores and truth must have the same (D, V) shape."""
    values, is_true = np.asarray(scores, dtype=np.float64), true_words(truth)
    if values.ndim != 2 or values.shape != is_true.shape:
        raise CorpusError(
            f"scores have shape {values.shape} and truth {is_true.shape}; "
            "both need one row per image and one column per word"
        )
    kept = is_true.any(axis=1)
    n_skipped = len(is_true) - int(kept.sum())
    if n_skipped == 0:  # spares a copy of both arrays
        return Judged(values, is_true, 0)
    return Judged(values[kept], is_true[kept], n_skipped)


def ranked_truth(scores: ArrayLike, truth: Any) -> RankedTruth:
    """Rank the words of every image that has truth, and say which ranks are right."""
    values, is_true, _ = judged(scores, truth)
    return RankedTruth(np.take_along_axis(is_true, rank(values), axis=1), is_true.sum(axis=1))
