"""Cells of CSV files that a spreadsheet must not take for formulas, and that come back as they were.

On export, a text that begins with one of `=`, `+`, `-`, `@` (or a tab or carriage return) gets an apostrophe in front,
which spreadsheets show as text; so does a text that begins with an apostrophe itself, that reading may be exact. On
import, an apostrophe in front of one of these characters is taken away; in front of anything else it is part of the
text.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from topicture.collection.formats.files import load_bytes
from topicture.collection.formats.items import Collector, FormatError
from topicture.moved import moved

__all__ = ["neutral", "read_rows", "restored", "table_bytes"]

__getattr__ = moved(__name__)  # names of earlier versions

_DANGEROUS = tuple("=+-@\t\r'")
_DELIMITERS = ",;\t"


def neutral(text: str) -> str:
    """A text as a cell that no spreadsheet computes."""
    return "'" + text if text.startswith(_DANGEROUS) else text


def restored(cell: str) -> str:
    """The text of a cell; the inverse of `neutral`."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_DANGEROUS) else cell


def read_rows(path: Path, collect: Collector) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table with their line numbers, the header first; blank ones are left out.

    Cells are separated by comma, semicolon or tab, whichever the header has most of. The file is UTF-8, with or without
    a mark; other bytes are kept as surrogate escapes, so that names of files may have them. Raises FormatError.
    """
    text = load_bytes(path).removeprefix("\ufeff".encode()).decode("utf-8", "surrogateescape")
    header = text.split("\n", 1)[0]
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(_DELIMITERS, key=header.count), strict=True
    )
    line, empty = 1, True
    try:
        for row in rows:
            if any(row):
                empty = False
                yield line, [restored(cell) for cell in row]
            line = rows.line_num + 1
    except csv.Error as error:
        collect.refuse(path.name, f"line {line}", f"the rest is not readable as CSV ({error})")
    if empty:
        raise FormatError("the table has no header")


def table_bytes(rows: Iterable[Iterable[object]]) -> bytes:
    """A table; texts are made neutral, numbers stay numbers."""
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream
    )  # lines end as RFC 4180 wants, which also makes the writer quote every line break
    for row in rows:
        writer.writerow([neutral(cell) if isinstance(cell, str) else cell for cell in row])
    return stream.getvalue().encode("utf-8", "surrogateescape")
