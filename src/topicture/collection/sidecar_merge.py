"""What Topicture writes into an XMP document, and how it takes it back.

Words go into the three list properties that photo managers read. Everything of ours is recorded (see `written`); what
is not in the record is somebody else's and is never removed.

A program that reads one of the properties alone, or the sidecar alone, would find only our words in a list that we had
to begin. So such a list also gets copies of the words that were there before, recorded as copies: they do not count as
words when they are read again, and go with our last word.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from lxml import etree

from topicture.collection.sidecar_regions import drop_regions, set_regions
from topicture.collection.sidecar_values import ObjectRegion, Tag, decimal
from topicture.collection.tag_lists import LISTS, SUBJECT, clean_path, joined, listed_tags
from topicture.collection.written import (
    BY,
    COPY,
    DATE,
    HIERARCHY,
    MACHINE,
    PERSON,
    PROBABILITY,
    WORD,
    WRITTEN,
    own_field,
    record_of,
    records,
)
from topicture.collection.xmp import struct_field
from topicture.collection.xmp_edit import (
    add_value,
    append_item,
    drop_item,
    lay_out,
    remove_value,
    structure,
    values,
)
from topicture.errors import BadWord

__all__ = ["Changes", "merge"]

Paths = Mapping[str, tuple[str, ...]]
"""Words with their paths in a tree of tags, outermost part first, the word last."""


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
    embedded: Paths,
    now: str,
) -> Changes:
    """Bring a document to the wanted state, changing nothing where it is there already.

    `embedded` are the words of the photo's own metadata, to be copied where needed; `now` is the date of new records.
    """
    changes = Changes()
    for word in remove:
        _take_back(tree, word, changes)
    wanted = [tag for tag in add if not _is_there(tree, tag)]
    _write_copies(tree, wanted, embedded, now)
    for tag in wanted:
        if tag.word not in values(tree, SUBJECT):
            changes.added.append(tag.word)
        record = record_of(tree, tag.word)
        if record is not None:
            _withdraw(tree, record)
        _write(tree, tag, _chooser(tag), LISTS, now)
    changes.touched |= bool(wanted)
    for word in dict.fromkeys(region.word for region in regions):
        changes.touched |= set_regions(tree, word, [region for region in regions if region.word == word])
    changes.touched |= _drop_copies(tree)
    return changes


# --- Words ----------------------------------------------------------------------------------------------------------


def _is_there(tree: etree._ElementTree, tag: Tag) -> bool:
    """Whether nothing is to be done for a tag: it stands as wanted, or somebody else wrote the word."""
    record = record_of(tree, tag.word)
    if tag.word not in values(tree, SUBJECT):
        return False
    if record is None or not struct_field(record, own_field(SUBJECT)):
        return True
    written = [struct_field(record, name) for name in (BY, PROBABILITY, HIERARCHY)]
    return written == [_chooser(tag), decimal(tag.probability) or "", _hierarchy(tag) or ""]


def _write(tree: etree._ElementTree, tag: Tag, by: str, lists: Iterable[str], now: str) -> None:
    """Add a word to some of the lists and record which of the values are ours."""
    fields: list[tuple[str, str | None]] = [(WORD, tag.word), (BY, by), (DATE, now)]
    fields += [(PROBABILITY, decimal(tag.probability)), (HIERARCHY, _hierarchy(tag))]
    for name in lists:
        value = joined(name, tag.hierarchy or (tag.word,))
        if value is not None and add_value(tree, name, value):
            fields.append((own_field(name), value))
    item = append_item(tree, WRITTEN)
    structure(item, fields)
    lay_out(item)


def _take_back(tree: etree._ElementTree, word: str, changes: Changes) -> None:
    record = record_of(tree, word)
    ours = record is not None and bool(struct_field(record, own_field(SUBJECT)))
    if record is not None and ours:
        _withdraw(tree, record)
    if drop_regions(tree, word) or ours:
        changes.removed.append(word)
        changes.touched = True


def _withdraw(tree: etree._ElementTree, record: etree._Element) -> None:
    """Remove the values that a record lists, and the record."""
    for name in LISTS:
        if value := struct_field(record, own_field(name)):
            remove_value(tree, name, value)
    drop_item(record)


def _chooser(tag: Tag) -> str:
    return MACHINE if tag.by_machine else PERSON


def _hierarchy(tag: Tag) -> str | None:
    return " > ".join(tag.hierarchy) or None


# --- Copies ---------------------------------------------------------------------------------------------------------


def _write_copies(tree: etree._ElementTree, wanted: Sequence[Tag], embedded: Paths, now: str) -> None:
    """Copy the words of others into the lists that the wanted tags are about to begin."""
    paths = [tag.hierarchy or (tag.word,) for tag in wanted]
    begun = [name for name in LISTS if not values(tree, name) and any(joined(name, path) for path in paths)]
    if not begun:
        return
    others = dict(embedded) if SUBJECT in begun else {}
    for listed in listed_tags(tree):
        with suppress(BadWord):  # not for us to spread; it stays where it is
            path = clean_path(listed.path)
            others[path[-1]] = max(path, others.get(path[-1], ()), key=len)
    for tag in wanted:
        others.pop(tag.word, None)
    for word, path in others.items():
        if record_of(tree, word) is None and any(joined(name, path) for name in begun):
            _write(tree, Tag(word, hierarchy=path if len(path) > 1 else ()), COPY, begun, now)


def _drop_copies(tree: etree._ElementTree) -> bool:
    """When nothing of ours is left, copies have no purpose; False where there are none, or something is left."""
    ours = records(tree)
    if not ours or any(struct_field(record, BY) != COPY for record in ours):
        return False
    for record in ours:
        _withdraw(tree, record)
    return True
