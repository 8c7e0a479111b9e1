"""The list properties of an XMP document, found once and then changed in place, however long they are.

Values are added to the list that is there, whatever its kind and place; a property in attribute or text form becomes a
list only when a second value joins it. Comparison is in normal form C, so that a word is not written twice.
"""

import unicodedata
from collections.abc import Collection

from lxml import etree

from topicture.collection.metadata.tag_lists import ALL_LISTS, TAGS_LIST
from topicture.collection.metadata.xmp import (
    RDF,
    BadXmp,
    Form,
    Placed,
    containers,
    descriptions,
    list_items,
    property_values,
    property_values_placed,
    rdf_root,
    struct_field,
)
from topicture.collection.sidecar.xmp_edit import INSIDE, child, remove_element

__all__ = ["XmpLists"]


class XmpLists:
    """The lists of one document. All changes to them go through here; `lay_out` ends them."""

    def __init__(self, tree: etree._ElementTree):
        self._tree = tree
        self._placed: dict[str, dict[str, list[Placed]]] = {}  # property -> value -> where it stands
        self._container: dict[str, etree._Element] = {}
        self._to_lay_out: dict[etree._Element, None] = {}

    def values(self, name: str) -> Collection[str]:
        """The values of a property, in normal form C."""
        return self._values(name).keys()

    def items(self, name: str) -> list[etree._Element]:
        """The items of a list of structures, in order."""
        return [item for container in containers(self._tree, name) for item in list_items(container)]

    def add(self, name: str, text: str) -> bool:
        """Add a text to a list; False where it is there already."""
        if text in self._values(name):
            return False
        item = self.append_item(name)
        item.text = text
        self._values(name)[text] = [Placed(text, item, Form.ITEM)]
        return True

    def append_item(self, name: str) -> etree._Element:
        """A new empty item at the end of a list, which is made where there is none."""
        container = self._container.get(name)
        if container is None:
            container = next(containers(self._tree, name), None)
            if container is None:
                container = self._make_list(name)
            self._container[name] = container
            self._to_lay_out[container.getparent()] = None
        return etree.SubElement(container, RDF + "li")  # of the namespace that the container is of

    def remove(self, name: str, text: str) -> None:
        """Remove a text from a property wherever it stands, in whichever form."""
        kept = []
        for place in self._values(name).pop(text, ()):
            if place.form is Form.ATTRIBUTE:
                del place.element.attrib[name]
            elif place.form is Form.TEXT:
                remove_element(place.element)
            elif place.form is Form.ITEM:
                self.drop_item(name, place.element)
            else:
                kept.append(place)
        if kept:
            self._values(name)[text] = kept

    def drop_item(self, name: str, item: etree._Element) -> None:
        """Remove an item of a list; a property whose list is empty then goes too."""
        container = item.getparent()
        remove_element(item)
        if _is_empty(container):
            element = container.getparent()
            remove_element(container)
            if self._container.get(name) is container:
                del self._container[name]
            if _is_empty(element):
                remove_element(element)

    @property
    def tree(self) -> etree._ElementTree:
        """The document."""
        return self._tree

    def lay_out_later(self, container: etree._Element) -> None:
        """Have the property that a list is in laid out with the others."""
        inside = [container, *container.iterancestors()]
        depth = next(i for i, element in enumerate(inside) if element.tag == RDF + "Description")
        self._to_lay_out[inside[max(depth - 1, 0)]] = None

    def lay_out(self) -> None:
        """Lay out the properties that gained items, one item per line; only blanks between elements change.

        Where texts stand between elements, blanks would become a part of them: such a property stays on its lines.
        """
        for element in self._to_lay_out:
            if element.getparent() is not None and not _holds_texts_in_pieces(element):
                etree.indent(element, space=" ", level=sum(1 for _ in element.iterancestors()))
        self._to_lay_out.clear()

    def _values(self, name: str) -> dict[str, list[Placed]]:
        if name not in self._placed:
            found: dict[str, list[Placed]] = {}
            for place in property_values_placed(self._tree, name):
                found.setdefault(unicodedata.normalize("NFC", place.text), []).append(place)
            self._placed[name] = found
        return self._placed[name]

    def _make_list(self, name: str) -> etree._Element:
        """A list for a property, with what the property said in attribute or text form; may raise BadXmp."""
        earlier = list(property_values(self._tree, name))
        elements = [element for found in descriptions(self._tree) for element in found.iterchildren(name)]
        if any(len(element) or element.attrib for element in elements):
            raise BadXmp(f"its {etree.QName(name).localname} is more than words, which a list could not hold")
        for description in descriptions(self._tree):
            description.attrib.pop(name, None)
        for element in elements:
            remove_element(element)
        kind = RDF + ("Seq" if name == TAGS_LIST else "Bag")
        made = child(child(self.home(), name, *INSIDE.get(name, ())), kind)
        for text in earlier:
            child(made, RDF + "li").text = text
        self._placed.pop(name, None)
        return made

    def home(self) -> etree._Element:
        """The Description that takes new properties: the first one."""
        found = descriptions(self._tree)
        if found:
            return found[0]
        description = child(rdf_root(self._tree), RDF + "Description")
        description.set(RDF + "about", "")
        return description


def _is_empty(element: etree._Element) -> bool:
    nothing_inside = next(element.iterchildren(), None) is None  # `len` counts all of them
    return nothing_inside and not element.attrib and not _says(element.text)


def _holds_texts_in_pieces(element: etree._Element) -> bool:
    """Whether blanks between the elements of a property would change what it says."""
    if any(map(_is_mixed, element.iter(etree.Element))):
        return True
    items = [item for container in element for item in container] if element.tag in ALL_LISTS else []
    return any(len(item) and not struct_field(item, RDF + "value") for item in items)


def _is_mixed(element: etree._Element) -> bool:
    """Whether texts stand between the elements inside."""
    first = next(element.iterchildren(), None)
    return first is not None and (_says(element.text) or any(_says(each.tail) for each in element))


def _says(text: str | None) -> bool:
    return bool(text and text.strip())
