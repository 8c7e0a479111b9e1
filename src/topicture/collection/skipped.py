"""A file that was left out, and why."""

from typing import NamedTuple

__all__ = ["Skipped"]


class Skipped(NamedTuple):
    """Something that was not read: its path or name, fit to print, and the reason in one line."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"
