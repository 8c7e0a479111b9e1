"""`auto` for the tool: one fit gives the annotator, how it did, and held-out answers to calibrate probabilities on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.auto_choice import HeldOut, Trial
from topicture.annotations.metrics import Summary, summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.auto import Auto

__all__ = ["AutoLearned", "learn_auto"]


class AutoLearned(NamedTuple):
    """What there is after one fit."""

    annotator: Auto  # its `report_` and `table()` say what was tried
    trial: Trial  # of the blend, on hidden folds
    held_out: HeldOut  # in the order of the given corpus


def learn_auto(
    corpus: Corpus,
    *,
    n_folds: int = 3,
    budget_seconds: float = 600.0,
    seed: int = 0,
    callback: Callable[[Any], None] | None = None,
) -> AutoLearned:
    """Try, choose and learn from everything.

    Answers for images without a caption are those of the final annotator, which has not seen any caption of theirs.
    Raises CorpusError where there are fewer tagged images than folds.
    """
    n_tagged = int(corpus.tagged.sum())
    if n_tagged < n_folds:
        raise CorpusError(f"{n_tagged} tagged photos are too few to learn from; tag at least {n_folds}")
    auto = Auto(n_folds=n_folds, budget_seconds=budget_seconds, seed=seed).fit(corpus, callback=callback)
    # `fit` goes through the images in order of their ids.
    order = np.argsort(corpus.image_ids, kind="stable")
    p, fold_of = np.empty_like(auto.held_out_), np.empty_like(auto.fold_of_)
    p[order], fold_of[order] = auto.held_out_, auto.fold_of_
    return AutoLearned(auto, _trial(corpus, p, fold_of), HeldOut(p, fold_of))


def _trial(corpus: Corpus, p: np.ndarray, fold_of: np.ndarray) -> Trial:
    folds: list[Summary] = []
    for fold in range(int(fold_of.max()) + 1):
        inside = np.flatnonzero(fold_of == fold)
        folds.append(summary(p[inside], corpus.captions[inside]))
    values = np.array([fold.mean_average_precision for fold in folds])
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return Trial("auto", float(values.mean()), error, float(np.mean([fold.accuracy for fold in folds])))
