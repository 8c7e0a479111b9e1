"""`auto` for the tool: one fit gives the annotator, how it and its members did, and answers to calibrate on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.choice.trials import N_FOLDS, HeldOut, Trial, judge
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.blends.again import Again
from topicture.models.blends.auto import Auto
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import FormerRow

__all__ = ["AutoLearned", "MemberTrial", "learn_auto"]

_MOST_ASKED = 4000  # untagged images that are annotated to be compared with people's answers


@dataclass(frozen=True)
class MemberTrial(Trial):
    """How a member did by itself on hidden folds, and what became of it; NaN where it was not tried."""

    perplexity: float  # of the hidden captions
    weight: float  # in the blend
    note: str


class AutoLearned(NamedTuple):
    """What there is after one fit."""

    annotator: Auto
    trial: Trial  # of the blend, on hidden folds
    members: list[MemberTrial]  # in the order of trying, those left out at the end
    held_out: HeldOut  # of the images that have a fold or were asked about, in the order of the given corpus


def learn_auto(
    corpus: Corpus,
    *,
    also: NDArray[np.bool_] | None = None,
    groups: ArrayLike | None = None,
    n_folds: int = N_FOLDS,
    budget_seconds: float = 600.0,
    budget_bytes: float = 4e9,
    seed: int = 0,
    callback: Callable[[Any], None] | None = None,
    kept: KeptTrials | None = None,
    former: Sequence[FormerRow] | None = None,
    again: Again | None = None,
) -> AutoLearned:
    """Try, choose and learn from everything.

    `also` (D,) names images without a caption to annotate as well, such as those that people rejected words for; the
    answers are those of the final annotator, if it has not seen a word about them. `groups` as for `folds_of`:
    images that are hidden together; `kept`, `former` and `again` as for `Auto.fit`.

    Raises CorpusError where there are fewer tagged images than folds.
    """
    n_tagged = int(corpus.tagged.sum())
    if n_tagged < n_folds:
        raise CorpusError(f"{n_tagged} tagged photos are too few to learn from; tag at least {n_folds}")
    auto = Auto(n_folds=n_folds, budget_seconds=budget_seconds, budget_bytes=budget_bytes, seed=seed)
    auto.fit(corpus, callback=callback, groups=groups, kept=kept, former=former, again=again)
    # `fit` goes through the images in order of their ids.
    order = np.argsort(corpus.image_ids, kind="stable")
    fold_of = np.empty_like(auto.fold_of_)
    fold_of[order] = auto.fold_of_
    # Only images with an answer: of a large collection they are few.
    rows = order[auto.fold_of_ >= 0]
    p = auto.held_out_
    asked = np.flatnonzero(also & ~corpus.taught) if also is not None else np.zeros(0, np.int64)
    if len(asked) > _MOST_ASKED:
        asked = np.sort(np.random.default_rng(seed).choice(asked, _MOST_ASKED, replace=False))
    if len(asked):
        rows = np.concatenate([rows, asked])
        p = np.concatenate([p, auto.annotate(corpus[asked].without_captions())])
    in_order = np.argsort(rows)
    held_out = HeldOut(p[in_order], fold_of[rows[in_order]], rows[in_order])
    trials = _members(
        auto, corpus, HeldOut(p[:0], auto.fold_of_[auto.fold_of_ >= 0], order[auto.fold_of_ >= 0])
    )
    return AutoLearned(auto, judge("auto", corpus, held_out, _asked_about(auto, corpus)), trials, held_out)


def _asked_about(auto: Auto, corpus: Corpus) -> NDArray[np.bool_]:
    """Words (V,) that members were asked about while captions were hidden; the others have come since."""
    return np.isin(corpus.vocabulary.words, auto.hidden_.words)


def _members(auto: Auto, corpus: Corpus, hidden: HeldOut) -> list[MemberTrial]:
    found, asked = [], _asked_about(auto, corpus)
    for row in auto.report_:
        if row.perplexity is None:
            nan = float("nan")
            found.append(MemberTrial(row.member, nan, nan, nan, nan, 0.0, row.note))
            continue
        trial = judge(
            row.member, corpus, replace(hidden, p=auto.alone_[row.member].astype(np.float64)), asked
        )
        found.append(
            MemberTrial(
                row.member,
                trial.mean,
                trial.standard_error,
                trial.accuracy,
                row.perplexity,
                row.weight,
                row.note,
            )
        )
    return found
