r"""The default annotator: tries several models on the tagged images, and blends those that help.

The captions of one fold of the tagged images after the other are hidden; every member learns from the whole corpus
without them, untagged images included, and annotates the hidden ones. On these answers the blend is learned (blend.py).
Settings of a member are compared on the first fold. If the blend, with weights learned on the other folds, is not
better than the best member alone, that member is what is used. At last the chosen members learn from everything.

Members come cheap ones first. One that would not be done within the time budget is left out, and the table says so.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.auto_members import MEMBERS, Member, members_for
from topicture.models.base import Annotator, columns_of
from topicture.models.blend import Blend, best_background, fit_blend, nats_by_word, pruned
from topicture.models.empirical import word_frequencies
from topicture.models.registry import annotator_class

__all__ = ["Auto", "Row", "Tried"]

_VIEWS = ("descriptor", "visual_words", "region_words", "regions")


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


@dataclass(frozen=True, eq=False)
class Tried:
    """A member with its answers for the tagged images, (n, V), given while their captions were hidden."""

    member: Member
    settings: dict[str, Any]
    p: np.ndarray = field(repr=False)
    seconds: float
    refit_seconds: float


class Auto(Annotator):
    """Blend of the models that suit the collection, chosen by the likelihood of hidden captions.

    Parameters
    ----------
    members : registry names of the models to try; None for a good choice
    n_folds : the tagged images are cut into so many folds, each hidden once
    budget_seconds : time for trying and learning; members for which it does not suffice are left out. The same images
        give the same model as long as the time suffices
    seed : of the folds and of the members

    Attributes
    ----------
    report_ : list of Row, what was tried, in the order of trying
    held_out_ : (D, V) answers for the images in order of their ids, those for tagged ones by blends and members that
        had not seen their captions; not kept in model files
    fold_of_ : (D,) -1 for untagged images; not kept in model files
    """

    name = "auto"

    def __init__(
        self,
        members: list[str] | None = None,
        *,
        n_folds: int = 3,
        budget_seconds: float = 600.0,
        seed: int = 0,
    ):
        self.members = members
        self.n_folds = n_folds
        self.budget_seconds = budget_seconds
        self.seed = seed

    # --- Learn -------------------------------------------------------------------------------------------

    def fit(self, corpus: Corpus, *, callback: Callable[[Any], None] | None = None) -> Self:
        """Try, choose and learn; see `Annotator.fit`."""
        self.__dict__.pop("members_", None)  # what an earlier corpus needed says nothing about this one
        return super().fit(corpus, callback=callback)

    def _check_params(self) -> None:
        if self.n_folds < 2:
            raise TopictureError(f"{self.name}: n_folds must be at least 2, not {self.n_folds!r}")
        if not self.budget_seconds > 0:
            raise TopictureError(f"{self.name}: budget_seconds must be positive, not {self.budget_seconds!r}")
        for model in self.members or MEMBERS:
            annotator_class(model)

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        start = perf_counter()
        tagged = np.flatnonzero(corpus.tagged)
        if len(tagged) < 2:
            few = "one sample" if len(tagged) else "no image"
            raise CorpusError(f"{self.name}: {few} is tagged, too few to learn from; tag at least two")
        self.p_w_ = word_frequencies(corpus, 0.5)
        self.fold_of_ = np.full(len(corpus), -1)
        order = np.random.default_rng(self.seed).permutation(tagged)
        self.fold_of_[order] = np.arange(len(tagged)) % min(self.n_folds, len(tagged))
        self.report_: list[Row] = []
        tried = self._try_members(corpus, start, callback)
        kept, answers = self._choose(tried, sparse.csr_array(corpus.captions[tagged]), self.fold_of_[tagged])
        self.members_ = [
            _fitted(t.member, t.settings, self.seed, corpus, callback) for t in (tried[m] for m in kept)
        ]
        self.held_out_ = np.zeros((len(corpus), corpus.n_words))
        self.held_out_[tagged] = answers
        untagged = np.flatnonzero(~corpus.tagged)
        if len(untagged):
            self.held_out_[untagged] = self._annotate(corpus[untagged])
        self.objective_trace_ = np.zeros(0)
        self.n_iter_ = 0

    def _try_members(
        self, corpus: Corpus, start: float, callback: Callable[[Any], None] | None
    ) -> list[Tried]:
        tried: list[Tried] = []
        for member in members_for(corpus, self.members):
            reserved = sum(t.refit_seconds for t in tried)
            deadline = start + self.budget_seconds - reserved if tried else np.inf
            found = self._try(member, corpus, deadline, callback)
            if isinstance(found, Tried):
                tried.append(found)
            else:
                self.report_.append(Row(member.title, {}, None, 0.0, 0.0, 0.0, found))
        if not tried:
            raise CorpusError(f"{self.name}: the corpus has no view that a member needs")
        return tried

    def _try(
        self, member: Member, corpus: Corpus, deadline: float, callback: Callable[[Any], None] | None
    ) -> Tried | str:
        """The member's answers with its best settings, or why there are none."""
        begin = perf_counter()
        n_folds = int(self.fold_of_.max()) + 1
        if begin >= deadline:
            return "not tried: the time was up"
        scored: list[tuple[float, dict[str, Any], np.ndarray, float]] = []
        for settings in member.settings:
            since = perf_counter()
            try:
                p = self._hidden_answers(member, settings, corpus, 0, callback)
            except TopictureError as error:
                return f"can't learn from this collection: {error}"
            seconds = perf_counter() - since
            scored.append((self._nats(p, corpus, 0), settings, p, seconds))
            # The other folds, and learning from everything, which takes longer.
            if perf_counter() + (n_folds + 1) * seconds > deadline:
                break
        _, settings, first, seconds = min(scored, key=lambda item: item[0])
        if perf_counter() + (n_folds + 1) * seconds > deadline:
            return f"left out: a fold took {seconds:.0f} s, too long for the time left"
        answers = np.zeros((len(corpus), corpus.n_words), np.float32)
        answers[self.fold_of_ == 0] = first
        for fold in range(1, n_folds):
            answers[self.fold_of_ == fold] = self._hidden_answers(member, settings, corpus, fold, callback)
        refit = seconds * n_folds / (n_folds - 1)
        return Tried(member, settings, answers[self.fold_of_ >= 0], perf_counter() - begin, refit)

    def _hidden_answers(
        self,
        member: Member,
        settings: dict[str, Any],
        corpus: Corpus,
        fold: int,
        callback: Callable[[Any], None] | None,
    ) -> np.ndarray:
        hidden = self.fold_of_ == fold
        annotator = _fitted(member, settings, self.seed, corpus.without_captions(hidden), callback)
        return annotator.annotate(corpus[hidden].without_captions())

    def _nats(self, p: np.ndarray, corpus: Corpus, fold: int) -> float:
        captions = sparse.csr_array(corpus.captions[self.fold_of_ == fold])
        b = best_background(p, self.p_w_, captions)
        return nats_by_word(fit_blend([p], np.array([b]), self.p_w_, captions)([p], self.p_w_), captions)

    # --- Choose ------------------------------------------------------------------------------------------

    def _choose(
        self, tried: list[Tried], captions: sparse.csr_array, fold_of: np.ndarray
    ) -> tuple[list[int], np.ndarray]:
        """Members to keep, and the answers for hidden captions; sets the blend and completes the table."""
        p = [t.p.astype(np.float64) for t in tried]
        backgrounds = np.array([best_background(one, self.p_w_, captions) for one in p])
        alone = [self._cross_fitted([m], p, backgrounds, captions, fold_of) for m in range(len(p))]
        nats = [nats_by_word(answers, captions) for answers in alone]
        best = int(np.argmin(nats))
        kept = pruned(p, backgrounds, self.p_w_, captions)
        answers = self._cross_fitted(kept, p, backgrounds, captions, fold_of)
        together = nats_by_word(answers, captions)
        if len(kept) > 1 and together < nats[best]:
            why = f"blend of {len(kept)} models"
        else:
            kept, answers, together = [best], alone[best], nats[best]
            why = f"{tried[best].member.title} alone"
        self.blend_ = fit_blend([p[m] for m in kept], backgrounds[kept], self.p_w_, captions)
        found, single = np.exp(together), np.exp(nats[best])
        self.result_ = f"{why}: perplexity of hidden captions {found:.1f}, best member {single:.1f}"
        weights = dict(zip(kept, self.blend_.weights.tolist(), strict=True))
        rows = [
            Row(
                t.member.title,
                t.settings,
                float(np.exp(nats[m])),
                t.seconds,
                float(backgrounds[m]),
                weights.get(m, 0.0),
                "used" if m in weights else "does not help the others",
            )
            for m, t in enumerate(tried)
        ]
        self.report_ = rows + self.report_
        return kept, answers

    def _cross_fitted(
        self,
        chosen: list[int],
        p: list[np.ndarray],
        backgrounds: np.ndarray,
        captions: sparse.csr_array,
        fold_of: np.ndarray,
    ) -> np.ndarray:
        """Answers (n, V) of blends of the chosen members, each with weights learned on the other folds."""
        answers = np.zeros_like(p[0])
        for fold in range(int(fold_of.max()) + 1):
            inside = fold_of == fold
            others = [p[m][~inside] for m in chosen]
            blend = fit_blend(others, backgrounds[chosen], self.p_w_, captions[~inside])
            answers[inside] = blend([p[m][inside] for m in chosen], self.p_w_)
        return answers

    # --- Use ---------------------------------------------------------------------------------------------

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        return self.blend_([member._annotate(corpus) for member in self.members_], self.p_w_)

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


def _fitted(
    member: Member,
    settings: dict[str, Any],
    seed: int,
    corpus: Corpus,
    callback: Callable[[Any], None] | None,
) -> Annotator:
    return member.make(settings, seed).fit(corpus, callback=callback)
