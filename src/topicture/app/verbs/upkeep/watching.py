"""Watch: photos are scanned and annotated as they arrive.

A look at the times of folders every few seconds, not events of the system: photos often lie on network storage, which
sends none (see docs/decisions/0016-watching.md).
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from topicture.app.progress import Report, silent
from topicture.app.verbs.library import Library
from topicture.app.verbs.scanning import ScanReport
from topicture.app.verbs.upkeep.configuring import load
from topicture.app.verbs.words.policies import apply_policies
from topicture.collection.excluded import Excluded
from topicture.errors import TopictureError
from topicture.store import CatalogBusy

__all__ = ["Arrived", "folder_times", "take_in", "watch"]

FULL_LOOK_SECONDS = 600.0  # a sidecar that is changed in place leaves no trace in the time of its folder


@dataclass(frozen=True)
class Arrived:
    """What came of one look: the scan, and for how many photos words were suggested or accepted by policy.

    `trouble` says why photos were not annotated, or nothing could be done this time.
    """

    scan: ScanReport | None
    photos: int = 0
    suggestions: int = 0
    accepted: int = 0
    trouble: str = ""

    @property
    def is_news(self) -> bool:
        scan = self.scan
        found = scan is not None and (scan.new or scan.changed or scan.moved or scan.gone or scan.decisions)
        return bool(found or self.photos or self.trouble)


def watch(
    library: Library,
    *,
    every: float = 10.0,
    workers: int = 2,
    report: Report = silent,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Arrived]:
    """Look at the folders of photos every so many seconds, for ever; what came of each look that found something."""
    seen: dict[str, int] | None = None
    last_look = clock()
    while True:
        now = _times_of(library)
        if now != seen or clock() - last_look >= FULL_LOOK_SECONDS:
            arrived = take_in(library, workers=workers, report=report)
            last_look = clock()
            # Files may still be growing: what was found is looked at once more.
            seen = None if arrived.is_news else now
            if arrived.is_news:
                yield arrived
        sleep(every)


def take_in(library: Library, *, workers: int = 2, report: Report = silent) -> Arrived:
    """Scan, suggest words for photos that are new, and accept what policies of tags accept.

    How much is suggested is as `topicture.toml` says of `annotate`. Nothing is withdrawn that a scan would ask about
    first. Another process that writes is no error: the next look comes soon.
    """
    try:
        scan = library.scan(report=report)
    except CatalogBusy as busy:
        return Arrived(None, trouble=str(busy))
    with library.reading() as catalog:
        has_model = bool(catalog.suggestions.models())
    if not has_model:
        return Arrived(scan)
    try:
        settings = load(library.folder).get("annotate", {})
        annotated = library.annotate(new_only=True, workers=workers, report=report, **settings)
        if not annotated.photos:
            return Arrived(scan)
        with library.writing("watch") as catalog:
            accepted = apply_policies(catalog).accepted
    except TopictureError as error:
        return Arrived(scan, trouble=str(error))
    return Arrived(scan, annotated.photos, annotated.suggestions, accepted)


def _times_of(library: Library) -> dict[str, int]:
    with library.reading() as catalog:
        return folder_times(catalog.root, Excluded.below(catalog.root, catalog.get("exclude") or ()))


def folder_times(root: Path, excluded: Excluded) -> dict[str, int]:
    """When each folder of photos last got or lost a file; hidden ones and those that are left out do not count."""
    times: dict[str, int] = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            times[folder] = os.stat(root / folder).st_mtime_ns
            with os.scandir(root / folder) as entries:
                inner = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:  # gone meanwhile, or not ours to read: the scan tells
            continue
        paths = (f"{folder}{name}/" for name in inner if not name.startswith("."))
        waiting += [path for path in paths if not excluded.folder(path)]
    return times
