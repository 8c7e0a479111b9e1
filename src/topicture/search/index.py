r"""Text search over the probabilities of words: a memory-mapped index of a whole collection, and its ranking.

An image's score is the log-probability that it has all the wanted words q and none of the unwanted words u, each judged
by itself; for wanted words alone it is the product of [blei2003annotated]:

    score_i = sum_q ln p(q | r_i) + sum_u ln(1 - p(u | r_i))

Of alternatives (tiger OR lion) at least one is wanted: ln(1 - prod_q (1 - p(q | r_i))).

So nothing is cut off by a threshold, and an image that is sure to have an unwanted word (p = 1) is as impossible as one
that can't have a wanted one (p = 0): both score minus infinity. `log_scores` is the only place where this is computed,
for the index by itself and for the tool, which knows of some words for certain.

Rows are stored by word, so that a query reads only its own words' rows: 4 bytes (2 in float16) per image and word. Of
more than five hundred million pairs of image and word only the likeliest words of each image are kept (`postings`).
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.measures.ranking import rank
from topicture.corpus import Vocabulary
from topicture.moved import moved
from topicture.search.files import ImageIds, SearchIndexError, open_files, write_files
from topicture.search.postings import Postings
from topicture.search.query import Lexicon, Query, QueryWord

__all__ = ["Hit", "WordIndex", "log_scores", "top_positions"]

__getattr__ = moved(__name__)  # names of earlier versions

Floats = NDArray[np.float64]

_LEAST = -1e-300  # ln(1 - p) nearer to 0 than this is too coarse to find p from


class Hit(NamedTuple):
    """An image that a search found."""

    image_id: str
    score: float  # natural logarithm, at most 0
    probabilities: dict[str, float]  # p(w | image) of every word of the query, unwanted ones included


class WordIndex:
    """p(word | image) of every word and image of a collection, ready to be searched; `build` or `open` one.

    Attributes
    ----------
    vocabulary : Vocabulary of V words
    log_p : read-only array (V, D)
        ln p(word | image), mapped from disk; of a large collection `Postings`, whose rows are made when asked for.
    """

    def __init__(self, vocabulary: Vocabulary, image_ids: ImageIds, log_p: Any, source: str):
        self.vocabulary = vocabulary
        self.log_p = log_p
        self._image_ids = image_ids
        self._lexicon = Lexicon(vocabulary)
        self._source = source

    @classmethod
    def build(
        cls,
        folder: str | Path,
        vocabulary: Vocabulary,
        image_ids: Sequence[str] | NDArray[np.str_],
        blocks: Iterable[ArrayLike],
        *,
        dtype: str = "float32",
    ) -> "WordIndex":
        """Write an index into a folder of its own, replacing a former one at the end, and open it.

        Parameters
        ----------
        folder : path
        vocabulary : Vocabulary of V words
        image_ids : sequence of D str
        blocks : iterable of arrays (B, V)
            p(w | image) of the first B images, of the next, and so on: D rows in all. Only one block is in memory at
            a time if the iterable makes them as it goes.
        dtype : "float32" or "float16"
            float16 halves the folder; probabilities are then kept to about 0.2 percent, and more images tie.

        Raises
        ------
        CorpusError
            If a block does not hold probabilities, or the rows are not as many as the ids.
        SearchIndexError
            If the folder holds something else.
        """
        write_files(Path(folder), vocabulary, image_ids, blocks, dtype)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> "WordIndex":
        """Map an index into memory, whatever its size.

        Raises
        ------
        DataNotFound
            If there is no index.
        SearchIndexError
            If a file is missing, truncated, of another shape or version.
        """
        files = open_files(Path(folder))
        return cls(files.vocabulary, files.image_ids, files.log_p, str(folder))

    def __len__(self) -> int:
        """Number of images."""
        return self._image_ids.n_images

    def parse(self, text: str) -> Query:
        """The query that a text means in this index's vocabulary; raises QueryError, UnknownWords."""
        return self._lexicon.parse(text)

    def search(self, query: str | Query, k: int = 20, *, caption_length: float = 1.0) -> list[Hit]:
        """The k best images, best first, ties in the order of the collection.

        Images that can't have a wanted word, or must have an unwanted one, are no hits, so fewer may come back.

        Parameters
        ----------
        query : str or Query
            Words as people type them, or what `parse` made of them.
        k : int
        caption_length : float, above 0
            How often an unwanted word counts: the more words captions have, the likelier one of them is that word.

        Raises
        ------
        QueryError, UnknownWords
            If the text can't be understood.
        SearchIndexError
            If the index turns out to be damaged.
        """
        query = self.parse(query) if isinstance(query, str) else query
        log_p = {word: self.log_presence(word.ids) for word in query.words}
        scores = log_scores(query, log_p.__getitem__, caption_length)
        best = top_positions(scores, k)
        return [
            Hit(
                self._image_ids.at(position),
                float(scores[position]),
                {word.word: float(np.exp(row[position])) for word, row in log_p.items()},
            )
            for position in best[scores[best] > -np.inf]
        ]

    def scores(self, query: str | Query, *, caption_length: float = 1.0) -> Floats:
        """The score of every image, (D,), as `search` ranks by it; minus infinity where impossible."""
        query = self.parse(query) if isinstance(query, str) else query
        return log_scores(query, lambda word: self.log_presence(word.ids), caption_length)

    def log_presence(self, words: Sequence[int]) -> Floats:
        """ln of the probability that an image has at least one of the words, which are spellings of one, (D,)."""
        return _log_any([self.row(word).astype(np.float64) for word in words])

    def row(self, word: int) -> np.ndarray:
        """ln p(word | image) of every image, (D,); raises SearchIndexError where the row is damaged."""
        try:
            row = self.log_p[word]
        except ValueError as error:
            raise SearchIndexError(f"{self._source}: damaged ({error}); build the index again") from None
        if not row.max(initial=-np.inf) <= 0:  # also true of NaN
            raise SearchIndexError(f"{self._source}: damaged (not log-probabilities); build the index again")
        return row

    def probabilities(self, start: int, stop: int) -> np.ndarray:
        """p(word | image) of the images from one position to another, (B, V) float32."""
        rows = (
            self.log_p.columns(start, stop) if isinstance(self.log_p, Postings) else self.log_p[:, start:stop]
        )
        return np.exp(np.asarray(rows, np.float32)).T

    def check(self) -> None:
        """Read all of it; raises SearchIndexError where it is damaged."""
        for word in range(len(self.vocabulary)):
            self.row(word)


