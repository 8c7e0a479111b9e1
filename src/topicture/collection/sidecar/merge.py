"""What Topicture writes into an XMP document, and how it takes it back.

Words go into the three list properties that photo managers read, and into Microsoft's where it is in use. Everything of
ours is recorded (see `written`); what is not in the record is somebody else's and is never removed.

A program that reads one of the properties alone, or the sidecar alone, would find only our words in a list that we had
to begin. So such a list also gets copies of the words that were there before, recorded as copies: they do not count as
words when they are read again, and go with our last word.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from lxml import etree

from topicture.collection.metadata.record import (
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
)
from topicture.collection.metadata.tag_lists import (
    ALL_LISTS,
    LISTS,
    SUBJECT,
    clean_path,
    joined,
    leaf,
    listed_tags,
)
from topicture.collection.metadata.xmp import struct_field
from topicture.collection.metadata.xmp_lists import XmpLists
from topicture.collection.sidecar.mwg_regions import MwgRegions
from topicture.collection.sidecar.regions import OwnRegions, region_identifier
from topicture.collection.sidecar.values import ObjectRegion, Tag, decimal
from topicture.collection.sidecar.xmp_edit import structure
from topicture.errors import BadWord

__all__ = ["Changes", "merge"]

Path = tuple[str, ...]
"""The place of a word in a tree of tags, outermost part first, the word last."""


@dataclass
class Changes:
    """Words that were added, removed, and not removed because others wrote them; and whether anything has changed."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    touched: bool = False


def merge(
    tree: etree._ElementTree,
    add: Sequence[Tag],
    remove: Iterable[str],
    regions: Sequence[ObjectRegion],
    embedded: Mapping[str, Sequence[Path]],
    now: str,
    size: tuple[int, int] | None = None,
    places: Mapping[str, Path] | None = None,
) -> Changes:
    """Bring a document to the wanted state, changing nothing where it is there already.

    `embedded` are the words of the photo's own metadata with their places, to be copied where needed; `places` those of
    words whose place no list tells; `now` is the date of new records, `size` that of the photo as stored, which regions
    apply to.
    Each property is gone through once, so that the time grows with the document and no faster.
    """
    changes = Changes()
    lists = XmpLists(tree)
    own_regions = (OwnRegions(lists), MwgRegions(lists, size))
    record = _Record(lists, now)
    for word in remove:
        ours = record.is_ours(word)
        if ours:
            record.withdraw(word)
        dropped = [notation.drop(word) for notation in own_regions]
        if any(dropped) or ours:
            changes.removed.append(word)
            changes.touched = True
        if record.is_of_others(word):
            changes.kept.append(word)
    wanted = [tag for tag in add if not record.stands(tag)]
    in_use = [name for name in ALL_LISTS if name in LISTS or lists.values(name)]
    _write_copies(tree, lists, record, wanted, embedded, places or {})
    for tag in wanted:
        if tag.word not in lists.values(SUBJECT):
            changes.added.append(tag.word)
        record.withdraw(tag.word)
        record.write(tag, _chooser(tag), in_use)
    changes.touched |= bool(wanted)
    by_word: dict[str, list[ObjectRegion]] = {}
    for region in regions:
        by_word.setdefault(region.word, []).append(region)
    for word, boxes in by_word.items():
        wanted_boxes = {region_identifier(box): box for box in boxes}
        for notation in own_regions:
            changes.touched |= notation.set(word, wanted_boxes)
    changes.touched |= record.drop_copies()
    lists.lay_out()
    return changes


