"""How a verb tells what it is doing: the same for a terminal, a web page and a test."""

from collections.abc import Callable
from typing import Any

__all__ = ["Report", "Trace", "silent", "untold"]

Report = Callable[[str, int, int | None], None]
"""Told the name of a stage, how much of it is done, and how much there is in all (None: not known).

A name may go on after ": " with what the stage is at, such as the model that is being tried."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Nobody is watching."""


Trace = Callable[[dict[str, Any]], None]
"""Told details of a stage that somebody may like to watch: which member is tried, what the objective is."""


def untold(entry: dict[str, Any]) -> None:
    """Nobody is watching that closely."""
