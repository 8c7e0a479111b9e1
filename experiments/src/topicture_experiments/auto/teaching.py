"""How many labels a good order of questions saves, on Corel-5k with deep features.

    python -m topicture_experiments.auto.teaching --data DIR [--cache DIR] [--runs 4]

From 100 photos tagged at random, 100 more are asked for at a time, in each order; after every step NLSA learns from
the tagged ones and annotates the 499 test images. The test images choose nothing.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from topicture.annotations.teaching import LearningCurve, labels_needed, learning_curve
from topicture.corpus.datasets import corel5k
from topicture.models.registry import make_annotator
from topicture_experiments.descriptors.images import COREL, described

__all__ = ["ORDERS", "compare_orders", "main", "table"]

ORDERS = ("random", "uncertain", "teaching", "both")
MEASURES = {"mean_average_precision": "MAP", "accuracy": "accuracy"}
START, STEP, STOP = 100, 100, 1200


def compare_orders(
    data: Path | None,
    *,
    cache: Path | None = None,
    n_runs: int = 4,
    stop: int = STOP,
    say: Callable[[str], None] = lambda line: None,
) -> list[LearningCurve]:
    """Learning curves of every order, from the same random starts."""
    part = described(corel5k("evaluation", data), COREL["deep, lite0"], cache=cache)
    pool = part.train[np.flatnonzero(part.train.tagged)]
    curves = []
    for seed in range(n_runs):
        for order in ORDERS:
            curve = learning_curve(
                lambda: make_annotator("nlsa"),
                pool,
                part.test,
                order,
                start=START,
                step=STEP,
                stop=stop,
                seed=seed,
            )
            curves.append(curve)
            say(f"run {seed}, {order}: MAP {curve.points[-1].mean_average_precision:.3f} at {stop} photos")
    return curves


def table(curves: Sequence[LearningCurve], levels: Sequence[int] = (400, 600, 800, 1000)) -> str:
    """Markdown: how many photos each order needs for what random order reaches with this many."""
    rows = [
        f"| measure | random reaches | with | {' | '.join(ORDERS[1:])} |",
        "|" + "---|" * (len(ORDERS) + 2),
    ]
    for measure, title in MEASURES.items():
        for n in levels:
            reached = [
                getattr(point, measure)
                for curve in curves
                for point in curve.points
                if curve.order == "random" and point.n_tagged == n
            ]
            if not reached:
                continue
            level = float(np.mean(reached))
            needed = [labels_needed(curves, order, measure, level) for order in ORDERS[1:]]
            cells = ["not reached by all runs" if np.isnan(value) else f"{value:.0f}" for value in needed]
            rows.append(f"| {title} | {level:.3f} | {n} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--runs", type=int, default=4)
    arguments = parser.parse_args()
    print(table(compare_orders(arguments.data, cache=arguments.cache, n_runs=arguments.runs, say=print)))


if __name__ == "__main__":
    main()
