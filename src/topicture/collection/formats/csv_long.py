"""A long table: a row for each word of each photo, with the box where there is one.

Columns `file` and `word`, and optionally `x`, `y`, `w`, `h` (box in pixels) and `width`, `height` (of the picture). A
row without a word names a photo that has none. A `probability` says that the word is only suggested. Other columns are
passed over.
"""

from collections.abc import Sequence
from pathlib import Path

from topicture.collection.formats.cells import read_rows, table_bytes
from topicture.collection.formats.items import Box, Collector, FormatError, Item
from topicture.moved import moved

__all__ = ["FILE_NAMES", "WORD_NAMES", "encode", "read"]

__getattr__ = moved(__name__)  # names of earlier versions

FILE_NAMES = ("file", "path", "image", "filename", "file_name", "photo")
"""Names of the column of photos, in order of preference."""

WORD_NAMES = ("word", "tag", "label", "keyword", "category", "class")
"""Names of the column of words."""

_COLUMNS = ("file", "word", "x", "y", "w", "h", "width", "height")
_PROBABILITY = "probability"


def read(path: Path, collect: Collector) -> None:
    """Read a long table."""
    file = path.name
    with collect.entry(file, ""):
        rows = read_rows(path, collect)
        header = [name.strip().lower() for name in next(rows, (1, []))[1]]
        columns = {name: header.index(name) for name in (*_COLUMNS[2:], _PROBABILITY) if name in header}
        columns |= {"file": _column(header, FILE_NAMES), "word": _column(header, WORD_NAMES)}
        for line, row in rows:
            with collect.entry(file, f"line {line}"):
                if len(row) > len(header):
                    raise FormatError(f"{len(row)} cells under a header of {len(header)}")
                cells = {name: row[at] if at < len(row) else "" for name, at in columns.items()}
                _take(cells, file, line, collect)


def _column(header: list[str], names: Sequence[str]) -> int:
    for name in names:
        if name in header:
            return header.index(name)
    raise FormatError(f"the header has no column '{names[0]}'")


def _take(cells: dict[str, str], file: str, line: int, collect: Collector) -> None:
    photo = collect.known(cells["file"])
    if photo is None:
        photo = collect.photo(file, f"line {line}", cells["file"], cells.get("width"), cells.get("height"))
    box = [cells.get(name, "").strip() for name in ("x", "y", "w", "h")]
    if cells.get(_PROBABILITY, "").strip():
        photo.add_suggestion(cells["word"], cells[_PROBABILITY])
    elif any(box):
        photo.add_box(Box(cells["word"], *box))  # type: ignore[arg-type]  # numbers as texts are fine
    elif cells["word"]:
        photo.add_word(cells["word"])


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A long table; with a column of probabilities where words are suggested."""
    more = [_PROBABILITY] if any(item.suggested for item in items) else []
    rows: list[Sequence[object]] = [(*_COLUMNS, *more)]
    for item in items:
        size, chance = item.size or ("", ""), dict(item.suggested)
        words = item.plain_words if item.words else ("",)
        rows.extend(
            (item.path, word, "", "", "", "", *size, *(chance.get(word, "") for _ in more)) for word in words
        )
        rows.extend(
            (item.path, box.word, box.x, box.y, box.w, box.h, *size, *("" for _ in more))
            for box in item.boxes
        )
    return {path.name: table_bytes(rows)}
