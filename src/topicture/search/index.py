r"""Text search over p(w | r): a memory-mapped index of a whole collection, and its ranking.

Wanted words q and unwanted words u score image i by [blei2003annotated]'s product, continued to words left out:

    score_i = sum_q ln p(q | r_i) + M sum_u ln(1 - p(u | r_i))

p(. | r_i) is the distribution of one caption word. The first sum is the log-probability that words drawn from it are
the wanted ones; ln(1 - p(u)) that a drawn word is not u, and M times it that none of a caption of M words is. So
wanted and unwanted words are judged by the same model and on the same scale, nothing is cut off by a threshold, and an
image that is sure to have an unwanted word (p = 1) is as impossible as one that can't have a wanted one (p = 0): both
score minus infinity. M = 1 counts all words alike; the mean length of the collection's captions excludes more firmly.

Rows are stored by word, so that a query reads only its own words' rows: 4 bytes (2 in float16) per image and word.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.measures.ranking import rank
from topicture.corpus import Corpus, Vocabulary
from topicture.search.files import ImageIds, SearchIndexError, open_files, write_files
from topicture.search.query import Lexicon, Query, QueryWord

if TYPE_CHECKING:  # a search needs no model
    from topicture.models.base import Annotator

__all__ = ["Hit", "WordIndex", "annotated_blocks", "top_positions"]

Floats = NDArray[np.float64]


class Hit(NamedTuple):
    """An image that a search found."""

    image_id: str
    score: float  # natural logarithm, at most 0
    probabilities: dict[str, float]  # p(w | image) of every word of the query, unwanted ones included


class WordIndex:
    """p(w | r) of every word and image of a collection, ready to be searched; `build` or `open` one.

    Attributes
    ----------
    vocabulary : Vocabulary of V words
    log_p : read-only array (V, D)
        ln p(word | image), mapped from disk.
    """

    def __init__(self, vocabulary: Vocabulary, image_ids: ImageIds, log_p: np.ndarray, source: str):
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
            a time if the iterable makes them as it goes, as `annotated_blocks` does.
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
        caption_length : float
            The M of the scoring rule, above 0.

        Raises
        ------
        QueryError, UnknownWords
            If the text can't be understood.
        SearchIndexError
            If the index turns out to be damaged.
        """
        query = self.parse(query) if isinstance(query, str) else query
        scores = self.scores(query, caption_length=caption_length)
        best = top_positions(scores, k)
        return [self._hit(query, position, scores[position]) for position in best[scores[best] > -np.inf]]

    def scores(self, query: str | Query, *, caption_length: float = 1.0) -> Floats:
        """The score of every image, shape (D,), minus infinity where impossible: see the top of this module.

        Together with `relevant` it gives the curves and averages of `topicture.annotations.measures.metrics`.
        """
        query = self.parse(query) if isinstance(query, str) else query
        if not caption_length > 0:
            raise ValueError(f"caption_length is a number of words, above 0; got {caption_length}")
        scores = np.zeros(len(self))
        for word in query.wanted:
            scores += self._log_p(word)
        for word in query.unwanted:
            scores += caption_length * _log_not(self._log_p(word))
        return scores

    def row(self, word: int) -> np.ndarray:
        """ln p(word | image) of every image, (D,); raises SearchIndexError where the row is damaged."""
        row = self.log_p[word]
        if not row.max(initial=-np.inf) <= 0:  # also true of NaN
            raise SearchIndexError(f"{self._source}: damaged (not log-probabilities); build the index again")
        return row

    def check(self) -> None:
        """Read all of it; raises SearchIndexError where it is damaged."""
        for word in range(len(self.vocabulary)):
            self.row(word)

    def _log_p(self, word: QueryWord, image: int | None = None) -> np.ndarray:
        """ln p(word | image); tags that differ only in case exclude one another, so their probabilities add."""
        rows = [np.asarray(self.row(i) if image is None else self.log_p[i, image]) for i in word.ids]
        if len(rows) == 1:
            return rows[0]
        return np.minimum(np.logaddexp.reduce(rows, axis=0, dtype=np.float64), 0.0)

    def _hit(self, query: Query, position: int, score: float) -> Hit:
        words = (*query.wanted, *query.unwanted)
        p = {word.word: float(np.exp(np.float64(self._log_p(word, int(position))))) for word in words}
        return Hit(self._image_ids.at(position), float(score), p)


def annotated_blocks(
    annotator: "Annotator", corpus: Corpus, n_images: int = 4096
) -> Iterator[NDArray[np.float64]]:
    """What `WordIndex.build` takes: p(w | image) of a corpus, annotated `n_images` at a time.

    For annotators that judge each image by itself; one that looks at the images together should annotate the whole
    corpus, and its table be given to `build` as a single block.
    """
    for start in range(0, len(corpus), n_images):
        yield annotator.annotate(corpus[start : start + n_images])


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


def _log_not(log_p: np.ndarray) -> Floats:
    """ln(1 - p) from ln p; minus infinity for p = 1. Through expm1, which keeps the distance of p to 1 exact."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(log_p.astype(np.float64)))
