"""A question that `review` asks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

__all__ = ["Question", "photo_by_photo"]


@dataclass(frozen=True)
class Question:
    """Is this word true of this photo?"""

    path: str
    image: int
    word: str
    probability: float
    drawn: float | None = None  # the chance of being drawn, for a question that was drawn at random
    left_out: bool = False  # its owner tagged the photo, without this word: did they leave it out?


class _AboutAPhoto(Protocol):
    @property
    def image(self) -> int: ...


T = TypeVar("T", bound=_AboutAPhoto)


def photo_by_photo(found: Iterable[T]) -> list[T]:
    """All of each photo together: photos in the order in which they come first, and so what is about each."""
    by_photo: dict[int, list[T]] = {}
    for each in found:
        by_photo.setdefault(each.image, []).append(each)
    return [each for some in by_photo.values() for each in some]
