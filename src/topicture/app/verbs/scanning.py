"""Scan: bring the catalog up to date with the folder, touching nothing that has not changed."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from topicture.app.progress import Report, silent
from topicture.app.verbs.sidecar_stamps import has_same_photo, is_unchanged, left_behind, sidecar_stamp
from topicture.collection.excluded import Excluded
from topicture.collection.folder import FoundPhoto, Skipped, walk_photos
from topicture.collection.identity import picture_id
from topicture.collection.kinds import reads_raw
from topicture.collection.metadata.keywords import Keywords, photo_keywords
from topicture.collection.metadata.word_sources import PHOTO
from topicture.collection.words import printable
from topicture.store import Catalog
from topicture.store.decisions.file_words import FileNews
from topicture.store.decisions.steps import Step
from topicture.store.files import KnownFile

__all__ = ["ScanReport", "scan"]

BATCH = 64
# A file touched this recently might change again without its time stamp moving: it is read again next time.
SETTLED_SECONDS = 2.0
UNSETTLED = -1
UNREAD = "unread "  # before the stamp of sidecars that could not be read: they are tried again next time
# What is read of a file's metadata: files read by a version that read less are read again. (2: trees of tags, people;
# 3: dates)
READING = 3
# So many tags, or such a part of all, may go with their keywords before somebody is asked.
FEW_WITHDRAWN, PART_WITHDRAWN = 20, 0.05


@dataclass(frozen=True)
class ScanReport:
    """What a scan found. `skipped`, `conflicts` and `withheld` are lines: a file, and the reason or the word.

    Attributes
    ----------
    decisions : new keywords
    withdrawn : tags removed because the keywords they came from are gone
    conflicts : new ones, of words decided here that another program took out or put in
    withheld : tags that would be removed as well, but too many without a confirmation; nothing was changed about them
    missing_sidecars : sidecars that Topicture wrote and that are not there
    left_out : how many videos and RAW files are no photos to this scan
    left_behind : sidecars that still lie where their photo was before it was moved
    """

    files: int
    new: int
    changed: int
    unchanged: int
    moved: int
    gone: int
    decisions: int
    skipped: tuple[str, ...]
    withdrawn: int = 0
    conflicts: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    missing_sidecars: int = 0
    left_behind: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)


class _Read(NamedTuple):
    """A file that is new or changed, what was known about it, and what was read."""

    found: FoundPhoto
    before: KnownFile | None
    content: bytes
    keywords: Keywords


@dataclass
class _Progress:
    """What came of a scan so far."""

    change: Step  # what it changes about known pictures, undone as one
    first: Step  # keywords of pictures that are read for the first time
    new: int = 0
    changed: int = 0
    read_again: int = 0  # because their time stamps could not be trusted yet; they are as they were
    moved: int = 0
    decisions: int = 0
    withdrawn: int = 0
    conflicts: list[str] = field(default_factory=list)
    skipped: list[Skipped | str] = field(default_factory=list)
    # (old, new, was it known) pictures, yet to be stored
    replaced: list[list[Any]] = field(default_factory=list)
    in_place_of: list[_Read] = field(default_factory=list)  # files that hold another picture, known before
    waiting: list[_Read] = field(default_factory=list)  # files that take tags away


def scan(
    catalog: Catalog,
    *,
    withdraw_many: bool = False,
    exclude: Sequence[str] | None = None,
    report: Report = silent,
) -> ScanReport:
    """Look at every file's size and time stamp; read, hash and take keywords from those that are new or changed.

    Photos are known by their picture: a renamed or moved one keeps all that was decided about it. What is gone is
    remembered. A file that can't be read, in whole or in part, changes nothing that was known of it. A killed scan
    loses a batch at most, and the next one goes on from there. One undo takes back what a scan changed.

    Parameters
    ----------
    withdraw_many : bool
        Take away the tags whose keywords are gone from their files however many they are. Otherwise many of them are
        only listed, in `withheld`.
    exclude : patterns
        Files and folders to leave out from now on (see `excluded`); None leaves it at those that were given before.
    """
    if exclude is not None:
        Excluded(exclude)  # refused before anything is changed
        catalog.set("exclude", list(filter(None, exclude)))
    left_out: Counter[str] = Counter()
    excluded = Excluded.below(catalog.root, catalog.get("exclude") or ())
    walk = walk_photos(catalog.root, excluded=excluded, raw=reads_raw(), left_out=left_out)
    known = catalog.files.known()
    progress = _Progress(catalog.decisions.step("scan"), catalog.decisions.step("file"))
    reads_more = catalog.get("reading") != READING
    todo, seen = _compare(walk, known, reads_more, progress.skipped, report)
    remaining = iter(todo)
    done = 0
    while batch := list(islice(remaining, BATCH)):
        read = list(_read(catalog, batch, known, progress.skipped))
        with catalog.database.transaction():
            for item in read:
                _take(catalog, item, progress)
            _store_replaced(catalog, progress)
        done += len(batch)
        report("Reading photos", done, len(todo))
    gone = _gone(known, seen, progress.skipped)
    with catalog.database.transaction():
        catalog.files.mark_gone(gone)
        _carry(catalog)
        for item in progress.in_place_of:
            _hear(catalog, item, progress)
    withheld = _withdraw(catalog, progress, withdraw_many)
    with catalog.database.transaction():
        if todo or gone:
            catalog.tree.settle(progress.first)
            catalog.files.find_edited_copies()
        catalog.set("reading", READING)
        catalog.set("scanned", time.time())
    return ScanReport(
        files=len(seen),
        new=progress.new,
        changed=progress.changed,
        unchanged=len(seen)
        - sum(not is_unchanged(found, known.get(found.path)) for found in todo)
        + progress.read_again,
        moved=progress.moved,
        gone=sum(not catalog.files.paths_of(known[path].image) for path in gone),
        decisions=progress.decisions,
        skipped=tuple(str(line) for line in progress.skipped),
        withdrawn=progress.withdrawn,
        conflicts=tuple(progress.conflicts),
        withheld=withheld,
        missing_sidecars=catalog.file_words.missing_sidecars(),
        left_behind=tuple(left_behind(catalog)),
        left_out=dict(left_out),
    )


def _compare(
    walk: Iterator[FoundPhoto | Skipped],
    known: dict[str, KnownFile],
    reads_more: bool,
    skipped: list[Skipped | str],
    report: Report,
) -> tuple[list[FoundPhoto], set[str]]:
    """The photos to read, and all paths that are there."""
    todo: list[FoundPhoto] = []
    seen: set[str] = set()
    for found in walk:
        if isinstance(found, Skipped):
            skipped.append(found)
            continue
        seen.add(found.path)
        if len(seen) % 1000 == 0:
            report("Looking for photos", len(seen), None)
        if reads_more or not is_unchanged(found, known.get(found.path)):
            todo.append(found)
    report("Looking for photos", len(seen), len(seen))
    return todo, seen


def _read(
    catalog: Catalog, batch: list[FoundPhoto], known: dict[str, KnownFile], skipped: list[Skipped | str]
) -> Iterator[_Read]:
    """What stands in files; whatever goes wrong with one of them is its reason, and the others are read."""
    for found in batch:
        path, before = catalog.root / found.path, known.get(found.path)
        former = None if before is None else catalog.files.content_of(before.image)
        try:
            if found.size == 0:  # a placeholder, or a copy under way; and all empty files are alike
                raise OSError(None, "an empty file")
            content = former if former and has_same_photo(found, before) else picture_id(path)
            keywords = photo_keywords(path, [name for name, _, _ in found.raw_sidecars])
        except Exception as error:
            skipped.append(f"{printable(found.path)}: can't be read ({_reason(error)})")
            if is_unchanged(found, before):  # it was to be read for what is read since
                catalog.files.distrust(found.path)
            continue
        skipped.extend(f"{printable(found.path)}: {reason}" for reason in keywords.refused)
        if former in (None, content) or all(part.whole for part in keywords.sources if part.name == PHOTO):
            yield _Read(found, before, content, keywords)
        # else it was damaged, or is not written to its end yet: that is not another picture


def _reason(error: Exception) -> str:
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return printable(text or type(error).__name__)


def _take(catalog: Catalog, item: _Read, progress: _Progress) -> None:
    """Note what was read; but what files say that hold another known picture than before, when all were looked at."""
    found, before, image = item.found, item.before, catalog.files.image_of(item.content)
    if image is None:
        _note(catalog, item, progress, progress.first)
    elif before is None or before.image == image:
        _hear(catalog, item, progress)
    else:
        catalog.files.put(
            found.path, item.content, found.size, UNSETTLED, before.sidecars, item.keywords.taken
        )
        progress.replaced.append([before.image, image, True])
        progress.in_place_of.append(item)


def _hear(catalog: Catalog, item: _Read, progress: _Progress) -> None:
    """Note what a known picture's file says, unless it takes tags away: such files wait until it is known how many."""
    image = catalog.files.image_of(item.content)
    assert image is not None
    news = catalog.file_words.news(item.found.path, image, item.keywords.sources)
    if news.withdrawn:
        progress.waiting.append(item)
    else:
        _note(catalog, item, progress, progress.change, news)


