r"""The default annotator: tries several models on the tagged images, and blends those that help.

The captions of one fold of the tagged images after the other are hidden; every member learns from the whole corpus
without them, untagged images included, and annotates the hidden ones. On these answers the blend is chosen
(blend_choice.py); settings of a member are compared on the first fold. At last the chosen members learn from all.

What is told about quality, and what probabilities are calibrated on, are answers for every fold by a blend that was
chosen on the others, settings included. Near copies are in one fold (folds.py).

It is a race (race.py) unless `race` is False: a member that is far behind after its first trial, or that the others
have no use for after a fold, is dropped; the table says so.

Members come cheap ones first. One that would not be done within the time budget is stopped as soon as that is foreseen,
and left out; the table says so. Members of a large collection are tried on a sample of it. Memory is foreseen as
well: a member that would need more learns from a part, and answers are kept of as many images as can be held. So is
the time to annotate all images by what was learned (answer_limit.py).
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, asdict, dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator, columns_of
from topicture.models.blends.again import Again, taken_over
from topicture.models.blends.blend import Blend, nats_by_word
from topicture.models.blends.choice import PSEUDO_COUNT, choose_blend, judge_choice, word_frequencies_of_folds
from topicture.models.blends.hidden_answers import HiddenAnswers
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.last_fits import CantLearn, learned
from topicture.models.blends.limits.memory_limit import most_judged
from topicture.models.blends.members import MEMBERS, FormerRow, members_again, members_for
from topicture.models.blends.samples import sample_to_try, thinned
from topicture.models.blends.trials import Trials, Tried
from topicture.models.blends.work import AutoStep
from topicture.models.completion import expected
from topicture.models.empirical import word_frequencies
from topicture.models.folds import folds_of
from topicture.models.look_alikes import look_alikes
from topicture.models.registry import annotator_class
from topicture.threads import one_thread_products

__all__ = ["Auto", "Row"]

_VIEWS = ("descriptor", "visual_words", "region_words", "regions")
_SMALL = 2000
_MOST_GROWTH = 3.0


@dataclass
class Row:
    """One line of the table: what was tried, how it did, what became of it."""

    member: str
    settings: dict[str, Any]
    perplexity: float | None  # of the hidden captions, calibrated by itself
    seconds: float
    background: float
    weight: float
    note: str


@dataclass(eq=False, repr=False)
class Auto(Annotator):
    """Blend of the models that suit the collection, chosen by the likelihood of hidden captions.

    Parameters
    ----------
    members : registry names of the models to try; None for a good choice
    n_folds : the tagged images are cut into this many folds, each hidden once
    budget_seconds : time for trying and learning; members for which it does not suffice are left out. The same images
        give the same model as long as the time suffices. One member is always tried
    budget_bytes : memory for trying and learning, beside the corpus; a member that needs more learns from a part of the
        images, or is left out
    race : whether members that add too little to the others are dropped on the way; without it all of them are tried on
        all folds, which takes several times as long
    seed : of the folds and of the members

    Attributes
    ----------
    report_ : list of Row, what was tried, in the order of trying
    fold_of_ : (D,) fold of the images in order of their ids; -1 for those without caption or answer and those not in
        the sample that a large collection is tried on; not kept in model files
    held_out_ : (n, V) answers for the n images with a fold, by blends and members that had not seen their captions; not
        kept in model files
    alone_ : the same of every member by itself
    hidden_ : HiddenAnswers, what members said while captions were hidden, for a next fit; not kept in model files
    went_on_ : whether answers of an earlier fit were taken over
    """

    name = "auto"
    uses_answers = True

    members: list[str] | None = None
    _: KW_ONLY
    n_folds: int = 3
    budget_seconds: float = 600.0
    budget_bytes: float = 4e9
    race: bool = True
    seed: int = 0

    # --- Learn -------------------------------------------------------------------------------------------

    def fit(
        self,
        corpus: Corpus,
        *,
        callback: Callable[[Any], None] | None = None,
        groups: ArrayLike | None = None,
        kept: KeptTrials | None = None,
        former: Sequence[FormerRow] | None = None,
        again: Again | None = None,
    ) -> Self:
        """Try, choose and learn; see `Annotator.fit`.

        `groups` as for `folds_of`: images that are hidden together. `kept` are trials that were finished before: they
        change how long it takes, and nothing else. `former` is what an earlier fit found for much the same images:
        members that helped then are tried with the settings they had, and no others. `again` is that fit itself: while
        few captions have changed since its trials, its answers for hidden captions are taken over, and every member
        learns once, from everything.
        """
        self.__dict__.pop("members_", None)  # what an earlier corpus needed says nothing about this one
        order = np.argsort(corpus.image_ids, kind="stable")  # that of `_fit`
        self._groups = None if groups is None else np.asarray(groups)[order]
        self._kept, self._former, self._again = kept or KeptTrials(), former, again
        try:
            return super().fit(corpus, callback=callback)
        finally:
            del self._groups, self._kept, self._former, self._again

    def _completed(self, corpus: Corpus) -> Corpus:
        return corpus  # members do, each as it can

    def _check_params(self) -> None:
        self._check_whole("n_folds", least=2)
        self._check_positive("budget_seconds", "budget_bytes")
        for model in self.members or MEMBERS:
            annotator_class(model)

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        # Products of few rows are faster on one thread; of many, most members spread their work themselves.
        with one_thread_products() if len(corpus) < _SMALL else nullcontext():
            self._try_and_learn(corpus, callback)

    def _try_and_learn(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        deadline = perf_counter() + self.budget_seconds
        if int(corpus.tagged.sum()) < 2:
            few = "one sample" if corpus.tagged.any() else "no image"
            raise CorpusError(f"{self.name}: {few} is tagged, too few to learn from; tag at least two")
        rng = np.random.default_rng(self.seed)
        # Where captions lack words, members are blended for what is true, not for what happens to be given.
        probable = expected(corpus)
        self.p_w_ = word_frequencies(probable, PSEUDO_COUNT)
        sample = sample_to_try(corpus, rng)
        some = corpus if len(sample) == len(corpus) else corpus[sample]
        found = self._taken_over(corpus)
        self.went_on_ = found is not None
        again = self._again if self.went_on_ else None
        tried, left_out = found or self._raced(corpus, sample, some, rng, deadline, callback)
        inside = self.fold_of_ >= 0
        p_w = word_frequencies_of_folds(probable, self.fold_of_)
        captions, fold_of = sparse.csr_array(probable.captions[inside]), self.fold_of_[inside]
        self.members_: list[Annotator] = []
        while not self.members_:
            if not tried:
                reasons = "; ".join(f"{member}: {why}" for member, why in left_out.items())
                raise CorpusError(
                    f"{self.name}: no member can learn from this corpus: {reasons or 'it has no view that one needs'}"
                )
            if callback is not None:
                callback(AutoStep("choose", "the blend", 0, 0))
            used, answers = self._choose(tried, p_w, captions, fold_of)
            try:
                self.members_, notes = learned(
                    [tried[m] for m in used],
                    corpus,
                    some,
                    deadline,
                    callback,
                    seed=self.seed,
                    budget_bytes=self.budget_bytes,
                    earlier={} if again is None else again.members,
                    same=again is not None and again.same,
                )
            except CantLearn as failed:  # the others are blended anew
                left_out[failed.tried.member.title] = f"left out: {failed}"
                tried.remove(failed.tried)
        for row in self.report_:
            row.note = notes.get(row.member, row.note)
        self.report_ += [Row(member, {}, None, 0.0, 0.0, 0.0, why) for member, why in left_out.items()]
        if not self.went_on_:
            self.hidden_ = HiddenAnswers(
                tuple(tried[m].member.title for m in used),
                corpus.vocabulary.words,
                corpus.image_ids[inside],
                fold_of,
                np.stack([tried[m].p for m in used]),
            )
        self.held_out_ = answers
        self.objective_trace_ = np.zeros(0)
        self.n_iter_ = 0

    def _raced(
        self,
        corpus: Corpus,
        sample: np.ndarray,
        some: Corpus,
        rng: np.random.Generator,
        deadline: float,
        callback: Callable[[Any], None] | None,
    ) -> tuple[list[Tried], dict[str, str]]:
        """Members that were tried on folds of the sample, and why others were not; sets the folds."""
        groups = look_alikes(some) if self._groups is None else self._groups[sample]
        members = members_for(some, self.members)
        fold_of = folds_of(some, self.n_folds, seed=rng, groups=groups)
        fold_of = thinned(
            fold_of, groups, most_judged(corpus.n_words, len(members), self.budget_bytes), self.seed
        )
        self.fold_of_ = np.full(len(corpus), -1)
        self.fold_of_[sample] = fold_of
        half_of = folds_of(some.without_captions(fold_of != 0), 2, seed=rng, groups=groups)
        # What would take longer for all learns from a part: nobody need give way to that.
        growth = min(len(corpus) / len(some), _MOST_GROWTH)
        members, not_again = members_again(members, self._former)
        trials = Trials(
            some,
            fold_of,
            half_of,
            word_frequencies_of_folds(corpus, self.fold_of_),
            self.seed,
            growth,
            callback,
            self.budget_bytes,
            self._kept,
            all_the_way=not self.race or bool(not_again),
            n_photos=len(corpus),
        )
        tried, left_out = trials.run(members, deadline)
        return tried, left_out | not_again

    def _taken_over(self, corpus: Corpus) -> tuple[list[Tried], dict[str, str]] | None:
        """The same from an earlier fit, where its answers can be taken over."""
        if self._again is None:
            return None
        groups = look_alikes(corpus) if self._groups is None else self._groups
        members = members_for(corpus, self.members)
        found = taken_over(self._again, members, self._former, corpus, groups)
        if found is None:
            return None
        self.hidden_ = found.answers
        rows = found.answers.rows_of(corpus.image_ids)
        self.fold_of_ = np.where(rows >= 0, found.answers.fold_of[rows], -1)
        p_w = word_frequencies_of_folds(corpus, self.fold_of_)[found.answers.fold_of]
        tried = [
            Tried(m, m.settings[0], found.answers.in_words(m.title, corpus.vocabulary.words, p_w), 0.0, 0.0)
            for m in found.members
        ]
        return tried, found.not_again

    # --- Choose ------------------------------------------------------------------------------------------

    def _choose(
        self, tried: list[Tried], p_w: np.ndarray, captions: sparse.csr_array, fold_of: np.ndarray
    ) -> tuple[list[int], np.ndarray]:
        """Members to keep, and the answers for hidden captions; sets the blend and completes the table."""
        p = [t.p.astype(np.float64) for t in tried]
        choice = choose_blend(p, p_w[fold_of], captions, fold_of)
        kept, self.blend_ = choice.kept, choice.blend
        answers, alone = judge_choice(p, p_w[fold_of], captions, fold_of)
        nats = [nats_by_word(one, captions) for one in alone]
        why = f"blend of {len(kept)} models" if len(kept) > 1 else f"{tried[kept[0]].member.title} alone"
        found, single = np.exp(nats_by_word(answers, captions)), np.exp(min(nats))
        self.result_ = f"{why}: perplexity of hidden captions {found:.1f}, best member {single:.1f}"
        weights = dict(zip(kept, self.blend_.weights.tolist(), strict=True))
        self.report_ = [
            Row(
                t.member.title,
                t.settings,
                float(np.exp(nats[m])),
                t.seconds,
                float(choice.alone[m].backgrounds[0]),
                weights.get(m, 0.0),
                "used" if m in weights else "does not help the others",
            )
            for m, t in enumerate(tried)
        ]
        self.alone_ = {t.member.title: alone[m].astype(np.float32) for m, t in enumerate(tried)}
        return kept, answers

    # --- Use ---------------------------------------------------------------------------------------------

    def used(self) -> dict[str, Annotator]:
        """The members of the blend by their titles."""
        titles = [row.member for row in self.report_ if row.note.startswith("used")]
        return dict(zip(titles, self.members_, strict=True))

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        return self.blend_((member.annotate(corpus) for member in self.members_), self.p_w_)

    def table(self) -> str:
        """What was tried and what became of it, as plain text."""
        lines = [self.result_]
        for row in self.report_:
            perplexity = "     -" if row.perplexity is None else f"{row.perplexity:6.1f}"
            lines.append(
                f"{row.member:32s} perplexity {perplexity}  weight {row.weight:5.2f}  {row.seconds:6.1f} s  {row.note}"
            )
        return "\n".join(lines)

    # --- Checks and files --------------------------------------------------------------------------------

    def _columns(self, corpus: Corpus) -> dict[str, int]:
        """The views that the chosen members need; before there are members, all that there are."""
        views = {view for member in getattr(self, "members_", []) for view in member.needs}
        for member in getattr(self, "members_", []):
            member._columns(corpus)  # names a missing view
        found = {view: columns_of(corpus, view) for view in sorted(views or _VIEWS)}
        return {view: n for view, n in found.items() if n is not None}

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {"p_w": self.p_w_, "weights": self.blend_.weights, "backgrounds": self.blend_.backgrounds}
        headers = []
        for number, member in enumerate(self.members_):
            header, own = member._file_content()
            headers.append(header)
            arrays |= {f"member{number}.{name}": array for name, array in own.items()}
        report = [asdict(row) for row in self.report_]
        return arrays, {"members": headers, "prior_weight": self.blend_.prior_weight, "report": report}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.p_w_ = arrays["p_w"]
        self.blend_ = Blend(arrays["backgrounds"], arrays["weights"], float(facts["prior_weight"]))
        self.report_ = [Row(**row) for row in facts["report"]]
        self.members_ = []
        for number, header in enumerate(facts["members"]):
            prefix = f"member{number}."
            own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            self.members_.append(
                annotator_class(header["model"]).from_state(
                    header, own, source=f"member {number + 1} of {self.name}"
                )
            )
