"""Rows of a view as inputs of small networks: of one mean length, dense ones in not too many columns of even weight."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.rows import take_rows
from topicture.errors import ModelFileError
from topicture.models.neighbours import blocks

__all__ = ["Inputs", "even_axes", "inputs_of"]

# Rows are scaled to this mean square length, so that one learning rate suits all views: that of ten regions.
_SQUARE_LENGTH = 8.0
# Columns of dense rows: half as many as images, between these.
_COLUMNS = (64, 512)
# The axes of more rows than this are those of a sample.
_MOST_ROWS = 10_000


class Inputs(NamedTuple):
    """How rows of a view become inputs. Empty centre and axes for counts, empty axes for dense rows that stay."""

    centre: np.ndarray  # (L,)
    axes: np.ndarray  # (L, n)
    scale: float

    def __call__(self, rows: Any) -> Any:
        """Inputs (D, n), sparse for counts."""
        if sparse.issparse(rows):
            return rows.sqrt() * self.scale  # presence says more than counts: the root damps repetition
        if len(self.centre) != rows.shape[1]:
            raise ModelFileError(f"the model holds no centre for {rows.shape[1]} columns; learn again")
        rows = rows - self.centre
        return (rows @ self.axes if self.axes.size else rows) * self.scale

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Those of a model file, which has the scale among its facts."""
        return {"centre": self.centre, "axes": self.axes}

    @classmethod
    def of_file(cls, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> "Inputs":
        """What a model file has of them."""
        return cls(arrays["centre"], arrays["axes"], float(facts["scale"]))


def inputs_of(corpus: Corpus, view: str, seed: int) -> Inputs:
    """Inputs that suit the corpus: lengths are those of its tagged images."""
    rows = getattr(corpus, view)
    centre, axes = np.zeros(0), np.zeros((0, 0))
    tagged = take_rows(rows, np.flatnonzero(corpus.tagged))
    if not sparse.issparse(rows):
        centre = tagged.mean(axis=0, dtype=np.float64)
        n_columns = int(np.clip(len(corpus) // 2, *_COLUMNS))
        if rows.shape[1] > n_columns:
            axes = even_axes(rows, n_columns, np.random.default_rng((seed, n_columns)), centre)
    square = 0.0
    for block in blocks(tagged.shape[0], 16 * tagged.shape[1]):
        some = Inputs(centre, axes, 1.0)(tagged[block])
        square += float((some.multiply(some) if sparse.issparse(some) else some * some).sum())
    square /= max(tagged.shape[0], 1)
    return Inputs(centre, axes, float(np.sqrt(_SQUARE_LENGTH / square)) if square > 0 else 1.0)


def even_axes(
    rows: np.ndarray, n_columns: int, rng: np.random.Generator, centre: np.ndarray | float = 0.0
) -> np.ndarray:
    """Orthonormal axes (L, n) that span the leading principal directions of rows (N, L) less a centre, n <= n_columns.

    They lie in random directions within that space: so what is known is spread over all columns, and a model may drop
    any of them.
    """
    if len(rows) > _MOST_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), _MOST_ROWS, replace=False))]
    rows = rows - centre
    if len(rows) < rows.shape[1]:
        # Few rows: their products among one another tell the same and are fewer.
        values, vectors = np.linalg.eigh(rows @ rows.T)
        leading = np.flatnonzero(values > 1e-10 * values[-1])[-n_columns:]
        axes = (rows.T @ vectors[:, leading]) / np.sqrt(values[leading])
    else:
        axes = np.linalg.eigh(rows.T @ rows)[1][:, -n_columns:]
    n = axes.shape[1]
    return axes @ np.linalg.qr(rng.standard_normal((n, n)))[0]
