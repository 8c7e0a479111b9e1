"""The findings of Yang et al. 2010 on real data, in one report.

    python -m topicture_experiments.yang2010.report --data DIR --out docs/results

Five-fold cross-validation on Corel-5k and MSRC v2 from pixels (`data.py`): top-k accuracy of images, against the
number of tags and of training images (the paper's Figure 2), and top-k accuracy of regions with and without captions
(Figure 3), of Corr-LDA, DBA, EMM by likelihood and EMM by max-margin, with word frequency as floor. What was measured
is kept beside the report as yang2010.json; a stopped run goes on from there unless --redo is given. With a limit of 0
seconds the page is written from what was measured.

The quick form has one fold of short fits on MSRC v2 alone.
"""

import math
from collections.abc import Iterable
from datetime import date
from functools import partial
from typing import Any

from topicture.errors import TopictureError
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread
from topicture_experiments.yang2010.data import PREPARED, PROBLEMS, Problem, load_problem, prepare
from topicture_experiments.yang2010.page import write_figures, write_page
from topicture_experiments.yang2010.run import COMPARED, Job, Settings, do, plan

__all__ = ["main", "run"]

QUICK_PROBLEMS = tuple(name for name in PROBLEMS if name.startswith("msrc"))
QUICK: Settings = {title: {"max_iter": 5, "n_topics": 20} for title in COMPARED}


def run(options: Options, tell: Tell) -> None:
    """Fit what is missing and write the page; see `running`."""
    empty = {
        "plan": {"problems": QUICK_PROBLEMS if options.quick else PROBLEMS, "quick": options.quick},
        "date": date.today().isoformat(),
        "problems": {},
        "found": {},
    }
    evidence = Evidence.open("yang2010", options, empty, ("corel5k", "msrc_v2"))
    if options.limit_seconds > 0 and not _complete(evidence):
        _gather(evidence, options, tell)
    write_figures(evidence.values, options.out)
    write_page(evidence.values, options.out)
    if not _complete(evidence):
        raise TopictureError("not all fits are done; the same command goes on from here")


def _complete(evidence: Evidence) -> bool:
    """Whether nothing is left to do; then the pictures need not be looked at."""
    return len(evidence.found) >= evidence.values.get("n_jobs", math.inf)


def _gather(evidence: Evidence, options: Options, tell: Tell) -> None:
    """Do the jobs that are missing, as far as the time suffices."""
    files = prepare(
        options.kept / PREPARED,
        options.data,
        str(options.kept),
        names=evidence.values["plan"]["problems"],
        say=lambda line: tell(line, 0, 0),
    )
    problems = {name: load_problem(path) for name, path in files.items()}
    evidence.values["problems"] = {name: _facts(problem) for name, problem in problems.items()}
    jobs = _jobs({name: problem.corpus.n_words for name, problem in problems.items()}, options.quick)
    evidence.values["n_jobs"] = len(jobs)
    missing = [job for job in jobs if job.key not in evidence.found]
    n_done = len(jobs) - len(missing)
    work = partial(do, files, QUICK if options.quick else None)
    for job, result in spread(work, missing, options.jobs, options.limit_seconds):
        evidence.keep({job.key: result})
        n_done += 1
        tell(f"{job.key}: top-5 {result['f1'][4]:.4f}, {result['seconds']} s", n_done, len(jobs))


def _jobs(sizes: dict[str, int], quick: bool) -> list[Job]:
    if quick:
        return plan(
            sizes, sweeps=list(sizes), n_folds=1, word_shares=(0.5,), image_shares=(0.25,), variants=False
        )
    return plan(sizes, sweeps=PROBLEMS)


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
    command("yang2010", __doc__, run, arguments)


if __name__ == "__main__":
    main()
