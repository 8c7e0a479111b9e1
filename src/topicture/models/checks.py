"""Checks of hyper-parameters, the same words for all models: which parameter, what it must be, what it is."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np

from topicture.errors import TopictureError

__all__ = ["MOST_STEPS", "ParameterChecks", "is_whole"]

# Of a loop in compiled code, which can't be interrupted; far beyond where a step still changes anything.
MOST_STEPS = 10_000

_NUMBERS = (int, float, np.integer, np.floating)


class ParameterChecks(ABC):
    """Checks for `_check_params`; each raises TopictureError that names the parameter and its value."""

    name: ClassVar[str]

    @abstractmethod
    def _check_params(self) -> None:
        """Raise TopictureError for a hyper-parameter that can't work; called before any work is done."""

    def _require(self, parameter: str, fits: bool, must: str) -> None:
        """For conditions of one model: `must` completes the sentence, "be at least 1"."""
        if not fits:
            raise TopictureError(f"{self.name}: {parameter} must {must}, not {getattr(self, parameter)!r}")

    def _check_positive(self, *parameters: str) -> None:
        for parameter in parameters:
            value = getattr(self, parameter)
            self._require(parameter, isinstance(value, _NUMBERS) and bool(value > 0), "be positive")

    def _check_not_negative(self, *parameters: str) -> None:
        for parameter in parameters:
            value = getattr(self, parameter)
            self._require(parameter, isinstance(value, _NUMBERS) and bool(value >= 0), "be at least 0")

    def _check_whole(self, *parameters: str, least: int = 1) -> None:
        for parameter in parameters:
            must = "be a positive whole number" if least == 1 else f"be a whole number from {least}"
            self._require(parameter, is_whole(getattr(self, parameter), least), must)

    def _check_steps(self, *parameters: str, or_else: str = "") -> None:
        """Steps that answering takes: a model file may claim any number of them."""
        for parameter in parameters:
            fits = is_whole(getattr(self, parameter), most=MOST_STEPS)
            other = f", or {or_else}" if or_else else ""
            self._require(parameter, fits, f"be a whole number from 1 to {MOST_STEPS}{other}")

    def _check_choice(self, parameter: str, choices: Collection[str]) -> None:
        value = getattr(self, parameter)
        fits = isinstance(value, str) and value in choices
        self._require(parameter, fits, f"be one of {', '.join(choices)}")


def is_whole(value: Any, least: int = 1, most: float = np.inf) -> bool:
    """Whether it is a whole number, Python's or NumPy's, within these bounds; True and False are none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(least <= value <= most)
