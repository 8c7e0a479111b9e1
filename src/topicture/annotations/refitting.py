"""Annotators just like a fitted one, to be fitted again on other captions: for held-out answers and quality curves.

A blend is asked as it asked itself: members choose again what they chose for themselves, and the weights for a fold are
learned on the other folds.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from topicture.annotations.auto_choice import N_FOLDS, HeldOut, held_out, settled
from topicture.annotations.quality_curves import Learner
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.auto import Auto
from topicture.models.base import Annotator
from topicture.models.blend import Blend, fit_blend
from topicture.models.interrupts import all_or_nothing

__all__ = ["FixedBlend", "held_out_again", "n_topics_of", "unfitted_like", "with_topics"]


class FixedBlend:
    """Members to be fitted, put together with given weights."""

    def __init__(self, members: list[Annotator], blend: Blend, p_w: np.ndarray):
        self.members = members
        self.blend = blend
        self.p_w = p_w

    @all_or_nothing()
    def fit(self, corpus: Corpus) -> Self:
        for member in self.members:
            member.fit(corpus)
        return self

    def annotate(self, corpus: Corpus) -> np.ndarray:
        """p(word | image), (D, V)."""
        return self.blend([member.annotate(corpus) for member in self.members], self.p_w)


def unfitted_like(annotator: Annotator) -> Callable[[], Learner]:
    """A function that makes annotators with the settings of a fitted one, those that it chose itself included."""
    if isinstance(annotator, Auto):
        return lambda: FixedBlend([_like(m) for m in annotator.members_], annotator.blend_, annotator.p_w_)
    return lambda: _like(annotator)


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
    seed: int = 0,
    on_fold: Callable[[int, int], None] = lambda done, total: None,
) -> HeldOut:
    """Answers for hidden captions by annotators just like a fitted one; the same folds give the same answers.

    `also` as for `auto_choice.held_out`; `on_fold` is told how many fits are done of how many.
    """
    if isinstance(annotator, Auto):
        return _blend_held_out(annotator, corpus, also, seed, on_fold)
    return held_out(
        lambda: _like(annotator), corpus, also=also, seed=seed, on_fold=lambda done: on_fold(done, N_FOLDS)
    )


def _blend_held_out(
    auto: Auto,
    corpus: Corpus,
    also: NDArray[np.bool_] | None,
    seed: int,
    on_fold: Callable[[int, int], None],
) -> HeldOut:
    total = len(auto.members_) * N_FOLDS
    answers = [
        held_out(
            lambda member=member: clone(member),  # type: ignore[misc]
            corpus,
            seed=seed,
            on_fold=lambda done, number=number: on_fold(number * N_FOLDS + done, total),  # type: ignore[misc]
        )
        for number, member in enumerate(auto.members_)
    ]
    p = _blended(auto, answers, corpus)
    if also is not None and (asked := np.flatnonzero(also & ~corpus.tagged)).size:
        p[asked] = auto.annotate(corpus[asked].without_captions())  # it has not seen a caption of theirs
    return HeldOut(p, answers[0].fold_of)


def _blended(auto: Auto, answers: list[HeldOut], corpus: Corpus) -> np.ndarray:
    """Answers of the members put together; weights for a fold are learned on the other folds."""
    fold_of = answers[0].fold_of
    parts = [one.p.astype(np.float32).astype(np.float64) for one in answers]  # as the blend has kept them
    p = np.zeros_like(parts[0])
    captions = sparse.csr_array(corpus.captions)
    for fold in range(int(fold_of.max()) + 1):
        inside, others = fold_of == fold, (fold_of >= 0) & (fold_of != fold)
        blend = fit_blend(
            [part[others] for part in parts], auto.blend_.backgrounds, auto.p_w_, captions[others]
        )
        p[inside] = blend([part[inside] for part in parts], auto.p_w_)
    return p


def _like(annotator: Annotator, **changes: Any) -> Annotator:
    return type(annotator)(**{**annotator.get_params(deep=False), **settled(annotator), **changes})
