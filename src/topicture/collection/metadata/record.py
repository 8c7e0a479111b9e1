"""The record of what Topicture wrote into an XMP document: `topicture:Written`, a structure for each word.

It says who chose the word, how sure the model was, when it was written, and which values were added to which
property. What is not in the record is somebody else's. Regions carry the same marks inside themselves.
"""

from lxml import etree

from topicture.collection.metadata.tag_lists import ALL_LISTS
from topicture.collection.metadata.xmp import MICROSOFT, TOPICTURE, containers, list_items, struct_field

__all__ = [
    "BY",
    "COPY",
    "DATE",
    "HIERARCHY",
    "MACHINE",
    "PERSON",
    "PROBABILITY",
    "WORD",
    "WRITTEN",
    "choosers",
    "own_field",
]

WRITTEN = TOPICTURE + "Written"
WORD = TOPICTURE + "word"
BY = TOPICTURE + "by"
PROBABILITY = TOPICTURE + "probability"
HIERARCHY = TOPICTURE + "hierarchy"
DATE = TOPICTURE + "date"

PERSON, MACHINE, COPY = "person", "machine", "copy"
"""Who chose a word; COPY marks the copy of somebody else's word."""


def choosers(tree: etree._ElementTree) -> dict[tuple[str, str], str]:
    """Who chose each value that Topicture wrote, by its property and text: PERSON, MACHINE or COPY."""
    found = {}
    items = (item for container in containers(tree, WRITTEN) for item in list_items(container))
    for item in items:
        for name in ALL_LISTS:
            if value := struct_field(item, own_field(name)):
                found[name, value] = struct_field(item, BY)
    return found


def own_field(name: str) -> str:
    """The field of a record that repeats the value written into another property."""
    bare = name.startswith(MICROSOFT[0])  # the same name is in use in two namespaces
    return TOPICTURE + name[name.index("}") + 1 :] + "Bare" * bare
