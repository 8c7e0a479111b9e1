"""Measurements of many photos into the arrays of one Corpus, without holding them twice."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError
from topicture.threads import one_thread_products
from topicture.vision.features.transform import Features, Raw
from topicture.vision.recipe import VIEWS

__all__ = ["assemble", "caption_counts"]

LARGE_BYTES = 256 << 20  # arrays above this size stay in a temporary file, which the system pages in and out


def assemble(
    ids: Sequence[str],
    raw_of: Callable[[int, Sequence[str]], Raw],
    features: Features,
    vocabulary: Vocabulary,
    captions: sparse.csr_array,
    word_vectors: np.ndarray | None = None,
) -> Corpus:
    """The Corpus of photos `ids` with captions (D, V); `raw_of(photo, steps)` gives raw measurements."""
    # A photo's products are small: threads that wait for each other take up to sixty times as long.
    with one_thread_products():
        views = _views(len(ids), raw_of, features)
    corpus = Corpus.from_arrays(captions=captions, vocabulary=vocabulary, image_ids=ids, **views.bags)
    return replace(corpus, word_vectors=word_vectors, **views.dense)


class _Views(NamedTuple):
    """Views by their names in a Corpus."""

    dense: dict[str, Any]
    bags: dict[str, Any]


def _views(n_photos: int, raw_of: Callable[[int, Sequence[str]], Raw], features: Features) -> _Views:
    dense: dict[str, Any] = {}
    bags: dict[str, Any] = {}
    for name in features.recipe.views:
        view = VIEWS[name]
        parts = (features.view(name, raw_of(photo, view.steps)) for photo in range(n_photos))
        if view.field == "region_words":
            counts = list(parts)
            offsets = _offsets([part.shape[0] for part in counts])
            bags = {"region_words": sparse.vstack(counts, format="csr"), "region_offsets": offsets}
        elif view.field == "regions":
            dense["regions"], sizes = _stack(parts)
            dense["region_offsets"] = _offsets(sizes)
        else:
            dense["descriptor"], _ = _stack(row[None] for row in parts)
    return _Views(dense, bags)


def caption_counts(
    captions: Any, vocabulary: Vocabulary | Sequence[str] | None, n_photos: int
) -> tuple[Vocabulary, sparse.csr_array]:
    """Vocabulary and counts (n_photos, V) from a matrix, from word lists, or from nothing but a vocabulary."""
    if captions is None:
        if vocabulary is None:
            raise CorpusError("give captions, or the vocabulary that the photos may get words from")
        words = Vocabulary(vocabulary)
        return words, sparse.csr_array((n_photos, len(words)))
    if sparse.issparse(captions) or isinstance(captions, np.ndarray):
        matrix = sparse.csr_array(captions, dtype=np.float64)
        words = Vocabulary(vocabulary or [f"word{i}" for i in range(matrix.shape[1])])
    else:
        words, matrix = _count([list(words) for words in captions], vocabulary)
    if matrix.shape != (n_photos, len(words)):
        raise CorpusError(
            f"captions are {matrix.shape}, but there are {n_photos} photos and {len(words)} words"
        )
    return words, matrix


def _count(
    lists: list[list[str]], vocabulary: Vocabulary | Sequence[str] | None
) -> tuple[Vocabulary, sparse.csr_array]:
    """Counts of word lists; words outside a given vocabulary are dropped."""
    words = Vocabulary(vocabulary or sorted({word for listed in lists for word in listed}))
    ids = [[words.index(word) for word in listed if word in words] for listed in lists]
    indptr = _offsets([len(row) for row in ids])
    columns = np.array([column for row in ids for column in row], dtype=np.int64)
    matrix = sparse.csr_array((np.ones(len(columns)), columns, indptr), shape=(len(lists), len(words)))
    matrix.sum_duplicates()
    return words, matrix


def _stack(parts: Iterable[np.ndarray]) -> tuple[np.ndarray, list[int]]:
    """All rows in one float64 matrix, and the number of rows of each part. Written through a file, then mapped."""
    sizes: list[int] = []
    width = 0
    with tempfile.TemporaryFile(prefix="topicture-") as file:
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
            sizes.append(len(part))
            width = part.shape[1]
        file.flush()
        n_bytes = file.tell()
        file.seek(0)
        if n_bytes > LARGE_BYTES:  # the map keeps the nameless file alive for as long as the array lives
            return np.memmap(file, dtype=np.float64, mode="r", shape=(sum(sizes), width)), sizes
        return np.fromfile(file, dtype=np.float64).reshape(sum(sizes), width), sizes


def _offsets(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
