"""Objects of a photo as image regions of the IPTC Photo Metadata Standard.

Regions of ours carry the marks of the record (see `written`) inside themselves; others are never touched.
"""

import hashlib

from lxml import etree

from topicture.collection.sidecar_values import ObjectRegion, decimal
from topicture.collection.written import BY, MACHINE, PERSON, PROBABILITY, WORD
from topicture.collection.xmp import IPTC_EXT, RDF, XMP, containers, list_items, struct_field
from topicture.collection.xmp_edit import append_item, child, drop_item, lang_alt, lay_out, structure

__all__ = ["drop_regions", "set_regions"]

_REGION = IPTC_EXT + "ImageRegion"
_SUBJECT_AREA = "http://cv.iptc.org/newscodes/imageregionrole/subjectArea"


def set_regions(tree: etree._ElementTree, word: str, wanted: list[ObjectRegion]) -> bool:
    """Replace our regions of a word; False where they are the wanted ones already."""
    identifiers = {_identifier(region): region for region in wanted}
    if {struct_field(item, IPTC_EXT + "rId") for item in _own_regions(tree, word)} == set(identifiers):
        return False
    drop_regions(tree, word)
    for identifier, region in identifiers.items():
        _write_region(append_item(tree, _REGION), identifier, region)
    return True


def drop_regions(tree: etree._ElementTree, word: str) -> bool:
    """Remove our regions of a word; False where there are none."""
    ours = _own_regions(tree, word)
    for item in ours:
        drop_item(item)
    return bool(ours)


def _own_regions(tree: etree._ElementTree, word: str) -> list[etree._Element]:
    items = [item for container in containers(tree, _REGION) for item in list_items(container)]
    return [item for item in items if struct_field(item, BY) and struct_field(item, WORD) == word]


def _write_region(item: etree._Element, identifier: str, region: ObjectRegion) -> None:
    """A rectangle in parts of the picture's width and height, with its name, kind and role."""
    known = region.probability is not None
    marks = [(WORD, region.word), (BY, MACHINE if known else PERSON)]
    structure(item, [*marks, (PROBABILITY, decimal(region.probability)), (IPTC_EXT + "rId", identifier)])
    sides = zip(("rbX", "rbY", "rbW", "rbH"), (region.x, region.y, region.w, region.h), strict=True)
    shape = [("rbShape", "rectangle"), ("rbUnit", "relative"), *((side, decimal(v)) for side, v in sides)]
    boundary = child(item, IPTC_EXT + "RegionBoundary")
    structure(boundary, [(IPTC_EXT + name, text) for name, text in shape])
    lang_alt(item, IPTC_EXT + "Name", region.word)
    lang_alt(_entity(item, IPTC_EXT + "rCtype"), IPTC_EXT + "Name", region.word)
    role = _entity(item, IPTC_EXT + "rRole")
    identifiers = child(child(role, XMP + "Identifier"), RDF + "Bag")
    child(identifiers, RDF + "li").text = _SUBJECT_AREA
    lang_alt(role, IPTC_EXT + "Name", "subject area")
    lay_out(item)


def _entity(item: etree._Element, name: str) -> etree._Element:
    """A bag of one entity, the standard's structure for a named concept."""
    entity = child(child(child(item, name), RDF + "Bag"), RDF + "li")
    entity.set(RDF + "parseType", "Resource")
    return entity


def _identifier(region: ObjectRegion) -> str:
    """The same region always has the same identifier, so that writing again changes nothing."""
    numbers = (decimal(value) for value in (region.x, region.y, region.w, region.h, region.probability))
    text = "\0".join([region.word, *(number or "" for number in numbers)])
    return "topicture-" + hashlib.sha256(text.encode()).hexdigest()[:16]
