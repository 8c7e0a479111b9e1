"""Which words are suggested for which photos, chosen while presences pass by block after block."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Vocabulary
from topicture.models.leading_words import leading_words
from topicture.store import Catalog

__all__ = ["DEFAULT_THRESHOLD", "Chosen", "Possible", "Unwanted", "chosen_words", "find_unwanted"]

DEFAULT_THRESHOLD = 0.25

Chosen = tuple[int, str, float]  # image, word, probability

# So many more words than asked for are remembered per photo: some may be decided before suggestions are stored.
SPARE_WORDS = 32


class Unwanted(NamedTuple):
    """Pairs of photo and word that are not to be suggested."""

    photos: np.ndarray  # (D,) bool: no word at all
    words: np.ndarray  # (V,) bool: on no photo
    pairs: sparse.csr_array  # (D, V) bool: decided already

    @property
    def n_wanted(self) -> int:
        """Photos that some word is wanted for."""
        decided = self.pairs[:, np.flatnonzero(~self.words)].sum(axis=1)
        return int((~self.photos & (np.asarray(decided).ravel() < (~self.words).sum())).sum())


def find_unwanted(
    catalog: Catalog, vocabulary: Vocabulary, numbers: np.ndarray, everything: bool, rejected_too: bool
) -> Unwanted:
    """What was decided about the photos, in the words of a model."""
    row = {int(image): i for i, image in enumerate(numbers)}
    means = catalog.decisions.merged_words()
    # By the names of today: of what was merged since the model was learned, several.
    columns: dict[str, list[int]] = {}
    for column, word in enumerate(vocabulary):
        columns.setdefault(means.get(word, word), []).append(column)
    photos, words = np.zeros(len(numbers), bool), np.zeros(len(vocabulary), bool)
    at: list[tuple[int, int]] = []
    for image, word, verdict, _ in catalog.tree.with_implied(catalog.decisions.all_tags()):
        if image not in row:
            continue
        if not (verdict == "rejected" and rejected_too):
            at += [(row[image], column) for column in columns.get(word, [])]
    if not everything:
        photos = np.isin(numbers, catalog.decisions.captions.images())
    for word in catalog.decisions.unwanted_words():
        words[columns.get(word, [])] = True
    i, j = np.array(at, np.int64).reshape(-1, 2).T
    shape = (len(numbers), len(vocabulary))
    return Unwanted(photos, words, sparse.csr_array((np.ones(len(i), bool), (i, j)), shape=shape))


class Possible:
    """Pairs that may be suggested, remembered from presences that are not.

    Parameters
    ----------
    threshold : least presence; None: 0.25, or any where `top` is given
    top : at most this many words per photo; None: any number
    unwanted : what is decided now; more may be when `chosen` is asked
    """

    def __init__(self, threshold: float | None, top: int | None, unwanted: Unwanted):
        if threshold is None:
            threshold = DEFAULT_THRESHOLD if top is None else 0.0
        self.threshold, self.top, self.unwanted = threshold, top, unwanted
        none = np.zeros(0, np.int64)
        self._seen = [(none, none, np.zeros(0))]

    def see(self, start: int, presence: np.ndarray) -> None:
        """The presences (B, V) of the photos from position `start` on."""
        now = slice(start, start + len(presence))
        masked = presence.copy()
        masked[self.unwanted.photos[now]] = -1.0
        masked[:, self.unwanted.words] = -1.0
        masked[self.unwanted.pairs[now].nonzero()] = -1.0
        chosen = masked >= self.threshold
        if self.top is not None and self.top < presence.shape[1]:
            best = leading_words(masked, self.top + SPARE_WORDS)
            among = np.zeros_like(chosen)
            among[np.repeat(np.arange(len(among)), np.diff(best.indptr)), best.indices] = True
            chosen &= among
        row, word = np.nonzero(chosen)
        self._seen.append((row + start, word, presence[row, word]))

    def chosen(self, unwanted: Unwanted, numbers: np.ndarray, vocabulary: Vocabulary) -> list[Chosen]:
        """What is suggested, by photo and word."""
        row, word, p = (np.concatenate(parts) for parts in zip(*self._seen, strict=True))
        # No rows of a sparse matrix are no array.
        decided = np.asarray(unwanted.pairs[row, word]).ravel() if len(row) else np.zeros(0, bool)
        kept = ~(unwanted.photos[row] | unwanted.words[word] | decided)
        row, word, p = row[kept], word[kept], p[kept]
        if self.top is not None:
            order = np.lexsort((word, -p, row))
            place = np.arange(len(row)) - np.searchsorted(row, row)  # among the photo's own, best first
            kept = np.sort(order[place < self.top])
            row, word, p = row[kept], word[kept], p[kept]
        return [
            (int(numbers[r]), vocabulary[w], float(value))
            for r, w, value in zip(row.tolist(), word.tolist(), p.tolist(), strict=True)
        ]


def chosen_words(
    vocabulary: Vocabulary,
    numbers: np.ndarray,
    presence: np.ndarray,
    threshold: float | None,
    top: int | None,
) -> list[Chosen]:
    """What is suggested by a table (D, V); a presence of -1 stands for a pair that is not wanted."""
    D, V = presence.shape
    nothing = Unwanted(np.zeros(D, bool), np.zeros(V, bool), sparse.csr_array((D, V), dtype=bool))
    possible = Possible(threshold, top, nothing)
    possible.see(0, presence)
    return possible.chosen(nothing, numbers, vocabulary)
