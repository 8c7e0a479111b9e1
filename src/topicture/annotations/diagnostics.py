"""What a person wants to know of an annotator: which words it finds or mistakes for others, what a promise is worth.

All functions take tables of D images and V words:

presence (D, V)   probability that the image has the word, by a model that had not seen the image's caption
truth (D, V)      the image has the word (bool)
known (D, V)      a person has judged the pair (bool); pairs that nobody judged count for nothing

A word is suggested where its presence reaches a threshold.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from topicture.annotations.choice.presence import JudgedPairs, reliability
from topicture.annotations.measures.ranking import rank
from topicture.annotations.measures.retrieval import average_precision
from topicture.errors import CorpusError

__all__ = [
    "CalibrationPoint",
    "Confusion",
    "Confusions",
    "WordExamples",
    "WordQuality",
    "calibration_curve",
    "per_word_table",
    "word_confusions",
    "word_examples",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

NAN = float("nan")
# Below this probability a photo can't be said to look as if it should carry a word.
MISSING_FROM = 0.5


class WordQuality(NamedTuple):
    """How well one word is found."""

    word: int
    photos: int  # that have it, of those judged
    suggested: int
    right: int  # of those suggested
    precision: float  # right / suggested; NaN where it was never suggested
    recall: float  # right / photos; NaN where no photo has it
    average_precision: float  # of ranking the judged photos by the word; NaN where no photo has it


class CalibrationPoint(NamedTuple):
    """Suggestions of similar probability: what was promised, what came true, and how sure that is."""

    low: float
    high: float
    n: int
    promised: float  # mean probability
    observed: float  # share that people had given
    observed_low: float  # Wilson's 95% interval of the share
    observed_high: float


class Confusion(NamedTuple):
    """`meant` was missed, and `suggested` wrongly suggested, on this many photos."""

    meant: int
    suggested: int
    photos: int
    of: int  # photos that have the meant word


class Confusions(NamedTuple):
    """Pairs of words that are taken for each other.

    counts : (V, V) int; row: the word that was meant and missed, column: the word that was suggested instead
    photos : (V,) photos that have each word
    found : (V,) photos that have the word and got it suggested
    """

    counts: Ints
    photos: Ints
    found: Ints

    def top(self, n: int) -> list[Confusion]:
        """The commonest confusions, at most n; of equals the one that befalls more of the meant word's photos."""
        found = [
            Confusion(meant, suggested, int(self.counts[meant, suggested]), int(self.photos[meant]))
            for meant, suggested in np.argwhere(self.counts > 0).tolist()
        ]
        return sorted(found, key=lambda c: (-c.photos, c.of, c.meant, c.suggested))[:n]

    def shares(self, words: ArrayLike) -> Floats:
        """Among some words (n): share of the row word's photos with this outcome, (n, n); the diagonal was found."""
        words = np.asarray(words, dtype=np.int64)
        table = self.counts[np.ix_(words, words)].astype(np.float64)
        np.fill_diagonal(table, self.found[words])
        return table / np.maximum(self.photos[words], 1)[:, None]


class WordExamples(NamedTuple):
    """Images that show what a word means to the model; positions in the tables, at most n of each kind."""

    word: int
    typical: tuple[int, ...]  # have the word, and are most expected to
    untypical: tuple[int, ...]  # have the word, and are least expected to
    missing: tuple[int, ...]  # were judged not to have it, and are most expected to


# --- Tables -------------------------------------------------------------------------------------------------------


def per_word_table(presence: Floats, truth: Bools, known: Bools, threshold: float) -> list[WordQuality]:
    """How well each word is found, in the order of the vocabulary."""
    presence, truth, known = _tables(presence, truth, known)
    suggested = (presence >= threshold) & known
    true = truth & known
    n_suggested, n_true = suggested.sum(axis=0), true.sum(axis=0)
    n_right = (suggested & true).sum(axis=0)
    return [
        WordQuality(
            word,
            int(n_true[word]),
            int(n_suggested[word]),
            int(n_right[word]),
            _ratio(n_right[word], n_suggested[word]),
            _ratio(n_right[word], n_true[word]),
            average_precision(presence[judged, word], truth[judged, word])
            if (judged := known[:, word]).any()
            else NAN,
        )
        for word in range(truth.shape[1])
    ]


def word_confusions(presence: Floats, truth: Bools, known: Bools, threshold: float) -> Confusions:
    """Which word is suggested where which other was meant.

    On an image, every word that it has and that was not suggested is taken for every word that was suggested and that
    it does not have.
    """
    presence, truth, known = _tables(presence, truth, known)
    suggested = presence >= threshold
    missed = (truth & known & ~suggested).astype(np.float64)
    wrong = (~truth & known & suggested).astype(np.float64)
    true = truth & known
    return Confusions(
        np.rint(missed.T @ wrong).astype(np.int64),
        true.sum(axis=0).astype(np.int64),
        (true & suggested).sum(axis=0).astype(np.int64),
    )


def calibration_curve(
    presence: Floats, truth: Bools, known: Bools, n_bins: int = 10
) -> list[CalibrationPoint]:
    """Promised against observed frequency in bins of equal width, with counts; empty bins are left out."""
    presence, truth, known = _tables(presence, truth, known)
    return [
        CalibrationPoint(*b, *_wilson(round(b.observed * b.n), b.n))
        for b in reliability(JudgedPairs.of(presence, truth, known), n_bins)
    ]


def word_examples(
    presence: Floats, truth: Bools, known: Bools, words: ArrayLike, n: int = 4
) -> list[WordExamples]:
    """Typical and untypical images of some words, and images that look as if they should carry it."""
    presence, truth, known = _tables(presence, truth, known)
    found = []
    for word in np.asarray(words, dtype=np.int64).tolist():
        has = np.flatnonzero(truth[:, word] & known[:, word])
        has = has[rank(presence[has, word])] if len(has) else has
        lacks = np.flatnonzero(~truth[:, word] & known[:, word] & (presence[:, word] >= MISSING_FROM))
        lacks = lacks[rank(presence[lacks, word])] if len(lacks) else lacks
        n_each = min(n, (len(has) + 1) // 2)  # a photo is never both
        untypical = has[::-1][: min(n_each, len(has) - n_each)]
        found.append(
            WordExamples(
                word, tuple(has[:n_each].tolist()), tuple(untypical.tolist()), tuple(lacks[:n].tolist())
            )
        )
    return found


# --- Parts --------------------------------------------------------------------------------------------------------


def _tables(presence: Floats, truth: Bools, known: Bools) -> tuple[Floats, Bools, Bools]:
    values, is_true, is_known = (
        np.asarray(presence, np.float64),
        np.asarray(truth, bool),
        np.asarray(known, bool),
    )
    if values.ndim != 2 or not values.shape == is_true.shape == is_known.shape:
        raise CorpusError(
            f"presence, truth and known have shapes {values.shape}, {is_true.shape} and {is_known.shape}; "
            "all need one row per image and one column per word"
        )
    return values, is_true, is_known


def _ratio(part: int, whole: int) -> float:
    return float(part / whole) if whole else NAN


def _wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share: sensible for few pairs and for shares near 0 and 1, unlike the normal one."""
    low, high = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    return float(low), float(high)