def _note(
    catalog: Catalog, item: _Read, progress: _Progress, step: Step, news: FileNews | None = None
) -> None:
    found, before = item.found, item.before
    was_known = catalog.files.image_of(item.content) is not None
    settled = time.time() - found.latest_ns / 1e9 > SETTLED_SECONDS
    stamp = sidecar_stamp(found.sidecars)
    image = catalog.files.put(
        found.path,
        item.content,
        found.size,
        found.stamp if settled else UNSETTLED,
        stamp if all(part.whole for part in item.keywords.sources if part.name != PHOTO) else UNREAD + stamp,
        item.keywords.taken,
    )
    if before is None:
        progress.new += not was_known
        progress.moved += was_known
    else:
        settled_as_it_was = before._replace(modified=found.stamp)
        is_again = before.modified == UNSETTLED and before.image == image
        if is_again and is_unchanged(found, settled_as_it_was):
            progress.read_again += 1
        else:
            progress.changed += not is_unchanged(found, before)
        if before.image != image and not was_known:
            progress.replaced.append([before.image, image, False])
    news = news or catalog.file_words.news(found.path, image, item.keywords.sources)
    catalog.file_words.apply(found.path, image, news, step)
    catalog.tree.note(found.path, image, item.keywords.sources)
    progress.decisions += len(news.added) + len(news.returned)
    progress.withdrawn += len(news.withdrawn)
    for words, what in ((news.removed, "removed"), (news.contradicted, "added")):
        progress.conflicts += [
            f"{printable(found.path)}: {printable(word)} ({what} by another program)" for word in words
        ]


