"""Objects of a photo as regions of the Metadata Working Group, which many programs read that don't know IPTC's.

They stand in one structure for the whole photo, which may be another program's. Regions of ours carry the marks of the
record (see `written`) inside themselves; others are never touched. A structure that we had to begin is marked as well,
and goes with our last region. Their kind is left out: the list of kinds (faces, pets, focus, bar codes) has no objects.
"""

from lxml import etree

from topicture.collection.metadata.record import BY, MACHINE, PERSON, PROBABILITY, WORD
from topicture.collection.metadata.xmp import (
    AREA,
    DIMENSIONS,
    MWG_REGIONS,
    RDF,
    TOPICTURE,
    descriptions,
    list_items,
    lists_of,
    struct_field,
)
from topicture.collection.metadata.xmp_lists import XmpLists
from topicture.collection.sidecar.values import ObjectRegion, decimal
from topicture.collection.sidecar.xmp_edit import child, remove_element, structure

__all__ = ["MwgRegions"]

_REGIONS, _LIST = MWG_REGIONS + "Regions", MWG_REGIONS + "RegionList"
_IDENTIFIER = TOPICTURE + "region"


class MwgRegions:
    """Our regions in a document, by word; `size` is that of the photo's pixels as stored, where it is known."""

    def __init__(self, lists: XmpLists, size: tuple[int, int] | None):
        self._lists, self._size = lists, size
        self._of: dict[str, list[etree._Element]] = {}
        for container in self._containers():
            for item in list_items(container):
                if struct_field(item, BY):
                    self._of.setdefault(struct_field(item, WORD), []).append(item)

    def set(self, word: str, wanted: dict[str, ObjectRegion]) -> bool:
        """Replace our regions of a word, by identifier; False where they are the wanted ones already."""
        if {struct_field(item, _IDENTIFIER) for item in self._of.get(word, ())} == set(wanted):
            return False
        self.drop(word, keep_structure=True)
        container = next(self._containers(), None)
        is_ours = container is None
        if container is None:
            container = self._begin()
        self._of[word] = [etree.SubElement(container, RDF + "li") for _ in wanted]
        for item, (identifier, region) in zip(self._of[word], wanted.items(), strict=True):
            _write(item, identifier, region)
        if is_ours:  # another program's list keeps its own lines
            self._lists.lay_out_later(container)
        return True

    def drop(self, word: str, *, keep_structure: bool = False) -> bool:
        """Remove our regions of a word; False where there are none."""
        ours = self._of.pop(word, [])
        for item in ours:
            remove_element(item)
        if ours and not keep_structure:
            self._tidy()
        return bool(ours)

    def _structures(self) -> list[etree._Element]:
        """Where the fields of the property stand: in its element, or in a Description inside."""
        elements = [e for found in descriptions(self._lists.tree) for e in found.iterchildren(_REGIONS)]
        return [
            node for element in elements for node in (element, *element.iterchildren(RDF + "Description"))
        ]

    def _containers(self):
        return lists_of(self._structures(), _LIST)

    def _begin(self) -> etree._Element:
        """An empty list, in a structure that is there or a new one."""
        found = self._structures()
        if found:
            node = found[-1]
        else:
            node = child(self._lists.home(), _REGIONS, "stArea", "stDim", "topicture")
            structure(node, [(BY, MACHINE)])
            if self._size is not None:
                sides = zip(("w", "h"), map(str, self._size), strict=True)
                fields = [(DIMENSIONS + name, text) for name, text in sides]
                structure(
                    child(node, MWG_REGIONS + "AppliedToDimensions"),
                    [*fields, (DIMENSIONS + "unit", "pixel")],
                )
        return child(child(node, _LIST), RDF + "Bag")

    def _tidy(self) -> None:
        """Remove a structure of ours, or a list that we began in another's, that holds no region any more."""
        for node in self._structures():
            for container in list(lists_of([node], _LIST)):
                if len(container):
                    continue
                remove_element(node if struct_field(node, BY) else container.getparent())


def _write(item: etree._Element, identifier: str, region: ObjectRegion) -> None:
    """A rectangle by its centre, in parts of the picture's width and height."""
    chooser = PERSON if region.probability is None else MACHINE
    marks = [(WORD, region.word), (BY, chooser), (PROBABILITY, decimal(region.probability))]
    structure(item, [*marks, (_IDENTIFIER, identifier), (MWG_REGIONS + "Name", region.word)])
    sides = (region.x + region.w / 2, region.y + region.h / 2, region.w, region.h)
    fields = [(AREA + name, decimal(side)) for name, side in zip("xywh", sides, strict=True)]
    structure(child(item, MWG_REGIONS + "Area"), [*fields, (AREA + "unit", "normalized")])
