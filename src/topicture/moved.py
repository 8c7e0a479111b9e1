"""Modules that have moved, under the names that earlier versions documented."""

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["moved"]


def moved(old: str, new: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that looks in its new place, with a warning for whoever writes code."""

    def look(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(new), name)

    return look