def log_scores(
    query: Query, log_presence: Callable[[QueryWord], Floats], caption_length: float = 1.0
) -> Floats:
    """The score of every image, (D,), minus infinity where impossible: see the top of this module.

    `log_presence` gives ln of the probability of a word in every image, (D,). Unwanted words count `caption_length`
    times.
    """
    if not caption_length > 0:
        raise ValueError(f"caption_length is a number of words, above 0; got {caption_length}")
    wanted = (log_presence(word) for word in query.wanted)
    unwanted = (caption_length * _log_not(log_presence(word)) for word in query.unwanted)
    groups = (_log_any([log_presence(word) for word in group]) for group in query.any_of)
    return np.asarray(sum((*wanted, *groups, *unwanted)))


def top_positions(scores: Floats, k: int) -> NDArray[np.int64]:
    """Positions of the k highest scores, best first, ties to the lower position; all of them if k is larger.

    Equal to `rank(scores)[:k]` in time linear in the number of scores.
    """
    if k < 1:
        raise ValueError(f"k is the number of images to find, at least 1; got {k}")
    if k >= len(scores):
        return rank(scores) if len(scores) else np.empty(0, dtype=np.int64)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > least)
    tied = np.flatnonzero(scores == least)[: k - len(above)]  # a partition alone would take any of the tied
    candidates = np.sort(np.concatenate([above, tied]))
    return candidates[rank(scores[candidates])]


def _log_any(rows: Sequence[np.ndarray]) -> Floats:
    """ln of the probability of at least one, from ln of each, judged by themselves."""
    if len(rows) == 1:
        return rows[0]
    log_none = np.sum([_log_not(row) for row in rows], axis=0)
    # Of probabilities that floating point hardly tells from 0, the chance of two at once is nothing.
    return np.where(log_none < _LEAST, _log_not(log_none), np.logaddexp.reduce(rows))


def _log_not(log_p: np.ndarray) -> Floats:
    """ln(1 - p) from ln p; minus infinity for p = 1. Keeps p as exact near 0 as its distance to 1 near 1."""
    with np.errstate(divide="ignore"):
        return np.where(log_p > -np.log(2), np.log(-np.expm1(log_p)), np.log1p(-np.exp(log_p)))
