"""Fuzz: `python -m fuzz --inputs 100000 [TARGET ...]`; prints a line of JSON for each target, code 1 if one failed."""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
PHOTOS = ("xmp", "sidecar", "merge", "iptc", "jpeg", "png", "tiff", "webp", "picture")
FILES = ("coco", "labelme", "voc", "cvat", "csv-long", "csv-wide", "jsonl", "arff", "arff-dense", "query")
STORED = ("model", "index", "catalog")
TARGETS = (*PHOTOS, *FILES, *STORED)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs per target")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time per target at most")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other inputs")
    parser.add_argument(
        "--found", type=Path, default=Path("fuzz-found"), help="folder for what was not handled"
    )
    parser.add_argument("--replay", type=Path, help="use this one file as the input")
    parser.add_argument("--here", action="store_true", help="in this process; one target only")
    options = parser.parse_args()
    names = options.targets or TARGETS
    if unknown := set(names) - set(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.here or options.replay:
        return _fuzz(names[0], options)
    limits = [f"--{name}={getattr(options, name)}" for name in ("inputs", "seconds", "seed", "found")]
    failed = [name for name in names if _in_process(name, limits)]  # so that each has its own peak of memory
    sys.exit(1 if failed else 0)


def _in_process(name: str, limits: list[str]) -> int:
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS")}
    command = [sys.executable, "-m", "fuzz", name, "--here", *limits]
    return subprocess.run(command, env={**os.environ, **one_thread}, check=False).returncode


def _fuzz(name: str, options: argparse.Namespace) -> None:
    from fuzz.harness import run

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        target = target_of(name, Path(folder))
        if options.replay:
            return target.use(options.replay.read_bytes())
        found = options.found.resolve()
        os.chdir(folder)
        with contextlib.suppress(Exception):  # what it starts from is made before the limits
            target.use(target.make(random.Random(0)))
        result = run(name, target, options.inputs, options.seed, found, options.seconds)
    print(json.dumps(result.as_dict()), flush=True)
    sys.exit(1 if result.uncaught else 0)


def target_of(name: str, scratch: Path):
    """The target of a name; only its own module is imported."""
    from importlib import import_module

    module = "photos" if name in PHOTOS else "annotations" if name in FILES else "stored"
    return import_module(f"fuzz.{module}").targets(CORPUS, scratch)[name]


if __name__ == "__main__":
    main()
