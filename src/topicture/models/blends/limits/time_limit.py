"""Fits that end by themselves before they take longer than they may."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from topicture.models.baselines.one_view import Step

__all__ = ["OutOfTime", "TimeLimit"]

# Steps after which the time of all is foretold: the first ones may compile or fill caches.
_FORETELL_AFTER = 10


class OutOfTime(Exception):
    """A fit has taken, or is going to take, longer than it may; `seconds` is how long it would take at least."""

    def __init__(self, seconds: float):
        super().__init__(f"{seconds:.0f} s")
        self.seconds = seconds


class TimeLimit:
    """A callback for `Annotator.fit` that raises OutOfTime once a fit can't be done in time.

    A model that tells how many steps there are is stopped as soon as this can be foretold; others when the time is up.

    Parameters
    ----------
    seconds : from now on
    callback : told of every step as well
    """

    def __init__(self, seconds: float, callback: Callable[[Any], None] | None = None):
        self.seconds = seconds
        self.callback = callback
        self.start = perf_counter()
        self._first: float | None = None

    def __call__(self, progress: Any) -> None:
        now = perf_counter()
        needed = now - self.start
        if isinstance(progress, Step) and progress.total is not None:
            if self._first is None:
                self._first = now
            if progress.done > _FORETELL_AFTER:
                needed += (now - self._first) / (progress.done - 1) * (progress.total - progress.done)
        if needed > self.seconds:
            raise OutOfTime(needed)
        if self.callback is not None:
            self.callback(progress)
