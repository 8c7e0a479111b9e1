"""What Topicture writes into an XMP document, and the record by which it can take it back.

Words go into the three list properties that photo managers read, objects into the IPTC standard's image regions.
Everything of ours is recorded (see `written`); what is not in the record is somebody else's and is never removed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lxml import etree

from topicture.collection.sidecar_values import ObjectRegion, Tag
from topicture.collection.written import (
    BY,
    DATE,
    HIERARCHY,
    MACHINE,
    PERSON,
    PHOTO,
    PROBABILITY,
    WORD,
    WRITTEN,
    own_field,
    record_of,
    records,
)
from topicture.collection.xmp import (
    DC,
    DIGIKAM,
    IPTC_EXT,
    LIGHTROOM,
    RDF,
    XMP,
    containers,
    list_items,
    struct_field,
)
from topicture.collection.xmp_edit import (
    add_value,
    append_item,
    child,
    drop_item,
    lang_alt,
    lay_out,
    remove_value,
    structure,
    values,
)

__all__ = ["Changes", "merge"]

SUBJECT = DC + "subject"
_HIERARCHICAL = ((LIGHTROOM + "hierarchicalSubject", "|"), (DIGIKAM + "TagsList", "/"))
_REGION = IPTC_EXT + "ImageRegion"
_SUBJECT_AREA = "http://cv.iptc.org/newscodes/imageregionrole/subjectArea"


@dataclass
class Changes:
    """Words that were added and removed, and whether the document differs from before."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    touched: bool = False


def merge(
    tree: etree._ElementTree,
    add: Sequence[Tag],
    remove: Iterable[str],
    regions: Sequence[ObjectRegion],
    carried: Iterable[str],
    now: str,
) -> Changes:
    """Bring a document to the wanted state, changing nothing where it is there already.

    Parameters
    ----------
    carried : words
        Those of the photo's own metadata. They are copied into a sidecar that had no `dc:subject`: a program that
        prefers sidecars would otherwise see our words only.
    now : str
        Date and time for the record of new words.
    """
    changes = Changes()
    for word in remove:
        _take_back(tree, word, changes)
    if add and not values(tree, SUBJECT):
        for word in carried:
            _write(tree, Tag(word), PHOTO, now, changes)
    for tag in add:
        _add(tree, tag, now, changes)
    for word in dict.fromkeys(region.word for region in regions):
        _set_regions(tree, word, [region for region in regions if region.word == word], changes)
    _drop_carried(tree, changes)
    return changes


# --- Words ----------------------------------------------------------------------------------------------------------


def _add(tree: etree._ElementTree, tag: Tag, now: str, changes: Changes) -> None:
    record = record_of(tree, tag.word)
    present = tag.word in values(tree, SUBJECT)
    if record is None:
        if present:  # somebody else's word: it is there, and stays theirs
            return
    elif struct_field(record, BY) == PHOTO or (present and _recorded(record) == _wanted(tag)):
        return
    else:
        _withdraw(tree, tag.word, record)
    _write(tree, tag, _chooser(tag.by_machine), now, changes)
    if not present:
        changes.added.append(tag.word)


def _write(tree: etree._ElementTree, tag: Tag, by: str, now: str, changes: Changes) -> None:
    """Add a word to the list properties and record which of the values are ours."""
    add_value(tree, SUBJECT, tag.word)
    fields = [(WORD, tag.word), (BY, by), (PROBABILITY, _probability(tag.probability))]
    fields += [(HIERARCHY, _hierarchy(tag)), (DATE, now)]
    for name, separator in _HIERARCHICAL if by != PHOTO else ():
        path = _path(tag, separator)
        if path is not None and add_value(tree, name, path):
            fields.append((own_field(name), path))
    item = append_item(tree, WRITTEN)
    structure(item, fields)
    lay_out(item)
    changes.touched = True


