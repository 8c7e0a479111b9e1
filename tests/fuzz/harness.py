"""Runs a target over many inputs, and measures: what came out uncaught, the slowest input, the most memory."""

import faulthandler
import hashlib
import json
import random
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from topicture.errors import TopictureError

__all__ = ["HANG_SECONDS", "MEMORY", "Attempt", "Result", "Target", "keep", "run"]

HANG_SECONDS = 5.0  # of computing time: the machine may be busy
STUCK_SECONDS = 60.0  # of time on the clock, in code that can't be interrupted: the process ends
MEMORY = 1 << 30


@dataclass(frozen=True)
class Target:
    """What is fuzzed.

    `make` makes an input (bytes) from a source of chance; `use` reads it, and checks what comes out by assertions.
    `allowed` are exceptions that its documentation names, besides TopictureError.
    """

    make: Callable[[random.Random], bytes]
    use: Callable[[bytes], Any]
    allowed: tuple[type[Exception], ...] = ()


@dataclass
class Result:
    """Figures of a run. `uncaught` has an entry for every place an exception came from, with its first input."""

    target: str
    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    peak_mb: float = 0.0
    uncaught: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def join(self, other: "Result") -> None:
        """Add the figures of a run of other inputs."""
        self.inputs += other.inputs
        self.refused += other.refused
        self.seconds = max(self.seconds, other.seconds)
        self.slowest = max(self.slowest, other.slowest)
        self.peak_mb = max(self.peak_mb, other.peak_mb)
        self.uncaught = {**other.uncaught, **self.uncaught}


class Attempt:
    """A file that says what is being tried: the figures up to now and the input.

    It is written before each input is tried, so that a process that an input ends leaves the input behind.
    """

    def __init__(self, path: Path):
        self._path = path

    def note(self, result: Result, content: bytes) -> None:
        self._path.write_bytes(json.dumps(result.as_dict()).encode() + b"\n" + content)

    def read(self) -> tuple[Result, bytes] | None:
        """None where nothing was tried."""
        if not self._path.exists():
            return None
        figures, _, content = self._path.read_bytes().partition(b"\n")
        return Result(**json.loads(figures)), content


class _Hang(BaseException):
    pass


def run(
    name: str,
    target: Target,
    numbers: range,
    seed: int,
    found: Path,
    seconds: float = float("inf"),
    attempt: Attempt | None = None,
) -> Result:
    """Try the inputs of these numbers, or until the time is up; what is not handled goes into the folder `found`."""
    result, begin = Result(name), time.monotonic()
    signal.signal(signal.SIGPROF, _stop)
    _limit_memory()
    warnings.simplefilter("ignore")
    for number in numbers:
        result.seconds = round(time.monotonic() - begin, 1)
        if result.seconds > seconds:
            break
        content = target.make(random.Random(f"{name} {seed} {number}"))
        result.inputs += 1
        if attempt:
            attempt.note(result, content)
        _try(target, content, result, found)
    result.seconds = round(time.monotonic() - begin, 1)
    result.peak_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    result.slowest = round(result.slowest, 3)
    return result


def _try(target: Target, content: bytes, result: Result, found: Path) -> None:
    begin = time.process_time()
    faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        target.use(content)
    except (TopictureError, *target.allowed) as error:
        result.refused += 1
        if "\n" in str(error):
            keep(result, found, content, f"a message of several lines: {type(error).__name__}")
    except (Exception, _Hang) as error:
        keep(result, found, content, f"{type(error).__name__}: {_place(error)}: {str(error)[:100]}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    result.slowest = max(result.slowest, time.process_time() - begin)


def keep(result: Result, found: Path, content: bytes, what: str) -> None:
    """Note what happened and put the input into the folder; once for each place in the code."""
    place = what.rsplit(": ", 1)[0]
    if any(known.startswith(place) for known in result.uncaught):
        return
    found.mkdir(parents=True, exist_ok=True)
    path = found / f"{result.target}-{hashlib.sha256(content).hexdigest()[:12]}"
    path.write_bytes(content)
    result.uncaught[what] = str(path)


def _place(error: BaseException) -> str:
    """The innermost line of ours, and the innermost of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "topicture" in frame.filename] or frames
    return ", ".join(dict.fromkeys(f"{Path(f.filename).name}:{f.lineno}" for f in (ours[-1], frames[-1])))


def _stop(signum: int, frame: Any) -> None:
    raise _Hang


def _limit_memory() -> None:
    """So much more than what the libraries have taken up to now: of address space, which allocation counts by."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    taken = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))