def _withdraw(catalog: Catalog, progress: _Progress, withdraw_many: bool) -> tuple[str, ...]:
    """Let tags go whose keywords went; or, where they are many and nobody has confirmed it, list them."""
    lines = []
    for item in progress.waiting:
        image = catalog.files.image_of(item.content)
        assert image is not None
        news = catalog.file_words.news(item.found.path, image, item.keywords.sources)
        lines += [f"{printable(item.found.path)}: {printable(word)}" for word in news.withdrawn]
    present = sum(
        n for (verdict, _), n in catalog.decisions.counts_by_source().items() if verdict == "present"
    )
    if len(lines) > max(FEW_WITHDRAWN, PART_WITHDRAWN * present) and not withdraw_many:
        return tuple(lines)
    with catalog.database.transaction():
        for item in progress.waiting:
            _note(catalog, item, progress, progress.change)
    return ()


def _gone(known: dict[str, KnownFile], seen: set[str], skipped: list[Skipped | str]) -> list[str]:
    """Files that are no longer there; those in a folder that could not be read may well be."""
    unread = tuple(line.source.rstrip("/") + "/" for line in skipped if isinstance(line, Skipped))
    hidden = "./" in unread  # the root itself
    return [
        path
        for path, before in known.items()
        if before.gone is None and path not in seen and not hidden and not printable(path).startswith(unread)
    ]


def _store_replaced(catalog: Catalog, progress: _Progress) -> None:
    """A killed scan's next one goes on with these."""
    if progress.replaced:
        catalog.set("replaced", [*(catalog.get("replaced") or []), *progress.replaced])
        progress.replaced.clear()


def _carry(catalog: Catalog) -> None:
    """Photos edited in place keep what was decided about them, unless the former picture still exists elsewhere.

    So do those whose earlier version was put back; not other known pictures, which merely took their place. What became
    of several files at once is not an edited photo but a placeholder.
    """
    if not (replaced := catalog.get("replaced")):
        return
    first_of = dict(catalog.get("versions") or [])  # an edited picture -> the first version of that photo
    versions: defaultdict[int, set[int]] = defaultdict(set)
    for image, first in first_of.items():
        versions[first].add(image)
    for old, new, *was_known in replaced:
        if catalog.files.paths_of(old) or len(catalog.files.paths_of(new)) != 1:
            continue
        first = first_of.get(old, old)
        if was_known != [True]:
            catalog.decisions.carry(old, new)
            first_of[new] = first
            versions[first].add(new)
        elif first_of.get(new, new) == first:
            catalog.decisions.carry_back({first, *versions[first]}, old, new)
        else:
            continue
        catalog.questions.carry(old, new)
    catalog.set("versions", list(first_of.items()))
    catalog.set("replaced", [])
