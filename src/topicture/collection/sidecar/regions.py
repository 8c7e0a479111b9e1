"""Objects of a photo as image regions of the IPTC Photo Metadata Standard.

Regions of ours carry the marks of the record (see `written`) inside themselves; others are never touched.
"""

import hashlib

from lxml import etree

from topicture.collection.metadata.record import BY, MACHINE, PERSON, PROBABILITY, WORD
from topicture.collection.metadata.xmp import IPTC_EXT, RDF, XMP, struct_field
from topicture.collection.metadata.xmp_lists import XmpLists
from topicture.collection.sidecar.values import ObjectRegion, decimal
from topicture.collection.sidecar.xmp_edit import child, lang_alt, structure

__all__ = ["OwnRegions", "region_identifier"]

_REGION = IPTC_EXT + "ImageRegion"
_SUBJECT_AREA = "http://cv.iptc.org/newscodes/imageregionrole/subjectArea"


class OwnRegions:
    """Our regions in a document, by word."""

    def __init__(self, lists: XmpLists):
        self._lists = lists
        self._of: dict[str, list[etree._Element]] = {}
        for item in lists.items(_REGION):
            if struct_field(item, BY):
                self._of.setdefault(struct_field(item, WORD), []).append(item)

    def set(self, word: str, identifiers: dict[str, ObjectRegion]) -> bool:
        """Replace our regions of a word, by identifier; False where they are the wanted ones already."""
        if {struct_field(item, IPTC_EXT + "rId") for item in self._of.get(word, ())} == set(identifiers):
            return False
        self.drop(word)
        self._of[word] = [self._lists.append_item(_REGION) for _ in identifiers]
        for item, (identifier, region) in zip(self._of[word], identifiers.items(), strict=True):
            _write_region(item, identifier, region)
        return True

    def drop(self, word: str) -> bool:
        """Remove our regions of a word; False where there are none."""
        ours = self._of.pop(word, [])
        for item in ours:
            self._lists.drop_item(_REGION, item)
        return bool(ours)


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


def _entity(item: etree._Element, name: str) -> etree._Element:
    """A bag of one entity, the standard's structure for a named concept."""
    entity = child(child(child(item, name), RDF + "Bag"), RDF + "li")
    entity.set(RDF + "parseType", "Resource")
    return entity


def region_identifier(region: ObjectRegion) -> str:
    """The same region always has the same identifier, so that writing again changes nothing."""
    numbers = (decimal(value) for value in (region.x, region.y, region.w, region.h, region.probability))
    text = "\0".join([region.word, *(number or "" for number in numbers)])
    return "topicture-" + hashlib.sha256(text.encode()).hexdigest()[:16]
