"""Dense rows in fewer columns, of which each says about as much as another."""

import numpy as np

__all__ = ["even_axes"]

# The axes of more rows than this are those of a sample.
_MOST_ROWS = 10_000


def even_axes(rows: np.ndarray, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal axes (L, n) that span the leading principal directions of centred rows (N, L), n <= n_columns.

    They lie in random directions within that space: so what is known is spread over all columns, and a model may drop
    any of them.
    """
    if len(rows) > _MOST_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), _MOST_ROWS, replace=False))]
    if len(rows) < rows.shape[1]:
        # Few rows: their products among one another tell the same and are fewer.
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = np.flatnonzero(values > 1e-10 * max(values[-1], 1e-300))[-n_columns:]
        axes = (rows.T @ vectors[:, kept]) / np.sqrt(values[kept])
    else:
        axes = np.linalg.eigh(rows.T @ rows)[1][:, -n_columns:]
    n = axes.shape[1]
    return axes @ np.linalg.qr(rng.standard_normal((n, n)))[0]
