"""A question that `review` asks."""

from dataclasses import dataclass

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """Is this word true of this photo?"""

    path: str
    image: int
    word: str
    probability: float
    drawn: float | None = None  # the chance of being drawn, for a question that was drawn at random
    left_out: bool = False  # its owner tagged the photo, without this word: did they leave it out?
