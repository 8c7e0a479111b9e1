"""Mulan ARFF: a table of attributes, some of which an XML file beside it (same name, `.xml`) declares to be labels.

Rows are dense or sparse. The first attribute of type string names the photo; a data set without one numbers its rows.
Other attributes are features and are passed over. Boxes and sizes have no place here.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lxml import etree

from topicture.collection.formats.files import load_bytes, load_xml
from topicture.collection.formats.items import Collector, Draft, FormatError, Item
from topicture.collection.words import clean_word, printable
from topicture.moved import moved

__all__ = ["encode", "encode_dense", "read"]

__getattr__ = moved(__name__)  # names of earlier versions

_NAMESPACE = "http://mulan.sourceforge.net/labels"
_TOKEN = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,'"{}]+)""")
_COMMA = re.compile(r"\s*(,|$)")
_ATTRIBUTE = re.compile(r"@attribute\b", flags=re.IGNORECASE)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'", "%": "\\%"}
_PLAIN = re.compile(r"[\w.\-]+", flags=re.ASCII)


def read(path: Path, collect: Collector) -> None:
    """Read a table together with its label file."""
    file = path.name
    with collect.entry(file, ""):
        lines = _lines(load_bytes(path).decode("utf-8", "surrogateescape"))
        names, photo_column = _header(lines)
        words = _label_columns(path.with_suffix(".xml"), names, collect)
        for count, (line, text) in enumerate(lines, 1):
            where = f"line {line}"
            with collect.entry(file, where):
                values = _row(text, len(names))
                name = f"instance-{count:06}" if photo_column is None else values.get(photo_column, "")
                _take(collect.photo(file, where, name), values, words, where, collect)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    for n, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("%"):
            yield n, stripped


def _header(lines: Iterator[tuple[int, str]]) -> tuple[list[str], int | None]:
    """The names of the attributes, and which of them names the photo; leaves `lines` at the first row."""
    names: list[str] = []
    photo_column = None
    for n, line in lines:
        if line.lower() == "@data":
            return names, photo_column
        if match := _ATTRIBUTE.match(line):
            name = _TOKEN.match(line, match.end())
            if name is None:
                raise FormatError(f"line {n}: attribute without a name")
            if photo_column is None and line[name.end() :].strip().lower() == "string":
                photo_column = len(names)
            names.append(_plain(name.group(1)))
    raise FormatError("not an ARFF file: it has no @data")


def _label_columns(path: Path, names: list[str], collect: Collector) -> dict[int, str]:
    """The columns that are labels, with their words."""
    if not path.exists():
        raise FormatError(f"its label file '{printable(path.name)}' is missing")
    columns = {name: n for n, name in enumerate(names)}
    words: dict[int, str] = {}
    for element in load_xml(path).iter(f"{{{_NAMESPACE}}}label", "label"):
        with collect.entry(path.name, f"line {element.sourceline}"):
            name = element.get("name", "")
            if name not in columns:
                raise FormatError(f"label '{printable(name)}' is no attribute of the table")
            words[columns[name]] = clean_word(name)
    return words


def _row(text: str, n_columns: int) -> dict[int, str]:
    """The values of a row by column; a sparse row leaves out zeros."""
    if not text.startswith("{"):
        values = _split(text)
        if len(values) != n_columns:
            raise FormatError(f"{len(values)} values for {n_columns} attributes")
        return dict(enumerate(values))
    if not text.endswith("}"):
        raise FormatError("sparse row without an end")
    row: dict[int, str] = {}
    for pair in _split(text[1:-1], pairs=True):
        column, _, value = pair.partition(" ")
        if not column.isdecimal() or int(column) >= n_columns or int(column) in row:
            raise FormatError(f"'{printable(pair)[:40]}' names no attribute, or one that was there before")
        row[int(column)] = value
    return row


def _split(text: str, pairs: bool = False) -> list[str]:
    """The values between commas, out of their quotes; with `pairs`, each is an index, a blank and a value."""
    quoted = (
        max(text.rfind("'"), text.rfind('"')) + 1
    )  # behind the last quote the commas alone count: much faster
    found = _split_quoted(text[:quoted], pairs) if quoted else []
    rest = text[quoted:].strip()
    if quoted and rest:
        if not rest.startswith(","):
            raise FormatError(f"a comma is missing before '{printable(rest[:20])}'")
        rest = rest[1:]
    return found + ([" ".join(part.split()) for part in rest.split(",")] if rest else [])


def _split_quoted(text: str, pairs: bool) -> list[str]:
    found = []
    at = 0
    while True:
        parts = []
        for _ in range(1 + pairs):
            token = _TOKEN.match(text, at)
            if token is None:
                raise FormatError(f"can't be understood from '{printable(text[at : at + 20])}'")
            parts.append(_plain(token.group(1)))
            at = token.end()
        found.append(" ".join(parts))
        comma = _COMMA.match(text, at)
        if comma is None:
            raise FormatError(f"a comma is missing before '{printable(text[at : at + 20])}'")
        if not comma.group(1):
            return found
        at = comma.end()


def _take(
    photo: Draft, values: dict[int, str], words: dict[int, str], where: str, collect: Collector
) -> None:
    for column, word in words.items():
        value = values.get(column, "0")
        if value in ("0", "?"):
            continue
        with collect.entry(photo.file, where):
            if value != "1":
                raise FormatError(f"'{printable(value)[:40]}' under '{word}' is neither 0 nor 1")
            photo.add_word(word)


# --- Writing --------------------------------------------------------------------------------------------------------


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A sparse table and its label file."""
    words, head = _words(items)
    columns = {word: n for n, word in enumerate(words, 1)}
    rows = (
        f"{{0 {_quoted(item.path)}" + "".join(f", {columns[word]} 1" for word in item.words) + "}"
        for item in items
    )
    return {path.with_suffix(".xml").name: _labels(words), path.name: _table(head, rows)}


def encode_dense(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A dense table and its label file."""
    words, head = _words(items)
    rows = []
    for item in items:
        has = set(item.words)
        rows.append(",".join([_quoted(item.path), *("01"[word in has] for word in words)]))
    return {path.with_suffix(".xml").name: _labels(words), path.name: _table(head, rows)}


def _labels(words: Iterable[str]) -> bytes:
    """The label file."""
    root = etree.Element(f"{{{_NAMESPACE}}}labels", nsmap={None: _NAMESPACE})
    for word in words:
        etree.SubElement(root, f"{{{_NAMESPACE}}}label").set("name", word)
    return etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")


def _words(items: Sequence[Item]) -> tuple[list[str], list[str]]:
    """The words in order, and the lines of the table's header."""
    words = sorted({word for item in items for word in item.words})
    photo = "file"
    while photo in words:
        photo += "_"
    return words, [f"@attribute {photo} string", *(f"@attribute {_quoted(word)} {{0,1}}" for word in words)]


def _table(head: list[str], rows: Iterable[str]) -> bytes:
    lines = ["@relation topicture", "", *head, "", "@data", *rows, ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return "'" + "".join(_ESCAPES.get(character, character) for character in text) + "'"


def _plain(token: str) -> str:
    """The text of a token: out of its quotes, escapes undone."""
    if token[:1] not in ("'", '"'):
        return token
    return re.sub(
        r"\\(.)", lambda match: {"n": "\n", "r": "\r", "t": "\t"}.get(match[1], match[1]), token[1:-1]
    )
