r"""Soft inference: words of an image from the tagged images nearest to it in a latent space (docs/models.md 3.13).

P(w) proportional to sum over the Z nearest of [cos_j]_+ w_j; where no neighbour has a positive cosine and a word, P is
the empirical distribution. A cosine with a vector of length 0 is 0. Neighbours are ranked by cosine rounded to 12
decimals, ties to the lower index (2.7).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.errors import ModelFileError
from topicture.extras import has_module, optional_module

__all__ = [
    "Neighbours",
    "blocks",
    "caption_log_likelihood",
    "log_likelihood_of_captions",
    "nearest",
    "ranked_images",
    "soft_inference",
    "unit_rows",
]

_BLOCK_BYTES = 64 << 20
_DECIMALS = 12
# Rounding moves a cosine by at most half a unit of the last decimal, so this margin keeps every possible neighbour.
_MARGIN = 2 * 10.0**-_DECIMALS
# From this many cosines on, faiss (float32, blocked, with heaps) finds the candidates; below, a partition is as fast.
_MANY = 100_000_000
_N_SPARE = 32
# Groups of columns whose largest cosines bound the n-th largest; the more, the fewer candidates stay.
_N_GROUPS = 256
# In captions' likelihoods so much of the mass is the empirical distribution: no word has probability 0.
_BACKGROUND = 0.1


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
    border than candidates can tell are searched exactly) or "auto" (faiss for large products, where it is installed).
    All give the same rows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        queries, features = unit_rows(queries), unit_rows(features)
    if not (np.isfinite(queries).all() and np.isfinite(features).all()):
        raise ModelFileError("the model holds numbers too large to compare pictures by; learn again")
    n = min(n, len(features))
    if search == "auto":
        many = len(queries) * len(features) >= _MANY and n + _N_SPARE < len(features)
        search = "faiss" if many and has_module("faiss") else "exact"
    rows = np.zeros((len(queries), n), np.int64)
    cosines = np.zeros((len(queries), n))
    find = _nearest_by_faiss(features, n) if search == "faiss" else _nearest_by_partition(features, n)
    for block in blocks(len(queries), 8 * len(features)):
        rows[block], cosines[block] = find(queries[block])
    return Neighbours(rows, cosines)


def soft_inference(
    near: Neighbours, captions: sparse.csr_array, empirical: np.ndarray, n: int | None = None
) -> np.ndarray:
    """P(w) for every query, (D, V), from its n nearest (all that were found if None)."""
    rows, weights = near.rows[:, :n], np.maximum(near.cosines[:, :n], 0.0)
    D, Z = rows.shape
    links = sparse.csr_array(
        (weights.ravel(), rows.ravel(), np.arange(0, D * Z + 1, Z)), shape=(D, captions.shape[0])
    )
    mass = (links @ captions).toarray()
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
        cosines = queries @ features.T
        query, row = np.nonzero(cosines >= _border(cosines, n)[:, None] - _MARGIN)
        return _best(query, row, cosines[query, row], len(queries), n)

    return find


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


def _nearest_by_faiss(features: np.ndarray, n: int):
    # It takes half a second to load, and small collections never need it.
    faiss = optional_module("faiss", "large", "searches by faiss")

    index = faiss.IndexFlatIP(features.shape[1])
    index.add(features.astype(np.float32))
    exact = _nearest_by_partition(features, n)
    off = np.finfo(np.float32).eps * max(
        8.0, features.shape[1] ** 0.5
    )  # how far a cosine in float32 may be off

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, candidates = index.search(queries.astype(np.float32), min(n + _N_SPARE, len(features)))
        candidates = np.sort(candidates, axis=1)  # so that ties go to the lower index
        query = np.repeat(np.arange(len(queries)), candidates.shape[1])
        row = candidates.ravel()
        cosines = np.einsum("dk,dzk->dz", queries, features[candidates]).ravel()
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
