"""How `auto` tries its members: on folds of the tagged images whose captions are hidden, within the time there is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from jax.errors import JaxRuntimeError
from scipy import sparse
from scipy.sparse.linalg import ArpackError

from topicture.corpus import Corpus
from topicture.errors import ModelFileError, TopictureError
from topicture.models.base import Annotator
from topicture.models.blends.kept_trials import Answered, KeptTrials
from topicture.models.blends.limits.answer_limit import answer_seconds, duration, most_answer_seconds
from topicture.models.blends.limits.memory_limit import fit_bytes
from topicture.models.blends.limits.time_limit import OutOfTime, TimeLimit
from topicture.models.blends.members import Member
from topicture.models.blends.race import Alone, alone, gain_needed, gain_of, heat_gain, of_use, poor_view
from topicture.models.blends.work import Work, work_of
from topicture.models.em.estimator import EMAnnotator
from topicture.models.interrupts import all_or_nothing

__all__ = ["FAILURES", "Trials", "Tried", "fitted", "why_failed"]

# Members whose fits take longer than this, in hundredths of a second, first run a heat on one image in so many.
_DEAR, _HEAT, _FEWEST_OF_HEAT = 1000, 4, 1000
_QUICK, _RIVALS = 500, 3  # it runs against so many that take less than this
# Captions of the first fold that members are dropped by.
_FEWEST_JUDGES = 60
Callback = Callable[[Any], None] | None
# What a member that runs out of memory or fails numerically raises: no reason to end the others.
FAILURES = (MemoryError, ArithmeticError, np.linalg.LinAlgError, ArpackError, JaxRuntimeError)


@dataclass(frozen=True, eq=False)
class Tried:
    """A member with its answers for the tagged images, (n, V), given while their captions were hidden."""

    member: Member
    settings: dict[str, Any]
    p: np.ndarray = field(repr=False)
    seconds: float
    refit_seconds: float


@dataclass(eq=False)
class _Contender:
    """A member in the race, with the answers that it has given so far."""

    member: Member
    settings: dict[str, Any]
    answers: list[np.ndarray]  # by fold
    seconds: float  # in all
    fit_seconds: float  # of one fold

    def so_far(self, fold_of: np.ndarray) -> np.ndarray:
        """Answers (n, V) for the folds that it was tried on; `fold_of` (n,)."""
        p = np.zeros((len(fold_of), self.answers[0].shape[1]), np.float32)
        for fold, answers in enumerate(self.answers):
            p[fold_of == fold] = answers
        return p


class _Dropped(Exception):
    """A member adds too little to others for the time that it takes."""

    def __init__(self, after: str, own: Alone, leader: Alone):
        super().__init__(
            f"dropped after {after}: adds too little (perplexity {np.exp(own.nats):.1f}, the best "
            f"{np.exp(leader.nats):.1f})"
        )


@dataclass(frozen=True, eq=False)
class Trials:
    """Members learn from a corpus with one fold of its captions hidden after the other, and annotate what was hidden.

    It is a race: members that add too little to the others are dropped after the first fold, and those that take long
    after a heat on a part of the images (`race`).

    Attributes
    ----------
    fold_of : (D,) -1 for images without caption or answer; an answer is hidden, and judges nobody
    half_of : (D,) half of the images of fold 0, 0 or 1; -1 for others
    p_w : (n_folds, V) word frequencies without the captions of each fold
    growth : how many times as long learning from everything takes, where the corpus is a sample
    budget_bytes : memory that a fit may take
    kept : trials that were finished before
    all_the_way : whether nobody is dropped
    n_photos : of the collection that the corpus is a sample of; 0 where it is none
    """

    corpus: Corpus
    fold_of: np.ndarray
    half_of: np.ndarray
    p_w: np.ndarray
    seed: int
    growth: float
    callback: Callback
    budget_bytes: float = np.inf
    kept: KeptTrials = field(default_factory=KeptTrials)
    all_the_way: bool = False
    n_photos: int = 0

    def run(self, members: Sequence[Member], deadline: float) -> tuple[list[Tried], dict[str, str]]:
        """What was tried on all folds, and why others were not, by their titles. The first member has time enough."""
        left_out: dict[str, str] = {}
        work = Work.of_race(self.callback, members, self.n_folds)
        racing = self._first_fold(members, deadline, left_out, work)
        for fold in range(1, self.n_folds):
            racing = self._useful(racing, fold, left_out)
            work.left = {c.member.title: (self.n_folds - fold) * work_of(c.member) for c in racing}
            racing = self._next_fold(racing, fold, deadline, left_out, work)
        inside = self.fold_of[self.fold_of >= 0]
        tried = [
            Tried(c.member, c.settings, c.so_far(inside), c.seconds, c.fit_seconds * self._refits)
            for c in racing
        ]
        return tried, left_out

    @property
    def n_folds(self) -> int:
        return int(self.fold_of.max()) + 1

    @property
    def is_race(self) -> bool:
        """Whether members are dropped on the way: few captions would tell nothing of them, and do not take long."""
        return (
            not self.all_the_way and int(((self.fold_of == 0) & self.corpus.tagged).sum()) >= _FEWEST_JUDGES
        )

    def _needed(self, member: Member) -> float:
        return gain_needed(work_of(member), len(self.corpus), int(self.corpus.tagged.sum()))

    @property
    def _refits(self) -> float:
        """Learning from everything takes this many times as long as learning without a fold."""
        return self.growth * self.n_folds / (self.n_folds - 1)

    # --- Rounds ------------------------------------------------------------------------------------------

    def _first_fold(
        self, members: Sequence[Member], deadline: float, left_out: dict[str, str], work: Work
    ) -> list[_Contender]:
        racing: list[_Contender] = []
        quick: list[tuple[Alone, _Contender]] = []  # those that do not take long, the best first
        for member in members:
            # What is in the race already shall be able to end it.
            reserved = sum(c.fit_seconds for c in racing) * (self.n_folds - 1 + self._refits)
            found = self._try(member, deadline - reserved if racing else np.inf, quick, work)
            if isinstance(found, str):
                work.left.pop(member.title)
                left_out[member.title] = found
                continue
            contender, own = found
            racing.append(contender)
            if work_of(member) < _QUICK:
                quick = sorted([*quick, (own, contender)], key=lambda one: one[0].nats)
        return racing

    def _next_fold(
        self, racing: list[_Contender], fold: int, deadline: float, left_out: dict[str, str], work: Work
    ) -> list[_Contender]:
        going_on: list[_Contender] = []
        for number, contender in enumerate(racing):
            work.starts(contender.member)
            alone_left = number == len(racing) - 1 and not going_on
            seconds = np.inf if alone_left else deadline - perf_counter()
            found = self._guarded(lambda c=contender, s=seconds: self._answers(c.member, c.settings, fold, s))  # type: ignore[misc]
            work.ended(contender.member, self.n_folds - fold - 1)
            if isinstance(found, str):
                left_out[contender.member.title] = found
                continue
            contender.answers.append(found.p)
            contender.seconds += found.seconds
            going_on.append(contender)
        return going_on

    def _useful(self, racing: list[_Contender], fold: int, left_out: dict[str, str]) -> list[_Contender]:
        """Who goes on to a fold, by the answers for those before it."""
        if not self.is_race or fold > 1:
            return racing
        first = self.fold_of == 0
        captions = sparse.csr_array(self.corpus.captions[first])
        own = [alone(c.answers[0], self.p_w[0], captions) for c in racing]
        best = min(own, key=lambda one: one.nats)
        needed = [self._needed(c.member) for c in racing]
        useful = of_use(own, needed, self.p_w[0], captions, self.half_of[first])
        for number, contender in enumerate(racing):
            if number not in useful:
                left_out[contender.member.title] = str(_Dropped("the first fold", own[number], best))
        return [racing[number] for number in useful]

    # --- One member --------------------------------------------------------------------------------------

    def _try(
        self, member: Member, deadline: float, quick: list[tuple[Alone, _Contender]], work: Work
    ) -> tuple[_Contender, Alone] | str:
        """The member's answers for the first fold with its best settings, or why it is out of the race."""
        begin = perf_counter()
        if begin >= deadline:
            return "not tried: the time was up"
        if self.is_race and work_of(member) >= _QUICK and self._looks_at_little(member, quick):
            return f"not worth trying: quick models on {member.looks_at} are far behind, and add too little"
        needed = fit_bytes(member.make(member.settings[0], self.seed), self.corpus)
        if needed > self.budget_bytes:
            return f"left out: it needs {needed / 1e9:.1f} GB of memory, more than it may take"
        answer = answer_seconds(member.make(member.settings[0], self.seed), self.corpus)
        if answer > most_answer_seconds(self.n_photos) and deadline < np.inf:
            all_photos = f"{self.n_photos:,} photos would take {duration(answer * self.n_photos)}"
            return f"left out: annotating all {all_photos}"
        return self._guarded(lambda: self._best_settings(member, deadline, quick, work))

    def _looks_at_little(self, member: Member, quick: list[tuple[Alone, _Contender]]) -> bool:
        """Whether quick members on its view tell that it is not worth the time."""
        first = self.fold_of == 0
        own, others = (
            [one for one, c in quick if (c.member.looks_at == member.looks_at) is same]
            for same in (True, False)
        )
        captions = sparse.csr_array(self.corpus.captions[first])
        return poor_view(own, others, self.p_w[0], captions, self.half_of[first])

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """What the work finds, or why it failed."""
        try:
            return work()
        except _Dropped as dropped:
            return str(dropped)
        except OutOfTime as late:
            return f"left out: a fold takes {late.seconds:.0f} s or more, too long for the time left"
        except TopictureError as error:
            return f"can't learn from this collection: {error}"
        except FAILURES as error:
            return f"left out: {why_failed(error)}"

    def _best_settings(
        self, member: Member, deadline: float, quick: list[tuple[Alone, _Contender]], work: Work
    ) -> tuple[_Contender, Alone]:
        """The best settings on the first fold, and the answers there.

        Answers for one half of the fold are those of the settings that are best on the other half: no caption takes
        part in choosing what it is judged on.

        Raises OutOfTime where not even the first settings leave time for the other folds and for learning from
        everything. Settings are compared as long as that time is left.
        """
        captions = sparse.csr_array(self.corpus.captions[self.fold_of == 0])
        tried: list[Answered] = []
        if quick and self.is_race and work_of(member) >= _DEAR:
            work.starts(member)
            self._heat(member, [c for _, c in quick[:_RIVALS]], deadline, captions)
        for settings in member.settings:
            work.starts(member)
            since = perf_counter()
            allowed = (deadline - since) / (self.n_folds + self._refits)
            try:
                found = self._answers(member, settings, 0, allowed)
            except OutOfTime:
                if not tried:
                    raise
                break
            if perf_counter() - since > allowed and not tried:
                raise OutOfTime(found.seconds)
            tried.append(found)
            work.ended(member, work.left[member.title] / work_of(member) - 1)
            if perf_counter() + (self.n_folds + self._refits) * found.seconds > deadline:
                break
        half_of = self.half_of[self.fold_of == 0]
        answers = np.empty_like(tried[0].p)
        for half in np.unique(half_of):
            answers[half_of == half] = tried[self._best(tried, half_of != half)].p[half_of == half]
        best = self._best(tried, half_of >= 0)
        seconds = sum(one.seconds for one in tried)
        contender = _Contender(member, member.settings[best], [answers], seconds, tried[best].seconds)
        return contender, alone(answers, self.p_w[0], captions)

    def _answers(self, member: Member, settings: dict[str, Any], fold: int, seconds: float) -> Answered:
        return self._asked(member, settings, self.corpus, self.fold_of == fold, seconds)

    def _asked(
        self, member: Member, settings: dict[str, Any], corpus: Corpus, hidden: np.ndarray, seconds: float
    ) -> Answered:
        limit = TimeLimit(seconds, self.callback)

        def find() -> np.ndarray:
            annotator = fitted(member, settings, self.seed, corpus.without_captions(hidden), limit)
            try:
                return annotator.annotate(corpus[hidden].without_captions())
            except ModelFileError:  # so says `annotate` of answers that are none; but no file is damaged here
                raise FloatingPointError("its answers are not finite numbers") from None

        return self.kept.answers(member.make(settings, self.seed), corpus, hidden, find)

    def _heat(
        self, member: Member, rivals: list[_Contender], deadline: float, captions: sparse.csr_array
    ) -> None:
        """A member that takes long races quick ones on a part of the images; raises _Dropped if it adds little."""
        first, others = np.flatnonzero(self.fold_of == 0), np.flatnonzero(self.fold_of != 0)
        if len(others) < _FEWEST_OF_HEAT:
            return
        drawn = np.random.default_rng(self.seed).permutation(others)[: len(others) // _HEAT]
        rows = np.sort(np.concatenate([first, drawn]))
        part, hidden = self.corpus[rows], self.fold_of[rows] == 0
        left = deadline - perf_counter()
        sides = [(member, member.settings[0]), *((c.member, c.settings) for c in rivals)]
        own, *theirs = (
            alone(self._asked(*side, part, hidden, left).p, self.p_w[0], captions) for side in sides
        )
        gain = gain_of(own, theirs, self.p_w[0], captions, self.half_of[self.fold_of == 0])
        if gain < heat_gain(work_of(member), len(self.corpus), int(self.corpus.tagged.sum())):
            raise _Dropped(f"a heat on {len(rows)} images", own, min(theirs, key=lambda one: one.nats))

    def _best(self, tried: Sequence[Answered], rows: np.ndarray) -> int:
        """Which answers for the first fold suit these of its captions; the first where there are none."""
        if len(tried) == 1 or not rows.any():
            return 0
        captions = sparse.csr_array(self.corpus.captions[self.fold_of == 0][rows])
        return min(
            range(len(tried)), key=lambda number: alone(tried[number].p[rows], self.p_w[0], captions).nats
        )


@all_or_nothing()
def fitted(
    member: Member,
    settings: dict[str, Any],
    seed: int,
    corpus: Corpus,
    callback: Callback,
    earlier: Annotator | None = None,
) -> Annotator:
    """The member, learned from a corpus; from where an `earlier` one ended, if it is one of EM."""
    annotator = member.make(settings, seed)
    if isinstance(annotator, EMAnnotator) and isinstance(earlier, EMAnnotator):
        return annotator.fit(corpus, callback=callback, earlier=earlier)
    return annotator.fit(corpus, callback=callback)


def why_failed(error: BaseException) -> str:
    """One of FAILURES in one line."""
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        return "the memory did not suffice"
    first = str(error).partition("\n")[0]
    return f"it failed numerically ({first or type(error).__name__})"
