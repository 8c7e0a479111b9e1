"""The nearest rows by all products: exact, whatever the way they are found in.

D queries, N rows of K columns; all of length 1, or 0. Rows are ranked by cosine rounded to 12 decimals, ties to the
lower index.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from topicture.models.searching.rows import blocks, kept

__all__ = [
    "DECIMALS",
    "Find",
    "best_of",
    "by_double_precision",
    "by_single_precision",
    "by_sparse_products",
    "mostly_zeros",
    "single_precision_error",
]

Find = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

DECIMALS = 12
# Rounding moves a cosine by at most half a unit of the last decimal, so this margin keeps every possible neighbour.
_MARGIN = 2 * 10.0**-DECIMALS
# Groups of columns whose largest cosines bound the n-th largest; the more, the fewer candidates stay.
_N_GROUPS = 256
# A sparse product takes some 500 times as long as one of a dense matrix in float32. Rows are looked at closely where
# this share of a few is not 0.
_SPARSE_COST = 500
_FEW, _FEW_NUMBERS = 500, 0.1


def by_double_precision(features: np.ndarray, n: int) -> Find:
    """By products in the precision of the rows; those in float32 give candidates, ranked by their true cosines."""
    if features.dtype != np.float64:
        return by_single_precision(features, n)

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _ranked(queries @ features.T, n)

    return find


def by_single_precision(features: np.ndarray, n: int) -> Find:
    """Products in float32 give candidates, which are ranked by their true cosines: half the time, the same rows."""
    copy = kept("single", features, _in_single_precision)
    rows, error = features if copy is None else copy, single_precision_error(features)

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cosines = queries.astype(np.float32) @ rows.T
        query, row = _reaching(cosines, _border(cosines, n) - error)
        ends = np.searchsorted(query, np.arange(len(queries) + 1))
        exact = np.empty(len(row))
        for d, asked in enumerate(queries):
            own = row[ends[d] : ends[d + 1]]
            for part in blocks(len(own), 8 * features.shape[1]):
                # No product of BLAS: that of a row would depend on the rows beside it, in its last digits.
                near = np.einsum("ck,k->c", features[own[part]].astype(np.float64), asked)
                exact[ends[d] + part.start : ends[d] + part.stop] = near
        return best_of(query, row, exact, len(queries), n)

    return find


def _in_single_precision(features: np.ndarray) -> np.ndarray | None:
    return None if features.dtype == np.float32 else features.astype(np.float32)


def single_precision_error(features: np.ndarray) -> float:
    """How far a cosine in float32 may be off."""
    return float(np.finfo(np.float32).eps * max(8.0, features.shape[1] ** 0.5))


def by_sparse_products(features: np.ndarray, n: int) -> Find:
    """Rows that are 0 for the most part, such as counts of visual words, by what they share with a query."""
    turned = kept("turned", features, _turned)

    def find(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _ranked((sparse.csr_array(queries) @ turned).toarray(), n)

    return find


def _turned(features: np.ndarray) -> sparse.csr_array:
    """(K, N) float64."""
    parts = [sparse.csr_array(features[part], dtype=np.float64) for part in blocks(*_size(features))]
    return sparse.csr_array(sparse.vstack(parts).T)


def mostly_zeros(features: np.ndarray) -> bool:
    """Whether sparse products take less time than dense ones, for queries like the rows."""
    return bool(features.size) and kept("zeros", features, _mostly_zeros)


def _mostly_zeros(features: np.ndarray) -> bool:
    some = features[:: -(-len(features) // _FEW)]
    if np.count_nonzero(some) > _FEW_NUMBERS * some.size:
        return False
    counts = np.zeros(features.shape[1])
    for part in blocks(*_size(features)):
        counts += np.count_nonzero(features[part], axis=0)
    # A column in which a share of the rows is not 0 comes up for that share of the queries, and then for these rows.
    return bool(np.mean((counts / len(features)) ** 2) * _SPARSE_COST < 1)


def _size(features: np.ndarray) -> tuple[int, int]:
    return len(features), 8 * features.shape[1]


# --- Candidates ---------------------------------------------------------------------------------------------------


def _ranked(cosines: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and cosines (D, n), from all cosines (D, N) in float64."""
    query, row = _reaching(cosines, _border(cosines, n) - _MARGIN)
    return best_of(query, row, cosines[query, row], len(cosines), n)


def _reaching(cosines: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Query and row of each cosine (D, N) that reaches its query's least (D,), in their order."""
    # In one dimension: NumPy takes ten times as long to find pairs of indices.
    found = np.flatnonzero(cosines >= least[:, None].astype(cosines.dtype))
    return np.divmod(found, cosines.shape[1])


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


def best_of(
    query: np.ndarray, row: np.ndarray, cosine: np.ndarray, n_queries: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """The n best of each query's candidates, which come ordered by query and row; at least n each."""
    order = np.lexsort((row, -np.round(cosine, DECIMALS), query))
    first = np.searchsorted(query, np.arange(n_queries))
    chosen = order[first[:, None] + np.arange(n)]
    return row[chosen], cosine[chosen]
