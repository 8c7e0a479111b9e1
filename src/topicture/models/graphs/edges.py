"""Which images are alike: pairs that share terms, and nearest neighbours by cosine. Never an N x N array.

Rows are compared with columns (the same images for a graph, training images for the links of new ones) by sparse
products of a few rows at a time, which walk the inverted lists of the terms; dense descriptors by neighbours.py. All
functions give a (rows, columns) CSR matrix with one stored entry an edge.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from scipy import sparse

from topicture.models import neighbours

__all__ = ["nearest", "shared_terms", "squared_distances"]

# Entries of one block of a sparse product: 12 bytes each, so about 50 MB.
_BLOCK_ENTRIES = 4_000_000
_THREADS = 2
# Neighbours whose cosines agree to this many decimals are tied, and the lower index wins (docs/models.md 2.7).
_DECIMALS = 12


def shared_terms(rows: sparse.csr_array, columns: sparse.csr_array, at_least: float) -> sparse.csr_array:
    """Ones where a row and a column have at least this many distinct terms in common.

    A threshold of 0 connects everything and needs the memory for that; inf connects nothing.
    """
    if at_least <= 0:
        return sparse.csr_array(np.ones((rows.shape[0], columns.shape[0])))
    if not np.isfinite(at_least):
        return sparse.csr_array((rows.shape[0], columns.shape[0]))

    def enough(start: int, block: sparse.csr_array) -> sparse.csr_array:
        block.data = (block.data >= at_least).astype(np.float64)
        block.eliminate_zeros()
        block.sort_indices()
        return block

    return _over_products(_presence(rows), _presence(columns), enough)


def nearest(
    rows: sparse.csr_array | np.ndarray,
    columns: sparse.csr_array | np.ndarray,
    k: int,
    *,
    same: bool = False,
) -> sparse.csr_array:
    """The cosine between every row and its k nearest columns; `same`: row i is column i, and not its own neighbour.

    Only columns with a positive cosine are neighbours, so a row may have fewer. Ties go to the lower index.
    """
    if isinstance(rows, np.ndarray):
        return _nearest_dense(rows, np.asarray(columns), k, same)

    def best(start: int, block: sparse.csr_array) -> sparse.csr_array:
        if same:
            own = np.repeat(np.arange(start, start + block.shape[0]), np.diff(block.indptr))
            block.data[block.indices == own] = 0
        return _top(block, k)

    return _over_products(_unit(rows), _unit(columns), best)


def squared_distances(
    edges: sparse.csr_array,
    rows: sparse.csr_array | np.ndarray,
    columns: sparse.csr_array | np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """|x_i - y_j|^2 and x_i . y_j of every stored edge (i, j), each (n_edges,)."""
    i, j = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr)), edges.indices
    dots = np.empty(len(j))
    step = 200_000
    for start in range(0, len(j), step):
        here = slice(start, start + step)
        dots[here] = _row_sums(rows[i[here]] * columns[j[here]])
    norms = _row_sums(rows * rows)[i] + _row_sums(columns * columns)[j]
    # Rounding may leave a tiny negative distance between equal rows.
    return np.maximum(norms - 2 * dots, 0), dots


# --- Blocks --------------------------------------------------------------------------------------------------------


def _over_products(
    rows: sparse.csr_array,
    columns: sparse.csr_array,
    keep: Callable[[int, sparse.csr_array], sparse.csr_array],
) -> sparse.csr_array:
    """rows @ columns.T without ever holding it: `keep(first row, block)` gives what stays of a block of rows.

    A block has at most about _BLOCK_ENTRIES entries. Blocks run on two threads: SciPy's product and NumPy's sums let
    go of Python's lock.
    """
    transposed = sparse.csr_array(columns.T)
    list_lengths = np.diff(transposed.indptr).astype(np.float64)
    # No row of the product has more entries than its terms' inverted lists together.
    cost = np.minimum(_presence(rows) @ list_lengths, columns.shape[0])
    block_of = (np.cumsum(cost) // _BLOCK_ENTRIES).astype(np.int64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(block_of)) + 1, [rows.shape[0]]])

    def block(ends: tuple[int, int]) -> sparse.csr_array:
        start, end = ends
        return keep(start, sparse.csr_array(rows[start:end] @ transposed))

    with ThreadPoolExecutor(_THREADS) as pool:
        blocks = list(pool.map(block, pairwise(starts.tolist())))
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def _top(block: sparse.csr_array, k: int) -> sparse.csr_array:
    """The k largest positive entries of every row; ties go to the lower index."""
    block.eliminate_zeros()
    n, sizes = block.shape[0], np.diff(block.indptr)
    row = np.repeat(np.arange(n), sizes)
    entries = np.flatnonzero(block.data > _floors(block, sizes, k)[row])
    row, column, value = row[entries], block.indices[entries], np.round(block.data[entries], _DECIMALS)
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    position = np.arange(len(row)) - np.searchsorted(row, row)
    chosen = (position < k) & (value > 0)
    top = sparse.csr_array((value[chosen], (row[chosen], column[chosen])), shape=block.shape)
    top.sort_indices()
    return top


def _floors(block: sparse.csr_array, sizes: np.ndarray, k: int) -> np.ndarray:
    """For every row a value that at least k entries exceed, or 0: sorting what lies above it is enough.

    Most of a row are images that share one common term; sorting those too would take ten times as long.
    """
    floors = np.zeros(len(sizes))
    some = np.flatnonzero(sizes)
    starts = block.indptr[some]
    if not len(some):
        return floors
    largest = np.zeros(len(sizes))
    largest[some] = np.maximum.reduceat(block.data, starts)
    relative = block.data / np.repeat(largest, sizes)
    for share in (0.2, 0.4, 0.6, 0.8):
        enough = np.add.reduceat(relative > share, starts, dtype=np.int64) >= k
        # A little lower, so that rounding can't tie an entry below with one above.
        floors[some[enough]] = share * largest[some[enough]] * (1 - 1e-9)
    return floors


def _nearest_dense(rows: np.ndarray, columns: np.ndarray, k: int, same: bool) -> sparse.csr_array:
    """The same rule for descriptors: the cosines are rounded, and of equal ones the lower index wins."""
    n, n_columns = len(rows), len(columns)
    if n == 0 or n_columns == 0:
        return sparse.csr_array((n, n_columns))
    found, cosines = neighbours.nearest(rows, columns, k + same)
    cosines = np.round(cosines, _DECIMALS)
    keep = cosines > 0
    if same:
        keep &= found != np.arange(n)[:, None]
        # The image itself may be missing among ties with itself: then the last of k + 1 neighbours goes.
        keep[keep.sum(axis=1) > k, -1] = False
    i = np.repeat(np.arange(n), keep.sum(axis=1))
    edges = sparse.csr_array((cosines[keep], (i, found[keep])), shape=(n, n_columns))
    edges.sort_indices()
    return edges


def _presence(counts: sparse.csr_array) -> sparse.csr_array:
    presence = sparse.csr_array(counts, dtype=np.float64, copy=True)
    presence.data = (presence.data > 0).astype(np.float64)
    presence.eliminate_zeros()
    return presence


def _unit(rows: sparse.csr_array) -> sparse.csr_array:
    """Rows of Euclidean length 1; a zero row stays zero."""
    lengths = np.sqrt(_row_sums(rows * rows))
    scale = 1 / np.where(lengths > 0, lengths, 1)
    return sparse.csr_array(sparse.diags_array(scale) @ rows)


def _row_sums(rows) -> np.ndarray:
    return np.asarray(rows.sum(axis=1), np.float64).ravel()
