"""Whole annotation files: bounded, hardened."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from topicture.collection.formats.items import FormatError, Item
from topicture.collection.metadata.xmp import BadXmp, parse_xml
from topicture.collection.words import printable

__all__ = [
    "MAX_BYTES",
    "MAX_XML",
    "files_below",
    "json_bytes",
    "json_value",
    "load_bytes",
    "load_xml",
    "per_photo_names",
    "xml_problem",
]

MAX_BYTES = 1 << 30
"""Largest annotation file. That of the COCO training set takes half a gigabyte."""

MAX_XML = 256 << 20
"""Largest XML file: its tree takes several times the memory."""


def load_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file of at most `limit` bytes; raises FormatError."""
    try:
        if not path.is_file():
            raise FormatError("not a regular file")
        if path.stat().st_size > limit:
            raise FormatError(f"{path.stat().st_size} bytes is over the limit of {limit}")
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"can't be read ({error.strerror})") from None


def json_value(content: bytes | str) -> Any:
    """The value of a JSON text; raises FormatError."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not valid JSON ({printable(str(error))})") from None


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """A value as JSON in UTF-8; a file name that is not Unicode makes it plain ASCII with escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, allow_nan=False).encode()


def load_xml(path: Path) -> etree._Element:
    """The root of an XML file, read without DTD, entities or network; raises FormatError."""
    try:
        return parse_xml(load_bytes(path, MAX_XML)).getroot()
    except BadXmp as reason:
        raise FormatError(str(reason)) from None


def xml_problem(item: Item) -> str | None:
    """Why XML can't hold an item: names of files may have characters that XML has no way to write."""
    try:
        etree.Element("x").text = item.path
        return None
    except ValueError:
        return f"XML can't hold the name '{printable(item.path)}'"


def files_below(path: Path, suffix: str) -> Iterator[tuple[Path, str]]:
    """The files of a kind in a folder tree (or the one file), in order, each with its folder relative to the top."""
    if not path.is_dir():
        yield path, ""
        return
    for folder, inner, names in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        relative = os.path.relpath(folder, path).replace(os.sep, "/")
        for name in sorted(names):
            if name.lower().endswith(suffix) and not name.startswith("."):
                yield Path(folder, name), "" if relative == "." else relative


def per_photo_names(items: Sequence[Item], suffix: str) -> list[str]:
    """A file name for each photo: its own with another suffix; where two photos would share it, with both suffixes."""
    taken: set[str] = set()
    names = []
    for item in items:
        name = os.path.splitext(item.path)[0] + suffix
        if name in taken:
            name = item.path + suffix
        taken.add(name)
        names.append(name)
    return names
