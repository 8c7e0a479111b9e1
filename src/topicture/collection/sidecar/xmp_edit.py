"""XMP documents to be written: new elements with the usual prefixes, and a document as bytes again."""

from collections.abc import Iterable

from lxml import etree

from topicture.collection.metadata.xmp import (
    ADOBE_META,
    AREA,
    DC,
    DIGIKAM,
    DIMENSIONS,
    IPTC_EXT,
    LIGHTROOM,
    MICROSOFT,
    MWG_REGIONS,
    RDF,
    TOPICTURE,
    XML,
    XMP,
    descriptions,
)

__all__ = [
    "INSIDE",
    "PREFIXES",
    "child",
    "is_ours_and_empty",
    "lang_alt",
    "new_document",
    "remove_element",
    "serialise",
    "structure",
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
_WHERE_NEEDED = {"mwg-rs": MWG_REGIONS, "stArea": AREA, "stDim": DIMENSIONS}
_WHERE_NEEDED |= {"MicrosoftPhoto": MICROSOFT[1], "MicrosoftPhoto_1_": MICROSOFT[0]}
_URIS = {prefix: namespace[1:-1] for prefix, namespace in (PREFIXES | _WHERE_NEEDED).items()}
_PREFIX_OF = {uri: prefix for prefix, uri in _URIS.items()}
_MAKER = "Topicture"
_BOM = "\ufeff".encode()
_EMPTY = (
    f'<x:xmpmeta xmlns:x="{ADOBE_META[1:-1]}" x:xmptk="{_MAKER}"><rdf:RDF xmlns:rdf="{RDF[1:-1]}">'
    + '<rdf:Description rdf:about=""'
    + "".join(f' xmlns:{prefix}="{_URIS[prefix]}"' for prefix in PREFIXES if prefix != "rdf")
    + "/></rdf:RDF></x:xmpmeta>"
)
INSIDE = {IPTC_EXT + "ImageRegion": ("topicture", "xmp")}
"""Prefixes that our items of a property use besides its own: declared once, on the property."""


def new_document() -> etree._ElementTree:
    """An XMP document that says nothing yet."""
    return etree.fromstring(_EMPTY).getroottree()


def is_ours_and_empty(tree: etree._ElementTree) -> bool:
    """Whether Topicture made a document in which nothing is said any more."""
    root = tree.getroot()
    if (
        root.get(ADOBE_META + "xmptk") != _MAKER
        or root.getprevious() is not None
        or root.getnext() is not None
    ):
        return False
    elements = list(root.iter())  # comments are among them
    said = "".join(root.itertext()).strip()
    attributes = {name for each in elements for name in each.attrib} - {ADOBE_META + "xmptk", RDF + "about"}
    return len(elements) == 2 + len(descriptions(tree)) and not said and not attributes


def serialise(tree: etree._ElementTree, original: bytes | None) -> bytes:
    """The document as UTF-8, with a byte order mark and an XML declaration where the original had them."""
    if original is None:
        etree.indent(tree, space=" ")
        return etree.tostring(tree, encoding="UTF-8", xml_declaration=True) + b"\n"
    start = _BOM if original.startswith(_BOM) else b""
    declared = original[len(start) :].lstrip().startswith(b"<?xml ")
    end = b"\n" if original.endswith(b"\n") else b""
    return start + etree.tostring(tree, encoding="UTF-8", xml_declaration=declared).rstrip(b"\n") + end


# --- Structures -----------------------------------------------------------------------------------------------------


def structure(parent: etree._Element, fields: Iterable[tuple[str, str | None]]) -> None:
    """Make an element a structure of text fields; fields without a value are left out."""
    parent.set(RDF + "parseType", "Resource")
    declared = parent.nsmap.values()
    for name, value in fields:
        if value is not None:
            plain = name[1 : name.index("}")] in declared
            (etree.SubElement(parent, name) if plain else child(parent, name)).text = value


def lang_alt(parent: etree._Element, name: str, text: str) -> None:
    """A field that may have a text for each language; ours is the default one."""
    item = child(child(child(parent, name), RDF + "Alt"), RDF + "li")
    item.set(XML + "lang", "x-default")
    item.text = text


def child(parent: etree._Element, name: str, *prefixes: str) -> etree._Element:
    """A new child, with its namespace (and those of further prefixes) declared under the usual prefix if need be."""
    own = _PREFIX_OF[name[1 : name.index("}")]]
    known = parent.nsmap.values()
    missing = {prefix: _URIS[prefix] for prefix in (own, *prefixes) if _URIS[prefix] not in known}
    return etree.SubElement(parent, name, nsmap=missing or None)


def remove_element(element: etree._Element) -> None:
    """Remove an element and the blanks behind it, but keep a text that follows."""
    parent = element.getparent()
    if element.tail and element.tail.strip():
        previous = element.getprevious()
        if previous is None:
            parent.text = (parent.text or "") + element.tail
        else:
            previous.tail = (previous.tail or "") + element.tail
    parent.remove(element)
