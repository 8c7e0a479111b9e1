"""Measures of predicted sets of words: the normalised score, its threshold sweep, its value for ranked lists.

Per image r/l - w/(V - l): r words are right, w wrong, l true, of V in the vocabulary; the second term is 0 when
every word is true. The truth scores 1, all words or none score 0. Images with empty truth are left out.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topicture.annotations.measures.ranking import Bools, Floats, judged, true_words
from topicture.errors import CorpusError

__all__ = ["ThresholdSweep", "normalised_score", "normalised_score_of_lists", "threshold_sweep"]

NAN = float("nan")

# Two points of a threshold sweep closer than this are a tie: rounding of a sum of millions of terms, not merit.
TIE = 1e-12


class ThresholdSweep(NamedTuple):
    """Normalised score when every word with a score above one common threshold is predicted."""

    thresholds: Floats  # T; minus infinity, then every distinct score, ascending
    scores: Floats  # T; normalised score at each threshold
    n_words: Floats  # T; mean number of words predicted per image
    best: float  # the highest normalised score
    threshold: float  # the smallest threshold that reaches it


def normalised_score(predicted: Any, truth: Any) -> float:
    """Mean over images of r/l - w/(V - l) for predicted sets, (D, V) dense or sparse, above 0 means predicted."""
    sets, is_true, _ = judged(true_words(predicted), truth)
    return float((sets * _gains(is_true)).sum(axis=1).mean()) if len(sets) else NAN


def threshold_sweep(scores: ArrayLike, truth: Any) -> ThresholdSweep:
    """Normalised score of predicting {w : score > t}, for t = minus infinity and every distinct score."""
    values, is_true, _ = judged(scores, truth)
    n_images = len(values)
    if n_images == 0:
        nothing = np.array([NAN])
        return ThresholdSweep(np.array([-np.inf]), nothing, nothing.copy(), NAN, NAN)
    ordered, gains = _ascending(values, _gains(is_true))

    # A threshold predicts what comes after the last score equal to it; the leading -inf predicts everything.
    is_last = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_last[:-1])
    gain_from = np.zeros(len(ordered) + 1)
    np.cumsum(gains[::-1], out=gain_from[-2::-1])
    thresholds = np.concatenate([[-np.inf], ordered[is_last]])
    curve = np.concatenate([gain_from[:1], gain_from[1:][is_last]]) / n_images
    n_predicted = len(ordered) - np.concatenate([[0], np.flatnonzero(is_last) + 1])
    best = int(np.argmax(curve >= curve.max() - TIE))
    return ThresholdSweep(
        thresholds, curve, n_predicted / n_images, float(curve[best]), float(thresholds[best])
    )


def normalised_score_of_lists(lists: ArrayLike, truth: Any, n_words: ArrayLike) -> Floats:
    """Normalised score of the first floor(n + 1/2) words of given lists, for every n of `n_words`.

    This is how ranked lists without scores (LSA by propagation) are measured on a threshold curve: n is the
    mean number of words another model predicts at a threshold, `ThresholdSweep.n_words`.

    Parameters
    ----------
    lists : int array (D, P)
        Distinct word indices of each image, best first; -1 pads a short list, which stays short.
    truth : array or sparse (D, V)
    n_words : float or array

    Returns
    -------
    array of the shape of `n_words`
    """
    words, is_true = np.asarray(lists), true_words(truth)
    if words.ndim != 2 or len(words) != len(is_true) or words.max(initial=-1) >= is_true.shape[1]:
        raise CorpusError(f"lists of shape {words.shape} do not fit a truth of shape {is_true.shape}")
    kept = is_true.any(axis=1)
    lengths = np.floor(np.asarray(n_words, dtype=np.float64) + 0.5)
    if not kept.any():
        return np.full(lengths.shape, NAN)
    words = words[kept]
    gains = np.where(words < 0, 0.0, np.take_along_axis(_gains(is_true[kept]), np.maximum(words, 0), axis=1))
    by_length = np.concatenate([[0.0], gains.mean(axis=0).cumsum()])
    return by_length[np.clip(lengths, 0, words.shape[1]).astype(np.int64)]


def _gains(is_true: Bools) -> Floats:
    """What predicting each word adds to an image's normalised score: 1/l if true, -1/(V - l) if not."""
    n_true = is_true.sum(axis=1, keepdims=True)
    n_false = is_true.shape[1] - n_true
    return np.where(is_true, 1 / n_true, -1 / np.maximum(n_false, 1))  # n_false = 0: no word is false


def _ascending(values: Floats, gains: Floats) -> tuple[Floats, Floats]:
    """All scores of all images ascending, with their gains; without those that no threshold lets through."""
    let_through = values > -np.inf  # neither -inf nor NaN
    if not let_through.all():
        values, gains = values[let_through], gains[let_through]
    # Sorting millions of scores at once misses the cache at every step. So they are first put in order of their
    # leading 16 bits (sign, exponent, a little mantissa), which NumPy does by radix sort; short runs remain.
    leading = (values.ravel().view(np.int64) >> 48).astype(np.int16)
    leading ^= (leading >> 15) & 0x7FFF  # below zero, a larger magnitude comes first
    order = np.argsort(leading, kind="stable")
    scores, gains, leading = values.ravel()[order], gains.ravel()[order], leading[order]
    borders = [0, *(np.flatnonzero(leading[1:] != leading[:-1]) + 1).tolist(), len(scores)]
    for start, stop in pairwise(borders):
        order = np.argsort(scores[start:stop])
        scores[start:stop] = scores[start:stop][order]
        gains[start:stop] = gains[start:stop][order]
    return scores, gains