def _take_back(tree: etree._ElementTree, word: str, changes: Changes) -> None:
    record = record_of(tree, word)
    if record is not None:
        _withdraw(tree, word, record)
    regions = _own_regions(tree, word)
    for region in regions:
        drop_item(region)
    if record is not None or regions:
        changes.removed.append(word)
        changes.touched = True


def _withdraw(tree: etree._ElementTree, word: str, record: etree._Element) -> None:
    """Remove a word that we wrote, with its record."""
    remove_value(tree, SUBJECT, word)
    for name, _ in _HIERARCHICAL:
        if path := struct_field(record, own_field(name)):
            remove_value(tree, name, path)
    drop_item(record)


def _drop_carried(tree: etree._ElementTree, changes: Changes) -> None:
    """When nothing of ours is left, the words that were copied from the photo have no purpose."""
    ours = records(tree)
    if ours and all(struct_field(record, BY) == PHOTO for record in ours):
        for record in ours:
            _withdraw(tree, struct_field(record, WORD), record)
        changes.touched = True


# --- The record -----------------------------------------------------------------------------------------------------


def _recorded(record: etree._Element) -> tuple[str, ...]:
    """What a record says, less its date, to be compared with `_wanted`."""
    return tuple(struct_field(record, name) for name in (BY, PROBABILITY, HIERARCHY))


def _wanted(tag: Tag) -> tuple[str, ...]:
    return _chooser(tag.by_machine), _probability(tag.probability) or "", _hierarchy(tag) or ""


def _hierarchy(tag: Tag) -> str | None:
    return " > ".join(tag.hierarchy) or None


def _path(tag: Tag, separator: str) -> str | None:
    """A hierarchical tag; None where a part has the separator in it and would be read as two."""
    parts = tag.hierarchy or (tag.word,)
    return None if any(separator in part for part in parts) else separator.join(parts)


def _chooser(by_machine: bool) -> str:
    return MACHINE if by_machine else PERSON


def _probability(value: float | None) -> str | None:
    return None if value is None else _decimal(value)


def _decimal(value: float) -> str:
    """A number between 0 and 1 as XMP writes real numbers: no exponent."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


# --- Regions --------------------------------------------------------------------------------------------------------


def _own_regions(tree: etree._ElementTree, word: str) -> list[etree._Element]:
    items = [item for container in containers(tree, _REGION) for item in list_items(container)]
    return [item for item in items if struct_field(item, BY) and struct_field(item, WORD) == word]


def _set_regions(tree: etree._ElementTree, word: str, wanted: list[ObjectRegion], changes: Changes) -> None:
    """Replace our regions of a word, unless they are the wanted ones."""
    there = _own_regions(tree, word)
    identifiers = {_identifier(region): region for region in wanted}
    if {struct_field(item, IPTC_EXT + "rId") for item in there} == set(identifiers):
        return
    for item in there:
        drop_item(item)
    for identifier, region in identifiers.items():
        _write_region(append_item(tree, _REGION), identifier, region)
    changes.touched = True


def _write_region(item: etree._Element, identifier: str, region: ObjectRegion) -> None:
    """An object as the IPTC standard's image region: a rectangle in parts of the picture's width and height."""
    by = _chooser(region.probability is not None)
    structure(item, [(WORD, region.word), (BY, by), (PROBABILITY, _probability(region.probability))])
    structure(item, [(IPTC_EXT + "rId", identifier)])
    boundary = child(item, IPTC_EXT + "RegionBoundary")
    sides = zip(("rbX", "rbY", "rbW", "rbH"), (region.x, region.y, region.w, region.h), strict=True)
    shape = [("rbShape", "rectangle"), ("rbUnit", "relative"), *((side, _decimal(v)) for side, v in sides)]
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
    numbers = [
        region.x,
        region.y,
        region.w,
        region.h,
        -1.0 if region.probability is None else region.probability,
    ]
    text = "\0".join([region.word, *map(_decimal, numbers)])
    return "topicture-" + hashlib.sha256(text.encode()).hexdigest()[:16]
