"""Folds of the tagged images: parts whose captions are hidden in turn. All that hides captions takes them from here.

Images with answers and no caption have a fold as well: a model that is asked about them must not have seen them, nor
an answer about a near copy of what it is judged on.

Near copies are in one fold: a model that has seen one shot of a burst knows the captions of the others by heart, and
would be judged on that.
"""

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.corpus import Corpus
from topicture.models.look_alikes import look_alikes

__all__ = ["folds_of"]


def folds_of(
    corpus: Corpus, n_folds: int, *, seed: int | np.random.Generator = 0, groups: ArrayLike | None = None
) -> NDArray[np.int64]:
    """The fold of every image, (D,), -1 for those nobody said anything about; the order of images does not matter.

    Parameters
    ----------
    n_folds : there are fewer where there are fewer groups
    groups : (D,) images with equal values stay together; near copies where not given (`look_alikes`)

    Where all tagged images are one group, they are dealt out one by one: there is no other way to judge. Images with
    answers alone are dealt out after the tagged ones, which have the folds that they would have without.
    """
    order = np.argsort(corpus.image_ids, kind="stable")
    tagged = order[corpus.tagged[order]]
    fold_of = np.full(len(corpus), -1)
    if not len(tagged):
        return fold_of
    groups = np.asarray(look_alikes(corpus) if groups is None else groups)
    group = _numbered(groups[tagged])
    if group.max() == 0:
        group = np.arange(len(tagged))
    rng = np.random.default_rng(seed)
    fold_of[tagged] = _dealt(group, n_folds, rng)[group]
    others = order[corpus.answered[order]]
    if len(others):
        fold_of_group = dict(zip(groups[tagged].tolist(), fold_of[tagged].tolist(), strict=True))
        fold_of[others] = [fold_of_group.get(one, -1) for one in groups[others].tolist()]
        alone = others[fold_of[others] < 0]
        group = _numbered(groups[alone])
        fold_of[alone] = _dealt(group, int(fold_of.max()) + 1, rng)[group]
    return fold_of


def _dealt(group: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of each group, from the groups (n,) of images: folds are about equally large.

    Large groups first, each to the smallest fold. (GroupKFold does so too, but orders groups of one size as the sort of
    the machine happens to.)
    """
    sizes = np.bincount(group)
    dealt = rng.permutation(len(sizes))
    fold_of_group = np.zeros(len(sizes), np.int64)
    folds = [(0, fold) for fold in range(min(n_folds, max(len(sizes), 1)))]
    for one in dealt[np.argsort(-sizes[dealt], kind="stable")]:
        load, fold = folds[0]
        fold_of_group[one] = fold
        heapq.heapreplace(folds, (load + int(sizes[one]), fold))
    return fold_of_group


def _numbered(values: np.ndarray) -> np.ndarray:
    """The values as 0, 1, ... in order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
