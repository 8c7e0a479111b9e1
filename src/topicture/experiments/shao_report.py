"""The experiment of Shao et al. 2009 and 2010 on the Corel subsets, in one report.

    python -m topicture.experiments.shao_report --data DIR --out docs/results

First the hyper-parameters of every model are chosen on every subset by cross-validation within its tagged images
(`shao_choice`), then every model learns with every number of topics, and annotates the hidden images. Beside that,
several ways out of poor local optima are compared. What was measured is kept beside the report as shao.json after every
piece of work; a run that was stopped goes on from there, and --redo begins anew. The page shows the numbers of topics
that are finished.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax

from topicture.atomic import write_atomically
from topicture.errors import TopictureError
from topicture.experiments.shao_page import finished_topics, write_figures, write_page
from topicture.experiments.shao_work import FULL, QUICK, Plan, Unit, choices, do, fits, optima

__all__ = ["gather", "main"]

Say = Callable[[str], None]
# One thread a process: the work is spread over processes. Set before JAX starts in them.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def gather(
    plan: Plan,
    found: dict[str, Any],
    *,
    data: str | None = None,
    jobs: int = 1,
    limit: float = float("inf"),
    keep: Callable[[], None] = lambda: None,
    say: Say = lambda line: None,
) -> bool:
    """Do what is missing in `found` (key -> result), phase after phase; True when all of it is done.

    `keep` is called whenever something was added; no work begins after `limit` seconds.
    """
    end = time.monotonic() + limit
    for phase in (choices, fits):
        units = [unit for unit in phase(plan, found) if not unit.result_keys() <= found.keys()]
        for unit, results in _done(units, data, jobs, end):
            found.update(results)
            keep()
            say(f"{unit}: {_brief(results)}")
        if any(not unit.result_keys() <= found.keys() for unit in units):
            return False
    return True


# Every number of topics is compiled anew; some hundred programs take more memory mappings than Linux gives a process.
UNITS_A_PROCESS = 24


def _done(
    units: Sequence[Unit], data: str | None, jobs: int, end: float
) -> Iterator[tuple[Unit, dict[str, Any]]]:
    """The results of the units, in the order in which they end; those begun in time."""
    if jobs == 1:
        for n_done, unit in enumerate(units, start=1):
            if time.monotonic() > end:
                return
            yield unit, do(unit, data)
            if n_done % UNITS_A_PROCESS == 0:
                jax.clear_caches()
        return
    waiting, running = list(reversed(units)), dict[Future[dict[str, Any]], Unit]()
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), max_tasks_per_child=UNITS_A_PROCESS
    ) as pool:
        while waiting or running:
            while waiting and len(running) < jobs and time.monotonic() < end:
                unit = waiting.pop()
                running[pool.submit(do, unit, data)] = unit
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def _brief(results: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{key.split('/')[0]} {result['accuracy']:.4f}" for key, result in results.items() if result
    )


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m topicture.experiments.shao_report", description=__doc__)
    parser.add_argument("--data", help="folder of the benchmark sets (default: TOPICTURE_DATA)")
    parser.add_argument("--out", default="docs/results", type=Path, help="folder of the report")
    parser.add_argument("--quick", action="store_true", help="one subset, few topics, smaller grids")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--limit-seconds", type=float, default=float("inf"), help="begin no work after that")
    parser.add_argument("--redo", action="store_true", help="measure again")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    plan, path = QUICK if chosen.quick else FULL, chosen.out / "shao.json"
    try:
        evidence: dict[str, Any] = {"date": date.today().isoformat(), "plan": plan.as_dict(), "found": {}}
        if path.exists() and not chosen.redo:
            evidence = json.loads(path.read_text(encoding="utf-8"))
            if evidence["plan"] != plan.as_dict():
                raise TopictureError(f"{path} was made by another plan; --redo measures again")
        os.environ.update(ONE_THREAD)
        complete = gather(
            plan,
            evidence["found"],
            data=chosen.data,
            jobs=chosen.jobs,
            limit=chosen.limit_seconds,
            keep=lambda: write_atomically(path, json.dumps(evidence).encode()),
            say=_say,
        )
        if complete or _enough(evidence):
            write_figures(evidence, chosen.out)
            print(write_page(evidence, chosen.out))
        if not complete:
            sys.exit("shao: the time was up before everything was done; the same command goes on from here")
    except TopictureError as error:
        sys.exit(f"shao: {error}")


def _enough(evidence: dict[str, Any]) -> bool:
    """Whether a page may be written although some numbers of topics are missing."""
    if not finished_topics(evidence):
        return False
    found = evidence["found"]
    return all(unit.result_keys() <= found.keys() for unit in optima(Plan(**evidence["plan"]), found))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
