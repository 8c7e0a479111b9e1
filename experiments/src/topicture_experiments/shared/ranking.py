"""Five words for a photo by itself, where every word counts the same: what a word's answers are to be divided by.

Dividing by a word's highest answers among the photos that are asked about makes a photo's words depend on the others.
Here they are those of hidden folds of the training photos; how strongly to divide is chosen on the same folds.
"""

from typing import Any

import numpy as np
from scipy import sparse

from topicture.annotations.measures.metrics import per_word
from topicture_experiments.descriptors.images import WORDS_PER_IMAGE

__all__ = ["BY_ITSELF", "EVENNESS", "N_CHUNKS", "PLAIN", "TOGETHER", "evened", "ranked", "ranked_together"]

PLAIN, BY_ITSELF, TOGETHER = "plain", "by itself", "among each other"
# How far words are made even in the ranking when measures are means over words.
EVENNESS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
N_CHUNKS = 9  # of about the size of the test photos: means over words depend on how often a word occurs


def ranked(
    hidden: np.ndarray, captions: np.ndarray, asked: np.ndarray, truth: np.ndarray, seed: int = 0
) -> dict[str, Any]:
    """F1 and N+ on photos that are asked about, plain, photo by photo and among each other.

    Parameters
    ----------
    hidden, captions : (n, V) answers for training photos while their captions were hidden, and these
    asked, truth : (m, V) the same of the test photos
    """
    shares = captions.mean(axis=0)
    chunks = np.array_split(np.random.default_rng(seed).permutation(len(hidden)), N_CHUNKS)

    def on_chunks(evenness: float, by_itself: bool) -> float:
        found = []
        for rows in chunks:
            others = np.delete(hidden, rows, axis=0) if by_itself else None
            scores = evened(hidden[rows], shares, evenness, others)
            found.append(per_word(scores, _sparse(captions[rows]), WORDS_PER_IMAGE).f1)
        return float(np.mean(found))

    alone, together = (max(EVENNESS, key=lambda e: on_chunks(e, by_itself)) for by_itself in (True, False))
    scores = evened(asked, shares, alone, hidden)
    measures = per_word(scores, _sparse(truth), WORDS_PER_IMAGE)._asdict()
    return {
        BY_ITSELF: {**measures, "evenness": alone},
        **ranked_together(asked, truth, captions, together),
    }


def ranked_together(
    asked: np.ndarray, truth: np.ndarray, captions: np.ndarray, evenness: float
) -> dict[str, Any]:
    """The same plain and among each other alone."""
    shares, given = captions.mean(axis=0), _sparse(truth)
    plain, even = (
        per_word(evened(asked, shares, e), given, WORDS_PER_IMAGE)._asdict() for e in (0.0, evenness)
    )
    return {PLAIN: plain, TOGETHER: {**even, "evenness": evenness}}


def evened(
    p: np.ndarray, shares: np.ndarray, evenness: float, reference: np.ndarray | None = None
) -> np.ndarray:
    """Scores (n, V) for choosing a fixed number of words per image where every word counts the same in the end.

    A word's probabilities are divided by the mean of its highest ones: as many as images are expected to have it, by
    its share (V,) of the training images. So a word is chosen where it stands out among its own answers. `evenness` is
    the exponent of the divisor. The highest ones are those of `reference` (m, V), such as answers for hidden folds, so
    that an image's words do not depend on the others; where not given, those among p itself.
    """
    among = p if reference is None else reference
    highest = -np.sort(-among, axis=0)
    expected = np.clip(np.round(shares * len(among)).astype(int), 1, len(among))
    tops = np.cumsum(highest, axis=0)[expected - 1, np.arange(len(shares))] / expected
    return np.log(p) - evenness * np.log(tops)


def _sparse(truth: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array(truth.astype(np.float64))
