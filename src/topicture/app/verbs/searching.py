"""Search: words to ranked photos, and photos to photos that look alike.

A photo's score is that of `search.index`, the probability that it has all the wanted words and none of the others. What
a person has said about a word of a photo counts as certain, whatever the model thinks. Where several words are wanted,
photos come first in which each has a region of its own: "dog on grass" is a dog and grass that both can be pointed at.
A word means those below it in the tree, too: a photo of a tiger is one of an animal.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topicture.app.verbs.browsing.listing import PhotoFilter, kept_photos
from topicture.corpus import Vocabulary
from topicture.errors import DataNotFound, TopictureError
from topicture.search import Query, SearchIndexError, WordIndex
from topicture.search.index import log_scores, top_positions
from topicture.search.query import Lexicon, QueryWord, Term
from topicture.store import Catalog
from topicture.store.shards import ShardError

__all__ = ["SearchHit", "SearchPage", "SimilarPhoto", "likenesses", "search", "search_page", "similar"]

PREFERRED_AMONG = 1000  # best photos, among which those with regions of all words are preferred
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
    regions: tuple[str, ...] = ()  # wanted words that have a region


@dataclass(frozen=True)
class SearchPage:
    """A part of what a search found, the words of the query as the collection spells them, and `total` hits.

    `probable` of them are more likely right than wrong.
    Of each group of `any_of` a photo has one word at least; `terms` is all of the query in the order of `Query.terms`.
    """

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]
    any_of: tuple[tuple[str, ...], ...]
    total: int
    hits: tuple[SearchHit, ...]
    terms: tuple[Term, ...] = ()
    probable: int = 0


@dataclass(frozen=True)
class SimilarPhoto:
    """A photo, and the cosine of its appearance and the one asked about."""

    path: str
    image: int
    likeness: float


def search(catalog: Catalog, text: str, limit: int = 20) -> list[SearchHit]:
    """The photos that most probably answer a query such as `tiger OR lion, grass -water`, best first.

    Raises QueryError or UnknownWords where the text can't be understood.
    """
    return list(search_page(catalog, text, 0, limit).hits)


def search_page(
    catalog: Catalog,
    text: str,
    offset: int,
    limit: int,
    living: np.ndarray | None = None,
    only: PhotoFilter | None = None,
) -> SearchPage:
    """A part of what `search` finds, from `offset` on, and how much that is in all.

    `living` are the photos that have a file, ascending, for whoever knows them already; `only` says among which.
    """
    if limit < 1:
        raise TopictureError(f"the number of photos to find must be at least 1, not {limit}")
    if offset < 0:
        raise TopictureError(f"results are read from 0 on, not {offset}")
    index = _open_index(catalog)
    words = set(catalog.decisions.word_ids()) | set(index.vocabulary if index else ())
    if not words:
        raise DataNotFound("no photo has a tag yet, so there is nothing to search for")
    lexicon = Lexicon(Vocabulary(sorted(words)))
    query = lexicon.parse(text)
    table = _Table(catalog, index, query, lexicon.vocabulary)
    scores = log_scores(query, table.log_presence.__getitem__)
    order_by = scores + table.preference(scores)
    likely = np.flatnonzero(scores >= np.log(LEAST_PROBABILITY))
    images = table.images[likely]
    if only is not None:
        living = kept_photos(catalog, only)
    if living is None:
        likely = likely[~_is_in(images, np.array(catalog.files.without_file(images), np.int64))]
    else:
        likely = likely[_is_in(images, living)]
    best = top_positions(order_by[likely], offset + limit)[offset:]
    return SearchPage(
        tuple(word.word for word in query.wanted),
        tuple(word.word for word in query.unwanted),
        tuple(tuple(word.word for word in group) for group in query.any_of),
        len(likely),
        tuple(table.hits(likely[best], np.exp(scores[likely[best]]))),
        tuple(query.terms),
        int(np.count_nonzero(scores[likely] >= np.log(0.5))),
    )


class _Table:
    """Presence of the words of one query in all photos that might answer it."""

    def __init__(self, catalog: Catalog, index: WordIndex | None, query: Query, vocabulary: Vocabulary):
        self._catalog = catalog
        self._vocabulary = vocabulary
        self._means = catalog.decisions.merged_words()
        self._below = catalog.tree.below()
        self._indexed: slice | np.ndarray = slice(None)  # where the photos of the index stand among all
        self._said = {word: self._verdicts(word) for word in query.words}
        self._wanted = query.wanted
        self._placed: dict[tuple[int, str], float] = {}
        self._by_machine = {
            word: set(catalog.decisions.images_with(self._names(word), "present", "bulk"))
            for word in self._said
        }
        self.images = self._candidates(index)
        self.log_presence = {word: self._of(word, index) for word in self._said}

    def preference(self, scores: np.ndarray) -> np.ndarray:
        """What to add to log scores: up to ln 2 where each of several wanted words has a region, by the least certain.

        It is looked at among the best photos only.
        """
        added = np.zeros(len(scores))
        best = [int(at) for at in top_positions(scores, PREFERRED_AMONG) if scores[at] > -np.inf]
        spellings = {word: self._names(word) for word in self._wanted}
        images = [int(self.images[at]) for at in best]
        found = self._catalog.regions.certainties(images, {s for each in spellings.values() for s in each})
        for at, image in zip(best, images, strict=True):
            sure = [max(found.get((image, s), 0.0) for s in each) for each in spellings.values()]
            self._placed.update({(image, w.word): c for w, c in zip(self._wanted, sure, strict=True) if c})
            if len(sure) > 1:
                added[at] = np.log1p(min(sure))
        return added

    def hits(self, positions: np.ndarray, probabilities: np.ndarray) -> Iterator[SearchHit]:
        images = self.images[positions].tolist()
        paths = self._catalog.files.first_paths(images)
        for position, image, probability in zip(
            positions.tolist(), images, probabilities.tolist(), strict=True
        ):
            if image in paths:
                words = {word.word: float(np.exp(self.log_presence[word][position])) for word in self._said}
                said = tuple(
                    word.word for word, (yes, no) in self._said.items() if image in yes or image in no
                )
                placed = tuple(word.word for word in self._wanted if (image, word.word) in self._placed)
                machine = tuple(word.word for word, theirs in self._by_machine.items() if image in theirs)
                yield SearchHit(paths[image], image, probability, words, said, machine, placed)

    def _names(self, word: QueryWord) -> list[str]:
        """The spellings of a word, and the names that it had before it was renamed or merged: a model may know them."""
        spellings = (self._vocabulary[i] for i in word.ids)
        meant = {self._means.get(spelling, spelling) for spelling in spellings}
        return sorted(meant.union(former for former, name in self._means.items() if name in meant))

    def _verdicts(self, word: QueryWord) -> tuple[set[int], set[int]]:
        spellings = self._names(word)
        present = set(self._catalog.decisions.images_with([*spellings, *self._words_below(word)], "present"))
        return present, set(self._catalog.decisions.images_with(spellings, "rejected")) - present

    def _words_below(self, word: QueryWord) -> list[str]:
        return sorted(set().union(*(self._below.get(spelling, ()) for spelling in self._names(word))))

    def _candidates(self, index: WordIndex | None) -> np.ndarray:
        """Ids of photos, ascending: all that the index has, and those that people tagged since."""
        said = _sorted(set().union(*(yes for yes, _ in self._said.values())))
        if index is None:
            return said
        indexed = np.asarray(self._catalog.index_images())
        new = said[~_is_in(said, indexed)]
        if not len(new):
            return indexed
        images = np.sort(np.concatenate([indexed, new]))
        self._indexed = np.searchsorted(images, indexed)
        return images

    def _of(self, word: QueryWord, index: WordIndex | None) -> np.ndarray:
        log_presence = np.full(len(self.images), -np.inf)
        spellings = self._names(word)
        if index is not None and (known := [s for s in spellings if s in index.vocabulary]):
            log_presence[self._indexed] = index.log_presence([index.vocabulary.index(s) for s in known])
        for below in self._words_below(word):
            if (
                index is not None and below in index.vocabulary
            ):  # at least as probable as the likeliest word below
                likely = np.full(len(self.images), -np.inf)
                likely[self._indexed] = index.log_presence([index.vocabulary.index(below)])
                rejected = _sorted(set(self._catalog.decisions.images_with([below], "rejected")))
                log_presence = np.maximum(
                    log_presence, np.where(_is_in(self.images, rejected), -np.inf, likely)
                )
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
    images, likeness = likenesses(catalog, image)
    likeness[images == image] = -np.inf
    best = top_positions(likeness, min(4 * limit, len(images)))
    paths = catalog.files.first_paths(images[best].tolist())
    gone = set(catalog.files.without_file(images[best]))
    found = [
        SimilarPhoto(paths[number], number, value)
        for number, value in zip(images[best].tolist(), likeness[best].tolist(), strict=True)
        if number in paths and number not in gone and value > -np.inf
    ]
    return found[:limit]


def likenesses(catalog: Catalog, image: int) -> tuple[np.ndarray, np.ndarray]:
    """The photos of the index, and the cosine of the appearance of each and of one of them."""
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
    return images, likeness


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
