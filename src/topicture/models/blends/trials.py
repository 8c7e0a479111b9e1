"""How `auto` tries its members: on folds of the tagged images whose captions are hidden, within the time there is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from jax.errors import JaxRuntimeError
from scipy import sparse
from scipy.sparse.linalg import ArpackError

from topicture.corpus import Corpus
from topicture.errors import ModelFileError, TopictureError
from topicture.models.base import Annotator
from topicture.models.blends.blend import best_background, fit_blend, nats_by_word
from topicture.models.blends.members import Member
from topicture.models.blends.memory_limit import fit_bytes
from topicture.models.blends.time_limit import OutOfTime, TimeLimit
from topicture.models.interrupts import all_or_nothing

__all__ = ["FAILURES", "AutoStep", "Trials", "Tried", "fitted", "why_failed"]

Callback = Callable[[Any], None] | None
# What a member that runs out of memory or fails numerically raises: no reason to end the others.
FAILURES = (MemoryError, ArithmeticError, np.linalg.LinAlgError, ArpackError, JaxRuntimeError)


class AutoStep(NamedTuple):
    """What a callback is told, beside the steps of the members themselves."""

    stage: str  # "try" or "learn"
    member: str  # that is next
    done: int  # members
    total: int


@dataclass(frozen=True, eq=False)
class Tried:
    """A member with its answers for the tagged images, (n, V), given while their captions were hidden."""

    member: Member
    settings: dict[str, Any]
    p: np.ndarray = field(repr=False)
    seconds: float
    refit_seconds: float


@dataclass(frozen=True, eq=False)
class Trials:
    """Members learn from a corpus with one fold of its captions hidden after the other, and annotate what was hidden.

    Attributes
    ----------
    fold_of : (D,) -1 for untagged images
    half_of : (D,) half of the images of fold 0, 0 or 1; -1 for others
    p_w : (V,) word frequencies without the captions of fold 0
    growth : how many times as long learning from everything takes, where the corpus is a sample
    budget_bytes : memory that a fit may take
    """

    corpus: Corpus
    fold_of: np.ndarray
    half_of: np.ndarray
    p_w: np.ndarray
    seed: int
    growth: float
    callback: Callback
    budget_bytes: float = np.inf

    def run(self, members: Sequence[Member], deadline: float) -> tuple[list[Tried], dict[str, str]]:
        """What was tried, and why others were not, by their titles. The first member has all the time it needs."""
        tried: list[Tried] = []
        left_out: dict[str, str] = {}
        for number, member in enumerate(members):
            if self.callback is not None:
                self.callback(AutoStep("try", member.title, number, len(members)))
            reserved = sum(t.refit_seconds for t in tried)
            found = self._try(member, deadline - reserved if tried else np.inf)
            if isinstance(found, Tried):
                tried.append(found)
            else:
                left_out[member.title] = found
        return tried, left_out

    @property
    def n_folds(self) -> int:
        return int(self.fold_of.max()) + 1

    @property
    def _refits(self) -> float:
        """Learning from everything takes this many times as long as learning without a fold."""
        return self.growth * self.n_folds / (self.n_folds - 1)

    def _try(self, member: Member, deadline: float) -> Tried | str:
        """The member's answers with its best settings, or why there are none."""
        begin = perf_counter()
        if begin >= deadline:
            return "not tried: the time was up"
        needed = fit_bytes(member.make(member.settings[0], self.seed), self.corpus)
        if needed > self.budget_bytes:
            return f"left out: it needs {needed / 1e9:.1f} GB of memory, more than it may take"
        try:
            settings, first, seconds = self._best_settings(member, deadline)
            inside = self.fold_of[self.fold_of >= 0]
            answers = np.zeros((len(inside), self.corpus.n_words), np.float32)
            answers[inside == 0] = first
            for fold in range(1, self.n_folds):
                answers[inside == fold] = self._answers(member, settings, fold, deadline - perf_counter())
        except OutOfTime as late:
            return f"left out: a fold takes {late.seconds:.0f} s or more, too long for the time left"
        except TopictureError as error:
            return f"can't learn from this collection: {error}"
        except FAILURES as error:
            return f"left out: {why_failed(error)}"
        return Tried(member, settings, answers, perf_counter() - begin, seconds * self._refits)

    def _best_settings(self, member: Member, deadline: float) -> tuple[dict[str, Any], np.ndarray, float]:
        """The best on the first fold, answers there, and how long they took.

        Answers for one half of the fold are those of the settings that are best on the other half: no caption takes
        part in choosing what it is judged on.

        Raises OutOfTime where not even the first settings leave time for the other folds and for learning from
        everything. Settings are compared as long as that time is left.
        """
        tried: list[np.ndarray] = []
        took: list[float] = []
        for settings in member.settings:
            since = perf_counter()
            allowed = (deadline - since) / (self.n_folds + self._refits)
            try:
                p = self._answers(member, settings, 0, allowed)
            except OutOfTime:
                if not tried:
                    raise
                break
            seconds = perf_counter() - since
            if seconds > allowed and not tried:
                raise OutOfTime(seconds)
            tried.append(p)
            took.append(seconds)
            if perf_counter() + (self.n_folds + self._refits) * seconds > deadline:
                break
        half_of = self.half_of[self.fold_of == 0]
        answers = np.empty_like(tried[0])
        for half in np.unique(half_of):
            answers[half_of == half] = tried[self._best(tried, half_of != half)][half_of == half]
        best = self._best(tried, half_of >= 0)
        return member.settings[best], answers, took[best]

    def _answers(self, member: Member, settings: dict[str, Any], fold: int, seconds: float) -> np.ndarray:
        hidden = self.fold_of == fold
        limit = TimeLimit(seconds, self.callback)
        annotator = fitted(member, settings, self.seed, self.corpus.without_captions(hidden), limit)
        try:
            return annotator.annotate(self.corpus[hidden].without_captions())
        except ModelFileError:  # what `annotate` says of answers that are none; but no file is damaged here
            raise FloatingPointError("its answers are not finite numbers") from None

    def _best(self, tried: Sequence[np.ndarray], rows: np.ndarray) -> int:
        """Which answers for the first fold suit these of its captions; the first where there are none."""
        if len(tried) == 1 or not rows.any():
            return 0
        captions = sparse.csr_array(self.corpus.captions[self.fold_of == 0][rows])
        return min(range(len(tried)), key=lambda number: self._nats(tried[number][rows], captions))

    def _nats(self, p: np.ndarray, captions: sparse.csr_array) -> float:
        b = best_background(p, self.p_w, captions)
        return nats_by_word(fit_blend([p], np.array([b]), self.p_w, captions)([p], self.p_w), captions)


@all_or_nothing()
def fitted(
    member: Member, settings: dict[str, Any], seed: int, corpus: Corpus, callback: Callback
) -> Annotator:
    """The member, learned from a corpus."""
    return member.make(settings, seed).fit(corpus, callback=callback)


def why_failed(error: BaseException) -> str:
    """One of FAILURES in one line."""
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        return "the memory did not suffice"
    first = str(error).partition("\n")[0]
    return f"it failed numerically ({first or type(error).__name__})"
