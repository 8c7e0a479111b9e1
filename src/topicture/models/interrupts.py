"""What Ctrl-C does to a fit: one that a person started keeps what it has found, one that serves another is given up.

A person who interrupts `fit` in a notebook gets the best parameters so far, and `result_` says so. But where a fit is
a step of something larger (a trial, a fold, the base of another model, `learn`), to go on with what was half learned
would be to use it as if it were whole: there the interrupt ends everything.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["all_or_nothing", "may_be_kept"]

_SERVES_ANOTHER: ContextVar[bool] = ContextVar("serves_another", default=False)


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Inside, an interrupted fit raises KeyboardInterrupt; also a decorator, as `@all_or_nothing()`."""
    token = _SERVES_ANOTHER.set(True)
    try:
        yield
    finally:
        _SERVES_ANOTHER.reset(token)


def may_be_kept() -> bool:
    """Whether an interrupted fit may return what it has found so far."""
    return not _SERVES_ANOTHER.get()
