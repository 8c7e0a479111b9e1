"""Which annotator `learn` uses: the one that was named, or the blend of what suits the collection."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.choice.learning import MemberTrial, learn_auto
from topicture.annotations.choice.refitting import blend_held_out, held_out_again, hidden_answers_of
from topicture.annotations.choice.trials import HeldOut, Trial, judge, settings_for
from topicture.app.progress import Report, Trace, untold
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.baselines.one_view import Step
from topicture.models.blends.again import Again, honest_answers
from topicture.models.blends.auto import Auto
from topicture.models.blends.hidden_answers import HiddenAnswers, KnownAnswers, known_of
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import FormerRow
from topicture.models.blends.work import AutoStep
from topicture.models.em.loop import Progress
from topicture.models.interrupts import all_or_nothing
from topicture.models.registry import make_annotator

__all__ = ["Chosen", "choose_and_fit", "fit", "images_to_judge"]

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
    known: KnownAnswers | None = None  # what the next `learn` goes on from


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
    again: Again | None = None,
) -> Chosen:
    """Learn from everything, and score the hidden folds with the very same settings.

    `judged` (D,) are the images that people said anything about, captioned or not: all of them get scores, but for
    captioned ones beyond the sample that `auto` tries a large collection on; `scores.rows` says which. `groups` as for
    `folds_of`: images that are hidden together; with `far_groups` folds of these are scored as well. `budget_seconds`
    and `budget_bytes` are for `auto`, `kept`, `former` and `again` as well (see `Auto.fit`).
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
            again=again,
        )
        auto, rows = found.annotator, found.held_out.rows
        again = again if auto.went_on_ else None
        far, hidden = _blend_far_scores(auto, corpus, far_groups, seed, report, rows, kept, again)
        known = known_of(corpus, auto.hidden_, hidden, None if again is None else again.known)
        return Chosen(auto, found.trial, found.members, found.held_out, far, known)
    annotator = fit(model, corpus, "Learning", report, trace)
    rows = images_to_judge(corpus, judged, seed)
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


def images_to_judge(corpus: Corpus, judged: NDArray[np.bool_], seed: int) -> NDArray[np.int64] | None:
    """Images that a model is judged on, and learns from for that, where all are too many; tagged ones first.

    Of the tagged ones, and of the others, those that people `judged` (D,) come first: few answers teach no model, and
    are all that promises are corrected by.
    """
    most = max(MOST_ANSWERS // corpus.n_words, FEWEST_JUDGED)
    if len(corpus) <= most:
        return None
    order = np.random.default_rng(seed).permutation(len(corpus))
    order = order[np.lexsort([~(judged | corpus.answered)[order], ~corpus.tagged[order]])]
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
    part, groups = _part_for_far(corpus, far_groups, rows)
    found = held_out_again(
        annotator,
        part,
        groups=groups,
        n_folds=N_FAR_FOLDS,
        seed=seed,
        on_fold=_far_progress(report),
        kept=kept,
    )
    return _at(found, rows, len(part) < len(corpus))


def _blend_far_scores(
    auto: Auto,
    corpus: Corpus,
    far_groups: ArrayLike | None,
    seed: int,
    report: Report,
    rows: NDArray[np.int64] | None,
    kept: KeptTrials | None,
    again: Again | None,
) -> tuple[HeldOut | None, HiddenAnswers | None]:
    """The same of a blend, and what its members said: taken over from an earlier fit where that is honest."""
    if far_groups is None:
        return None, None
    part, groups = _part_for_far(corpus, far_groups, rows)
    hidden, titles = None, list(auto.used())
    if again is not None and again.known.far is not None and set(titles) <= set(again.known.far.members):
        hidden = honest_answers(again.known.far, again, titles, part, groups)
    if hidden is None:
        hidden = hidden_answers_of(
            auto,
            part,
            groups=groups,
            n_folds=N_FAR_FOLDS,
            seed=seed,
            on_fold=_far_progress(report),
            kept=kept,
        )
    found = blend_held_out(auto, part, hidden, same_weights=True)
    return _at(found, rows, len(part) < len(corpus)), hidden


def _part_for_far(
    corpus: Corpus, far_groups: ArrayLike, rows: NDArray[np.int64] | None
) -> tuple[Corpus, NDArray[np.int64]]:
    corpus, groups = corpus.without_answers(), np.asarray(far_groups)
    if rows is None or len(corpus) <= MOST_FAR_IMAGES:
        return corpus, groups
    return corpus[rows], groups[rows]


def _at(found: HeldOut, rows: NDArray[np.int64] | None, of_part: bool) -> HeldOut:
    if rows is None or of_part:
        return HeldOut(found.p, found.fold_of, rows)
    return HeldOut(found.p[rows], found.fold_of[rows], rows)


def _far_progress(report: Report) -> Callable[[int, int], None]:
    return lambda done, total: report("Hiding whole groups of tags", done, total)


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
