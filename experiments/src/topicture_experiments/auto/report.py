"""What `auto` reaches beside what people use instead, in one report.

    python -m topicture_experiments.auto.report --data DIR --out docs/results

The Corel subsets with the large part tagged (the usual split) and with the small part tagged, and Corel-5k from pixels.
What was measured is kept beside the report as auto.json; a stopped run goes on from there unless --redo is given. With
a limit of 0 seconds the page is written from what was measured.

The quick form has one subset and no pictures.
"""

from collections.abc import Iterable
from datetime import date
from functools import partial
from typing import Any

from topicture.errors import TopictureError
from topicture_experiments.auto.page import write_page
from topicture_experiments.auto.work import PARTS, SEED, Task, from_pixels, subset_run
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread

__all__ = ["main", "run", "tasks"]

SUBSETS = tuple(range(1, 8))
QUICK_SUBSETS = (1,)


def tasks(quick: bool) -> list[Task]:
    """What is measured; the pictures, which take longest, first."""
    subsets = [
        Task(protocol, subset) for subset in (QUICK_SUBSETS if quick else SUBSETS) for protocol in PARTS
    ]
    return subsets if quick else [Task("pixels", None), *subsets]


def do(data: str | None, cache: str, task: Task) -> dict[str, Any]:
    """Measure one of them, as JSON values."""
    return from_pixels(data, cache) if task.subset is None else subset_run(task.subset, task.protocol, data)


def run(options: Options, tell: Tell) -> None:
    """Measure what is missing and write the page; see `running`."""
    wanted = tasks(options.quick)
    empty = {
        "plan": [task.key for task in wanted],
        "date": date.today().isoformat(),
        "seed": SEED,
        "found": {},
    }
    evidence = Evidence.open(
        "auto", options, empty, ("corel16k",) if options.quick else ("corel16k", "corel5k")
    )
    missing = [task for task in wanted if task.key not in evidence.found]
    n_done = len(wanted) - len(missing)
    work = partial(do, options.data, str(options.kept))
    if options.limit_seconds > 0:
        for task, result in spread(work, missing, options.jobs, options.limit_seconds):
            evidence.keep({task.key: result})
            n_done += 1
            tell(f"{task.key}: {result['result']}, {result['seconds']:.0f} s", n_done, len(wanted))
    if evidence.found:
        write_page(evidence.values, options.out)
    if n_done < len(wanted):
        raise TopictureError("not everything is measured; the same command goes on from here")


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    command("auto", __doc__ or "", run, arguments)


if __name__ == "__main__":
    main()
