"""What every annotation format comes down to: photos with words, and boxes around what the words name.

An `Item` is valid once it exists: its path stays inside the collection, its words are clean, its boxes lie in the
picture. Readers build items through a `Collector`, which refuses entries one by one and keeps the rest.
"""

import math
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from topicture.collection.words import clean_word, printable
from topicture.errors import BadWord, TopictureError

__all__ = [
    "Box",
    "Collector",
    "Draft",
    "FormatError",
    "Imported",
    "Item",
    "Refused",
    "clean_path",
    "is_absolute",
    "number",
]

_MARGIN = 1.0  # pixels that a box may stick out: some tools count from one, others to the far edge


class FormatError(TopictureError, ValueError):
    """An annotation format that is not known, or an entry of a file that can't be used; says why."""


@dataclass(frozen=True, order=True)
class Box:
    """A rectangle around what a word names: upper left corner and size in pixels, kept to a thousandth of a pixel."""

    word: str
    x: float
    y: float
    w: float
    h: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", clean_word(self.word))
        for name in ("x", "y", "w", "h"):
            # Adding zero turns -0.0 into 0.0.
            object.__setattr__(self, name, round(number(getattr(self, name)), 3) + 0.0)
        if self.w <= 0 or self.h <= 0:
            raise FormatError(f"box of '{self.word}' is empty ({self.w} x {self.h} pixels)")

    def check_inside(self, size: tuple[int, int] | None) -> None:
        """Raise FormatError where the box leaves a picture of `size` (width, height) by more than a pixel."""
        width, height = size or (math.inf, math.inf)
        if (
            min(self.x, self.y) < -_MARGIN
            or self.x + self.w > width + _MARGIN
            or self.y + self.h > height + _MARGIN
        ):
            raise FormatError(
                f"box of '{self.word}' ({self.x:g}, {self.y:g}, {self.w:g} x {self.h:g}) lies outside the picture"
                + (f" of {width} x {height} pixels" if size else "")
            )


@dataclass(frozen=True)
class Item:
    """A photo with its annotations.

    Attributes
    ----------
    path : str
        Relative to the collection, with `/` between its parts.
    words : tuple of str
        Clean, sorted, each once; the words of the boxes are among them.
    boxes : tuple of Box
        Sorted.
    size : (width, height), optional
        Of the picture in pixels, where it is known.
    suggested : tuple of (word, probability)
        Words that nobody has decided on, sorted; they are among `words`, too.

    Raises BadWord or FormatError where a part is not valid.
    """

    path: str
    words: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    size: tuple[int, int] | None = None
    suggested: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", clean_path(self.path))
        suggested = {clean_word(word): _probability(p) for word, p in self.suggested}
        object.__setattr__(self, "suggested", tuple(sorted(suggested.items())))
        if self.size is not None:
            object.__setattr__(self, "size", _clean_size(*self.size))
        boxes = tuple(sorted(self.boxes))
        for box in boxes:
            box.check_inside(self.size)
        object.__setattr__(self, "boxes", boxes)
        words = {*map(clean_word, self.words), *(box.word for box in boxes), *suggested}
        object.__setattr__(self, "words", tuple(sorted(words)))

    @property
    def plain_words(self) -> tuple[str, ...]:
        """The words that no box names."""
        boxed = {box.word for box in self.boxes}
        return tuple(word for word in self.words if word not in boxed)


@dataclass(frozen=True)
class Refused:
    """An entry that was not taken: the file, the line or entry in it, and the reason."""

    file: str
    where: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(printable(part) for part in (self.file, self.where, self.reason) if part)


@dataclass(frozen=True)
class Imported:
    """What a file or folder of annotations held: the usable items in their order, and what was refused."""

    items: tuple[Item, ...]
    refused: tuple[Refused, ...]


def clean_path(text: object) -> str:
    """A path that stays inside the collection, in its shortest form; raises FormatError."""
    if not isinstance(text, str) or not text or "\0" in text:
        raise FormatError(f"{printable(str(text))!r} is not a path")
    if is_absolute(text):
        raise FormatError(f"path '{printable(text)}' is not relative to the collection")
    path = posixpath.normpath(text)
    if ".." in text.replace("\\", "/").split("/"):
        raise FormatError(f"path '{printable(text)}' leads out of the collection")
    if path == ".":
        raise FormatError(f"path '{printable(text)}' names no file")
    return path


