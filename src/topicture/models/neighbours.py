r"""Soft inference: words of an image from the tagged images nearest to it in a latent space (docs/models.md 3.13).

P(w) proportional to sum over the Z nearest of [cos_j]_+ w_j; where no neighbour has a positive cosine and a word, P is
the empirical distribution. A cosine with a vector of length 0 is 0. Neighbours are ranked by cosine rounded to 12
decimals, ties to the lower index (2.7).

Up to a million images the search is exact. Beyond, and where all products would take too long, faiss keeps compressed
vectors in lists on disk [jegou2011product]: the lists nearest to a query give candidates, ranked by their true cosines.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.elsewhere import engine_elsewhere
from topicture.errors import ModelFileError
from topicture.extras import has_module, optional_module
from topicture.models.shared_search import find_elsewhere

__all__ = [
    "EXACT_ROWS",
    "Neighbours",
    "blocks",
    "caption_log_likelihood",
    "log_likelihood_of_captions",
    "nearest",
    "plan_of",
    "ranked_images",
    "shares_of",
    "soft_inference",
    "unit_rows",
    "votes_of",
]

_BLOCK_BYTES = 64 << 20
_DECIMALS = 12
# Rounding moves a cosine by at most half a unit of the last decimal, so this margin keeps every possible neighbour.
_MARGIN = 2 * 10.0**-_DECIMALS
# From this many cosines on, faiss (float32, blocked, with heaps) finds the candidates; below, a partition is as fast.
_MANY = 100_000_000
_MANY_ROWS = 20_000
_N_SPARE = 32
# More rows, or more multiplications (some ten minutes of one core), and lists on disk give candidates.
EXACT_ROWS = 1_000_000
_EXACT_PRODUCTS = 2e13
# Lists: so many times the root of the number of rows; rows per list to learn them from; lists that a query looks at;
# columns that one byte stands for; candidates, as a multiple of what is asked for.
_LISTS, _ROWS_PER_LIST, _PROBES, _COLUMNS_PER_BYTE, _CANDIDATES = 4, 40, 32, 2, 4
# Groups of columns whose largest cosines bound the n-th largest; the more, the fewer candidates stay.
_N_GROUPS = 256
# How far the squared length of a row may be from 1 for it to count as 1, in float64 and float32.
_UNIT = (1e-14, 1e-6)
# In captions' likelihoods so much of the mass is the empirical distribution: no word has probability 0.
_BACKGROUND = 0.1


# Fewer cosines are found sooner than sent.
_SHARED = 1 << 28


class Neighbours(NamedTuple):
    """Nearest training images of D queries, best first; fewer than Z where there are fewer images."""

    rows: np.ndarray  # (D, Z) int
    cosines: np.ndarray  # (D, Z)


def blocks(n_rows: int, bytes_a_row: int, block_bytes: int = _BLOCK_BYTES) -> Iterator[slice]:
    """Consecutive slices of 0..n_rows whose working memory stays within a bound."""
    size = max(1, block_bytes // max(1, bytes_a_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Rows (n, K) of length 1; a row of length 0 stays 0."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.divide(features, norms, out=np.zeros_like(features), where=norms > 0)


def nearest(queries: np.ndarray, features: np.ndarray, n: int, search: str = "auto") -> Neighbours:
    """The n rows of features (N, K) with the largest cosine for every query (D, K).

    `search` is "exact", "faiss" (candidates in float32, their order in float64; queries with more equal cosines at the
    border than candidates can tell are searched exactly), "lists" (compressed, on disk; nearly all of the nearest) or
    "auto" (see `plan_of`; without faiss "exact"). All but lists give the same rows.
    """
    queries, features = _comparable(queries), _comparable(features)
    n = min(n, len(features))
    if search == "auto":
        search = plan_of(len(queries), *features.shape)
        search = search if n + _N_SPARE < len(features) and has_module("faiss") else "exact"
    engine = engine_elsewhere()
    if engine is not None and (search == "lists" or len(queries) * len(features) < _SHARED):
        engine = None
    if engine is not None:
        search = "exact"  # the same rows, and no worker needs an index of its own
    rows = np.zeros((len(queries), n), np.int64)
    cosines = np.zeros((len(queries), n))
    by_partition = search == "exact"
    find = _FINDERS[search](features, n)
    # faiss cuts its work itself; what is held per query are the candidates' features.
    held = 8 * len(features) if by_partition else 8 * (_CANDIDATES * n + _N_SPARE) * features.shape[1]
    parts = list(blocks(len(queries), held))
    found = (
        (find(np.asarray(queries[block], np.float64)) for block in parts)
        if engine is None
        else find_elsewhere(engine, _FINDERS[search], queries, features, n, parts)
    )
    for block, (best, how_near) in zip(parts, found, strict=True):
        rows[block], cosines[block] = best, how_near
    return Neighbours(rows, cosines)


def plan_of(n_queries: int, n_rows: int, n_columns: int) -> str:
    """How "auto" searches: "exact", "faiss" (exact, too) or "lists"."""
    products = float(n_queries) * n_rows * n_columns
    if n_rows > EXACT_ROWS or (products > _EXACT_PRODUCTS and n_rows > _MANY_ROWS):
        return "lists"
    return "faiss" if n_queries * n_rows >= _MANY or n_rows >= _MANY_ROWS else "exact"


def _comparable(features: np.ndarray) -> np.ndarray:
    """Rows of length 1. Those that are so already, such as a model's own, are not copied: they may be many."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("nk,nk->n", features, features, dtype=np.float64)
        if np.all((np.abs(squares - 1) < _UNIT[features.dtype == np.float32]) | (squares == 0)):
            return features
        features = unit_rows(features)
    if not np.isfinite(features).all():
        raise ModelFileError("the model holds numbers too large to compare pictures by; learn again")
    return features


