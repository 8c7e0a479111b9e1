"""The experiment of Shao et al. 2009 and 2010 on the Corel subsets, in one report.

    python -m topicture_experiments.shao.report --data DIR --out docs/results

First the hyper-parameters of every model are chosen on every subset by cross-validation within its tagged images
(`choice.py`), then every model learns with every number of topics, and annotates the hidden images. Beside that,
several ways out of poor local optima are compared. What was measured is kept beside the report as shao.json after every
piece of work; a run that was stopped goes on from there, and --redo begins anew. The page shows the numbers of topics
that are finished.
"""

import warnings
from collections.abc import Iterable, Mapping
from datetime import date
from functools import partial
from typing import Any

from topicture.errors import TopictureError
from topicture_experiments.shao.page import finished_topics, write_figures, write_page
from topicture_experiments.shao.work import FULL, QUICK, Plan, Unit, choices, do, fits, n_fits, optima
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread

__all__ = ["main", "run"]


def run(options: Options, tell: Tell) -> None:
    """Choose settings, fit with them, and write the page; see `running`."""
    plan = QUICK if options.quick else FULL
    empty = {"plan": plan.as_dict(), "date": date.today().isoformat(), "found": {}}
    evidence = Evidence.open("shao", options, empty, ("corel16k",))
    complete = _gather(plan, evidence, options, tell)
    if complete or _enough(plan, evidence):
        write_figures(evidence.values, options.out)
        write_page(evidence.values, options.out)
    if not complete:
        raise TopictureError("the time was up before everything was done; the same command goes on from here")


def _gather(plan: Plan, evidence: Evidence, options: Options, tell: Tell) -> bool:
    """Do what is missing, phase after phase (fits need the choices); True when all of it is done."""
    found, n_done = evidence.found, 0
    total = len(choices(plan, found)) + n_fits(plan)
    for phase in (choices, fits):
        units = phase(plan, found)
        missing = [unit for unit in units if not unit.result_keys() <= found.keys()]
        n_done += len(units) - len(missing)
        for unit, results in spread(partial(_do, options.data), missing, options.jobs, options.limit_seconds):
            evidence.keep(results)
            n_done += 1
            tell(f"{unit}: {_brief(results)}", n_done, total)
        if any(not unit.result_keys() <= found.keys() for unit in units):
            return False
    return True


def _do(data: str | None, unit: Unit) -> dict[str, Any]:
    return do(unit, data)


def _brief(results: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{key.split('/')[0]} {result['accuracy']:.4f}" for key, result in results.items() if result
    )


def _enough(plan: Plan, evidence: Evidence) -> bool:
    """Whether a page may be written although some numbers of topics are missing."""
    if not finished_topics(evidence.values):
        return False
    found = evidence.found
    return all(unit.result_keys() <= found.keys() for unit in optima(plan, found))


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    command("shao", __doc__, run, arguments)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
