"""What is told about one piece of long work."""

import json
import os
import stat
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from topicture.atomic import make_folder, write_atomically

__all__ = ["MOST_LINES", "Job", "load_jobs", "save_jobs", "shortened"]

MOST_TRACE = 400
MOST_LINES = 100
MOST_BYTES = 8 << 20
_FILE = "jobs.json"


@dataclass
class Job:
    """Work that waits, runs or has ended; `state` is waiting, running, done, failed or cancelled."""

    id: int
    kind: str
    options: dict[str, Any]
    state: str = "waiting"
    stage: str = ""
    done: int = 0
    total: int | None = None
    started: float = field(default_factory=time.time)
    ended: float | None = None
    trace: list[dict[str, Any]] = field(default_factory=list)
    result: Any = None
    error: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        return self.ended is not None

    def note(self, entry: dict[str, Any]) -> None:
        """Add to the trace; of a long one every other entry is kept."""
        self.trace.append(entry)
        if len(self.trace) > MOST_TRACE:
            self.trace[: MOST_TRACE // 2] = self.trace[: MOST_TRACE // 2 : 2]

    def end(self, state: str, *, result: Any = None, error: dict[str, Any] | None = None) -> None:
        self.state, self.result, self.error, self.ended = state, result, error, time.time()


def shortened(result: Any, most: int = MOST_LINES) -> Any:
    """A result with at most so many entries of each list, as `skipped`; then `skipped_count` says of how many."""
    if not isinstance(result, dict):
        return result
    short: dict[str, Any] = {}
    for name, value in result.items():
        if isinstance(value, list):
            short[name] = value[:most]
            if len(value) > most:
                short.setdefault(f"{name}_count", len(value))
        else:
            short[name] = shortened(value, most)
    return short


_saving = threading.Lock()


def save_jobs(cache: Path, jobs: Iterable[Job]) -> None:
    """Keep what is known of jobs for the next server, of the last ones if it is much; a full disk costs this and
    nothing else."""
    values = [asdict(job) for job in jobs]
    while len(text := json.dumps(values).encode()) > MOST_BYTES:
        del values[0]
    try:
        with _saving:
            make_folder(cache)
            write_atomically(cache / _FILE, text)
    except OSError:
        pass


def load_jobs(cache: Path) -> list[Job]:
    """What the last server knew; a job that it did not see end was cut off with it."""
    path = cache / _FILE
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return []
        jobs = [Job(**values) for values in json.loads(path.read_bytes())]
        jobs = [job for job in jobs if isinstance(job.id, int) and isinstance(job.kind, str)]
    except (OSError, ValueError, TypeError, RecursionError):
        return []
    for job in jobs:
        if not job.over:
            job.end(
                "cancelled",
                error={
                    "code": "server-ended",
                    "message": "Topicture was ended meanwhile.",
                    "hint": "Start it again; what was finished is kept.",
                },
            )
    return jobs