def soft_inference(
    near: Neighbours, captions: sparse.csr_array, empirical: np.ndarray, n: int | None = None
) -> np.ndarray:
    """P(w) for every query, (D, V), from its n nearest (all that were found if None)."""
    return shares_of(votes_of(near, captions, n), empirical)


def votes_of(near: Neighbours, captions: sparse.csr_array, n: int | None = None) -> np.ndarray:
    """Sums of the captions (N, V) of the n nearest, by their cosines, (D, V)."""
    rows, weights = near.rows[:, :n], np.maximum(near.cosines[:, :n], 0.0)
    D, Z = rows.shape
    links = sparse.csr_array(
        (weights.ravel(), rows.ravel(), np.arange(0, D * Z + 1, Z)), shape=(D, captions.shape[0])
    )
    return (links @ captions).toarray()


def shares_of(mass: np.ndarray, empirical: np.ndarray) -> np.ndarray:
    """Votes (D, V) as distributions; the empirical one (V,) where there is no vote."""
    totals = mass.sum(axis=1, keepdims=True)
    return np.where(totals > 0, mass / np.where(totals > 0, totals, 1.0), empirical)


def ranked_images(queries: np.ndarray, features: np.ndarray) -> np.ndarray:
    """All N rows of features by decreasing cosine, for every query, (D, N)."""
    cosines = np.round(unit_rows(queries) @ unit_rows(features).T, _DECIMALS)
    return np.argsort(-cosines, axis=1, kind="stable")


def caption_log_likelihood(
    near: Neighbours, captions: sparse.csr_array, empirical: np.ndarray, truth: sparse.csr_array, n: int
) -> float:
    """Log-probability of the true captions (D, V) of the queries under soft inference from n neighbours."""
    return log_likelihood_of_captions(soft_inference(near, captions, empirical, n), empirical, truth)


def log_likelihood_of_captions(p_w: np.ndarray, empirical: np.ndarray, truth: sparse.csr_array) -> float:
    """Log-probability of the true captions (D, V) under given word probabilities (D, V).

    Probabilities are mixed with a tenth of the empirical distribution, so that a word that no neighbour has costs
    much, but not everything.
    """
    p = (1 - _BACKGROUND) * p_w + _BACKGROUND * empirical
    tokens = truth.tocoo()
    seen = p[tokens.coords[0], tokens.coords[1]]
    # A word that no training image has is as improbable under every setting.
    return float(tokens.data @ np.log(np.where(seen > 0, seen, 1.0)))


# --- Search -------------------------------------------------------------------------------------------------------


def _nearest_by_partition(features: np.ndarray, n: int):
    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if features.dtype == np.float64:
            cosines = queries @ features.T
            query, row = np.nonzero(cosines >= _border(cosines, n)[:, None] - _MARGIN)
            return _best(query, row, cosines[query, row], len(queries), n)
        cosines = queries.astype(np.float32) @ features.T
        query, row = np.nonzero(cosines >= _border(cosines, n)[:, None] - _off(features))
        exact = np.concatenate(
            [
                np.zeros(0),
                *(
                    np.einsum("ck,ck->c", queries[query[part]], features[row[part]].astype(np.float64))
                    for part in blocks(len(row), 16 * features.shape[1])
                ),
            ]
        )
        return _best(query, row, exact, len(queries), n)

    return find


