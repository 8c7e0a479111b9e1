"""Single changes to an XMP document; `XmpLists` and `OwnRegions` make many at once."""

from lxml import etree

from topicture.collection.metadata.record import WORD, WRITTEN
from topicture.collection.metadata.xmp import struct_field
from topicture.collection.metadata.xmp_lists import XmpLists
from topicture.collection.sidecar.regions import OwnRegions, region_identifier
from topicture.collection.sidecar.values import ObjectRegion

__all__ = [
    "add_value",
    "append_item",
    "drop_item",
    "drop_regions",
    "lay_out",
    "record_of",
    "records",
    "remove_value",
    "set_regions",
    "values",
]


def values(tree: etree._ElementTree, name: str) -> set[str]:
    """The values of a property, in normal form C."""
    return set(XmpLists(tree).values(name))


def add_value(tree: etree._ElementTree, name: str, text: str) -> bool:
    """Add a text to a list property; False where it is there already."""
    lists = XmpLists(tree)
    added = lists.add(name, text)
    lists.lay_out()
    return added


def append_item(tree: etree._ElementTree, name: str) -> etree._Element:
    """A new empty item at the end of a list property, which is made where there is none."""
    return XmpLists(tree).append_item(name)


def remove_value(tree: etree._ElementTree, name: str, text: str) -> None:
    """Remove a text from a property wherever it stands, in whichever form."""
    XmpLists(tree).remove(name, text)


def drop_item(item: etree._Element) -> None:
    """Remove an item of a list; a property whose list is empty then goes too."""
    XmpLists(item.getroottree()).drop_item(item.getparent().getparent().tag, item)


def lay_out(item: etree._Element) -> None:
    """Lay out the property of a list item, one item per line; only blanks between elements change."""
    element = item.getparent().getparent()
    etree.indent(element, space=" ", level=sum(1 for _ in element.iterancestors()))


def records(tree: etree._ElementTree) -> list[etree._Element]:
    """The structures of the record of what Topicture wrote, in order."""
    return XmpLists(tree).items(WRITTEN)


def record_of(tree: etree._ElementTree, word: str) -> etree._Element | None:
    """The structure for a word; None where it is not ours."""
    return next((item for item in records(tree) if struct_field(item, WORD) == word), None)


def set_regions(tree: etree._ElementTree, word: str, wanted: list[ObjectRegion]) -> bool:
    """Replace our regions of a word; False where they are the wanted ones already."""
    lists = XmpLists(tree)
    changed = OwnRegions(lists).set(word, {region_identifier(box): box for box in wanted})
    lists.lay_out()
    return changed


def drop_regions(tree: etree._ElementTree, word: str) -> bool:
    """Remove our regions of a word; False where there are none."""
    return OwnRegions(XmpLists(tree)).drop(word)
