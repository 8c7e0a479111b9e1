"""Numbers with their nouns, as in "1 photo" and "12 photos"."""

__all__ = ["counted"]


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """The number and the noun in the form that goes with it."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
