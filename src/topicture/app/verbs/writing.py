"""Write: accepted tags into sidecars. What can't be written stays pending, with the reason."""

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from topicture.app.counting import counted
from topicture.app.progress import Report, silent
from topicture.app.verbs.sidecar_stamps import sidecar_stamp
from topicture.atomic.exchange import remove_exchanged
from topicture.collection.metadata.keywords import read_sidecar, sidecar_path
from topicture.collection.metadata.record import COPY, MACHINE, choosers
from topicture.collection.metadata.tag_lists import SUBJECT
from topicture.collection.metadata.xmp import BadXmp, parse_xmp
from topicture.collection.sidecar.write import ObjectRegion, Tag, write_sidecar
from topicture.collection.words import printable
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.sidecar_record import Due, Placing

__all__ = ["PlannedWrite", "WriteReport", "write"]

BATCH = 50
MOST_AREA = 0.95  # a rectangle around nearly the whole photo says nothing
LEAST_CERTAINTY = 0.7  # of a region that is written, unless the user says otherwise
UNPROVEN = "the model does not explain tags by regions better than by whole photos; --regions writes them all the same"
NOT_LOOKED_AT = "not analysed yet; run 'topicture annotate', and the next write adds regions"


@dataclass(frozen=True)
class PlannedWrite:
    """What a sidecar gains and loses.

    `confirmed` are words that stand there as a machine's choice and become a person's, `unconfirmed` the other way
    round. Where all are empty, only places of words in the photo or in the tree of tags change, or probabilities.
    """

    path: str
    sidecar: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    confirmed: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()


@dataclass(frozen=True)
class WriteReport:
    """What was written, or with `dry_run` would be.

    `pending` are lines: a file, and why it could not be written; `without_regions` too: how many photos got their
    words without the place of any, and why.
    """

    files: int
    written: int
    unchanged: int
    pending: tuple[str, ...]
    changes: tuple[PlannedWrite, ...]
    dry_run: bool
    without_regions: tuple[str, ...] = ()


def write(
    catalog: Catalog,
    *,
    dry_run: bool = False,
    regions: bool | None = None,
    certainty: float = LEAST_CERTAINTY,
    report: Report = silent,
) -> WriteReport:
    """Bring the sidecars of all photos in line with what was decided. Photos themselves are never touched.

    Regions are those that `annotate` found of at least that certainty; words are written with them or without. By
    default there are none from a model that was not shown to beat the whole photo (`region_evidence`). A word that was
    written without its regions gets them from the first call that would write them; where they were refused
    (`regions=False`), from one that asks for them.
    Killed at any moment, it leaves whole files, and the next run finishes the work.
    """
    if not 0 <= certainty <= 1:
        raise TopictureError(f"the least certainty of a region lies between 0 and 1, not {certainty:g}")
    proven = regions or beats_whole_photo(catalog)
    lacking = _Lacking(catalog, certainty if proven else None)
    placing = Placing(certainty, MOST_AREA, regions is True) if proven and regions is not False else None
    due = catalog.sidecar_record.due(placing)
    places = catalog.tree.paths()
    remaining = iter(due)
    pending: list[str] = []
    changes: list[PlannedWrite] = []
    swept: set[Path] = set()
    unchanged = done = 0
    while batch := list(islice(remaining, BATCH)):
        if not dry_run:
            catalog.sidecar_record.plan(batch)
            for folder in _folders(catalog, batch) - swept:
                swept.add(folder)
                remove_exchanged(folder)
        for item in batch:
            try:
                change, is_changed = _write_one(catalog, item, places, placing, regions is False, dry_run)
            except (OSError, TopictureError) as error:
                reason = _reason(error)
                pending.append(f"{printable(item.path)}: {reason}")
                if not dry_run:
                    catalog.sidecar_record.fail(item.path, reason)
            else:
                unchanged += not is_changed
                if is_changed:
                    changes.append(change)
                if regions is not False:
                    lacking.note(item)
            done += 1
            report("Writing sidecars", done, len(due))
    if regions is False and not dry_run:
        catalog.sidecar_record.decline_regions()
    return WriteReport(
        len(due), len(changes), unchanged, tuple(pending), tuple(changes), dry_run, lacking.lines()
    )


