"""How a verb tells what it is doing: the same for a terminal, a web page and a test."""

from collections.abc import Callable

__all__ = ["Report", "silent"]

Report = Callable[[str, int, int | None], None]
"""Told the name of a stage, how much of it is done, and how much there is in all (None: not known)."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Nobody is watching."""
