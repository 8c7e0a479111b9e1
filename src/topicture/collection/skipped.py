"""A file that was left out, and why."""

from typing import NamedTuple

from topicture.moved import renamed

__all__ = ["Skipped"]


class Skipped(NamedTuple):
    """Something that was not read: its path or name, fit to print, and the reason in one line."""

    source: str
    reason: str

    @property
    def path(self) -> str:
        """The earlier name of `source`."""
        return renamed(self, "path", "source")

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"