class _Record:
    """What Topicture wrote (see `written`), by word."""

    def __init__(self, lists: XmpLists, now: str):
        self._lists, self._now = lists, now
        self._of: dict[str, list[etree._Element]] = {}
        for item in lists.items(WRITTEN):
            self._of.setdefault(struct_field(item, WORD), []).append(item)
        self._placed_by_others = {name: self._leaves_of_others(name) for name in ALL_LISTS if name != SUBJECT}

    def _leaves_of_others(self, name: str) -> set[str]:
        """Words that somebody else has given a place in a tree."""
        ours = {struct_field(item, own_field(name)) for items in self._of.values() for item in items}
        return {leaf(name, value) for value in self._lists.values(name) if value not in ours}

    def __contains__(self, word: str) -> bool:
        return word in self._of

    def is_ours(self, word: str) -> bool:
        """Whether it was us who put a word there."""
        return any(struct_field(item, own_field(SUBJECT)) for item in self._of.get(word, ()))

    def is_of_others(self, word: str) -> bool:
        """Whether somebody else put a word there that we did not, or do not any more."""
        in_list = word in self._lists.values(SUBJECT) and not self.is_ours(word)
        return in_list or any(word in leaves for leaves in self._placed_by_others.values())

    def stands(self, tag: Tag) -> bool:
        """Whether nothing is to be done for a tag: it stands as wanted, or somebody else wrote the word."""
        if tag.word not in self._lists.values(SUBJECT):
            return False
        if not self.is_ours(tag.word):
            return True
        written = [struct_field(self._of[tag.word][0], name) for name in (BY, PROBABILITY, HIERARCHY)]
        return written == [_chooser(tag), decimal(tag.probability) or "", _hierarchy(tag) or ""]

    def write(self, tag: Tag, by: str, lists: Iterable[str]) -> None:
        """Add a word to some of the lists and record which of the values are ours."""
        fields: list[tuple[str, str | None]] = [(WORD, tag.word), (BY, by), (DATE, self._now)]
        fields += [(PROBABILITY, decimal(tag.probability)), (HIERARCHY, _hierarchy(tag))]
        for name in lists:
            if by != COPY and tag.word in self._placed_by_others.get(name, ()):
                continue  # a second place would be a second tag to the program that gave it the first
            value = joined(name, tag.hierarchy or (tag.word,))
            if value is not None and self._lists.add(name, value):
                fields.append((own_field(name), value))
        item = self._lists.append_item(WRITTEN)
        structure(item, fields)
        self._of.setdefault(tag.word, []).append(item)

    def withdraw(self, word: str) -> None:
        """Remove the values that the records of a word list, and the records, if there are any.

        We write one; a second one, of another program's making, would count the next time.
        """
        for item in self._of.pop(word, ()):
            for name in ALL_LISTS:
                value = struct_field(item, own_field(name))
                # Else it claims another word's value.
                if value == word or value.endswith((f"|{word}", f"/{word}")):
                    self._lists.remove(name, value)
            self._lists.drop_item(WRITTEN, item)

    def drop_copies(self) -> bool:
        """When nothing of ours is left, copies have no purpose; False where there are none, or something is left."""
        items = [item for items in self._of.values() for item in items]
        if not items or any(struct_field(item, BY) != COPY for item in items):
            return False
        for word in list(self._of):
            self.withdraw(word)
        return True


def _chooser(tag: Tag) -> str:
    return MACHINE if tag.by_machine else PERSON


def _hierarchy(tag: Tag) -> str | None:
    return " > ".join(tag.hierarchy) or None


def _write_copies(
    tree: etree._ElementTree,
    lists: XmpLists,
    record: _Record,
    wanted: Sequence[Tag],
    embedded: Mapping[str, Sequence[Path]],
    places: Mapping[str, Path],
) -> None:
    """Copy the words of others into the lists that the wanted tags are about to begin."""
    paths = [tag.hierarchy or (tag.word,) for tag in wanted]
    begun = [name for name in LISTS if not lists.values(name) and any(joined(name, path) for path in paths)]
    if not begun:
        return
    others: dict[str, dict[Path, None]] = {}
    if SUBJECT in begun:
        others = {word: dict.fromkeys(paths) for word, paths in embedded.items()}
    for listed in listed_tags(tree):
        with suppress(BadWord):  # not for us to spread; it stays where it is
            path = clean_path(listed.path)
            known = others.setdefault(path[-1], {})
            if listed.property != SUBJECT:
                known[path] = None
    own_words = {tag.word for tag in wanted}
    others = {word: paths for word, paths in others.items() if word not in record and word not in own_words}
    for word, placed in others.items():
        for path in tuple(placed) or (places.get(word, (word,)),):
            if any(joined(name, path) for name in begun):
                record.write(Tag(word, hierarchy=path if len(path) > 1 else ()), COPY, begun)
