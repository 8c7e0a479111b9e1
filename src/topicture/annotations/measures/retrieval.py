"""Text retrieval over annotated images: words in, ranked images out, and how good the ranking is.

A query is a sequence of word indices. An image's score is sum_q ln p(q | image); it is relevant when its
caption contains ALL the query's words. Images without a caption stay in the ranked list, as irrelevant ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topicture.annotations.measures.ranking import Bools, Floats, rank, true_words
from topicture.errors import CorpusError

__all__ = [
    "PrecisionRecall",
    "average_precision",
    "average_precisions",
    "caption_queries",
    "mean_average_precision",
    "mean_average_precision_by_length",
    "precision_recall",
    "relevance",
    "retrieval_scores",
]

Query = Sequence[int]

# Queries ranked together: bounds the working memory at about 4 million scores.
BLOCK_SCORES = 4_000_000


class PrecisionRecall(NamedTuple):
    """Precision and recall after each rank 1..D of one ranked list of images."""

    order: np.ndarray  # D image indices, best first
    precision: Floats  # D
    recall: Floats  # D; NaN where nothing is relevant


def retrieval_scores(probabilities: ArrayLike, query: Query) -> Floats:
    """sum_q ln p(q | image) of every image, shape (D,); minus infinity where a word has probability 0.

    Parameters
    ----------
    probabilities : array (D, V)
        p(w | image), as `annotate` returns it.
    query : sequence of int
        Word indices.

    Raises
    ------
    CorpusError
        If the query is empty, or a probability is negative.
    """
    return _log(np.asarray(probabilities, dtype=np.float64)[:, _words(query)]).sum(axis=1)


def relevance(truth: Any, query: Query) -> Bools:
    """Which images' captions contain all words of the query, shape (D,); truth (D, V) dense or sparse."""
    return np.asarray(true_words(truth)[:, _words(query)].all(axis=1))


def precision_recall(scores: ArrayLike, relevant: ArrayLike) -> PrecisionRecall:
    """The curve of one query: `scores` (D,) rank the images, `relevant` (D,) says which are right."""
    order = rank(scores)
    found = np.asarray(relevant, dtype=bool)[order].cumsum()
    n_relevant = found[-1] if len(found) else 0
    recall = found / n_relevant if n_relevant else np.full(len(found), np.nan)
    return PrecisionRecall(order, found / np.arange(1, len(found) + 1), recall)


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """Mean, over relevant images, of the precision at their rank (no interpolation); NaN if there is none."""
    return float(_average_precisions(np.atleast_2d(scores), np.atleast_2d(relevant))[0])


def average_precisions(
    probabilities: ArrayLike, truth: Any, queries: Iterable[Query] | None = None
) -> Floats:
    """Average precision of each query, NaN where nothing is relevant; every single word if `queries` is None.

    Parameters
    ----------
    probabilities : array (D, V)
    truth : array or sparse (D, V)
        Above 0 means true.
    queries : iterable of sequences of int, optional
        Word indices.

    Returns
    -------
    array (Q,), or (V,) for single words
    """
    is_true, log_p = true_words(truth), _log(np.asarray(probabilities, dtype=np.float64))
    if log_p.shape != is_true.shape:
        raise CorpusError(f"probabilities have shape {log_p.shape} and truth {is_true.shape}")
    # One row per word: a query's scores are then sums of contiguous rows.
    log_p, is_true = np.ascontiguousarray(log_p.T), np.ascontiguousarray(is_true.T)
    if queries is None:
        return _average_precisions(log_p, is_true)
    words = [_words(query) for query in queries]
    block = max(1, BLOCK_SCORES // max(1, log_p.shape[1]))
    values = [np.empty(0)]
    for start in range(0, len(words), block):
        some = words[start : start + block]
        values.append(
            _average_precisions(
                np.stack([log_p[query].sum(axis=0) for query in some]),
                np.stack([is_true[query].all(axis=0) for query in some]),
            )
        )
    return np.concatenate(values)


def mean_average_precision(
    probabilities: ArrayLike, truth: Any, queries: Iterable[Query] | None = None
) -> float:
    """Mean of `average_precisions` over the queries with a relevant image; NaN if there is no such query."""
    return _mean(average_precisions(probabilities, truth, queries))


def mean_average_precision_by_length(
    probabilities: ArrayLike, truth: Any, queries: Iterable[Query]
) -> dict[int, float]:
    """Mean average precision of the one-word queries, the two-word queries, ...: {length: value}."""
    queries = list(queries)
    by_length = defaultdict(list)
    for query, value in zip(queries, average_precisions(probabilities, truth, queries), strict=True):
        by_length[len(query)].append(value)
    return {length: _mean(np.array(values)) for length, values in sorted(by_length.items())}


def caption_queries(truth: Any, length: int) -> list[tuple[int, ...]]:
    """Every set of `length` words that some caption contains, sorted: the queries with a relevant image."""
    found: set[tuple[int, ...]] = set()
    for row in true_words(truth):
        found.update(combinations(np.flatnonzero(row).tolist(), length))
    return sorted(found)


def _average_precisions(scores: np.ndarray, relevant: np.ndarray) -> Floats:
    """Average precision of each row of (Q, D) scores, from the ranks of the relevant images alone."""
    hits = np.take_along_axis(np.asarray(relevant, dtype=bool), rank(scores), axis=1)
    n_relevant = hits.sum(axis=1)
    query, position = np.nonzero(hits)  # row by row, best rank first
    first_hit = np.cumsum(n_relevant) - n_relevant
    precision = (np.arange(len(query)) - first_hit[query] + 1) / (position + 1)
    total = np.bincount(query, weights=precision, minlength=len(hits))
    return np.divide(total, n_relevant, out=np.full(len(hits), np.nan), where=n_relevant > 0)


def _words(query: Query) -> list[int]:
    if len(query) == 0:
        raise CorpusError("a query needs at least one word")
    return list(query)


def _log(probabilities: Floats) -> Floats:
    if (probabilities < 0).any():
        raise CorpusError("retrieval needs probabilities, and some scores are negative")
    with np.errstate(divide="ignore"):  # ln 0 is minus infinity: such an image ranks last
        return np.log(probabilities)


def _mean(values: Floats) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")
