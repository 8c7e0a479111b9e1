"""The members that a blend has chosen learn from everything; or from a part, where all is too much."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.blends.limits.answer_limit import answer_seconds, duration, most_answer_seconds
from topicture.models.blends.limits.memory_limit import fit_bytes, part_that_fits
from topicture.models.blends.limits.time_limit import OutOfTime, TimeLimit
from topicture.models.blends.trials import FAILURES, Tried, fitted, why_failed
from topicture.models.blends.work import Work

__all__ = ["CantLearn", "learned"]

Callback = Callable[[Any], None] | None


class CantLearn(Exception):
    """A member that was tried can't be learned."""

    def __init__(self, tried: Tried, error: Exception):
        super().__init__(why_failed(error))
        self.tried = tried


def learned(
    chosen: Sequence[Tried],
    corpus: Corpus,
    some: Corpus,
    deadline: float,
    callback: Callback,
    *,
    seed: int,
    budget_bytes: float,
    earlier: Mapping[str, Annotator],
    same: bool = False,
) -> tuple[list[Annotator], dict[str, str]]:
    """The members, learned from everything or from the sample `some`; and what is to be noted of them, by title.

    `earlier` are members that learned from much the same before, by title: EM goes on from them. Where it was the very
    `same`, they are taken as they are. Raises CantLearn for a member that can't be learned at all.
    """
    found, notes = [], {}
    share = most_answer_seconds(len(corpus)) / len(chosen)
    work = Work("learn", callback, [t.member for t in chosen], lambda member: 1)
    for number, t in enumerate(chosen):
        title = t.member.title
        work.starts(t.member)
        if same and title in earlier:
            found.append(earlier[title])
            work.ended(t.member, 0)
            continue
        limit: Any = callback
        if some is not corpus:  # else it is known how long it takes
            limit = TimeLimit((deadline - perf_counter()) / (len(chosen) - number), callback)
        annotator = t.member.make(t.settings, seed)
        part = part_that_fits(annotator, corpus, some, budget_bytes, share)
        if part is not corpus:
            needed = fit_bytes(annotator, corpus)
            why = f"all would take {needed / 1e9:.0f} GB"
            if needed <= budget_bytes:
                answers = duration(answer_seconds(annotator, corpus) * len(corpus))
                why = f"annotating all photos by all would take {answers}"
            notes[title] = f"used; learned from {len(part)} images, {why}"
        try:
            found.append(fitted(t.member, t.settings, seed, part, limit, earlier.get(title)))
        except (OutOfTime, *FAILURES) as error:
            late = isinstance(error, OutOfTime)
            why = "all would take too long" if late else f"for all {why_failed(error)}"
            found.append(_learned_from_sample(t, corpus, some, seed, error, callback))
            notes[title] = f"used; learned from {len(some)} images, {why}"
        work.ended(t.member, 0)
    return found, notes


def _learned_from_sample(
    t: Tried, corpus: Corpus, some: Corpus, seed: int, error: Exception, callback: Callback
) -> Annotator:
    if some is corpus:
        raise CantLearn(t, error) from error
    try:
        return fitted(t.member, t.settings, seed, some, callback)
    except FAILURES as again:
        raise CantLearn(t, again) from again
