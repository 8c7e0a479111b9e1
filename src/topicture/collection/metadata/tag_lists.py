"""The three list properties in which photo managers keep words, and what a tree of tags looks like in them."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lxml import etree

from topicture.collection.metadata.xmp import DC, DIGIKAM, LIGHTROOM, property_values
from topicture.collection.words import clean_word
from topicture.errors import BadWord

__all__ = ["LISTS", "SUBJECT", "Listed", "clean_path", "joined", "listed_tags"]

SUBJECT = DC + "subject"

LISTS = {SUBJECT: None, LIGHTROOM + "hierarchicalSubject": "|", DIGIKAM + "TagsList": "/"}
"""The properties, with what separates the parts of a hierarchical tag; `dc:subject` has plain words only."""


class Listed(NamedTuple):
    """A value of one of the lists: the property, the value in normal form C, and its parts, the word last."""

    property: str
    value: str
    path: tuple[str, ...]


def listed_tags(tree: etree._ElementTree) -> Iterator[Listed]:
    """All values of the lists of an XMP document."""
    for name, separator in LISTS.items():
        for text in property_values(tree, name):
            value = unicodedata.normalize("NFC", text)
            parts = (value,) if separator is None else tuple(filter(None, value.split(separator)))
            yield Listed(name, value, parts or (value,))


def clean_path(path: Sequence[str]) -> tuple[str, ...]:
    """A path of clean words; of one whose upper parts are no words, the last part alone. Raises BadWord for that."""
    word = clean_word(path[-1])
    try:
        return (*map(clean_word, path[:-1]), word)
    except BadWord:
        return (word,)


def joined(name: str, path: tuple[str, ...]) -> str | None:
    """How a property writes a path; None where a part has the separator in it and would be read as two."""
    separator = LISTS[name]
    if separator is None:
        return path[-1]
    return None if any(separator in part for part in path) else separator.join(path)
