"""Which members a blend keeps and how it weighs them; and what such a choice is worth on captions it was not made on.

n tagged images, V words. `p_w` is (n, V): the word frequencies without the captions of the image's own fold, for they
are learned as well.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.blends.blend import (
    Blend,
    best_background,
    cross_fitted,
    fit_blend,
    nats_by_word,
    pruned,
)

__all__ = ["BlendChoice", "Judged", "choose_blend", "judge_choice", "word_frequencies_of_folds"]

PSEUDO_COUNT = 0.5


class BlendChoice(NamedTuple):
    """Members to keep, and how they are put together."""

    kept: list[int]
    blend: Blend
    alone: list[Blend]  # every member by itself

    def __call__(self, members: Sequence[np.ndarray], p_w: np.ndarray) -> np.ndarray:
        """p(w | i), (n, V), from the answers of all members."""
        return self.blend([members[m] for m in self.kept], p_w)


class Judged(NamedTuple):
    """Answers (n, V) for every fold by a choice made on the other folds: of the blend, and of single members."""

    answers: np.ndarray
    alone: list[np.ndarray]


def word_frequencies_of_folds(corpus: Corpus, fold_of: np.ndarray) -> np.ndarray:
    """Word frequencies without the captions of each fold, (n_folds, V).

    A word that occurs counts at least once: the vocabulary tells as much, and the model that is used in the end has
    seen every word.
    """
    captions = corpus.answers_as_captions().captions
    occurs = np.asarray(captions.sum(axis=0)).ravel() > 0
    found = []
    for fold in range(int(fold_of.max()) + 1):
        others = np.asarray(captions[fold_of != fold].sum(axis=0)).ravel()
        found.append(np.maximum(others, occurs) + PSEUDO_COUNT)
    return np.stack([one / one.sum() for one in found])


def choose_blend(
    members: Sequence[np.ndarray], p_w: np.ndarray, captions: sparse.csr_array, fold_of: np.ndarray
) -> BlendChoice:
    """What makes the captions (n, V) most probable, from the members' answers for them while they were hidden.

    The best member alone, unless a blend with weights learned on other folds is better.
    """
    backgrounds = np.array([best_background(p, p_w, captions) for p in members])
    alone = [
        fit_blend([p], backgrounds[[m]], p_w, captions) for m, p in enumerate(members)
    ]  # two numbers each: too few to be learned by heart
    nats = [nats_by_word(one([p], p_w), captions) for one, p in zip(alone, members, strict=True)]
    best = int(np.argmin(nats))
    kept = pruned(members, backgrounds, p_w, captions)
    if len(kept) > 1:
        parts = [members[m] for m in kept]
        together = nats_by_word(cross_fitted(parts, backgrounds[kept], p_w, captions, fold_of), captions)
        if together < nats[best]:
            return BlendChoice(kept, fit_blend(parts, backgrounds[kept], p_w, captions), alone)
    return BlendChoice([best], alone[best], alone)


def judge_choice(
    members: Sequence[np.ndarray], p_w: np.ndarray, captions: sparse.csr_array, fold_of: np.ndarray
) -> Judged:
    """The whole choice is made without the fold that it is judged on: backgrounds, members and weights."""
    answers = np.zeros_like(members[0])
    alone = [np.zeros_like(p) for p in members]
    for fold in np.unique(fold_of):
        inside, others = fold_of == fold, fold_of != fold
        choice = choose_blend([p[others] for p in members], p_w[others], captions[others], fold_of[others])
        hidden = [p[inside] for p in members]
        answers[inside] = choice(hidden, p_w[inside])
        for m, one in enumerate(choice.alone):
            alone[m][inside] = one([hidden[m]], p_w[inside])
    return Judged(answers, alone)
