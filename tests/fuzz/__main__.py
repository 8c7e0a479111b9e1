"""Fuzz: `python -m fuzz --inputs 100000 [TARGET ...]`; prints a line of JSON for each target, code 1 if one failed."""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz.harness import Attempt, Result, keep, run

CORPUS = Path(__file__).parent / "corpus"
PHOTOS = ("xmp", "sidecar", "merge", "iptc", "jpeg", "png", "tiff", "webp", "gif", "avif", "picture")
FILES = ("coco", "labelme", "voc", "cvat", "csv-long", "csv-wide", "jsonl", "arff", "arff-dense", "query")
STORED = ("model", "papers", "index", "catalog")
TARGETS = (*PHOTOS, *FILES, *STORED)
PROGRAM = (sys.executable, "-m", "fuzz")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs per target")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time per target at most")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other inputs")
    parser.add_argument(
        "--found", type=Path, default=Path("fuzz-found"), help="folder for what was not handled"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the inputs of a target")
    parser.add_argument("--replay", type=Path, help="use this one file as the input")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)  # in this process: every so-manieth input
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.targets or TARGETS
    if unknown := set(names) - set(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.replay:
        with _scratch() as folder:
            return target_of(names[0], Path(folder)).use(options.replay.read_bytes())
    if options.job is not None:
        return _job(names[0], options)
    options.found = options.found.resolve()
    failed = [name for name in names if not _in_processes(name, options)]
    sys.exit(1 if failed else 0)


def _scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def _in_processes(name: str, options: argparse.Namespace) -> bool:
    """Fuzz a target in processes of its own, so that it has its own peak of memory; prints the figures of all."""
    total = Result(name)
    with _scratch() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda job: _watched(name, job, Path(folder), options), range(options.jobs)):
            total.join(result)
    print(json.dumps(total.as_dict()), flush=True)
    return not total.uncaught


def _watched(name: str, job: int, folder: Path, options: argparse.Namespace) -> Result:
    """One job; an input that ends its process is kept, and another process goes on behind it."""
    total = Result(name)
    while True:
        scratch = Path(tempfile.mkdtemp(dir=folder))
        limits = [f"--{name}={getattr(options, name)}" for name in ("inputs", "seed", "found", "jobs")]
        limits.append(f"--seconds={options.seconds - total.seconds}")
        place = [f"--job={job}", f"--first={job + total.inputs * options.jobs}", f"--scratch={scratch}"]
        one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS")}
        done = subprocess.run(
            [*PROGRAM, name, *limits, *place],
            env={**os.environ, **one_thread},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            total.join(Result(**json.loads(done.stdout)))
            return total
        tried = Attempt(scratch / "attempt").read()
        if tried is None:
            sys.exit(f"{name}: it can't be started")
        result, content = tried
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        keep(result, options.found, content, f"the process ended: {ended}")
        seconds = total.seconds + result.seconds
        total.join(result)
        total.seconds = seconds


def _job(name: str, options: argparse.Namespace) -> None:
    scratch = options.scratch / "work"
    scratch.mkdir()
    os.chdir(scratch)
    target = target_of(name, scratch)
    with contextlib.suppress(Exception):  # what it starts from is made before the limits
        target.use(target.make(random.Random(0)))
    numbers = range(options.first, options.inputs, options.jobs)
    attempt = Attempt(options.scratch / "attempt")
    result = run(name, target, numbers, options.seed, options.found, options.seconds, attempt)
    print(json.dumps(result.as_dict()), flush=True)


def target_of(name: str, scratch: Path):
    """The target of a name; only its own module is imported."""
    from importlib import import_module

    module = "photos" if name in PHOTOS else "annotations" if name in FILES else "stored"
    return import_module(f"fuzz.{module}").targets(CORPUS, scratch)[name]


if __name__ == "__main__":
    main()
