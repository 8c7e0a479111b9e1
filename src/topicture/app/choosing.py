"""Which annotator `learn` uses: the one that was named, or the best of a few; the one place to change that."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.auto_choice import (
    N_FOLDS,
    HeldOut,
    Trial,
    candidates,
    choose_model,
    held_out,
    settings_for,
    settled,
)
from topicture.app.progress import Report
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.registry import make_annotator

__all__ = ["Chosen", "choose_and_fit", "fit"]


class Chosen(NamedTuple):
    """What `learn` goes on with."""

    annotator: Annotator  # learned from everything
    trials: list[Trial]  # the best, which is the annotator, first
    scores: HeldOut  # of annotators just like it, to calibrate probabilities on


def choose_and_fit(
    corpus: Corpus, model: str, judged: NDArray[np.bool_], *, seed: int, report: Report
) -> Chosen:
    """Try the models, learn the best from everything, and score the hidden folds with its very settings.

    `judged` (D,) are the images that people said anything about, captioned or not: all of them get scores.
    """
    names = candidates(corpus) if model == "auto" else [model]
    trials, scores = choose_model(
        corpus,
        names,
        also=judged,
        seed=seed,
        on_fold=lambda name, done, total: report("Trying models", done, total),
    )
    annotator = fit(trials[0].model, corpus, "Learning", report)
    return Chosen(annotator, trials, _scored_alike(annotator, corpus, judged, scores, seed, report))


def fit(name: str, corpus: Corpus, stage: str, report: Report) -> Annotator:
    """An annotator with the settings that suit the collection, learned from all of it."""
    n_tagged = int(corpus.tagged.sum())
    report(stage, 0, None)
    annotator = make_annotator(name, **settings_for(name, n_tagged)).fit(
        corpus, callback=_step(stage, report)
    )
    report(stage, annotator.n_iter_ or 1, annotator.n_iter_ or 1)
    return annotator


def _step(stage: str, report: Report) -> Callable[[Any], None]:
    done = 0

    def step(progress: Any) -> None:
        nonlocal done
        done += 1
        report(stage, done, None)

    return step


def _scored_alike(
    annotator: Annotator,
    corpus: Corpus,
    judged: NDArray[np.bool_],
    tried: HeldOut,
    seed: int,
    report: Report,
) -> HeldOut:
    """Held-out scores of annotators with the very settings of the one that is used."""
    choices = settled(annotator)
    if not choices:
        return tried
    settings = {**annotator.get_params(deep=False), **choices}
    return held_out(
        lambda: type(annotator)(**settings),
        corpus,
        also=judged,
        seed=seed,
        on_fold=lambda done: report("Calibrating", done, N_FOLDS),
    )
