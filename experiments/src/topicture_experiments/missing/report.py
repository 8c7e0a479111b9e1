"""Promises in libraries as owners have them, and tags that were left out, in one report.

    python -m topicture_experiments.missing.report --data DIR --out docs/results

Corel-5k from pixels: tagged at random, whole folders tagged, personal tags, a second round after a bulk acceptance; and
tags removed, at random and in a biased way. What was measured is kept beside the report as missing.json; a stopped run
goes on from there unless --redo is given. With a limit of 0 seconds the page is written from what was measured.

The quick form has one draw and one model.
"""

from collections.abc import Iterable
from datetime import date
from functools import partial

from topicture.errors import TopictureError
from topicture_experiments.missing.page import write_page
from topicture_experiments.missing.work import SEED, Task, do
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread

__all__ = ["main", "run", "tasks"]

LEFT_OUT = ("random 40%", "random 20%", "biased 40%", "biased 20%")
MODELS = ("knn", "ridge")
FIRST_DRAW = 10  # constants were chosen on draws 0 to 5
# First draws of what was mended after a look at earlier ones.
LATER = {"personal": 90, "folders": 70, **dict.fromkeys(LEFT_OUT, 140)}
# So many that small gains are told from chance, and that what differs most from draw to draw evens out.
N_DRAWS = {"one tag": 10, "personal": 20, "folders": 10, "second round": 10, "random": 10} | dict.fromkeys(
    LEFT_OUT, 12
)
SLOW = ("folders", "second round", "random")
N_DRAWS_OF_BLENDS = {**N_DRAWS, "one tag": 0, **dict.fromkeys(SLOW, 5)}  # one tag is not for a blend to tell


def tasks(quick: bool) -> list[Task]:
    """What is measured, draw by draw, so that a stopped run has some of everything."""
    models = MODELS[:1] if quick else MODELS
    found: list[Task] = []
    for number in range(1 if quick else max(N_DRAWS.values())):
        kinds = [kind for kind, n_draws in N_DRAWS.items() if number < n_draws]
        found += [_task(kind, number, model) for model in models for kind in kinds if kind not in LEFT_OUT]
        found += [_task(kind, number, "ridge") for kind in kinds if kind in LEFT_OUT]
    found += [_task("ranking", 0, model) for model in models]
    if quick:
        return found
    for number in range(max(N_DRAWS_OF_BLENDS.values())):  # a blend takes far longer
        found += [_task(kind, number, "auto") for kind, n in N_DRAWS_OF_BLENDS.items() if number < n]
    return found


def _task(kind: str, number: int, model: str) -> Task:
    return Task(kind, LATER.get(kind, FIRST_DRAW) + number, model)


def run(options: Options, tell: Tell) -> None:
    """Measure what is missing and write the page; see `running`."""
    wanted = tasks(options.quick)
    empty = {
        "plan": [task.key for task in wanted],
        "date": date.today().isoformat(),
        "seed": SEED,
        "found": {},
    }
    evidence = Evidence.open("missing", options, empty, ("corel5k",))
    missing = [task for task in wanted if task.key not in evidence.found]
    n_done = len(wanted) - len(missing)
    if options.limit_seconds > 0:
        work = partial(do, options.data, str(options.kept))
        for task, result in spread(work, missing, options.jobs, options.limit_seconds):
            evidence.keep({task.key: result})
            n_done += 1
            tell(f"{task.key}: {result['seconds']:.0f} s", n_done, len(wanted))
    if evidence.found:
        write_page(evidence.values, options.out)
    if n_done < len(wanted):
        raise TopictureError("not everything is measured; the same command goes on from here")


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    command("missing", __doc__ or "", run, arguments)


if __name__ == "__main__":
    main()
