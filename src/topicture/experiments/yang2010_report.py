"""The findings of Yang et al. 2010 on real data, in one report.

    python -m topicture.experiments.yang2010_report --data DIR --out docs/results

Five-fold cross-validation on Corel-5k and MSRC v2 from pixels (yang2010_data): top-k accuracy of images, against the
number of tags and of training images (the paper's Figure 2), and top-k accuracy of regions with and without captions
(Figure 3), of Corr-LDA, DBA, EMM by likelihood and EMM by max-margin, with word frequency as floor. What was measured
is kept beside the report as yang2010.json; a stopped run goes on from there unless --redo is given.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from topicture.errors import TopictureError
from topicture.experiments.yang2010_data import PROBLEMS, Problem, load_problem, prepare
from topicture.experiments.yang2010_page import write_figures, write_page
from topicture.experiments.yang2010_run import COMPARED, Job, Settings, plan, run_jobs

__all__ = ["main"]

QUICK: Settings = {title: {"max_iter": 3, "n_topics": 10} for title in COMPARED}


def gather(
    evidence: dict[str, Any],
    files: dict[str, Path],
    *,
    quick: bool,
    n_processes: int,
    limit_seconds: float | None,
    found: Path,
) -> None:
    """Do the jobs that `evidence` lacks; it is written to the file `found` after each."""
    problems = {name: load_problem(path) for name, path in files.items()}
    evidence["problems"] = {name: _facts(problem) for name, problem in problems.items()}
    sizes = {name: problem.corpus.n_words for name, problem in problems.items()}
    jobs = plan(sizes, n_folds=1, variants=False) if quick else plan(sizes, sweeps=PROBLEMS)
    evidence["n_jobs"] = len(jobs)

    def keep(job: Job, result: dict[str, Any]) -> None:
        done = sum(job.key in evidence["found"] for job in jobs)
        _say(f"{done}/{len(jobs)} {job.key}: top-5 {result['f1'][4]:.4f}, {result['seconds']} s")
        _write(found, evidence)

    finished = run_jobs(
        files,
        jobs,
        evidence["found"],
        n_processes=n_processes,
        limit_seconds=limit_seconds,
        settings=QUICK if quick else None,
        on_result=keep,
    )
    if not finished:
        _say("stopped at the time limit; the same command goes on from here")


def _facts(problem: Problem) -> dict[str, Any]:
    corpus, labels = problem
    assert corpus.region_words is not None
    return {
        "images": len(corpus),
        "words": corpus.n_words,
        "words_per_image": float((corpus.captions > 0).sum() / len(corpus)),
        "regions": int(corpus.n_regions.sum()),
        "visual_words": corpus.n_visual_words,
        "tokens_per_region": float(corpus.region_words.sum() / corpus.n_regions.sum()),
        "features": corpus.n_features,
        "known_regions": None if labels is None else int((labels >= 0).sum()),
    }


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m topicture.experiments.yang2010_report", description=__doc__
    )
    parser.add_argument("--data", help="folder of the benchmark sets (default: TOPICTURE_DATA)")
    parser.add_argument("--cache", help="folder that keeps what was measured on the pictures")
    parser.add_argument(
        "--problems", type=Path, help="folder of the prepared data (default: OUT/yang2010-data)"
    )
    parser.add_argument("--out", default="docs/results", type=Path, help="folder of the report")
    parser.add_argument("--quick", action="store_true", help="one fold of short fits, for a first look")
    parser.add_argument("--jobs", default=1, type=int, help="processes")
    parser.add_argument("--limit-seconds", type=float, help="stop the fits after so long")
    parser.add_argument("--redo", action="store_true", help="measure again")
    parser.add_argument(
        "--page", action="store_true", help="only write page and figures from what was measured"
    )
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    found = chosen.out / "yang2010.json"
    try:
        evidence = _read(found) if found.exists() and not chosen.redo else _empty(chosen.quick)
        if evidence["quick"] != chosen.quick and not chosen.page:
            raise TopictureError(
                f"{found} holds another kind of run (quick or full); add --redo or another --out"
            )
        if not chosen.page:
            chosen.out.mkdir(parents=True, exist_ok=True)
            folder = chosen.problems or chosen.out / "yang2010-data"
            files = prepare(folder, chosen.data, chosen.cache, say=_say)
            gather(
                evidence,
                files,
                quick=chosen.quick,
                n_processes=chosen.jobs,
                limit_seconds=chosen.limit_seconds,
                found=found,
            )
            _write(found, evidence)
        write_figures(evidence, chosen.out)
        print(write_page(evidence, chosen.out))
    except TopictureError as error:
        sys.exit(f"yang2010: {error}")


def _empty(quick: bool) -> dict[str, Any]:
    return {"date": date.today().isoformat(), "quick": quick, "problems": {}, "found": {}}


def _read(path: Path) -> dict[str, Any]:
    try:
        evidence = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TopictureError(f"{path}: not a whole JSON file ({error}); add --redo") from None
    if not {"quick", "problems", "found"} <= set(evidence) or not set(evidence["problems"]) <= set(PROBLEMS):
        raise TopictureError(f"{path}: not the evidence of this report; add --redo")
    return evidence


def _write(path: Path, evidence: dict[str, Any]) -> None:
    """Whole or not at all: a stopped run keeps what was there."""
    unfinished = path.with_suffix(".json.tmp")
    unfinished.write_text(json.dumps(evidence, default=float), encoding="utf-8")
    os.replace(unfinished, path)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
