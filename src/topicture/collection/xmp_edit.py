"""Changing one property of an XMP document and nothing else.

Values are added to the list that is there, whatever its kind and place; a property in attribute or text form becomes a
Bag only when a second value joins it. Comparison is in normal form C, so that a word is not written twice.
"""

import unicodedata
from collections.abc import Iterable

from lxml import etree

from topicture.collection.xmp import (
    DC,
    DIGIKAM,
    IPTC_EXT,
    LIGHTROOM,
    RDF,
    TOPICTURE,
    XML,
    XMP,
    containers,
    descriptions,
    item_text,
    list_items,
    property_values,
    rdf_root,
)

__all__ = [
    "PREFIXES",
    "add_value",
    "append_item",
    "child",
    "drop_item",
    "lang_alt",
    "lay_out",
    "new_document",
    "remove_value",
    "serialise",
    "structure",
    "values",
]

PREFIXES = {
    "rdf": RDF,
    "dc": DC,
    "xmp": XMP,
    "lr": LIGHTROOM,
    "digiKam": DIGIKAM,
    "Iptc4xmpExt": IPTC_EXT,
    "topicture": TOPICTURE,
}
_URIS = {prefix: namespace[1:-1] for prefix, namespace in PREFIXES.items()}
_BOM = "\ufeff".encode()
_EMPTY = (
    f'<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Topicture"><rdf:RDF xmlns:rdf="{RDF[1:-1]}">'
    + '<rdf:Description rdf:about=""'
    + "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in _URIS.items() if prefix != "rdf")
    + "/></rdf:RDF></x:xmpmeta>"
)
# Namespaces that our items of a property use besides its own: declared once, on the property.
_INSIDE = {IPTC_EXT + "ImageRegion": ("topicture", "xmp")}


def new_document() -> etree._ElementTree:
    """An XMP document that says nothing yet."""
    return etree.fromstring(_EMPTY).getroottree()


def serialise(tree: etree._ElementTree, original: bytes | None) -> bytes:
    """The document as UTF-8, with a byte order mark and an XML declaration where the original had them."""
    if original is None:
        etree.indent(tree, space=" ")
        return etree.tostring(tree, encoding="UTF-8", xml_declaration=True) + b"\n"
    start = _BOM if original.startswith(_BOM) else b""
    declared = original[len(start) :].lstrip().startswith(b"<?xml ")
    end = b"\n" if original.endswith(b"\n") else b""
    return start + etree.tostring(tree, encoding="UTF-8", xml_declaration=declared).rstrip(b"\n") + end


# --- Values of a property -------------------------------------------------------------------------------------------


def values(tree: etree._ElementTree, name: str) -> set[str]:
    """The values of a property, in normal form C."""
    return set(map(_normal, property_values(tree, name)))


def add_value(tree: etree._ElementTree, name: str, text: str) -> bool:
    """Add a text to a list property; False where it is there already."""
    if text in values(tree, name):
        return False
    item = append_item(tree, name)
    item.text = text
    lay_out(item)
    return True


def append_item(tree: etree._ElementTree, name: str) -> etree._Element:
    """A new empty item at the end of a list property, which is made where there is none."""
    container = next(containers(tree, name), None)
    if container is None:
        container = _make_list(tree, name)
    return child(container, RDF + "li")


def remove_value(tree: etree._ElementTree, name: str, text: str) -> None:
    """Remove a text from a property wherever it stands, in whichever form."""
    for description in descriptions(tree):
        if name in description.attrib and _normal(description.attrib[name].strip()) == text:
            del description.attrib[name]
        for element in list(description.iterchildren(name)):
            if len(element) == 0 and _normal(item_text(element)) == text:
                _remove(element)
    for container in list(containers(tree, name)):
        for item in list_items(container):
            if _normal(item_text(item)) == text:
                drop_item(item)


def drop_item(item: etree._Element) -> None:
    """Remove an item of a list; a property whose list is empty then goes too."""
    container = item.getparent()
    _remove(item)
    if len(container) == 0:
        element = container.getparent()
        _remove(container)
        if len(element) == 0:
            _remove(element)


# --- Structures -----------------------------------------------------------------------------------------------------


def structure(parent: etree._Element, fields: Iterable[tuple[str, str | None]]) -> None:
    """Make an element a structure of text fields; fields without a value are left out."""
    parent.set(RDF + "parseType", "Resource")
    for name, value in fields:
        if value is not None:
            child(parent, name).text = value


def lang_alt(parent: etree._Element, name: str, text: str) -> None:
    """A field that may have a text for each language; ours is the default one."""
    item = child(child(child(parent, name), RDF + "Alt"), RDF + "li")
    item.set(XML + "lang", "x-default")
    item.text = text


def child(parent: etree._Element, name: str, *prefixes: str) -> etree._Element:
    """A new child, with its namespace (and those of further prefixes) declared under the usual prefix if need be."""
    own = next(prefix for prefix, namespace in PREFIXES.items() if name.startswith(namespace))
    known = parent.nsmap.values()
    missing = {prefix: _URIS[prefix] for prefix in (own, *prefixes) if _URIS[prefix] not in known}
    return etree.SubElement(parent, name, nsmap=missing or None)


def lay_out(item: etree._Element) -> None:
    """Lay out the property of a list item, one item a line; only blanks between elements change."""
    element = item.getparent().getparent()
    etree.indent(element, space=" ", level=sum(1 for _ in element.iterancestors()))


# --- Details --------------------------------------------------------------------------------------------------------


def _make_list(tree: etree._ElementTree, name: str) -> etree._Element:
    """An empty Bag for a property, holding what the property said in attribute or text form."""
    earlier = list(property_values(tree, name))
    for description in descriptions(tree):
        description.attrib.pop(name, None)
        for element in list(description.iterchildren(name)):
            _remove(element)
    bag = child(child(_home(tree), name, *_INSIDE.get(name, ())), RDF + "Bag")
    for text in earlier:
        child(bag, RDF + "li").text = text
    return bag


def _home(tree: etree._ElementTree) -> etree._Element:
    """The Description that takes new properties: the first one."""
    found = descriptions(tree)
    if found:
        return found[0]
    description = child(rdf_root(tree), RDF + "Description")
    description.set(RDF + "about", "")
    return description


def _remove(element: etree._Element) -> None:
    """Remove an element and the blanks behind it, but keep a text that follows."""
    parent = element.getparent()
    if element.tail and element.tail.strip():
        previous = element.getprevious()
        if previous is None:
            parent.text = (parent.text or "") + element.tail
        else:
            previous.tail = (previous.tail or "") + element.tail
    parent.remove(element)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)
