"""Nearest neighbours of many queries, found by workers of an engine: each has some queries, all see the rows."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from topicture.elsewhere import Engine
from topicture.models.searching.products import Find

__all__ = ["find_elsewhere"]


def find_elsewhere(
    engine: Engine,
    finder: Callable[[np.ndarray, int], Find],
    queries: np.ndarray,
    features: np.ndarray,
    n: int,
    blocks: Iterable[slice],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What `finder(features, n)` finds for the queries of each block, in their order."""
    name = secrets.token_hex(4)
    rows = engine.folder / f"rows-{name}.npy"
    np.save(rows, features, allow_pickle=False)
    asked = rows
    if queries is not features:
        asked = engine.folder / f"queries-{name}.npy"
        np.save(asked, queries, allow_pickle=False)
    try:
        calls = ((finder, str(asked), str(rows), block.start, block.stop, n) for block in blocks)
        yield from engine.in_order(_find, calls)
    finally:
        for path in {rows, asked}:
            Path(path).unlink()


def _find(
    finder: Callable[[np.ndarray, int], Find], queries: str, rows: str, start: int, stop: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """On a worker."""
    return finder(_mapped(rows), n)(np.asarray(_mapped(queries)[start:stop], np.float64))


@lru_cache(maxsize=4)
def _mapped(path: str) -> np.ndarray:
    return np.lib.format.open_memmap(path, mode="r")
