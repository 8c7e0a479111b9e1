"""Folds of the tagged images: parts whose captions are hidden in turn. All that hides captions takes them from here.

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
    """The fold of every image, (D,), -1 for untagged ones; it does not depend on the order of the images.

    Parameters
    ----------
    n_folds : there are fewer where there are fewer groups
    groups : (D,) images with equal values stay together; near copies where not given (`look_alikes`)

    Where all tagged images are one group, they are dealt out one by one: there is no other way to judge.
    """
    order = np.argsort(corpus.image_ids, kind="stable")
    tagged = order[corpus.tagged[order]]
    fold_of = np.full(len(corpus), -1)
    if not len(tagged):
        return fold_of
    group = _numbered(np.asarray(look_alikes(corpus) if groups is None else groups)[tagged])
    if group.max() == 0:
        group = np.arange(len(tagged))
    sizes = np.bincount(group)
    dealt = np.random.default_rng(seed).permutation(len(sizes))
    # Large groups first, each to the smallest fold: folds of about one size. (GroupKFold does so too, but orders groups
    # of one size as the sort of the machine happens to.)
    fold_of_group = np.zeros(len(sizes), np.int64)
    folds = [(0, fold) for fold in range(min(n_folds, len(sizes)))]
    for one in dealt[np.argsort(-sizes[dealt], kind="stable")]:
        load, fold = folds[0]
        fold_of_group[one] = fold
        heapq.heapreplace(folds, (load + int(sizes[one]), fold))
    fold_of[tagged] = fold_of_group[group]
    return fold_of


def _numbered(values: np.ndarray) -> np.ndarray:
    """The values as 0, 1, ... in order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
