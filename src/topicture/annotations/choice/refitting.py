"""Annotators just like a fitted one, to be fitted again on other captions: for held-out answers and quality curves.

A blend is asked as it asked itself: members choose again what they chose for themselves; backgrounds, weights and word
frequencies for a fold are learned without its captions. Only which settings a member has stays as it was.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone

from topicture.annotations.choice.quality_curves import Learner
from topicture.annotations.choice.trials import N_FOLDS, HeldOut, held_out, settled
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.base import Annotator
from topicture.models.blends.auto import Auto
from topicture.models.blends.blend import Blend
from topicture.models.blends.choice import (
    PSEUDO_COUNT,
    choose_blend,
    judge_choice,
    word_frequencies_of_folds,
)
from topicture.models.blends.hidden_answers import HiddenAnswers
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.completion import expected
from topicture.models.empirical import word_frequencies
from topicture.models.folds import folds_of
from topicture.models.interrupts import all_or_nothing

__all__ = [
    "LikeBlend",
    "blend_held_out",
    "held_out_again",
    "hidden_answers_of",
    "n_topics_of",
    "unfitted_like",
    "with_topics",
]


class LikeBlend:
    """Members of a blend with their settings; whatever else is learned comes from the captions that `fit` is shown."""

    def __init__(self, members: list[Annotator], seed: int):
        self.members = members
        self.seed = seed

    @all_or_nothing()
    def fit(self, corpus: Corpus) -> Self:
        """Learn weights from folds of the shown captions, and what they keep from all of them."""
        self.p_w = word_frequencies(expected(corpus), PSEUDO_COUNT)
        fold_of = folds_of(corpus, N_FOLDS, seed=self.seed)
        kept, self.blend = list(range(len(self.members))), _even_blend(len(self.members))
        if fold_of.max() > 0:
            answers = [_answers(member, corpus, fold_of, KeptTrials()) for member in self.members]
            choice = choose_blend(answers, *_hidden(corpus, fold_of))
            kept, self.blend = choice.kept, choice.blend
        self.used = [clone(self.members[m]).fit(corpus) for m in kept]
        return self

    def annotate(self, corpus: Corpus) -> np.ndarray:
        """p(word | image), (D, V)."""
        return self.blend([member.annotate(corpus) for member in self.used], self.p_w)


def unfitted_like(annotator: Annotator) -> Callable[[], Learner]:
    """A function that makes annotators with the settings of a fitted one; what those leave open is chosen anew."""
    if isinstance(annotator, Auto):
        return lambda: LikeBlend([clone(member) for member in annotator.members_], annotator.seed)
    return lambda: clone(annotator)


def n_topics_of(annotator: Annotator) -> int | None:
    """K, the number of topics or components that an annotator was told to have; None where it has none."""
    name = _topics_parameter(annotator)
    return None if name is None else int(getattr(annotator, name))


def with_topics(annotator: Annotator) -> Callable[[int], Learner]:
    """A function that makes annotators like a fitted one but for K, the number of topics or components."""
    name = _topics_parameter(annotator)
    if name is None:
        raise TopictureError(f"{annotator.name}: the model has no number of topics to change")
    return lambda n_topics: _like(annotator, **{name: n_topics})


def _topics_parameter(annotator: Annotator) -> str | None:
    params = annotator.get_params(deep=False)
    return next((name for name in ("n_topics", "n_components") if name in params), None)


def held_out_again(
    annotator: Annotator,
    corpus: Corpus,
    *,
    also: NDArray[np.bool_] | None = None,
    groups: ArrayLike | None = None,
    n_folds: int = N_FOLDS,
    seed: int = 0,
    on_fold: Callable[[int, int], None] = lambda done, total: None,
    kept: KeptTrials | None = None,
    same_weights: bool = False,
) -> HeldOut:
    """Answers for hidden captions by annotators just like a fitted one; the same folds give the same answers.

    `also` and `groups` as for `auto_choice.held_out`; `on_fold` is told how many fits are done of how many. `kept`
    are fits of members of a blend that were finished before. With `same_weights` these are blended as the fitted one
    blends its own: where other groups are hidden than it was chosen with, weights of their own would be more cautious,
    and what is learned of such answers would not hold for those of the fitted one.
    """
    if isinstance(annotator, Auto):
        answers = hidden_answers_of(
            annotator, corpus, groups=groups, n_folds=n_folds, seed=seed, on_fold=on_fold, kept=kept
        )
        return blend_held_out(annotator, corpus, answers, also=also, same_weights=same_weights)
    return held_out(
        lambda: _like(annotator),
        corpus,
        also=also,
        groups=groups,
        n_folds=n_folds,
        seed=seed,
        on_fold=lambda done: on_fold(done, n_folds),
    )


def hidden_answers_of(
    auto: Auto,
    corpus: Corpus,
    *,
    groups: ArrayLike | None = None,
    n_folds: int = N_FOLDS,
    seed: int = 0,
    on_fold: Callable[[int, int], None] = lambda done, total: None,
    kept: KeptTrials | None = None,
) -> HiddenAnswers:
    """What annotators like the members of a blend say of the tagged images while their folds are hidden."""
    fold_of = folds_of(corpus, n_folds, seed=seed, groups=groups)
    n_folds = int(fold_of.max()) + 1
    used = auto.used()
    answers = []
    for number, member in enumerate(used.values()):

        def told(done: int, before: int = number * n_folds) -> None:
            on_fold(before + done, len(used) * n_folds)

        answers.append(_answers(member, corpus, fold_of, kept or KeptTrials(), told).astype(np.float32))
    inside = fold_of >= 0
    return HiddenAnswers(
        tuple(used), corpus.vocabulary.words, corpus.image_ids[inside], fold_of[inside], np.stack(answers)
    )


def blend_held_out(
    auto: Auto,
    corpus: Corpus,
    answers: HiddenAnswers,
    *,
    also: NDArray[np.bool_] | None = None,
    same_weights: bool = False,
) -> HeldOut:
    """What a blend of such answers says of each fold, chosen on the others; the rest as for `held_out_again`."""
    row_of = answers.rows_of(corpus.image_ids)
    fold_of = np.where(row_of >= 0, answers.fold_of[row_of], -1)
    p_w, captions, folds = _hidden(corpus, fold_of)
    rows = row_of[row_of >= 0]
    same_order = answers._replace(p=answers.p[:, rows])
    parts = [
        same_order.in_words(title, corpus.vocabulary.words, p_w).astype(np.float64) for title in auto.used()
    ]
    p = np.zeros((len(corpus), corpus.n_words))
    p[fold_of >= 0] = (
        auto.blend_(parts, p_w) if same_weights else judge_choice(parts, p_w, captions, folds).answers
    )
    if also is not None and (asked := np.flatnonzero(also & ~corpus.taught)).size:
        p[asked] = auto.annotate(corpus[asked].without_captions())  # it has not seen a word about them
    return HeldOut(p, fold_of)


def _answers(
    member: Annotator,
    corpus: Corpus,
    fold_of: NDArray[np.int64],
    kept: KeptTrials,
    on_fold: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """What annotators like the member say of the tagged images, (n, V), while their folds are hidden."""
    p = np.zeros((len(corpus), corpus.n_words), np.float32)  # as `auto` keeps them
    for fold in range(int(fold_of.max()) + 1):
        hidden = fold_of == fold

        def find(hidden: NDArray[np.bool_] = hidden) -> np.ndarray:
            learned = clone(member).fit(corpus.without_captions(hidden))
            return learned.annotate(corpus[hidden].without_captions())

        p[hidden] = kept.answers(member, corpus, hidden, find).p
        on_fold(fold + 1)
    return p[fold_of >= 0].astype(np.float64)


def _hidden(corpus: Corpus, fold_of: NDArray[np.int64]) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
    """Word frequencies, captions and folds of the tagged images, for `choose_blend`; captions are completed.

    They are so by all captions: only the few weights of a blend are told by that.
    """
    inside, corpus = fold_of >= 0, expected(corpus)
    p_w = word_frequencies_of_folds(corpus, fold_of)[fold_of[inside]]
    return p_w, sparse.csr_array(corpus.captions[inside]), fold_of[inside]


def _even_blend(n: int) -> Blend:
    """Where there is nothing to learn weights from."""
    return Blend(np.full(n, 0.1), np.full(n, 1 / n), 0.0)


def _like(annotator: Annotator, **changes: Any) -> Annotator:
    return type(annotator)(**{**annotator.get_params(deep=False), **settled(annotator), **changes})
