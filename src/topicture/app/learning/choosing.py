"""Which annotator `learn` uses: the one that was named, or the blend of what suits the collection."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.choice.learning import MemberTrial, learn_auto
from topicture.annotations.choice.refitting import held_out_again
from topicture.annotations.choice.trials import HeldOut, Trial, judge, settings_for
from topicture.app.progress import Report, Trace, untold
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.baselines.one_view import Step
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import FormerRow
from topicture.models.blends.work import AutoStep
from topicture.models.em.loop import Progress
from topicture.models.interrupts import all_or_nothing
from topicture.models.registry import make_annotator

__all__ = ["Chosen", "choose_and_fit", "fit"]

# Models that learn from nearly all groups, as the one that is used learns from all.
N_FAR_FOLDS = 6
MOST_FAR_IMAGES = 8000
# Pairs of image and word that answers are kept for, to judge a model that was named: an eighth of a gigabyte.
MOST_ANSWERS, FEWEST_JUDGED = 1 << 24, 500
_STAGES = {"try": "Trying models", "choose": "Choosing", "learn": "Learning"}


class Chosen(NamedTuple):
    """What `learn` goes on with."""

    annotator: Annotator  # learned from everything
    trial: Trial  # how it did on hidden captions
    members: list[MemberTrial]  # what `auto` tried
    scores: HeldOut  # of annotators just like it, to calibrate probabilities on
    far_scores: HeldOut | None  # the same with whole groups hidden


def choose_and_fit(
    corpus: Corpus,
    model: str,
    judged: NDArray[np.bool_],
    *,
    groups: ArrayLike | None = None,
    far_groups: ArrayLike | None = None,
    budget_seconds: float,
    budget_bytes: float = 4e9,
    seed: int,
    report: Report,
    trace: Trace = untold,
    kept: KeptTrials | None = None,
    former: Sequence[FormerRow] | None = None,
) -> Chosen:
    """Learn from everything, and score the hidden folds with the very same settings.

    `judged` (D,) are the images that people said anything about, captioned or not: all of them get scores, but for
    captioned ones beyond the sample that `auto` tries a large collection on; `scores.rows` says which. `groups` as for
    `folds_of`: images that are hidden together; with `far_groups` folds of these are scored as well. `budget_seconds`
    and `budget_bytes` are for `auto`, `kept` and `former` as well (see `Auto.fit`).
    """
    if model == "auto":
        found = learn_auto(
            corpus,
            also=judged,
            groups=groups,
            budget_seconds=budget_seconds,
            budget_bytes=budget_bytes,
            seed=seed,
            callback=_stages(report, trace),
            kept=kept,
            former=former,
        )
        far = _far_scores(found.annotator, corpus, far_groups, seed, report, found.held_out.rows, kept)
        return Chosen(found.annotator, found.trial, found.members, found.held_out, far)
    annotator = fit(model, corpus, "Learning", report, trace)
    rows = _to_judge(corpus, seed)
    asked: Any = slice(None) if rows is None else rows
    found_again = held_out_again(
        annotator,
        corpus if rows is None else corpus[rows],
        also=judged[asked],
        groups=None if groups is None else np.asarray(groups)[asked],
        seed=seed,
        on_fold=lambda done, total: report("Hiding tags", done, total),
        kept=kept,
    )
    scores = HeldOut(found_again.p, found_again.fold_of, rows)
    far = _far_scores(annotator, corpus, far_groups, seed, report, rows, kept)
    return Chosen(annotator, judge(model, corpus, scores), [], scores, far)


def _to_judge(corpus: Corpus, seed: int) -> NDArray[np.int64] | None:
    """Images that a model is judged on, and learns from for that, where all are too many; tagged ones first."""
    most = max(MOST_ANSWERS // corpus.n_words, FEWEST_JUDGED)
    if len(corpus) <= most:
        return None
    order = np.random.default_rng(seed).permutation(len(corpus))
    order = order[np.lexsort([~corpus.answered[order], ~corpus.tagged[order]])]
    n_tagged = min(int(corpus.tagged.sum()), 3 * most // 4)
    others = order[int(corpus.tagged.sum()) :][: most - n_tagged]
    return np.sort(np.concatenate([order[:n_tagged], others]))


def _far_scores(
    annotator: Annotator,
    corpus: Corpus,
    far_groups: ArrayLike | None,
    seed: int,
    report: Report,
    rows: NDArray[np.int64] | None = None,
    kept: KeptTrials | None = None,
) -> HeldOut | None:
    """Answers with whole groups hidden, for the images at `rows`; of a large collection only these are learned from.

    The far world is one that nobody has said a word about: models there have no single answers either.
    """
    if far_groups is None:
        return None
    corpus = corpus.without_answers()
    large = rows is not None and len(corpus) > MOST_FAR_IMAGES
    groups = np.asarray(far_groups)
    found = held_out_again(
        annotator,
        corpus[rows] if large else corpus,
        groups=groups[rows] if large else groups,
        n_folds=N_FAR_FOLDS,
        seed=seed,
        on_fold=lambda done, total: report("Hiding whole groups of tags", done, total),
        kept=kept,
        same_weights=True,
    )
    if rows is None or large:
        return HeldOut(found.p, found.fold_of, rows)
    return HeldOut(found.p[rows], found.fold_of[rows], rows)


@all_or_nothing()
def fit(name: str, corpus: Corpus, stage: str, report: Report, trace: Trace = untold) -> Annotator:
    """An annotator with the settings that suit the collection, learned from all of it."""
    n_tagged = int(corpus.tagged.sum())
    report(stage, 0, None)
    trace({"stage": stage, "member": name})
    annotator = make_annotator(name, **settings_for(name, n_tagged)).fit(
        corpus, callback=_step(stage, report, trace)
    )
    report(stage, annotator.n_iter_ or 1, annotator.n_iter_ or 1)
    return annotator


def _step(stage: str, report: Report, trace: Trace) -> Callable[[Any], None]:
    done = 0

    def step(progress: Any) -> None:
        nonlocal done
        done += 1
        report(stage, done, None)
        _trace_objective(progress, trace)

    return step


def _stages(report: Report, trace: Trace) -> Callable[[Any], None]:
    """Tells which member `auto` is at, and how much of the work is done that is foreseen."""
    last: AutoStep | None = None

    def step(progress: Any) -> None:
        nonlocal last
        if isinstance(progress, AutoStep):
            if last is not None and last.stage != progress.stage:
                report(_STAGES[last.stage], last.total or 1, last.total or 1)
            last = progress
            report(f"{_STAGES[last.stage]}: {last.member}", last.done, last.total or None)
            trace({"stage": _STAGES[last.stage], "member": last.member})
            return
        _trace_objective(progress, trace)
        if last is not None and (share := _share(progress)):
            report(f"{_STAGES[last.stage]}: {last.member}", last.done + int(share * last.next), last.total)

    return step


def _share(progress: Any) -> float:
    """How much of a fit is done at most, where a model tells: EM may end before its last step."""
    if isinstance(progress, Step) and progress.total:
        return min(progress.done / progress.total, 1.0)
    if isinstance(progress, Progress):
        return (progress.restart + progress.iteration / max(progress.max_iter, 1)) / max(
            progress.n_restarts, 1
        )
    return 0.0


def _trace_objective(progress: Any, trace: Trace) -> None:
    if isinstance(progress, Progress):
        trace({"iteration": progress.iteration, "objective": float(progress.objective)})
