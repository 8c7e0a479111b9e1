"""The list properties in which photo managers keep words, and what a tree of tags looks like in them."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lxml import etree

from topicture.collection.metadata.xmp import DC, DIGIKAM, LIGHTROOM, MICROSOFT, property_values
from topicture.collection.words import clean_word
from topicture.errors import BadWord

__all__ = [
    "ALL_LISTS",
    "LISTS",
    "SUBJECT",
    "TAGS_LIST",
    "Listed",
    "clean_path",
    "joined",
    "leaf",
    "listed_tags",
]

SUBJECT = DC + "subject"

TAGS_LIST = DIGIKAM + "TagsList"

LISTS = {SUBJECT: None, LIGHTROOM + "hierarchicalSubject": "|", TAGS_LIST: "/"}
"""The properties that are written, with what separates the parts of a hierarchical tag; `dc:subject` has none."""

ALL_LISTS = {**LISTS, **{namespace + "LastKeywordXMP": "/" for namespace in MICROSOFT}}
"""The same with those that are read, and written only where a document uses them already."""


class Listed(NamedTuple):
    """A value of one of the lists: the property, the value in normal form C, and its parts, the word last."""

    property: str
    value: str
    path: tuple[str, ...]


def listed_tags(tree: etree._ElementTree) -> Iterator[Listed]:
    """All values of the lists of an XMP document."""
    for name, separator in ALL_LISTS.items():
        for text in property_values(tree, name):
            value = unicodedata.normalize("NFC", text)
            parts = (value,) if separator is None else tuple(filter(None, value.split(separator)))
            yield Listed(name, value, parts or (value,))


def leaf(name: str, value: str) -> str:
    """The word at the end of a value of one of the lists."""
    separator = ALL_LISTS[name]
    return value if separator is None else value.rstrip(separator).rpartition(separator)[2]


def clean_path(path: Sequence[str]) -> tuple[str, ...]:
    """A path of clean words; of one whose upper parts are no words, the last part alone. Raises BadWord for that."""
    word = clean_word(path[-1])
    try:
        return (*map(clean_word, path[:-1]), word)
    except BadWord:
        return (word,)


def joined(name: str, path: tuple[str, ...]) -> str | None:
    """How a property writes a path; None where a part has the separator in it and would be read as two."""
    separator = ALL_LISTS[name]
    if separator is None:
        return path[-1]
    return None if any(separator in part for part in path) else separator.join(path)
