"""What each descriptor buys: the same simple annotator on every descriptor, on pictures that people have labelled.

python -m topicture_experiments.descriptors.main --data DIR --out docs/results/descriptors.md

The data is not part of Topicture (see `corpus.datasets`). With --cache nothing is measured twice; the first run
measures 5,000 small pictures in several ways, some tens of minutes.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from topicture.corpus.datasets import corel5k, msrc_v2
from topicture.errors import TopictureError
from topicture.models.registry import make_annotator
from topicture_experiments.descriptors.images import COREL, Models, compare_on_corel
from topicture_experiments.descriptors.regions import MSRC_REGIONS, compare_on_msrc
from topicture_experiments.descriptors.report import markdown

__all__ = ["COREL", "MSRC_REGIONS", "compare_on_corel", "compare_on_msrc", "main", "markdown", "run"]

SEED = 0
COMMAND = "python -m topicture_experiments.descriptors.main --data DIR{quick} --out {out}"


def run(
    data: Path | None, *, quick: bool = False, cache: Path | None = None, workers: int = 2, command: str = ""
) -> str:
    """Both comparisons as a Markdown page; `quick` takes an eighth of the pictures and few iterations.

    Raises
    ------
    DataNotFound
        If the folder `data`, or a set in it, is not there.
    """
    corel, msrc = corel5k("evaluation", data), msrc_v2(data)
    if quick:
        corel = replace(corel, train=corel.train[::8], test=corel.test[::8])
        msrc = replace(msrc, train=msrc.train[::8], test=msrc.test[::8])
    corel_topics, msrc_topics, n_iterations = ((20,), (20,), 10) if quick else ((100,), (50, 100), 60)
    settings: dict[str, Any] = {
        "cache": cache,
        "workers": workers,
        "seed": SEED,
        "say": partial(print, file=sys.stderr, flush=True),
    }
    facts = [
        f"Corel-5k: {len(corel.train)} training and {len(corel.test)} test images, five pixels cut off every side.",
        f"MSRC v2: {len(msrc.train)} and {len(msrc.test)} images, {len(msrc.vocabulary)} classes.",
        f"Corr-LDA: at most {n_iterations} iterations, one start. Seed {SEED} everywhere.",
    ]
    regions = compare_on_msrc(msrc, models=_corr_lda(msrc_topics, n_iterations), **settings)
    images = compare_on_corel(corel, models=_corr_lda(corel_topics, n_iterations), **settings)
    return markdown(images, regions, command=command, facts=facts)


def _corr_lda(topics: Sequence[int], n_iterations: int) -> Models:
    """Makers of Corr-LDA, one for each number of topics."""
    return {
        f"Corr-LDA, {K} topics": partial(
            make_annotator, "corr-lda", n_topics=K, max_iter=n_iterations, seed=SEED
        )
        for K in topics
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m topicture_experiments.descriptors.main",
        description="Compare the descriptors of images and regions.",
    )
    parser.add_argument("--data", type=Path, help="folder of the benchmark data (default: $TOPICTURE_DATA)")
    parser.add_argument("--out", type=Path, required=True, help="Markdown file to write")
    parser.add_argument("--cache", type=Path, help="folder that keeps measurements between runs")
    parser.add_argument("--workers", type=int, default=2, help="processes that measure pictures (default: 2)")
    parser.add_argument("--quick", action="store_true", help="an eighth of the pictures, few iterations")
    given = parser.parse_args(arguments)
    command = COMMAND.format(quick=" --quick" if given.quick else "", out=_shown(given.out))
    try:
        page = run(given.data, quick=given.quick, cache=given.cache, workers=given.workers, command=command)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(page, encoding="utf-8")
    except (OSError, TopictureError) as error:
        print(f"descriptors: {error}", file=sys.stderr)
        return 1
    return 0


def _shown(path: Path) -> str:
    """A path as the page tells it: not where this machine keeps its folders."""
    return path.name if path.is_absolute() else path.as_posix()


if __name__ == "__main__":
    sys.exit(main())
