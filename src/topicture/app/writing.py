"""Write: accepted tags into sidecars. What can't be written stays pending, with the reason."""

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from topicture.app.labelling import boxes_of, label_photo, region_model
from topicture.app.model_folder import Learned
from topicture.app.progress import Report, silent
from topicture.app.sidecar_stamps import stamp_of_file
from topicture.collection.sidecar import ObjectRegion, Tag, write_sidecar
from topicture.collection.words import printable
from topicture.errors import NotFitted, TopictureError
from topicture.store import Catalog
from topicture.store.writes import Due

__all__ = ["PlannedWrite", "WriteReport", "write"]

BATCH = 50
MOST_AREA = 0.95  # a rectangle around nearly the whole photo says nothing


@dataclass(frozen=True)
class PlannedWrite:
    """What a sidecar gains and loses."""

    path: str
    sidecar: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class WriteReport:
    """What was written, or with `dry_run` would be; `pending` are lines: a file, and why it could not be written."""

    files: int
    written: int
    unchanged: int
    pending: tuple[str, ...]
    changes: tuple[PlannedWrite, ...]
    dry_run: bool


def write(
    catalog: Catalog, *, dry_run: bool = False, regions: bool = True, report: Report = silent
) -> WriteReport:
    """Bring the sidecars of all photos in line with what was decided. Photos themselves are never touched.

    Killed at any moment, it leaves whole files, and the next run finishes the work.
    """
    due = catalog.writes.due()
    learned = _region_model(catalog) if regions and due else None
    remaining = iter(due)
    pending: list[str] = []
    changes: list[PlannedWrite] = []
    swept: set[Path] = set()
    unchanged = done = 0
    while batch := list(islice(remaining, BATCH)):
        if not dry_run:
            catalog.writes.plan(batch)
            for folder in _folders(catalog, batch) - swept:
                swept.add(folder)
                remove_leftovers(folder)
        for item in batch:
            try:
                change, is_changed = _write_one(catalog, item, learned, dry_run)
            except (OSError, TopictureError) as error:
                reason = _reason(error)
                pending.append(f"{printable(item.path)}: {reason}")
                if not dry_run:
                    catalog.writes.fail(item.path, reason)
            else:
                unchanged += not is_changed
                if is_changed:
                    changes.append(change)
            done += 1
            report("Writing sidecars", done, len(due))
    return WriteReport(len(due), len(changes), unchanged, tuple(pending), tuple(changes), dry_run)


def _folders(catalog: Catalog, batch: list[Due]) -> set[Path]:
    """The folders of some files; those outside the collection are told when it is the turn of their file."""
    folders = set()
    for item in batch:
        with suppress(TopictureError):
            folders.add(catalog.file_of(item.path).parent)
    return folders


def remove_leftovers(folder: Path) -> None:
    """Temporary files of a process that was killed while it wrote; whoever holds the catalog's lock owns them."""
    for path in folder.glob(".topicture.*.tmp"):
        try:
            path.unlink()
        except OSError:  # a read-only folder: it has no room for new ones either
            return


def _region_model(catalog: Catalog) -> Learned | None:
    try:
        return region_model(catalog)
    except NotFitted:
        return None


def _write_one(
    catalog: Catalog, due: Due, learned: Learned | None, dry_run: bool
) -> tuple[PlannedWrite, bool]:
    photo = catalog.file_of(due.path)  # not a path outside the collection, whatever the catalog says
    outcome = write_sidecar(
        photo,
        add=[Tag(word.word, by_machine=word.by_machine, probability=word.probability) for word in due.add],
        remove=due.remove,
        regions=_regions(catalog, learned, photo, due),
        dry_run=dry_run,
    )
    if not dry_run:
        catalog.writes.finish(due, stamp_of_file(outcome.path))
    sidecar = os.path.relpath(outcome.path, catalog.root)
    return PlannedWrite(due.path, sidecar, tuple(outcome.added), tuple(outcome.removed)), outcome.changed


def _regions(catalog: Catalog, learned: Learned | None, photo: Path, due: Due) -> list[ObjectRegion]:
    if learned is None or not due.add:
        return []
    words = [word.word for word in due.add if word.word in learned.vocabulary]
    if not words:
        return []
    boxes = boxes_of(label_photo(catalog, learned, photo, _likely_words(catalog, due.image)))
    return [ObjectRegion(*box) for box in boxes if box.word in words and box.w * box.h <= MOST_AREA]


def _likely_words(catalog: Catalog, image: int) -> list[str]:
    """All that the photo probably shows competes for its regions, or the one accepted word would get them all."""
    tags = {tag.word for tag in catalog.decisions.tags_of(image) if tag.verdict == "present"}
    models = catalog.suggestions.models()
    suggested = catalog.suggestions.open(models[0].id, image=image) if models else []
    return sorted(tags | {suggestion.word for suggestion in suggested})


def _reason(error: OSError | TopictureError) -> str:
    if isinstance(error, TopictureError):
        return str(error)
    return error.strerror or str(error)
