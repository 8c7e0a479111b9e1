"""The most probable words of images: what is kept of answers where all would be too many."""

import numpy as np
from scipy import sparse

__all__ = ["leading_words"]


def leading_words(p: np.ndarray, n_words: int) -> sparse.csr_array:
    """The most probable words of every row (B, V), ties to the lower word id, sorted by word."""
    n = min(n_words, p.shape[1])
    least = np.partition(p, p.shape[1] - n, axis=1)[:, p.shape[1] - n, None]
    chosen = p >= least
    # Where several equal the n-th value, the first of them are taken; a partition alone would take any.
    for row in np.flatnonzero(chosen.sum(axis=1) > n):
        tied = np.flatnonzero(p[row] == least[row])
        chosen[row, tied[n - int((p[row] > least[row]).sum()) :]] = False
    words = np.nonzero(chosen)[1].reshape(len(p), n)
    values = np.take_along_axis(p, words, axis=1)
    starts = np.arange(0, words.size + 1, n)
    return sparse.csr_array((values.ravel(), words.ravel().astype(np.int32), starts), shape=p.shape)
