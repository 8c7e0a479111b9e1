"""The findings of Blei & Jordan 2003 on real data, in one report.

    python -m topicture_experiments.blei2003.report --data DIR --out docs/results

Held-out likelihood and caption perplexity against K, retrieval by text, the words of regions, and what becomes of it
without near copies (`work.py`). Everything is repeated from several starts; figures are means with standard errors
over them. What was measured is kept beside the report as blei2003.json; a stopped run goes on from there unless --redo
is given.

The quick form has a third of the pictures, few numbers of topics, short fits and one start.
"""

from collections.abc import Iterable
from datetime import date
from functools import partial
from typing import Any

from topicture.errors import TopictureError
from topicture_experiments.blei2003.page import write_figures, write_page
from topicture_experiments.blei2003.work import FULL, QUICK, Unit, assembled, do, facts, prepare, units
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread

__all__ = ["main", "run"]


def run(options: Options, tell: Tell) -> None:
    """Fit what is missing and write the page; see `running`."""
    plan = QUICK if options.quick else FULL
    empty = {"plan": plan._asdict(), "date": date.today().isoformat(), "facts": {}, "found": {}}
    evidence = Evidence.open("blei2003", options, empty, ("corel5k", "msrc_v2"))
    wanted = units(plan)
    missing = [unit for unit in wanted if unit.key not in evidence.found]
    n_done = len(wanted) - len(missing)
    if missing:
        tell("measuring the pictures", 0, 0)
        place = prepare(options.kept / "blei2003-data", options.data, str(options.kept), quick=options.quick)
        evidence.values["facts"] = facts(place)
        work = partial(do, place, plan.settings)
        for unit, row in spread(work, missing, options.jobs, options.limit_seconds):
            evidence.keep({unit.key: row})
            n_done += 1
            tell(f"{unit.key}: {_brief(unit, row)}", n_done, len(wanted))
    if n_done < len(wanted):
        raise TopictureError("the time was up before everything was done; the same command goes on from here")
    found = assembled(evidence.values)
    write_figures(found, options.out)
    write_page(found, options.out)


def _brief(unit: Unit, row: dict[str, Any]) -> str:
    if unit.part == "retrieval":
        return f"mean average precision {row['scores']['1']:.3f}"
    return f"perplexity {row['perplexity']:.1f}"


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    command("blei2003", __doc__, run, arguments)


if __name__ == "__main__":
    main()
