"""Which word belongs to which part of a photo, learned from captions alone: every region model on MSRC v2.

    python -m topicture_experiments.regions.report --data DIR --out docs/results

What was measured is kept beside the report as regions.json; a stopped run goes on from there unless --redo is given.
The quick form has a sixth of the images and few iterations.
"""

from collections.abc import Iterable
from datetime import date
from functools import partial

from topicture.errors import TopictureError
from topicture_experiments.regions.page import write_page
from topicture_experiments.regions.work import SEED, do, tasks
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread

__all__ = ["main", "run"]


def run(options: Options, tell: Tell) -> None:
    """Measure what is missing and write the page; see `running`."""
    wanted = tasks()
    empty = {
        "plan": [*sorted(task.key for task in wanted), "quick" if options.quick else "full"],
        "date": date.today().isoformat(),
        "seed": SEED,
        "found": {},
    }
    evidence = Evidence.open("regions", options, empty, ("msrc_v2",))
    missing = [task for task in wanted if task.key not in evidence.found]
    n_done = len(wanted) - len(missing)
    work = partial(do, options.data, str(options.kept), options.quick)
    if options.limit_seconds > 0:
        for task, result in spread(work, missing, options.jobs, options.limit_seconds):
            evidence.keep({task.key: result})
            n_done += 1
            tell(f"{task.key}: top 1 {result['top1_untold']:.3f}", n_done, len(wanted))
    if evidence.found:
        write_page(evidence.values, options.out)
    if n_done < len(wanted):
        raise TopictureError("not everything is measured; the same command goes on from here")


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    command("regions", __doc__ or "", run, arguments)


if __name__ == "__main__":
    main()