def is_absolute(text: str) -> bool:
    """Whether a path begins at a root, here or under Windows."""
    return text.startswith(("/", "\\")) or text[1:3] in (":/", ":\\")


def number(value: object) -> float:
    """A finite number of a file, where it may be written as text; raises FormatError."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            result = float(value)
        except (ValueError, OverflowError):
            result = math.nan
        if math.isfinite(result):
            return result
    raise FormatError(f"'{printable(str(value))[:40]}' is not a finite number")


def _probability(value: object) -> float:
    result = number(value)
    if not 0 <= result <= 1:
        raise FormatError(f"{result:g} is not a probability between 0 and 1")
    return result


def _clean_size(width: object, height: object) -> tuple[int, int]:
    values = number(width), number(height)
    if not all(value >= 1 and value.is_integer() for value in values):
        raise FormatError(f"a picture of {width} x {height} pixels is not possible")
    return int(values[0]), int(values[1])


# --- Building -------------------------------------------------------------------------------------------------------


@dataclass
class Draft:
    """An item in the making, and where in which file it stands."""

    path: str
    file: str
    where: str
    size: tuple[int, int] | None = None
    words: list[str] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    suggested: dict[str, float] = field(default_factory=dict)

    def add_suggestion(self, text: object, probability: object) -> None:
        """Add a word that nobody has decided on; raises BadWord or FormatError."""
        if not isinstance(text, str):
            raise FormatError(f"'{printable(str(text))[:40]}' is not a word")
        self.suggested[clean_word(text)] = _probability(probability)

    def add_word(self, text: object) -> None:
        """Add a word for the whole photo; raises BadWord or FormatError."""
        if not isinstance(text, str):
            raise FormatError(f"'{printable(str(text))[:40]}' is not a word")
        self.words.append(clean_word(text))

    def add_box(self, box: Box) -> None:
        """Add a box; raises FormatError where it leaves the picture."""
        box.check_inside(self.size)
        self.boxes.append(box)


class Collector:
    """Gathers the items of an import, and the reasons for what is left out."""

    def __init__(self) -> None:
        self._drafts: dict[str, Draft] = {}
        self._refused: list[Refused] = []

    @contextmanager
    def entry(self, file: str, where: str) -> Iterator[None]:
        """The work on one entry: where it fails, the entry is refused and the reading goes on."""
        try:
            yield
        except (FormatError, BadWord) as reason:
            self.refuse(file, where, str(reason))

    def refuse(self, file: str, where: str, reason: str) -> None:
        """Note an entry that is not taken."""
        self._refused.append(Refused(file, where, reason))

    def photo(
        self, file: str, where: str, path: object, width: object = None, height: object = None
    ) -> Draft:
        """A new item; raises FormatError where its path is not valid or already taken. A bad size is only noted."""
        draft = Draft(clean_path(path), file, where)
        if draft.path in self._drafts:
            first = self._drafts[draft.path]
            place = ", ".join(filter(None, (printable(first.file), first.where)))
            raise FormatError(f"photo '{printable(draft.path)}' was there before ({place})")
        if width not in (None, "") and height not in (None, ""):
            with self.entry(file, where):
                draft.size = _clean_size(width, height)
        self._drafts[draft.path] = draft
        return draft

    def known(self, path: object) -> Draft | None:
        """The item of a path, if it was there before; raises FormatError where the path is not valid."""
        return self._drafts.get(clean_path(path))

    def imported(self, root: str | os.PathLike | None) -> Imported:
        """All that was gathered. With a root, items whose file is not there, or not inside, are refused."""
        items = []
        top = None if root is None else os.path.realpath(root)
        for draft in self._drafts.values():
            if top is not None:
                file = os.path.realpath(os.path.join(top, draft.path))
                if not file.startswith(os.path.join(top, "")) or not os.path.isfile(file):
                    self.refuse(
                        draft.file, draft.where, f"photo '{printable(draft.path)}' is not in the collection"
                    )
                    continue
            suggested = tuple(draft.suggested.items())
            items.append(Item(draft.path, tuple(draft.words), tuple(draft.boxes), draft.size, suggested))
        return Imported(tuple(items), tuple(self._refused))
