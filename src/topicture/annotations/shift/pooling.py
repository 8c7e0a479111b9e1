"""Judged pairs of several samples together: of two worlds, and of answers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs

__all__ = ["SUGGESTED", "grouped", "joined", "pooled"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SUGGESTED = 0.3  # from this presence on
MOST_OF_A_GROUP = 2.0  # pairs that the suggestions of a word in one hidden group count for


def grouped(presence: Floats, truth: Any, known: Bools, groups: NDArray[np.int64]) -> JudgedPairs:
    """Pairs of a world of groups; what is suggested in one group stands or falls together, and counts little more."""
    row, word = np.nonzero(known)
    pairs = JudgedPairs.of(presence, truth, known)
    group = np.unique(groups, return_inverse=True)[1][row]
    key = group * known.shape[1] + word
    n_suggested = np.bincount(key, pairs.presence >= SUGGESTED)[key]
    weight = np.where(
        pairs.presence >= SUGGESTED, np.minimum(1.0, MOST_OF_A_GROUP / np.maximum(n_suggested, 1)), 1.0
    )
    return pairs._replace(weight=weight, group=group)


def pooled(near: JudgedPairs, far: JudgedPairs, share: float) -> JudgedPairs:
    """Both worlds, in the proportion in which untagged photos live there."""
    n_groups = int(far.group.max(initial=0)) + 1
    near = near._replace(
        weight=np.full(len(near.word), 1 - share), group=n_groups + np.arange(len(near.word))
    )
    return joined([near, far._replace(weight=share * far.weight)])


def joined(parts: list[JudgedPairs]) -> JudgedPairs:
    def column(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    return JudgedPairs(**{name: column(name) for name in JudgedPairs._fields})