def _folders(catalog: Catalog, batch: list[Due]) -> set[Path]:
    """The folders of some files; those outside the collection are told when it is the turn of their file."""
    folders = set()
    for item in batch:
        with suppress(TopictureError):
            folders.add(catalog.file_of(item.path).parent)
    return folders


def _write_one(
    catalog: Catalog,
    due: Due,
    places: dict[str, tuple[str, ...]],
    placing: Placing | None,
    declined: bool,
    dry_run: bool,
) -> tuple[PlannedWrite, bool]:
    photo = catalog.file_of(due.path)  # never a path outside the collection, whatever the catalog says
    by_machine = _by_machine(photo) if due.add else {}
    outcome = write_sidecar(
        photo,
        add=[
            Tag(word.word, word.by_machine, word.probability, hierarchy=places.get(word.word, ()))
            for word in due.add
        ],
        remove=due.remove,
        regions=() if placing is None else _regions(catalog, due, placing),
        places=places,
        dry_run=dry_run,
    )
    if not dry_run:
        # Another program's change since then is left for a scan to find.
        left = outcome.sidecars
        stamp = None if left is None else sidecar_stamp(left)
        if outcome.kept:  # somebody else says such a word: a scan is to find out, and tell
            catalog.files.distrust(due.path)
        catalog.sidecar_record.finish(due, stamp, placing, declined=declined)
    sidecar = os.path.relpath(outcome.path, catalog.root)
    stood = [word for word in due.add if by_machine.get(word.word, word.by_machine) != word.by_machine]
    change = PlannedWrite(
        due.path,
        sidecar,
        tuple(outcome.added),
        tuple(outcome.removed),
        tuple(word.word for word in stood if not word.by_machine),
        tuple(word.word for word in stood if word.by_machine),
    )
    return change, outcome.changed


def _by_machine(photo: Path) -> dict[str, bool]:
    """Words that a sidecar has from us, and whether it says that a machine chose them."""
    path = sidecar_path(photo)
    if not os.path.lexists(path):
        return {}
    try:
        chosen = choosers(parse_xmp(read_sidecar(path)))
    except BadXmp:  # whoever writes it says why it can't be
        return {}
    return {word: by == MACHINE for (name, word), by in chosen.items() if name == SUBJECT and by != COPY}


def _regions(catalog: Catalog, due: Due, placing: Placing) -> list[ObjectRegion]:
    """Where the words are, as `annotate` found it, as far as it is to be written."""
    words = {word.word for word in due.add}
    boxes = catalog.regions.of(due.image) if words else []
    return [
        ObjectRegion(*box)
        for box in boxes
        if box.word in words and box.w * box.h <= placing.most_area and box.probability >= placing.least
    ]


def beats_whole_photo(catalog: Catalog) -> bool:
    """Whether the model that found the regions was shown to place words better than the whole photo does."""
    for model in catalog.suggestions.models():
        if model.facts.get("labels_regions"):
            return model.facts.get("regions_proven") is True
    return False


class _Lacking:
    """Why photos are written without regions, each reason once."""

    def __init__(self, catalog: Catalog, least: float | None):
        self._catalog, self._least = catalog, least
        self._known = any(model.facts.get("labels_regions") for model in catalog.suggestions.models())
        self._trouble = catalog.get("regions_trouble") or NOT_LOOKED_AT
        self._reasons: Counter[str] = Counter()

    def note(self, due: Due) -> None:
        if not self._known or not due.add:
            return
        boxes = self._catalog.regions.of(due.image)
        if not boxes:
            self._reasons[self._catalog.files.reason(due.image) or self._trouble] += 1
        elif self._least is None:
            self._reasons[UNPROVEN] += 1

    def lines(self) -> tuple[str, ...]:
        return tuple(f"{counted(n, 'photo')}: {reason}" for reason, n in self._reasons.most_common())


def _reason(error: OSError | TopictureError) -> str:
    if isinstance(error, TopictureError):
        return str(error)
    return error.strerror or str(error)
