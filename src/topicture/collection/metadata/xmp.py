"""XMP documents: parsed by a hardened parser, and the forms in which RDF may write one property.

XMP is RDF/XML, in which the same list of words may stand in one `rdf:Description` or several, as an element with a Bag,
a Seq or an Alt, as plain text, or as an attribute. `property_values` reads all of them.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from lxml import etree

from topicture.collection.words import printable

__all__ = [
    "ADOBE_META",
    "AREA",
    "DC",
    "DIGIKAM",
    "DIMENSIONS",
    "EXIF",
    "IPTC_EXT",
    "LIGHTROOM",
    "MAX_XMP",
    "MICROSOFT",
    "MWG_REGIONS",
    "PHOTOSHOP",
    "RDF",
    "TOPICTURE",
    "XML",
    "XMP",
    "BadXmp",
    "Form",
    "Placed",
    "containers",
    "descriptions",
    "item_text",
    "list_items",
    "lists_of",
    "parse_xml",
    "parse_xmp",
    "property_values",
    "property_values_placed",
    "rdf_root",
    "struct_field",
]

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
XML = "{http://www.w3.org/XML/1998/namespace}"
DC = "{http://purl.org/dc/elements/1.1/}"
ADOBE_META = "{adobe:ns:meta/}"
XMP = "{http://ns.adobe.com/xap/1.0/}"
EXIF = "{http://ns.adobe.com/exif/1.0/}"
PHOTOSHOP = "{http://ns.adobe.com/photoshop/1.0/}"
LIGHTROOM = "{http://ns.adobe.com/lightroom/1.0/}"
DIGIKAM = "{http://www.digikam.org/ns/1.0/}"
MICROSOFT = ("{http://ns.microsoft.com/photo/1.0}", "{http://ns.microsoft.com/photo/1.0/}")  # both are in use
IPTC_EXT = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}"
TOPICTURE = "{topicture:ns:xmp/1.0/}"
MWG_REGIONS = "{http://www.metadataworkinggroup.com/schemas/regions/}"
AREA = "{http://ns.adobe.com/xmp/sType/Area#}"
DIMENSIONS = "{http://ns.adobe.com/xap/1.0/sType/Dimensions#}"

MAX_XMP = 16 << 20
"""Largest XMP document that is read, in bytes. Sidecars with long editing histories reach a few megabytes."""

_ITEM = re.compile(re.escape(RDF) + r"(li|_\d+)")
_UTF16_STARTS = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
_WHITE = " \t\r\n"
_LISTS = (RDF + "Bag", RDF + "Seq", RDF + "Alt")


class BadXmp(Exception):
    """An XML document that is not read; the text is the reason."""


def parse_xml(content: bytes) -> etree._ElementTree:
    """A small XML document as a tree. No network, no DTD, no entity is ever used; raises BadXmp."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        strip_cdata=False,
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadXmp(f"not well-formed XML ({printable(str(error))})") from None
    tree = root.getroottree()
    if tree.docinfo.internalDTD is not None or tree.docinfo.doctype:
        raise BadXmp("it has a document type declaration (DTD), which is refused")
    return tree


def parse_xmp(content: bytes) -> etree._ElementTree:
    """An XMP packet or sidecar as a tree that holds an `rdf:RDF`; raises BadXmp."""
    if len(content) > MAX_XMP:
        raise BadXmp(f"{len(content)} bytes is over the limit of {MAX_XMP}")
    if not content.startswith(_UTF16_STARTS):  # packets are padded, some of them with zero bytes
        content = content.strip(b"\0" + _WHITE.encode())
    tree = parse_xml(content)
    if rdf_root(tree) is None:
        raise BadXmp("it holds no rdf:RDF, so it is not XMP")
    return tree


def rdf_root(tree: etree._ElementTree) -> etree._Element | None:
    """The `rdf:RDF` element: the root, or below an `x:xmpmeta`."""
    root = tree.getroot()
    return root if root.tag == RDF + "RDF" else next(root.iterchildren(RDF + "RDF"), None)


def descriptions(tree: etree._ElementTree) -> list[etree._Element]:
    """The `rdf:Description` elements of a document, in order."""
    root = rdf_root(tree)
    return [] if root is None else list(root.iterchildren(RDF + "Description"))


def containers(tree: etree._ElementTree, name: str) -> Iterator[etree._Element]:
    """The lists (Bag, Seq or Alt) that hold the values of a property, wherever they stand."""
    return lists_of(descriptions(tree), name)


def lists_of(nodes: Iterable[etree._Element], name: str) -> Iterator[etree._Element]:
    """The same of a field of structures."""
    for node in nodes:
        for element in node.iterchildren(name):
            yield from element.iterchildren(*_LISTS)


def list_items(container: etree._Element) -> list[etree._Element]:
    """The items of a list: `rdf:li`, or the numbered `rdf:_1`, `rdf:_2`, ..."""
    return [item for item in container.iterchildren(RDF + "*") if _ITEM.fullmatch(item.tag)]


def item_text(item: etree._Element) -> str:
    """The text of a value; where the value has qualifiers, that of its `rdf:value`."""
    qualified = struct_field(item, RDF + "value")
    return qualified or _text(item)


def struct_field(item: etree._Element, name: str) -> str:
    """A field of a structure in any of its forms: child or attribute, of the item or of a Description inside; or ""."""
    for node in (item, *item.iterchildren(RDF + "Description")):
        if name in node.attrib:
            return node.attrib[name].strip(_WHITE)
        for child in node.iterchildren(name):
            return _text(child)
    return ""


def _text(element: etree._Element) -> str:
    """All the text of an element without its comments; the common case, no children, is read directly."""
    text = (element.text or "") if len(element) == 0 else str(element.xpath("string()"))
    return text.strip(_WHITE)


class Form(Enum):
    """How a value stands in a document."""

    ATTRIBUTE = "attribute"  # of the Description
    TEXT = "text"  # of the property's element
    ITEM = "item"  # of a list
    QUALIFIED = "qualified"  # an element with more in it than its text


class Placed(NamedTuple):
    """A value as it stands, the element that holds it, and how."""

    text: str
    element: etree._Element
    form: Form


def property_values(tree: etree._ElementTree, name: str) -> Iterator[str]:
    """The values of a property as they stand, in every form, in document order; empty ones are left out."""
    return (placed.text for placed in property_values_placed(tree, name))


def property_values_placed(tree: etree._ElementTree, name: str) -> Iterator[Placed]:
    """The same with the element that holds each value."""
    for description in descriptions(tree):
        if text := description.get(name, "").strip(_WHITE):
            yield Placed(text, description, Form.ATTRIBUTE)
        for element in description.iterchildren(name):
            lists = list(element.iterchildren(*_LISTS))
            items = [item for container in lists for item in list_items(container)] if lists else [element]
            plain = Form.ITEM if lists else Form.TEXT if len(element) == 0 else Form.QUALIFIED
            for item in items:
                if text := item_text(item):
                    yield Placed(text, item, plain)
