"""The nearest rows by faiss: all products again, or lists of compressed rows on disk [jegou2011product]."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from topicture.extras import optional_module
from topicture.models.searching.products import (
    DECIMALS,
    Find,
    best_of,
    by_double_precision,
    single_precision_error,
)
from topicture.models.searching.rows import blocks, kept

__all__ = ["by_faiss", "by_lists", "n_candidates"]

_N_SPARE = 32
# Lists: so many times the root of the number of rows; rows per list to learn them from; lists that a query looks at;
# columns that one byte stands for; candidates, as a multiple of what is asked for.
_LISTS, _ROWS_PER_LIST, _PROBES, _COLUMNS_PER_BYTE, _CANDIDATES = 4, 40, 32, 2, 4


def n_candidates(n: int) -> int:
    """Rows at most that are looked at closely to find n."""
    return _CANDIDATES * n + _N_SPARE


def by_faiss(features: np.ndarray, n: int) -> Find:
    """Candidates in float32, their order in float64; queries with more equal cosines at the border than candidates can
    tell are searched exactly.
    """
    index = kept("flat", features, _flat)
    exact, off = by_double_precision(features, n), single_precision_error(features)

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, candidates = index.search(queries.astype(np.float32), min(n + _N_SPARE, len(features)))
        candidates = np.sort(candidates, axis=1)  # so that ties go to the lower index
        query = np.repeat(np.arange(len(queries)), candidates.shape[1])
        row = candidates.ravel()
        cosines = np.einsum("dk,dzk->dz", queries, features[candidates].astype(np.float64)).ravel()
        best = best_of(query, row, cosines, len(queries), n)
        if candidates.shape[1] < len(features):
            # A row beyond the candidates may belong to the best as well: one of many copies of a photo, say.
            open_ = np.flatnonzero(found[:, -1] + off >= best[1][:, -1])
            for part in blocks(len(open_), 8 * len(features)):
                best[0][open_[part]], best[1][open_[part]] = exact(queries[open_[part]])
        return best

    return find


def by_lists(features: np.ndarray, n: int) -> Find:
    """Nearly all of the nearest: the lists nearest to a query give candidates, ranked by their true cosines."""
    index = kept("lists", features, _lists)
    most = min(n_candidates(n), len(features))

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, candidates = index.search(_padded(queries), most)
        candidates = np.sort(candidates, axis=1)
        cosines = np.einsum("dk,dzk->dz", queries, features[candidates].astype(np.float64))
        cosines[candidates < 0] = -2.0  # lists with too few rows: no candidate
        order = np.lexsort((candidates, -np.round(cosines, DECIMALS)), axis=1)[:, :n]
        best = np.take_along_axis(candidates, order, axis=1), np.take_along_axis(cosines, order, axis=1)
        short = np.flatnonzero(best[0].min(axis=1, initial=0) < 0)
        for part in blocks(len(short), 8 * len(features)):
            best[0][short[part]], best[1][short[part]] = by_double_precision(features, n)(
                queries[short[part]]
            )
        return best

    return find


def _faiss() -> Any:
    # It takes half a second to load, and most collections never need it.
    return optional_module("faiss", "large", "searches by faiss")


def _flat(features: np.ndarray) -> Any:
    index = _faiss().IndexFlatIP(features.shape[1])
    for part in blocks(len(features), 4 * features.shape[1]):
        index.add(np.ascontiguousarray(features[part], np.float32))
    return index


def _padded(rows: np.ndarray) -> np.ndarray:
    """Single-precision rows with columns of zeros behind, so that each byte of a compressed row has as many columns."""
    return np.pad(np.asarray(rows, np.float32), ((0, 0), (0, -rows.shape[1] % _COLUMNS_PER_BYTE)))


def _lists(features: np.ndarray) -> Any:
    """Lists of compressed rows, in a file without a name that goes with the index."""
    faiss = _faiss()
    N = len(features)
    n_lists = max(1, int(_LISTS * N**0.5))
    some = np.random.default_rng(0).choice(N, min(N, max(_ROWS_PER_LIST * n_lists, 10_000)), replace=False)
    sample = _padded(features[np.sort(some)])
    K = sample.shape[1]
    index = faiss.IndexIVFPQ(
        faiss.IndexFlatIP(K), K, n_lists, K // _COLUMNS_PER_BYTE, 8, faiss.METRIC_INNER_PRODUCT
    )
    index.train(sample)
    index.nprobe = min(_PROBES, n_lists)
    for part in blocks(N, 4 * K):
        index.add(_padded(features[part]))
    with tempfile.TemporaryDirectory(prefix="topicture-") as folder:
        path = str(Path(folder) / "lists")
        faiss.write_index(index, path)
        return faiss.read_index(path, faiss.IO_FLAG_MMAP)  # the map outlives the name of the file
