"""What all reports share: their options, work spread over processes, and what a stopped run goes on from."""

import argparse
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from importlib import metadata
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from topicture.atomic import write_atomically
from topicture.corpus.datasets import data_folder
from topicture.errors import TopictureError
from topicture.models.interrupts import all_or_nothing
from topicture.vision.workers import Failure, run_isolated

__all__ = ["Evidence", "Options", "Tell", "command", "measured", "spread"]

Task = TypeVar("Task")
Result = TypeVar("Result")

Tell = Callable[[str, int, int], None]
"""Told what was just done, how much is done now, and of how much."""

# One thread per process: the work is spread over processes, and JAX reads this when it starts in them.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
# Every number of topics is compiled anew; some hundred programs take more memory mappings than Linux gives a process.
_TASKS_A_PROCESS = 24
_NO_LIMIT = 30 * 86_400.0  # seconds that a task may take: a fit takes as long as it takes
_VERSIONS = ("topicture", "jax", "numpy", "scipy")  # that figures may depend on


class Options(NamedTuple):
    """How to run a report: the same for all of them."""

    out: Path
    data: str | None = None  # folder of the benchmark sets, or None for the one that TOPICTURE_DATA names
    cache: str | None = None  # folder that keeps what was measured on the pictures; None: a folder in `out`
    quick: bool = False
    jobs: int = 1
    limit_seconds: float = math.inf
    redo: bool = False

    @property
    def kept(self) -> Path:
        """Where measurements of the pictures stay."""
        return Path(self.cache) if self.cache else self.out / "cache"


def command(
    report: str, doc: str, run: Callable[[Options, Tell], None], arguments: Iterable[str] | None
) -> None:
    """Run a report as `python -m topicture_experiments.<report>.report`; problems are one line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m topicture_experiments.{report}.report", description=doc.partition("\n")[0]
    )
    parser.add_argument("--data", help="folder of the benchmark sets (default: TOPICTURE_DATA)")
    parser.add_argument("--cache", help="folder that keeps what was measured on the pictures")
    parser.add_argument("--out", default="docs/results", type=Path, help="folder of the report")
    parser.add_argument("--quick", action="store_true", help="a small form, for a first look")
    parser.add_argument("--jobs", default=1, type=int, help="processes, of one thread each")
    parser.add_argument("--limit-seconds", default=math.inf, type=float, help="begin no work after so long")
    parser.add_argument("--redo", action="store_true", help="measure again")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    chosen.out.mkdir(parents=True, exist_ok=True)
    try:
        run(Options(**vars(chosen)), _print)
        print(chosen.out / f"{report}.md")
    except TopictureError as error:
        sys.exit(f"{report}: {error}")


def _print(line: str, done: int, total: int) -> None:
    print(f"{done}/{total} {line}" if total else line, file=sys.stderr, flush=True)


# --- Work over processes ------------------------------------------------------------------------------------------


def spread(
    do: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, limit_seconds: float = math.inf
) -> Iterator[tuple[Task, Result]]:
    """Tasks with their results, in the order in which they end; none is begun after `limit_seconds`."""
    end = monotonic() + limit_seconds
    if jobs == 1 or len(tasks) < 2:
        yield from _one_by_one(do, tasks, end)
        return
    timely = takewhile(lambda _: monotonic() < end, tasks)
    done = run_isolated(
        do,
        timely,
        min(jobs, len(tasks)),
        _NO_LIMIT,
        environment=_ONE_THREAD,
        memory=None,
        folder=os.getcwd(),
        tasks_per_worker=_TASKS_A_PROCESS,
        ahead=1,
    )
    for number, result in done:
        if isinstance(result, Failure):
            raise TopictureError(f"{tasks[number]}: {result.reason}; one process (--jobs 1) shows where")
        yield tasks[number], result


def _one_by_one(
    do: Callable[[Task], Result], tasks: Sequence[Task], end: float
) -> Iterator[tuple[Task, Result]]:
    import jax  # reports that have nothing to do need not start it

    for n_done, task in enumerate(tasks, start=1):
        if monotonic() >= end:
            return
        yield task, _whole(do, task)
        if n_done % _TASKS_A_PROCESS == 0:
            jax.clear_caches()


@all_or_nothing()
def _whole(do: Callable[[Task], Result], task: Task) -> Result:
    """The result; an interrupt ends the work, so that nothing half learned is measured."""
    return do(task)


# --- What was measured --------------------------------------------------------------------------------------------


class Evidence:
    """A JSON file of results beside the report; it goes with one plan and one content of the data."""

    def __init__(self, path: Path, values: dict[str, Any]):
        self.path = path
        self.values = values

    @classmethod
    def open(
        cls, report: str, options: Options, empty: dict[str, Any], folders: Sequence[str] = ()
    ) -> "Evidence":
        """What an earlier run has measured with the same plan on the same data, or `empty`.

        `empty` has "plan" and "found"; `folders` are the benchmark sets that the report looks at. Raises TopictureError
        where the file is damaged or belongs to another plan or other data: what took hours is not thrown away unasked.
        """
        path = options.out / f"{report}.json"
        content = _content(options.data, tuple(folders))
        plan = json.loads(json.dumps(empty["plan"]))
        if options.redo or not path.exists():
            return cls(path, {**deepcopy(empty), "plan": plan, "content": content, "quick": options.quick})
        values = _read(path)
        if not set(empty) <= set(values):
            raise TopictureError(f"{path}: not the evidence of this report; --redo measures again")
        if values["plan"] != plan:
            raise TopictureError(
                f"{path} was made by another plan (--quick or full); --redo measures again, --out elsewhere"
            )
        if content and values.get("content") not in (None, content):
            raise TopictureError(f"{path} was measured on other data; --redo measures again")
        values["content"] = values.get("content") or content
        return cls(path, values)

    @property
    def found(self) -> dict[str, Any]:
        """Key of a task -> its result."""
        return self.values["found"]

    def keep(self, results: Mapping[str, Any] | None = None) -> None:
        """Add results and write the file, whole or not at all."""
        self.found.update(results or {})
        seen = self.values.setdefault("versions", {})
        for name in _VERSIONS:
            seen[name] = sorted({*seen.get(name, []), metadata.version(name)})
        write_atomically(self.path, json.dumps(self.values, default=float, separators=(",", ":")).encode())


def measured(evidence: Mapping[str, Any]) -> str:
    """When and with what: the first words of a page."""
    versions = ", ".join(
        f"{name} {' and '.join(seen)}" for name, seen in sorted(evidence.get("versions", {}).items())
    )
    form = " in the quick form, whose figures are not those of the full one," if evidence.get("quick") else ""
    return f"measured{form} on {evidence['date']}" + (f" with {versions}" if versions else "")


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TopictureError(f"{path}: not a whole JSON file ({error}); --redo measures again") from None
    return values if isinstance(values, dict) else {}


@lru_cache
def _content(data: str | None, folders: tuple[str, ...]) -> str | None:
    """Hash of all files of the sets; None where they are not to be found (pages can be written without them)."""
    try:
        parts = [data_folder(data) / name for name in folders]
    except TopictureError:
        return None
    if not all(part.is_dir() for part in parts):
        return None
    total = hashlib.sha256()
    for path in (path for part in parts for path in sorted(part.rglob("*")) if path.is_file()):
        with path.open("rb") as file:
            total.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
