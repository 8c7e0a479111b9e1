"""Every measure of annotation quality: words of images, words of regions, and (from `retrieval`) search.

`scores` is (D, V), `truth` is (D, V), dense or scipy sparse, where a count above 0 means true; only
`caption_perplexity` looks at the counts themselves. Images with empty truth are left out of every average,
and a measure with no image left is NaN. Ranking: descending score, ties to the lower index, NaN last.
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.measures.ranking import (
    Bools,
    RankedTruth,
    judged,
    rank,
    ranked_truth,
    true_words,
)
from topicture.annotations.measures.retrieval import (
    PrecisionRecall,
    average_precision,
    average_precisions,
    caption_queries,
    mean_average_precision,
    mean_average_precision_by_length,
    precision_recall,
    relevance,
    retrieval_scores,
)
from topicture.annotations.measures.word_sets import (
    ThresholdSweep,
    normalised_score,
    normalised_score_of_lists,
    threshold_sweep,
)
from topicture.errors import CorpusError

__all__ = [
    "PerWord",
    "PrecisionRecall",
    "Summary",
    "ThresholdSweep",
    "accuracy",
    "average_precision",
    "average_precisions",
    "caption_perplexity",
    "caption_queries",
    "complete_length",
    "held_out_nll",
    "hit_rate",
    "mean_average_precision",
    "mean_average_precision_by_length",
    "normalised_score",
    "normalised_score_of_lists",
    "per_word",
    "precision_recall",
    "rank",
    "region_accuracy",
    "region_f1",
    "relevance",
    "retrieval_scores",
    "summary",
    "threshold_sweep",
    "top_k_f1",
]

NAN = float("nan")


# --- Values -----------------------------------------------------------------------------------------------------


class PerWord(NamedTuple):
    """Means over the words that occur in the truth, as the Corel-5k literature reports them."""

    precision: float
    recall: float
    f1: float  # harmonic mean of the two means
    n_plus: int  # words with recall above 0
    n_words: int  # words in the truth


@dataclass(frozen=True)
class Summary:
    """The usual measures of one set of images. `top_k` is the k of the measures cut at k words."""

    accuracy: float
    complete_length: float
    hit_rate: float
    normalised_score: float
    threshold: float
    f1: float
    perplexity: float
    mean_average_precision: float
    word_precision: float
    word_recall: float
    word_f1: float
    n_plus: int
    top_k: int
    n_images: int
    n_skipped: int

    def as_dict(self) -> dict[str, float]:
        """The measures by name, in the order above."""
        return asdict(self)


# --- Rankings of words ------------------------------------------------------------------------------------------


def accuracy(scores: ArrayLike, truth: Any) -> float:
    """Mean over images of R/M: R of the M true words are among the top M."""
    return _accuracy(ranked_truth(scores, truth))


def complete_length(scores: ArrayLike, truth: Any) -> float:
    """Mean over images of the 1-based rank of the lowest-ranked true word: how long a complete list is."""
    return _complete_length(ranked_truth(scores, truth))


def hit_rate(scores: ArrayLike, truth: Any, k: int = 1) -> float:
    """Share of images with at least one true word among the top k."""
    return _hit_rate(ranked_truth(scores, truth), k)


def top_k_f1(scores: ArrayLike, truth: Any, k: int = 5) -> float:
    """Micro-F1 of predicting the top k words: 2 TP / (words predicted + true words), pooled over images."""
    return _top_k_f1(ranked_truth(scores, truth), k)


def per_word(scores: ArrayLike, truth: Any, k: int = 5) -> PerWord:
    """Per-word precision and recall of predicting the top k words of every image.

    A word that is never predicted has precision 0; words absent from the truth don't count.
    """
    values, is_true, _ = judged(scores, truth)
    return _per_word(rank(values)[:, : _at_least_one(k)], is_true)


# --- Probabilities ----------------------------------------------------------------------------------------------


def caption_perplexity(probabilities: ArrayLike, truth: Any) -> float:
    """exp(-mean ln p(word | image)) over caption tokens, counted with multiplicity; infinite if one has p = 0."""
    values = np.asarray(probabilities, dtype=np.float64)
    counts = scipy.sparse.coo_array(truth)
    if values.shape != counts.shape:
        raise CorpusError(f"probabilities have shape {values.shape} and truth {counts.shape}")
    said = counts.data > 0
    image, word = (axis[said] for axis in counts.coords)
    tokens = counts.data[said].astype(np.float64)
    if len(tokens) == 0:
        return NAN
    with np.errstate(
        divide="ignore", over="ignore"
    ):  # p = 0, and exp of a large mean, are infinite as defined
        return float(np.exp(-(tokens @ np.log(values[image, word])) / tokens.sum()))


def held_out_nll(log_likelihood: ArrayLike, truth: Any = None) -> float:
    """Minus the mean over images of log p(regions, words), or of a bound on it, in nats.

    Parameters
    ----------
    log_likelihood : array (D,)
    truth : array or sparse (D, V), optional
        If given, images without a caption are left out.
    """
    values = np.asarray(log_likelihood, dtype=np.float64)
    return -_mean(values if truth is None else values[true_words(truth).any(axis=1)])


# --- Regions ----------------------------------------------------------------------------------------------------


def region_accuracy(scores: ArrayLike, labels: ArrayLike, k: int = 1) -> float:
    """Share of the regions with a known label whose label is among their top k words.

    Parameters
    ----------
    scores : array (R, V)
    labels : int array (R,)
        Word index of each region; negative means unknown.
    k : int
    """
    values, known = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if values.ndim != 2 or known.shape != values.shape[:1] or known.max(initial=-1) >= values.shape[1]:
        raise CorpusError(f"labels of shape {known.shape} do not fit region scores of shape {values.shape}")
    is_known = known >= 0
    top = rank(values[is_known])[:, : _at_least_one(k)]
    return _mean((top == known[is_known, None]).any(axis=1))


def region_f1(scores: ArrayLike, labels: ArrayLike, k: int = 1) -> float:
    """Micro-F1 of k words per region against its one label: 2 accuracy@k / (k + 1); k = 1 is the accuracy."""
    return 2 * region_accuracy(scores, labels, k) / (k + 1)


# --- All at once ------------------------------------------------------------------------------------------------


def summary(probabilities: ArrayLike, truth: Any, k: int = 5) -> Summary:
    """The usual measures with one sort of the words; hit rate, F1 and per-word measures use the top k.

    Parameters
    ----------
    probabilities : array (D, V)
        p(w | image), as `annotate` returns it.
    truth : array or sparse (D, V)
    k : int
    """
    values, is_true, n_skipped = judged(probabilities, truth)
    order = rank(values)
    ranked = RankedTruth(np.take_along_axis(is_true, order, axis=1), is_true.sum(axis=1))
    words = _per_word(order[:, : _at_least_one(k)], is_true)
    sweep = threshold_sweep(values, is_true)
    return Summary(
        accuracy=_accuracy(ranked),
        complete_length=_complete_length(ranked),
        hit_rate=_hit_rate(ranked, k),
        normalised_score=sweep.best,
        threshold=sweep.threshold,
        f1=_top_k_f1(ranked, k),
        perplexity=caption_perplexity(probabilities, truth),
        mean_average_precision=mean_average_precision(probabilities, truth),
        word_precision=words.precision,
        word_recall=words.recall,
        word_f1=words.f1,
        n_plus=words.n_plus,
        top_k=k,
        n_images=len(values),
        n_skipped=n_skipped,
    )


# --- Measures of true words in rank order -----------------------------------------------------------------------


def _accuracy(ranked: RankedTruth) -> float:
    in_top_m = np.arange(ranked.hits.shape[1]) < ranked.n_true[:, None]
    return _mean((ranked.hits & in_top_m).sum(axis=1) / ranked.n_true)


def _complete_length(ranked: RankedTruth) -> float:
    n_words = ranked.hits.shape[1]
    return _mean(n_words - ranked.hits[:, ::-1].argmax(axis=1)) if n_words else NAN


def _hit_rate(ranked: RankedTruth, k: int) -> float:
    return _mean(ranked.hits[:, : _at_least_one(k)].any(axis=1))


def _top_k_f1(ranked: RankedTruth, k: int) -> float:
    top = ranked.hits[:, : _at_least_one(k)]
    return float(2 * top.sum() / (top.size + ranked.n_true.sum())) if len(top) else NAN


def _per_word(predicted: NDArray[np.int64], is_true: Bools) -> PerWord:
    """`predicted` (D', k) word indices against truth (D', V)."""
    n_words = is_true.shape[1]
    times_true = is_true.sum(axis=0)
    times_predicted = np.bincount(predicted.ravel(), minlength=n_words)
    right = predicted[np.take_along_axis(is_true, predicted, axis=1)]
    times_right = np.bincount(right, minlength=n_words)
    occurs = times_true > 0
    if not occurs.any():
        return PerWord(NAN, NAN, NAN, 0, 0)
    # A word that is never predicted is never right either, so 0/1 is its precision.
    precision = _mean(times_right[occurs] / np.maximum(times_predicted[occurs], 1))
    recall = _mean(times_right[occurs] / times_true[occurs])
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return PerWord(precision, recall, f1, int((times_right[occurs] > 0).sum()), int(occurs.sum()))


# --- Parts ------------------------------------------------------------------------------------------------------


def _at_least_one(k: int) -> int:
    if k < 1:
        raise ValueError(f"k is the number of words to look at, at least 1; got {k}")
    return k


def _mean(values: ArrayLike) -> float:
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()) if array.size else NAN
