"""Whether probabilities mean what they say, on Corel-5k with deep features: the 499 test images judge.

    python -m topicture_experiments.auto.presence --data DIR [--cache DIR] [--model nlsa]

Model, calibration and thresholds are learned from the training images alone, as `topicture learn` does it.
"""

import argparse
from pathlib import Path

import numpy as np

from topicture.annotations.choice.presence import (
    JudgedPairs,
    calibration_error,
    cross_fitted,
    fit_presence,
    reliability,
    thresholds,
)
from topicture.annotations.choice.trials import held_out, settings_for, settled
from topicture.corpus.datasets import corel5k
from topicture.models.registry import make_annotator
from topicture_experiments.descriptors.images import COREL, described

__all__ = ["main", "report"]

TARGETS = (0.7, 0.8, 0.9, 0.95)


def report(data: Path | None, *, cache: Path | None = None, model: str = "nlsa", seed: int = 0) -> str:
    """Two tables in Markdown: promised against observed, and asked against reached precision."""
    part = described(corel5k("evaluation", data), COREL["deep, lite0"], cache=cache)
    train = part.train[np.flatnonzero(part.train.tagged)]
    annotator = make_annotator(model, **settings_for(model, len(train))).fit(train)
    settings = {**annotator.get_params(deep=False), **settled(annotator)}
    scores = held_out(lambda: type(annotator)(**settings), train, seed=seed)
    truth = train.captions.toarray() > 0
    known = np.ones_like(truth)
    presence = fit_presence(scores.p, truth, known, seed=seed)
    pairs = JudgedPairs.of(cross_fitted(scores.p, truth, known, scores.fold_of, seed=seed), truth, known)

    told = presence(annotator.annotate(part.test.without_captions()))
    is_true = part.test.captions.toarray() > 0
    bins = reliability(JudgedPairs.of(told, is_true, np.ones_like(is_true)))
    lines = [f"{model}, {len(train)} tagged images, {len(told)} test images", ""]
    lines += ["| probability | pairs | promised | came true |", "|---|---|---|---|"]
    lines += [f"| {b.low:.0%} to {b.high:.0%} | {b.n} | {b.promised:.1%} | {b.observed:.1%} |" for b in bins]
    lines += ["", f"mean distance above 10%: {calibration_error(bins):.1%}", ""]
    lines += ["| asked for | tags that reach it | accepted | right |", "|---|---|---|---|"]
    for target in TARGETS:
        least = thresholds(pairs, train.n_words, target)
        accepted = told >= least
        right = f"{is_true[accepted].mean():.1%}" if accepted.any() else ""
        lines.append(f"| {target:.0%} | {int(np.isfinite(least).sum())} | {int(accepted.sum())} | {right} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--model", default="nlsa")
    arguments = parser.parse_args()
    print(report(arguments.data, cache=arguments.cache, model=arguments.model))


if __name__ == "__main__":
    main()
