"""What linear models said of a word before answers: how much the answers have taken from it is found from that."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["BeforeAnswers"]


class BeforeAnswers(NamedTuple):
    """Weights of the k words that there are answers about, learned from captions alone."""

    words: np.ndarray  # (k,)
    weights: np.ndarray  # (L, k)
    offset: np.ndarray  # (k,)

    def taken(self, rows: Any, score: Callable[[np.ndarray], np.ndarray], scores: np.ndarray) -> np.ndarray:
        """By how much scores (D, V) of rows (D, L) are below what they were, (D,); `score` as the model has it."""
        before = score(np.asarray(rows @ self.weights) + self.offset)
        return np.maximum(before - scores[:, self.words], 0.0).sum(axis=1)

    def state(self) -> dict[str, np.ndarray]:
        """Arrays of a model file."""
        return {f"before.{name}": value for name, value in self._asdict().items()}

    @classmethod
    def of_file(cls, arrays: dict[str, np.ndarray], n_words: int) -> "BeforeAnswers | None":
        """What `state` wrote; None where nothing was written, ValueError where it is not that."""
        if "before.words" not in arrays:
            return None
        found = cls(*(arrays[f"before.{name}"] for name in cls._fields))
        if not ((found.words >= 0) & (found.words < n_words)).all():
            raise ValueError("answers about words that there are not")
        return found