def _off(features: np.ndarray) -> float:
    """How far a cosine in float32 may be off."""
    return float(np.finfo(np.float32).eps * max(8.0, features.shape[1] ** 0.5))


def _border(cosines: np.ndarray, n: int) -> np.ndarray:
    """A value (D,) that at least n, and few more, of each query's cosines (D, N) reach.

    It is the n-th largest of the maxima of groups of columns, for n of the groups have a cosine that large; maxima are
    much quicker to find than an order.
    """
    D, N = cosines.shape
    size = max(1, N // max(_N_GROUPS, 2 * n))
    whole = N - N % size
    best = cosines[:, :whole].reshape(D, -1, size).max(axis=2)
    return np.partition(best, best.shape[1] - n, axis=1)[:, best.shape[1] - n]


# The last index of each kind, kept as long as its rows are: annotating asks block after block.
_KEPT: dict[str, tuple[Any, Any]] = {}


def _index(kind: str, features: np.ndarray, make: Callable[[np.ndarray], Any]) -> Any:
    rows, index = _KEPT.get(kind, (lambda: None, None))
    if rows() is not features:
        index = make(features)
        _KEPT[kind] = weakref.ref(features, lambda gone: _forget(kind, gone)), index
    return index


def _forget(kind: str, gone: Any) -> None:
    if kind in _KEPT and _KEPT[kind][0] is gone:
        del _KEPT[kind]


def _faiss() -> Any:
    # It takes half a second to load, and small collections never need it.
    return optional_module("faiss", "large", "searches by faiss")


def _flat(features: np.ndarray) -> Any:
    faiss = _faiss()

    index = faiss.IndexFlatIP(features.shape[1])
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


def _nearest_by_lists(features: np.ndarray, n: int):
    index = _index("lists", features, _lists)
    n_candidates = min(_CANDIDATES * n + _N_SPARE, len(features))

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, candidates = index.search(_padded(queries), n_candidates)
        candidates = np.sort(candidates, axis=1)
        cosines = np.einsum("dk,dzk->dz", queries, features[candidates].astype(np.float64))
        cosines[candidates < 0] = -2.0  # lists with too few rows: no candidate
        order = np.lexsort((candidates, -np.round(cosines, _DECIMALS)), axis=1)[:, :n]
        best = np.take_along_axis(candidates, order, axis=1), np.take_along_axis(cosines, order, axis=1)
        short = np.flatnonzero(best[0].min(axis=1, initial=0) < 0)
        for part in blocks(len(short), 8 * len(features)):
            best[0][short[part]], best[1][short[part]] = _nearest_by_partition(features, n)(
                queries[short[part]]
            )
        return best

    return find


def _nearest_by_faiss(features: np.ndarray, n: int):
    index = _index("flat", features, _flat)
    exact, off = _nearest_by_partition(features, n), _off(features)

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, candidates = index.search(queries.astype(np.float32), min(n + _N_SPARE, len(features)))
        candidates = np.sort(candidates, axis=1)  # so that ties go to the lower index
        query = np.repeat(np.arange(len(queries)), candidates.shape[1])
        row = candidates.ravel()
        cosines = np.einsum("dk,dzk->dz", queries, features[candidates].astype(np.float64)).ravel()
        best = _best(query, row, cosines, len(queries), n)
        if candidates.shape[1] < len(features):
            # A row beyond the candidates may belong to the best as well: one of many copies of a photo, say.
            open_ = np.flatnonzero(found[:, -1] + off >= best[1][:, -1])
            for part in blocks(len(open_), 8 * len(features)):
                best[0][open_[part]], best[1][open_[part]] = exact(queries[open_[part]])
        return best

    return find


def _best(
    query: np.ndarray, row: np.ndarray, cosine: np.ndarray, n_queries: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """The n best of each query's candidates, which come ordered by query and row; at least n each."""
    order = np.lexsort((row, -np.round(cosine, _DECIMALS), query))
    first = np.searchsorted(query, np.arange(n_queries))
    chosen = order[first[:, None] + np.arange(n)]
    return row[chosen], cosine[chosen]


_FINDERS: dict[str, Callable[[np.ndarray, int], Any]] = {
    "exact": _nearest_by_partition,
    "faiss": _nearest_by_faiss,
    "lists": _nearest_by_lists,
}
