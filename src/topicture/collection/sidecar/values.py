"""What is written into a sidecar: words with who chose them, and objects with their place."""

import math
from dataclasses import dataclass

from topicture.collection.words import clean_word
from topicture.errors import TopictureError

__all__ = ["ObjectRegion", "SidecarError", "Tag", "decimal"]

_ROUNDING = 1e-6  # a rectangle may stick out by this much, as sums of rounded numbers do


class SidecarError(TopictureError, ValueError):
    """A sidecar that is left alone, or a value that can't be written into one; says which and why."""


@dataclass(frozen=True)
class Tag:
    """A word for a photo.

    Attributes
    ----------
    word : str
        Cleaned on construction; raises BadWord.
    by_machine : bool
        True where a model chose it and nobody confirmed it.
    probability : float, optional
        How sure the model was, 0 to 1.
    hierarchy : tuple of str
        The path to the word in a tree of tags, outermost first, the word itself last; empty for a plain word.
    """

    word: str
    by_machine: bool = False
    probability: float | None = None
    hierarchy: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", clean_word(self.word))
        object.__setattr__(self, "hierarchy", tuple(map(clean_word, self.hierarchy)))
        if self.hierarchy and self.hierarchy[-1] != self.word:
            raise SidecarError(
                f"tag '{self.word}': its hierarchy must end in the word, not '{self.hierarchy[-1]}'"
            )
        _check_probability(self.word, self.probability)


@dataclass(frozen=True)
class ObjectRegion:
    """A rectangle of the photo, and the word for what it shows.

    `x`, `y` is its upper left corner, `w`, `h` its size, in parts of width and height (0 to 1) of the picture as one
    sees it, upright. With a probability it is marked as chosen by a machine.
    """

    word: str
    x: float
    y: float
    w: float
    h: float
    probability: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", clean_word(self.word))
        _check_probability(self.word, self.probability)
        box = (self.x, self.y, self.w, self.h)
        inside = self.x + self.w <= 1 + _ROUNDING and self.y + self.h <= 1 + _ROUNDING
        if (
            not all(map(math.isfinite, box))
            or min(self.x, self.y) < 0
            or min(self.w, self.h) <= 0
            or not inside
        ):
            raise SidecarError(f"region of '{self.word}' must lie in the picture (0 to 1), not {box}")

    def as_stored(self, orientation: int) -> "ObjectRegion":
        """The same rectangle on the pixels as the file has them, which an EXIF orientation (1 to 8) puts upright."""
        left, top = self.x, self.y
        right, bottom = (
            max(0.0, 1 - self.x - self.w),
            max(0.0, 1 - self.y - self.h),
        )  # distances from the far edges
        corners = {
            2: (right, top),
            3: (right, bottom),
            4: (left, bottom),
            5: (top, left),
            6: (top, right),
            7: (bottom, right),
            8: (bottom, left),
        }
        x, y = corners.get(orientation, (left, top))
        w, h = (self.h, self.w) if 5 <= orientation <= 8 else (self.w, self.h)
        return ObjectRegion(self.word, x, y, w, h, self.probability)


def decimal(value: float | None) -> str | None:
    """A number between 0 and 1 as XMP writes real numbers, without an exponent; None stays None."""
    return None if value is None else f"{value:.6f}".rstrip("0").rstrip(".")


def _check_probability(word: str, probability: float | None) -> None:
    if probability is not None and not 0 <= probability <= 1:
        raise SidecarError(f"tag '{word}': probability {probability} is not between 0 and 1")
