"""What small networks need to learn: batches of rows, inputs dropped at random, Adam, several side by side."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from topicture.models.threads import side_by_side

__all__ = ["Adam", "batches", "in_order", "kept", "without_some"]

Source = TypeVar("Source")
Learned = TypeVar("Learned")

# Decay rates of the mean and the square of the gradient.
_DECAYS = (0.9, 0.999)


class Adam:
    """Adam [kingma2015adam] with a cosine schedule; float32 arrays are changed in place."""

    def __init__(self, parts: Sequence[np.ndarray], rate: float, n_updates: int):
        self.parts = parts
        self.rate = rate
        self.n_updates = n_updates
        self.step = 0
        self._means, self._squares = ([np.zeros_like(part) for part in parts] for _ in range(2))

    def update(self, gradient: Sequence[np.ndarray]) -> None:
        """One step downhill."""
        rate = self.rate * (1 + np.cos(np.pi * self.step / self.n_updates)) / 2
        self.step += 1
        corrections = [1 - decay**self.step for decay in _DECAYS]
        for part, g, mean, square in zip(self.parts, gradient, self._means, self._squares, strict=True):
            mean += (1 - _DECAYS[0]) * (g - mean)
            square += (1 - _DECAYS[1]) * (g * g - square)
            part -= rate * (mean / corrections[0]) / (np.sqrt(square / corrections[1]) + 1e-7)


def in_order(learn: Callable[[Source], Learned], sources: Sequence[Source]) -> list[Learned]:
    """learn(source) for every source, several at a time, each on one thread: their products are small.

    Products of this size that are split over threads take longer, on a busy machine ten times as long.
    """
    found: dict[int, Learned] = {}

    def one(number: int) -> None:
        found[number] = learn(sources[number])

    with side_by_side() as for_each:
        for_each(one, range(len(sources)))
    return [found[number] for number in range(len(sources))]


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows of one batch after the other, every row once a round."""
    while True:
        order = rng.permutation(n)
        for start in range(0, n, size):
            yield order[start : start + size]


def without_some(x: Any, drop: float, rng: np.random.Generator) -> Any:
    """Inputs with a share dropped and the others enlarged; sparse ones stay sparse: a step is twice as fast."""
    if not sparse.issparse(x):
        return x * kept(x.shape, drop, rng)
    return sparse.csr_array((x.data * kept(x.data.shape, drop, rng), x.indices, x.indptr), shape=x.shape)


def kept(shape: tuple[int, ...], drop: float, rng: np.random.Generator) -> np.ndarray:
    """0 with probability `drop`, else 1/(1 - drop)."""
    return (rng.random(shape, np.float32) >= drop) * np.float32(1 / (1 - drop))
