"""Annotations in the formats of other tools, in and out: one small file a format, one kind of item for all."""

from topicture.collection.formats.dispatch import FORMATS, guess_format, read_annotations, write_annotations
from topicture.collection.formats.items import Box, FormatError, Imported, Item, Refused

__all__ = [
    "FORMATS",
    "Box",
    "FormatError",
    "Imported",
    "Item",
    "Refused",
    "guess_format",
    "read_annotations",
    "write_annotations",
]
