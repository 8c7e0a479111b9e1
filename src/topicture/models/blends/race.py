"""Who goes on: members that are far behind, or that no blend of the others has a use for, are given up early.

Everything is judged on the answers there are so far, for captions that were hidden. What is dropped on them is dropped
with a wide margin only, so that what is told of the others on these captions later stays true; and each blend is still
judged on a fold that took no part in its choice.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.models.blends.blend import best_background, fit_blend, nats_by_word

__all__ = ["Alone", "alone", "far_behind", "of_use"]

# Nats per word behind the leader from which on a member is asked whether it adds anything to it at all.
_FAR = 0.15
# It must add as much on the very captions that its weight is fitted to: more than it would on others.
_LEAST_ADDED = 0.005
# A weight below this, found on either half of the captions, is none.
_LEAST_WEIGHT = 0.02
# So many of the best stay in any case: a choice needs some.
_FEWEST = 3


class Alone(NamedTuple):
    """A member's answers (n, V) for hidden captions, and what these cost by themselves, in nats per word."""

    p: np.ndarray
    background: float
    nats: float


def alone(p: np.ndarray, p_w: np.ndarray, captions: sparse.csr_array) -> Alone:
    """A member by itself, with the background and the temperature that suit it."""
    b = best_background(p, p_w, captions)
    return Alone(p, b, nats_by_word(fit_blend([p], np.array([b]), p_w, captions)([p], p_w), captions))


def far_behind(own: Alone, leader: Alone, p_w: np.ndarray, captions: sparse.csr_array) -> bool:
    """Whether a member is far behind the leader, and adds nothing to it."""
    if own.nats - leader.nats < _FAR:
        return False
    parts = [leader.p, own.p]
    both = fit_blend(parts, np.array([leader.background, own.background]), p_w, captions)
    return leader.nats - nats_by_word(both(parts, p_w), captions) < _LEAST_ADDED


def of_use(
    members: Sequence[Alone], p_w: np.ndarray, captions: sparse.csr_array, part_of: np.ndarray
) -> list[int]:
    """Members that a blend fitted to one part (n,) of the captions or another gives weight to, and the best few."""
    if len(members) <= _FEWEST:
        return list(range(len(members)))
    backgrounds = np.array([one.background for one in members])
    weight = np.zeros(len(members))
    for part in np.unique(part_of):
        rows = part_of == part
        blend = fit_blend(
            [one.p[rows] for one in members], backgrounds, p_w[rows] if p_w.ndim > 1 else p_w, captions[rows]
        )
        weight = np.maximum(weight, blend.weights)
    best = np.argsort([one.nats for one in members], kind="stable")[:_FEWEST]
    return sorted({*np.flatnonzero(weight >= _LEAST_WEIGHT).tolist(), *best.tolist()})
