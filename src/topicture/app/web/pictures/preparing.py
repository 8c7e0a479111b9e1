"""Small pictures of all photos that have none yet, ahead of anybody's asking."""

import os
from dataclasses import dataclass

from topicture.app.progress import Report
from topicture.app.verbs.library import Library
from topicture.vision.thumbnails import Made, ThumbnailCache, make_thumbnails
from topicture.vision.thumbnails.making import Wanted
from topicture.vision.workers import Failure, run_isolated

__all__ = ["PrepareReport", "prepare"]

TIMEOUT_SECONDS = 60.0
STAGE = "Preparing pictures"


@dataclass(frozen=True)
class PrepareReport:
    """What was made, and for how many photos it could not be."""

    made: int
    unreadable: int


def prepare(library: Library, report: Report) -> PrepareReport:
    """Make what is missing; a killed run keeps what it has made."""
    with library.reading() as catalog, ThumbnailCache(catalog.cache) as cache:
        paths = {living.content: living.path for living in catalog.files.living()}
        missing = cache.missing(paths)
        tasks = [Wanted(str(catalog.root / paths[content]), ("small",)) for content in missing]
        counts = {"made": 0, "unreadable": 0}
        report(STAGE, 0, len(tasks))
        workers = max(1, (os.cpu_count() or 1) - 1)
        finished = run_isolated(make_thumbnails, tasks, workers, TIMEOUT_SECONDS, records=[Made])
        for done, (number, made) in enumerate(finished, start=1):
            content = missing[number]
            if isinstance(made, Failure):
                counts["unreadable"] += 1
                if made.lasting:
                    cache.put_reason(content, made.reason)
            elif made.content == content:  # else the file has changed since the last scan
                counts["made"] += 1
                cache.put(content, made)
            report(STAGE, done, len(tasks))
    return PrepareReport(**counts)
