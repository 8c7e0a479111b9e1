"""Five words for a photo by itself, where every word counts the same: what a word's answers are to be divided by.

Dividing by a word's highest answers among the photos that are asked about makes a photo's words depend on the others.
Here they are those of hidden folds of the training photos; how strongly to divide is chosen on the same folds.
"""

from typing import Any

import numpy as np
from scipy import sparse

from topicture.annotations.measures.metrics import per_word
from topicture_experiments.auto.work import EVENNESS, WORDS_PER_IMAGE, evened

__all__ = ["N_CHUNKS", "ranked"]

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

    results: dict[str, Any] = {
        "plain": per_word(evened(asked, shares, 0.0), _sparse(truth), WORDS_PER_IMAGE)._asdict()
    }
    for name, by_itself in (("by itself", True), ("among each other", False)):
        evenness = max(EVENNESS, key=lambda e: on_chunks(e, by_itself))
        scores = evened(asked, shares, evenness, hidden if by_itself else None)
        measures = per_word(scores, _sparse(truth), WORDS_PER_IMAGE)._asdict()
        results[name] = {**measures, "evenness": evenness}
    return results


def _sparse(truth: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array(truth.astype(np.float64))
