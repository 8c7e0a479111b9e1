"""What a feature is: a name, a version, and a meaning for every column.

Features outlive the code that made them: in a cache, in a model file. A stored array is used only where the
descriptor's `key` is the one the code has now, so raising `version` is how a changed formula gets recomputed.
"""

from dataclasses import dataclass
from typing import Literal

from topicture.errors import TopictureError

__all__ = ["Column", "Descriptor", "Scope"]

Scope = Literal["image", "region", "patch"]


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a descriptor: its name, and what it measures with range or unit."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A named, versioned descriptor with documented columns.

    Attributes
    ----------
    name : str
        Short and stable, as in `blobs`.
    version : int
        Raised whenever the same pixels would give other numbers.
    columns : tuple of Column
        In the order of the arrays' last axis.
    scope : "image", "region" or "patch"
        What one row of the array describes.
    """

    name: str
    version: int
    columns: tuple[Column, ...]
    scope: Scope

    def __post_init__(self) -> None:
        names = self.column_names
        if len(set(names)) != len(names):
            twins = sorted({name for name in names if names.count(name) > 1})
            raise TopictureError(f"descriptor {self.name}: column names repeat: {', '.join(twins)}")

    @property
    def key(self) -> str:
        """Name and version in one word, for caches and file headers: `blobs-v1`."""
        return f"{self.name}-v{self.version}"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def index(self, column: str) -> int:
        """Position of the column of that name; raises TopictureError when there is none."""
        try:
            return self.column_names.index(column)
        except ValueError:
            raise TopictureError(f"descriptor {self.name} has no column {column!r}") from None
