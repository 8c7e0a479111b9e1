"""What `auto` reaches beside what people use instead, in one report.

    python -m topicture.experiments.auto_report --data DIR --out docs/results

The Corel subsets with the large part tagged (the usual split) and with the small part tagged, and Corel-5k from pixels.
What was measured is kept beside the report as auto.json after every part, so a run that was stopped goes on where it
was, and used again unless --redo is given.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from topicture.atomic import write_atomically
from topicture.errors import TopictureError
from topicture.experiments.auto_page import write_page
from topicture.experiments.auto_work import PARTS, SEED, from_pixels, subset_run, versions

__all__ = ["gather", "main"]

SUBSETS = tuple(range(1, 8))


def gather(
    found: Path, data: str | None, cache: str | None, *, subsets: Iterable[int], pixels: bool, redo: bool
) -> dict[str, Any]:
    """Measure what is missing in the file, part after part, and return everything."""
    evidence: dict[str, Any] = {"runs": [], "pixels": None}
    if found.exists() and not redo:
        evidence = json.loads(found.read_text(encoding="utf-8"))
    done = {(run["subset"], run["protocol"]) for run in evidence["runs"]}
    for subset in subsets:
        for protocol in PARTS:
            if (subset, protocol) not in done:
                evidence["runs"].append(subset_run(subset, protocol, data, _say))
                _keep(found, evidence)
    if pixels and evidence["pixels"] is None:
        evidence["pixels"] = from_pixels(data, cache, _say)
        _keep(found, evidence)
    return evidence


def _keep(found: Path, evidence: dict[str, Any]) -> None:
    evidence |= {"date": date.today().isoformat(), "versions": versions(), "seed": SEED}
    write_atomically(found, json.dumps(evidence, indent=1).encode())


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m topicture.experiments.auto_report", description=__doc__)
    parser.add_argument("--data", help="folder of the benchmark sets (default: TOPICTURE_DATA)")
    parser.add_argument("--cache", help="folder that keeps what was measured on the pictures")
    parser.add_argument("--out", default="docs/results", type=Path, help="folder of the report")
    parser.add_argument("--quick", action="store_true", help="one subset, no pictures")
    parser.add_argument("--subsets", type=int, nargs="+", default=SUBSETS, help="which subsets")
    parser.add_argument("--no-pixels", action="store_true", help="leave Corel-5k out")
    parser.add_argument("--redo", action="store_true", help="measure again")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    try:
        chosen.out.mkdir(parents=True, exist_ok=True)
        evidence = gather(
            chosen.out / "auto.json",
            chosen.data,
            chosen.cache,
            subsets=(1,) if chosen.quick else chosen.subsets,
            pixels=not (chosen.quick or chosen.no_pixels),
            redo=chosen.redo,
        )
        print(write_page(evidence, chosen.out))
    except TopictureError as error:
        sys.exit(f"auto: {error}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
