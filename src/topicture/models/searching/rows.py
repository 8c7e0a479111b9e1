"""Rows to be compared by their cosines, what is made of many of them once, and blocks of them."""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from topicture.errors import ModelFileError

__all__ = ["MANY_ROWS", "blocks", "comparable", "kept", "unit_rows"]

_BLOCK_BYTES = 64 << 20
# Of this many rows what a search needs is kept from call to call, for annotating asks block after block; but no copy of
# more bytes, for rows may live as long as a corpus does.
MANY_ROWS = 20_000
_MOST_KEPT = 1 << 29
# How far the squared length of a row may be from 1 for it to count as 1, in float64 and float32.
_UNIT = (1e-14, 1e-6)


def blocks(n_rows: int, bytes_a_row: int, block_bytes: int = _BLOCK_BYTES) -> Iterator[slice]:
    """Consecutive slices of 0..n_rows whose working memory stays within a bound."""
    size = max(1, block_bytes // max(1, bytes_a_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Rows (n, K) of length 1; a row of length 0 stays 0."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.divide(features, norms, out=np.zeros_like(features), where=norms > 0)


def comparable(features: np.ndarray) -> np.ndarray:
    """Rows of length 1. Those that are so already, such as a model's own, are not copied: they may be many."""
    other = kept("comparable", features, _made_comparable)
    return features if other is None else other


def _made_comparable(features: np.ndarray) -> np.ndarray | None:
    """None where the rows can be compared as they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("nk,nk->n", features, features, dtype=np.float64)
        if np.all((np.abs(squares - 1) < _UNIT[features.dtype == np.float32]) | (squares == 0)):
            return None
        features = unit_rows(features)
    if not np.isfinite(features).all():
        raise ModelFileError("the model holds numbers too large to compare pictures by; learn again")
    return features


# What was made of many rows, by kind and their identity, as long as there are these rows. A model of several members
# asks about the rows of one after the other, block after block.
_KEPT: dict[tuple[str, int], tuple[Any, Any]] = {}


def kept(kind: str, features: np.ndarray, make: Callable[[np.ndarray], Any]) -> Any:
    """What `make` makes of the rows, kept for the next call if they are many; it must not hold the rows themselves."""
    if len(features) < MANY_ROWS:
        return make(features)
    key = (kind, id(features))
    rows, made = _KEPT.get(key, (lambda: None, None))
    if rows() is not features:
        made = make(features)
        if getattr(made, "nbytes", 0) <= _MOST_KEPT:
            _KEPT[key] = weakref.ref(features, lambda gone: _forget(key, gone)), made
    return made


def _forget(key: tuple[str, int], gone: Any) -> None:
    if key in _KEPT and _KEPT[key][0] is gone:
        del _KEPT[key]
