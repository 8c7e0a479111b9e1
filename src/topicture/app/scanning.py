"""Scan: bring the catalog up to date with the folder, touching nothing that has not changed."""

import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from topicture.app.progress import Report, silent
from topicture.app.sidecar_stamps import sidecar_stamp
from topicture.collection.folder import FoundPhoto, Skipped, walk_photos
from topicture.collection.keywords import photo_keywords
from topicture.collection.words import printable
from topicture.store import Catalog
from topicture.store.identity import picture_id
from topicture.store.places import Place

__all__ = ["ScanReport", "scan"]

BATCH = 64
# A file touched this recently might change again without its time stamp moving: it is read again next time.
SETTLED_SECONDS = 2.0
UNSETTLED = -1


@dataclass(frozen=True)
class ScanReport:
    """What a scan found. `skipped` are lines: a file and the reason."""

    files: int
    new: int
    changed: int
    unchanged: int
    moved: int
    gone: int
    decisions: int  # keywords that are news
    skipped: tuple[str, ...]


@dataclass
class _Counts:
    new: int = 0
    changed: int = 0
    moved: int = 0
    decisions: int = 0


def scan(catalog: Catalog, *, report: Report = silent) -> ScanReport:
    """Look at every file's size and time stamp; read, hash and take keywords from those that are new or changed.

    Photos are known by their picture: a renamed or moved one keeps all that was decided about it. What is gone is
    remembered. A killed scan loses a batch at most, and the next one goes on from there.
    """
    known = catalog.places.known()
    todo, skipped, seen = _compare(catalog.root, known, report)
    counts = _Counts()
    remaining = iter(todo)
    done = 0
    while batch := list(islice(remaining, BATCH)):
        with catalog.database.transaction():
            for found in batch:
                try:
                    _take(catalog, found, known.get(found.path), counts, skipped)
                except OSError as error:
                    skipped.append(f"{printable(found.path)}: can't be read ({error.strerror or error})")
        done += len(batch)
        report("Reading photos", done, len(todo))
    gone = _gone(known, seen, skipped)
    with catalog.database.transaction():
        catalog.places.mark_gone(gone)
        _carry(catalog)
        catalog.set("scanned", time.time())
    return ScanReport(
        files=len(seen),
        new=counts.new,
        changed=counts.changed,
        unchanged=len(seen) - len(todo),
        moved=counts.moved,
        gone=len(gone),
        decisions=counts.decisions,
        skipped=tuple(str(line) for line in skipped),
    )


def _compare(
    root: Path, known: dict[str, Place], report: Report
) -> tuple[list[FoundPhoto], list[Skipped | str], set[str]]:
    """The photos to read, what was passed over, and all paths that are there."""
    todo: list[FoundPhoto] = []
    skipped: list[Skipped | str] = []
    seen: set[str] = set()
    for found in walk_photos(root):
        if isinstance(found, Skipped):
            skipped.append(found)
            continue
        seen.add(found.path)
        if len(seen) % 1000 == 0:
            report("Looking for photos", len(seen), None)
        if not _is_unchanged(found, known.get(found.path)):
            todo.append(found)
    report("Looking for photos", len(seen), len(seen))
    return todo, skipped, seen


def _is_unchanged(found: FoundPhoto, place: Place | None) -> bool:
    return (
        place is not None
        and place.gone is None
        and place.size == found.size
        and place.modified == found.mtime_ns
        and place.sidecars == sidecar_stamp(found.sidecars)
    )


def _take(
    catalog: Catalog, found: FoundPhoto, place: Place | None, counts: _Counts, skipped: list[Skipped | str]
) -> None:
    path = catalog.root / found.path
    if (
        place is not None
        and place.gone is None
        and (place.size, place.modified) == (found.size, found.mtime_ns)
    ):
        content = catalog.places.content_of(place.image)  # only a sidecar has changed
    else:
        content = picture_id(path)
    was_known = catalog.places.image_of(content) is not None
    settled = time.time() - found.mtime_ns / 1e9 > SETTLED_SECONDS
    keywords = photo_keywords(path)
    image = catalog.places.put(
        found.path,
        content,
        found.size,
        found.mtime_ns if settled else UNSETTLED,
        sidecar_stamp(found.sidecars),
    )
    if place is None:
        counts.new += not was_known
        counts.moved += was_known
    else:
        counts.changed += 1
        if place.image != image:
            catalog.file_words.forget(found.path)
            if not was_known:
                catalog.set("replaced", [*(catalog.get("replaced") or []), [place.image, image]])
    counts.decisions += catalog.file_words.update(found.path, image, keywords.words, keywords.by_machine)
    skipped.extend(f"{printable(found.path)}: {reason}" for reason in keywords.refused)


def _gone(known: dict[str, Place], seen: set[str], skipped: list[Skipped | str]) -> list[str]:
    """Files that are no longer there; those in a folder that could not be read may well be."""
    unread = tuple(line.path.rstrip("/") + "/" for line in skipped if isinstance(line, Skipped))
    hidden = "./" in unread  # the root itself
    return [
        path
        for path, place in known.items()
        if place.gone is None and path not in seen and not hidden and not printable(path).startswith(unread)
    ]


def _carry(catalog: Catalog) -> None:
    """Photos edited in place keep what was decided about them, unless the former picture still exists elsewhere."""
    for old, new in catalog.get("replaced") or []:
        if not catalog.places.paths_of(old):
            catalog.decisions.carry(old, new)
    catalog.set("replaced", [])
