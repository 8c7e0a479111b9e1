"""Suggestions chosen block by block are those that a whole table would give, whatever is decided meanwhile."""

import numpy as np
import pytest
from scipy import sparse

from topicture.app.learning.annotated.suggesting import Possible, Unwanted
from topicture.corpus import Vocabulary

D, V = 40, 9
WORDS = Vocabulary(f"w{i}" for i in range(V))
NUMBERS = np.arange(100, 100 + D)


def unwanted(rng, n_pairs):
    pairs = sparse.coo_array(
        (np.ones(n_pairs, bool), (rng.integers(D, size=n_pairs), rng.integers(V, size=n_pairs))), (D, V)
    )
    return Unwanted(rng.random(D) < 0.2, rng.random(V) < 0.2, sparse.csr_array(pairs))


def of_whole_table(presence, no, threshold, top):
    masked = presence.copy()
    masked[no.photos] = masked[:, no.words] = masked[no.pairs.toarray()] = -1
    chosen = masked >= threshold
    if top is not None:
        best = np.zeros_like(chosen)
        np.put_along_axis(best, np.argsort(-masked, axis=1, kind="stable")[:, :top], True, axis=1)
        chosen &= best
    return [(int(NUMBERS[r]), WORDS[c], presence[r, c]) for r, c in zip(*np.nonzero(chosen), strict=True)]


@pytest.mark.parametrize(("threshold", "top"), [(0.4, None), (0.0, 2), (0.3, 3), (0.0, V)])
def test_blocks_give_what_a_whole_table_gives(rng, threshold, top):
    presence = np.round(rng.random((D, V)), 1)  # ties, and zeros
    before, after = unwanted(rng, 20), unwanted(rng, 60)
    after = Unwanted(
        before.photos | after.photos, before.words | after.words, sparse.csr_array(before.pairs + after.pairs)
    )
    possible = Possible(threshold, top, before)
    for start in range(0, D, 7):
        possible.see(start, presence[start : start + 7])
    for no in (before, after):  # more was decided meanwhile
        assert possible.chosen(no, NUMBERS, WORDS) == of_whole_table(presence, no, threshold, top)
        wanted = ~(no.photos[:, None] | no.words | no.pairs.toarray())
        assert no.n_wanted == wanted.any(axis=1).sum()
