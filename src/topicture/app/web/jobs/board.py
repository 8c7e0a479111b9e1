"""All long work of one server: what runs, what waits, what came of it."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from copy import deepcopy
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE
from typing import IO, Any

from topicture.app.web.failures import BadRequest, described
from topicture.app.web.jobs.job import Job, load_jobs, save_jobs
from topicture.app.web.jobs.work import checked
from topicture.children import start_python
from topicture.collection.words import printable
from topicture.errors import DataNotFound, TopictureError
from topicture.messages import BadMessage, receive_message, send_message

__all__ = ["JobBoard"]

KEPT = 30
GRACE_SECONDS = 5.0
_SHOWN_BYTES = 1 << 14
_CHILD = ("topicture.app.web.jobs.child", "main")
# Pictures are made beside other work; whatever writes to the catalog comes one by one.
_BESIDE = ("prepare", "map")
_LOST = {
    "code": "job-crashed",
    "message": "The work ended unexpectedly.",
    "hint": "Try it again; what was finished before is kept. The terminal may show why.",
}
_ENDED = {
    "code": "server-ended",
    "message": "Topicture was ended meanwhile.",
    "hint": "Start it again; what was finished is kept.",
}


class JobBoard:
    """Starts, watches and ends the jobs of the catalog in `folder`."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._cache = folder / "cache"
        self._lock = threading.Lock()
        self._jobs = load_jobs(self._cache)
        self._processes: dict[int, subprocess.Popen] = {}
        self._lanes: dict[str, SimpleQueue] = {}
        self._closing = False

    def list(self) -> list[Job]:
        """All that are known, the newest first."""
        with self._lock:
            return [deepcopy(job) for job in reversed(self._jobs)]

    def get(self, number: int) -> Job:
        with self._lock:
            return deepcopy(self._find(number))

    def start(self, kind: Any, options: Any) -> Job:
        """Begin a piece of work, or have it wait its turn; one that waits already is not asked for twice."""
        try:
            options = checked(kind, options)
        except TopictureError as error:
            raise BadRequest(str(error)) from None
        with self._lock:
            for job in self._jobs:
                if not job.over and (job.kind, job.options) == (kind, options):
                    return deepcopy(job)
            job = Job(max((job.id for job in self._jobs), default=0) + 1, kind, options)
            self._jobs = [*self._jobs, job][-KEPT:]
            lane = "beside" if kind in _BESIDE else "writing"
            if lane not in self._lanes:
                self._lanes[lane] = SimpleQueue()
                threading.Thread(target=self._work, args=(self._lanes[lane],), daemon=True).start()
            self._lanes[lane].put(job)
            return deepcopy(job)

    def cancel(self, number: int) -> Job:
        """End a job: at once where it waits, else soon; it has changed nothing by halves."""
        with self._lock:
            job = self._find(number)
            process = self._processes.get(number)
            if process is None:
                if not job.over:
                    job.end("cancelled")
            elif not job.over:
                job.stage = "Stopping"
                _ask_to_end(process)
        self._save()
        return self.get(number)

    def close(self) -> None:
        """End everything."""
        with self._lock:
            self._closing = True
            for process in self._processes.values():
                _kill(process)
            for job in self._jobs:
                if not job.over:
                    job.end("cancelled", error=_ENDED)
        for lane in self._lanes.values():
            lane.put(None)
        for process in list(self._processes.values()):
            process.wait()
        self._save()

    def _find(self, number: int) -> Job:
        for job in self._jobs:
            if job.id == number:
                return job
        raise DataNotFound(f"there is no job {number}")

    def _save(self) -> None:
        with self._lock:
            jobs = deepcopy(self._jobs)
        save_jobs(self._cache, jobs)

    # --- Running -------------------------------------------------------------------------------------------

    def _work(self, lane: SimpleQueue) -> None:
        while (job := lane.get()) is not None:
            try:
                self._run(job)
            except Exception as error:  # no room, no memory: it costs this job, not those after it
                with self._lock:
                    if not job.over:
                        job.end("failed", error=described(error)[1])
                self._save()

    def _run(self, job: Job) -> None:
        with tempfile.TemporaryFile() as errors:
            process = self._begin(job, errors)
            if process is not None:
                self._watch(job, process)
            if job.state == "failed":
                _tell_the_terminal(job, errors)

    def _begin(self, job: Job, errors: Any) -> subprocess.Popen | None:
        with self._lock:
            if job.over or self._closing:
                return None
            job.state = "running"
            own_group: dict[str, Any] = {"start_new_session": True} if hasattr(os, "killpg") else {}
            process = start_python(*_CHILD, stdin=PIPE, stdout=PIPE, stderr=errors, **own_group)
            self._processes[job.id] = process
        self._save()
        return process

    def _watch(self, job: Job, process: subprocess.Popen) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            order = {"catalog": str(self._folder), "kind": job.kind, "options": job.options}
            send_message(process.stdin, order)
            while not job.over:
                message = receive_message(process.stdout)
                with self._lock:
                    if not job.over:
                        _note(job, message)
        except (OSError, EOFError, BadMessage, ValueError):
            with self._lock:
                if not job.over:
                    stopped = job.stage == "Stopping"
                    job.end("cancelled" if stopped else "failed", error=None if stopped else _LOST)
        finally:
            _kill(process)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
            with self._lock:
                self._processes.pop(job.id, None)
            if not self._closing:
                self._save()


def _tell_the_terminal(job: Job, errors: IO[bytes]) -> None:
    """What a process said of trouble that nobody expected: the page only says that there was some."""
    if job.error is None or job.error.get("code") not in ("internal-error", _LOST["code"]):
        return
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _SHOWN_BYTES))
    for line in errors.read().decode(errors="backslashreplace").splitlines():
        print(printable(line), file=sys.stderr)


def _note(job: Job, message: Any) -> None:
    match message:
        case {"stage": str(stage), "done": int(done), "total": total} if job.stage != "Stopping":
            job.stage, job.done, job.total = stage, done, total
        case {"trace": dict(entry)}:
            job.note(entry)
        case {"result": result}:
            job.end("done", result=result)
        case {"error": dict(error)}:
            job.end("failed", error=error)
        case {"cancelled": True}:
            job.end("cancelled")


def _ask_to_end(process: subprocess.Popen) -> None:
    """Let it tidy up; compiled code may not listen, and is then ended."""
    if os.name == "posix":
        process.send_signal(signal.SIGINT)
        timer = threading.Timer(GRACE_SECONDS, _kill, (process,))
        timer.daemon = True
        timer.start()
    else:
        process.kill()


def _kill(process: subprocess.Popen) -> None:
    """End a process and all that it started."""
    if process.poll() is None and hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
