"""How much work is done and how much is left of a race: in hundredths of a second of a usual processor, foreseen.

Only ratios matter: whoever is told divides the time that has passed by what is done.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from topicture.models.blends.members import Member

__all__ = ["AutoStep", "Work", "work_of"]

# One fit on 2,500 photos with 600 tagged ones, measured: on a descriptor of 1,280 columns, or on the view that it has.
_HUNDREDTHS = {
    "naive-bayes": 1,
    "knn": 3,
    "tagprop": 13,
    "logistic": 330,
    "companions": 375,
    "text-match": 360,
    "ridge": 52,
    "lsa": 54,
    "label-spreading": 69,
    "network": 860,
    "matching": 2900,
    "mix-unigram": 600,
    "lap-var1": 540,
    "corr-lda": 2800,
}
# The same on 200 visual words.
_OF_WORDS = {
    "logistic": 18,
    "companions": 20,
    "ridge": 3,
    "lsa": 23,
    "label-spreading": 43,
    "network": 525,
    "matching": 2000,
}
_UNKNOWN = 100
# Share of the members that go on to further folds, as a rule.
_GOING_ON = 0.4


class AutoStep(NamedTuple):
    """What a callback is told, beside the steps of the members themselves."""

    stage: str  # "try", "choose" or "learn"
    member: str  # that is next
    done: int  # hundredths of a second, foreseen
    total: int
    next: int = 0  # of them in this fit


def work_of(member: Member) -> int:
    """Of one fit."""
    if member.view == "visual_words" and member.model in _OF_WORDS:
        return _OF_WORDS[member.model]
    return _HUNDREDTHS.get(member.model, _UNKNOWN)


class Work:
    """Keeps count, and tells a callback before each fit.

    Parameters
    ----------
    stage : of the steps that are told
    members : that take part, each with the number of its fits
    """

    def __init__(
        self,
        stage: str,
        callback: Callable[[Any], None] | None,
        members: Sequence[Member],
        fits: Callable[[Member], float],
    ):
        self.stage = stage
        self.callback = callback
        self.done = 0.0
        self.left = {member.title: fits(member) * work_of(member) for member in members}

    @classmethod
    def of_race(
        cls, callback: Callable[[Any], None] | None, members: Sequence[Member], n_folds: int
    ) -> "Work":
        """Each member's settings are tried on a fold, and some members on the others."""
        return cls("try", callback, members, lambda m: len(m.settings) + _GOING_ON * (n_folds - 1))

    def starts(self, member: Member) -> None:
        """A fit begins."""
        if self.callback is not None:
            total = round(self.done + sum(self.left.values()))
            self.callback(AutoStep(self.stage, member.title, round(self.done), total, work_of(member)))

    def ended(self, member: Member, fits_left: float) -> None:
        """A fit has ended, and the member has so many before it."""
        self.done += work_of(member)
        self.left[member.title] = fits_left * work_of(member)
