"""A wide table: a row for each photo, a column for each word with 1 where the photo has it.

The first column names the photo. Also read is a table of two columns whose second, `words`, lists them with semicolons
between, or with commas where the table has no semicolon at all. Boxes and sizes have no place here.
"""

from collections.abc import Sequence
from pathlib import Path

from topicture.collection.formats.cells import read_rows, table_bytes
from topicture.collection.formats.csv_long import FILE_NAMES
from topicture.collection.formats.items import Collector, Draft, FormatError, Item
from topicture.collection.kinds import PHOTOS, RAW
from topicture.collection.words import clean_word
from topicture.moved import moved

__all__ = ["LIST_NAMES", "encode", "read"]

__getattr__ = moved(__name__)  # names of earlier versions

LIST_NAMES = ("words", "tags", "keywords", "labels")
"""Names of a column that lists all the words of a photo."""

_YES = ("1", "1.0", "true", "yes", "x")
_NO = ("0", "0.0", "false", "no", "")


def read(path: Path, collect: Collector) -> None:
    """Read a wide table."""
    file = path.name
    with collect.entry(file, ""):
        (_, header), *rows = read_rows(path, collect)
        if Path(header[0]).suffix.lower() in PHOTOS | RAW:
            raise FormatError(
                f"line 1 is about a photo, and should be a header such as: file,{LIST_NAMES[0]}"
            )
        if len(header) == 1 and header[0].strip().lower() not in FILE_NAMES:
            raise FormatError("the header has no column of words")
        lists = len(header) == 2 and header[1].strip().lower() in LIST_NAMES
        lists = lists and any(cell.strip().lower() not in _YES + _NO for _, row in rows for cell in row[1:])
        words = [None, header[1]] if lists else _words(header, file, collect)
        between = ";" if any(";" in cell for _, row in rows for cell in row[1:]) else ","
        for line, row in rows:
            where = f"line {line}"
            with collect.entry(file, where):
                if len(row) > len(header):
                    raise FormatError(f"{len(row)} cells under a header of {len(header)}")
                photo = collect.photo(file, where, row[0])
                for word, cell in zip(words[1:], row[1:], strict=False):
                    if cell in ("", "0"):  # nearly all of a large table
                        continue
                    with collect.entry(file, where):
                        _take_list(cell.split(between), photo, file, where, collect) if lists else _take(
                            word, cell, photo
                        )


def _words(header: list[str], file: str, collect: Collector) -> list[str | None]:
    """The words of the columns; None for the first, and for those that are no words."""
    words: list[str | None] = [None]
    for name in header[1:]:
        words.append(None)
        with collect.entry(file, "line 1"):
            word = clean_word(name)
            if word in words:
                raise FormatError(f"column '{word}' was there before")
            words[-1] = word
    return words


def _take(word: str | None, cell: str, photo: Draft) -> None:
    answer = cell.strip().lower()
    if word is not None and answer not in _YES + _NO:
        raise FormatError(f"'{cell[:40]}' under '{word}' is neither 0 nor 1")
    if word is not None and answer in _YES:
        photo.add_word(word)


def _take_list(texts: list[str], photo: Draft, file: str, where: str, collect: Collector) -> None:
    for text in filter(str.strip, texts):
        with collect.entry(file, where):
            photo.add_word(text)


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A wide table with the words in order."""
    words = sorted({word for item in items for word in item.words})
    rows: list[Sequence[object]] = [("file", *words)]
    for item in items:
        has = set(item.words)
        rows.append((item.path, *(int(word in has) for word in words)))
    return {path.name: table_bytes(rows)}
