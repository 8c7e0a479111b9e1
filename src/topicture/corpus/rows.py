"""Rows of large views: seen in place where that can be, else copied to disk rather than into memory."""

import tempfile
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["take_rows"]

# Copies of dense rows beyond this are mapped from a file.
LARGE_BYTES = 256 << 20


def take_rows(matrix: Any, rows: np.ndarray) -> Any:
    """Rows of a dense or sparse matrix: a view where they lie side by side, else a copy.

    A copy of many dense rows goes to a nameless file that is mapped, so that memory stays free for models.
    """
    if matrix is None:
        return None
    if not sparse.issparse(matrix):
        first = int(rows[0]) if len(rows) else 0
        if len(rows) and first + len(rows) - 1 == rows[-1] and np.all(rows[1:] == rows[:-1] + 1):
            return matrix[first : first + len(rows)]
        if len(rows) * matrix.shape[1] * matrix.itemsize > LARGE_BYTES:
            return _on_disk(matrix, rows)
    return matrix[rows]


def _on_disk(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryFile(prefix="topicture-") as file:
        step = max(1, (16 << 20) // (matrix.shape[1] * matrix.itemsize))
        for start in range(0, len(rows), step):
            file.write(np.ascontiguousarray(matrix[rows[start : start + step]]).data)
        file.flush()
        # The map keeps the nameless file alive for as long as the array lives.
        return np.memmap(file, dtype=matrix.dtype, mode="r", shape=(len(rows), matrix.shape[1]))
