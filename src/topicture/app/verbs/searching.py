"""Search: words to ranked photos, and photos to photos that look alike.

A photo's score is that of `search.index`, the probability that it has all the wanted words and none of the others. What
a person has said about a word of a photo counts as certain, whatever the model thinks.
"""

from dataclasses import dataclass

import numpy as np

from topicture.annotations.measures.ranking import rank
from topicture.corpus import Vocabulary
from topicture.errors import DataNotFound, TopictureError
from topicture.search import Query, SearchIndexError, WordIndex
from topicture.search.index import log_scores, top_positions
from topicture.search.query import Lexicon, QueryWord
from topicture.store import Catalog
from topicture.store.shards import ShardError

__all__ = ["SearchHit", "SimilarPhoto", "search", "similar"]

LEAST_PROBABILITY = 0.01  # what is less probable is no answer to a query


@dataclass(frozen=True)
class SearchHit:
    """A photo that a search found; `words` gives the probability of every word of the query."""

    path: str
    image: int
    probability: float
    words: dict[str, float]
    said: tuple[str, ...]  # words of the query that were decided on
    by_machine: tuple[
        str, ...
    ] = ()  # those of them that were accepted in bulk, and that nobody has confirmed


@dataclass(frozen=True)
class SimilarPhoto:
    """A photo, and the cosine of its appearance and the one asked about."""

    path: str
    image: int
    likeness: float


def search(catalog: Catalog, text: str, limit: int = 20) -> list[SearchHit]:
    """The photos that most probably answer a query such as `tiger grass -water`, best first.

    Raises QueryError or UnknownWords where the text can't be understood.
    """
    if limit < 1:
        raise TopictureError(f"the number of photos to find must be at least 1, not {limit}")
    index = _open_index(catalog)
    words = set(catalog.decisions.word_ids()) | set(index.vocabulary if index else ())
    if not words:
        raise DataNotFound("no photo has a tag yet, so there is nothing to search for")
    lexicon = Lexicon(Vocabulary(sorted(words)))
    query = lexicon.parse(text)
    table = _Table(catalog, index, query, lexicon.vocabulary)
    scores = log_scores(query, table.log_presence.__getitem__)
    hits: list[SearchHit] = []
    position, step = 0, 2 * limit
    # The best few are looked up; those whose file is gone make room for the next.
    order = top_positions(scores, step)
    while len(hits) < limit and position < len(order):
        here = int(order[position])
        if scores[here] < np.log(LEAST_PROBABILITY):
            break
        hit = table.hit(here, float(np.exp(scores[here])))
        if hit is not None:
            hits.append(hit)
        position += 1
        if position == len(order) < len(scores):
            step *= 4
            order = top_positions(scores, step)
    return hits


class _Table:
    """Presence of the words of one query in all photos that might answer it."""

    def __init__(self, catalog: Catalog, index: WordIndex | None, query: Query, vocabulary: Vocabulary):
        self._catalog = catalog
        self._vocabulary = vocabulary
        self._said = {word: self._verdicts(word) for word in (*query.wanted, *query.unwanted)}
        self._by_machine = {
            word: set(catalog.decisions.images_with((vocabulary[i] for i in word.ids), "present", "bulk"))
            for word in self._said
        }
        self.images = self._candidates(index)
        self.log_presence = {word: self._of(word, index) for word in self._said}

    def hit(self, position: int, probability: float) -> SearchHit | None:
        image = int(self.images[position])
        paths = self._catalog.files.paths_of(image)
        if not paths:
            return None
        words = {word.word: float(np.exp(self.log_presence[word][position])) for word in self._said}
        said = tuple(word.word for word, (yes, no) in self._said.items() if image in yes or image in no)
        by_machine = tuple(word.word for word, images in self._by_machine.items() if image in images)
        return SearchHit(paths[0], image, probability, words, said, by_machine)

    def _verdicts(self, word: QueryWord) -> tuple[set[int], set[int]]:
        spellings = [self._vocabulary[i] for i in word.ids]
        present = set(self._catalog.decisions.images_with(spellings, "present"))
        return present, set(self._catalog.decisions.images_with(spellings, "rejected")) - present

    def _candidates(self, index: WordIndex | None) -> np.ndarray:
        """Ids of photos, ascending: all that the index has, and those that people tagged since."""
        said = _sorted(set().union(*(yes for yes, _ in self._said.values())))
        if index is None:
            return said
        indexed = np.asarray(self._catalog.index_images())
        new = said[~_is_in(said, indexed)]
        return np.sort(np.concatenate([indexed, new])) if len(new) else indexed

    def _of(self, word: QueryWord, index: WordIndex | None) -> np.ndarray:
        log_presence = np.full(len(self.images), -np.inf)
        spellings = [self._vocabulary[i] for i in word.ids]
        if index is not None and (known := [s for s in spellings if s in index.vocabulary]):
            at = np.searchsorted(self.images, self._catalog.index_images())
            log_presence[at] = index.log_presence([index.vocabulary.index(s) for s in known])
        for images, value in zip(self._said[word], (0.0, -np.inf), strict=True):
            here = _sorted(images)
            log_presence[np.searchsorted(self.images, here[_is_in(here, self.images)])] = value
        return log_presence


def _sorted(images: set[int]) -> np.ndarray:
    return np.array(sorted(images), dtype=np.int64)


def _is_in(images: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Which images occur in an ascending array; quicker than NumPy's own, which does not know that it ascends."""
    if not len(ascending):
        return np.zeros(len(images), bool)
    at = np.minimum(np.searchsorted(ascending, images), len(ascending) - 1)
    return ascending[at] == images


def similar(catalog: Catalog, image: int, limit: int = 12) -> list[SimilarPhoto]:
    """The photos that look most like one of the collection, best first."""
    rows = catalog.features()
    if rows is None:
        raise DataNotFound(
            "there is no index of appearances; run 'topicture annotate' (views: deep or colour-layout)"
        )
    images = catalog.index_images()
    at = int(np.searchsorted(images, image))
    if at >= len(images) or images[at] != image:
        raise DataNotFound("the photo is not in the index yet; run 'topicture annotate'")
    question = np.asarray(rows[at], np.float32)
    with np.errstate(invalid="ignore"):  # told by the next line
        likeness = np.concatenate(
            [
                np.asarray(rows[start : start + 8192], np.float32) @ question
                for start in range(0, len(rows), 8192)
            ]
        )
    if not np.isfinite(likeness).all():
        raise ShardError(f"{rows.folder}: holds values that are not numbers; run 'topicture annotate'")
    likeness[at] = -np.inf
    found: list[SimilarPhoto] = []
    for position in rank(likeness)[: 4 * limit]:
        paths = catalog.files.paths_of(int(images[position]))
        if paths and len(found) < limit and likeness[position] > -np.inf:
            found.append(SimilarPhoto(paths[0], int(images[position]), float(likeness[position])))
    return found


def _open_index(catalog: Catalog) -> WordIndex | None:
    folder = catalog.index_folder()
    if folder is None or not folder.exists():
        return None
    index = WordIndex.open(folder)
    if len(index) != len(catalog.index_images()):
        raise SearchIndexError(
            f"{folder}: damaged (words of {len(index)} photos, but a list of {len(catalog.index_images())}); "
            "run 'topicture annotate'"
        )
    return index
