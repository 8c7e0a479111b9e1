"""From word probabilities to suggestions: ranked words, the top k, those above a threshold, a word per region.

Words are ranked by descending probability, ties to the lower word id; a word whose probability is NaN is never
suggested.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.measures.ranking import rank
from topicture.corpus import Vocabulary
from topicture.errors import CorpusError

__all__ = ["Suggestion", "above", "region_labels", "top_words", "top_words_of_each"]


class Suggestion(NamedTuple):
    """A word that a model suggests, and how probable it is."""

    word: str
    probability: float


def top_words(probabilities: ArrayLike, vocabulary: Vocabulary, k: int | None = None) -> list[Suggestion]:
    """The k most probable words of one image or region, best first; all of them, ranked, if k is None.

    Parameters
    ----------
    probabilities : array (V,)
    vocabulary : Vocabulary of V words
    k : int, optional

    Raises
    ------
    CorpusError
        If there is not one probability per word.
    """
    row = np.asarray(probabilities, dtype=np.float64)
    if row.ndim != 1:
        raise CorpusError(f"expected one row of {len(vocabulary)} probabilities, got shape {row.shape}")
    return top_words_of_each(row[None, :], vocabulary, k)[0]


def above(probabilities: ArrayLike, vocabulary: Vocabulary, threshold: float) -> list[Suggestion]:
    """The words of one image or region whose probability exceeds the threshold, best first."""
    return [word for word in top_words(probabilities, vocabulary) if word.probability > threshold]


def top_words_of_each(
    probabilities: ArrayLike, vocabulary: Vocabulary, k: int | None = None
) -> list[list[Suggestion]]:
    """`top_words` of every row of (D, V) probabilities."""
    table = _checked(probabilities, vocabulary)
    order = rank(table)[:, : _length(k, len(vocabulary))]
    best = np.take_along_axis(table, order, axis=1)
    return [
        [Suggestion(vocabulary[w], p) for w, p in zip(words, values, strict=True) if not np.isnan(p)]
        for words, values in zip(order.tolist(), best.tolist(), strict=True)
    ]


def region_labels(
    probabilities: ArrayLike, vocabulary: Vocabulary, threshold: float = 0.0
) -> list[Suggestion | None]:
    """The best word of each region of an image, None where no word's probability exceeds the threshold.

    Parameters
    ----------
    probabilities : array (N, V)
        p(word | region) of the N regions, one item of what `label_regions` returns.
    vocabulary : Vocabulary of V words
    threshold : float
    """
    best = top_words_of_each(probabilities, vocabulary, 1)
    return [words[0] if words and words[0].probability > threshold else None for words in best]


def _checked(probabilities: ArrayLike, vocabulary: Vocabulary) -> NDArray[np.float64]:
    table = np.asarray(probabilities, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(vocabulary):
        raise CorpusError(
            f"probabilities have shape {table.shape}, but the vocabulary holds {len(vocabulary)} words"
        )
    return table


def _length(k: int | None, n_words: int) -> int:
    if k is None:
        return n_words
    if k < 1:
        raise ValueError(f"k is the number of words to suggest, at least 1; got {k}")
    return k
