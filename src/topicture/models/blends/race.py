"""Who goes on: members that no blend of better ones has a use for are given up early.

What a member adds is judged on captions that were hidden from it, by blends fitted to the other half of them. One that
takes long must add more: a thousandth of a nat per word for each second of a fit, as foreseen. Seconds that were
measured take no part, so the same collection ends at the same members.

Twice as much (in the heat four times), as it was first, cost collections with visual words alone a twentieth of their
accuracy: `matching` added 0.06 to 0.07 nats in its heat, and was dropped. Where it is of no use (deep descriptors) it
added 0.015.

Where many images are tagged less will do, since every word of every caption gains: on 4,493 tagged photos with deep
descriptors `matching` added 0.004 nats in its heat, which was too little, and 0.02 in the end.

What is told of a blend stays true: it is judged on folds that took no part in its choice. Only who is left to choose
from depends on the first fold.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.models.blends.blend import best_background, cross_fitted, fit_blend, nats_by_word

__all__ = [
    "RULES",
    "Alone",
    "alone",
    "gain_needed",
    "gain_of",
    "heat_gain",
    "of_use",
    "poor_view",
]

RULES = 3  # raise it whenever others would be dropped: what an earlier race found then counts no more
_LEAST_GAIN = 1e-3  # nats per word
_GAIN_PER_SECOND = 1e-3
_USUAL_IMAGES = 2500  # of a collection that the work is foreseen for; in a smaller one nobody waits for long
_MANY_TAGGED = 2000  # whoever tagged more has more words to gain, and has waited longer
_FAR_BEHIND = 0.15  # nats per word
_GAIN_OF_VIEW, _RIVALS = 0.02, 3
_SURE = 2  # the best ones stay in any case: a choice needs some


class Alone(NamedTuple):
    """A member's answers (n, V) for hidden captions, and what these cost by themselves, in nats per word."""

    p: np.ndarray
    background: float
    nats: float


def alone(p: np.ndarray, p_w: np.ndarray, captions: sparse.csr_array) -> Alone:
    """A member by itself, with the background and the temperature that suit it."""
    p = p.astype(np.float64)
    b = best_background(p, p_w, captions)
    return Alone(p, b, nats_by_word(fit_blend([p], np.array([b]), p_w, captions)([p], p_w), captions))


def gain_needed(hundredths: float, n_images: int, n_tagged: int = 0) -> float:
    """What a member must add whose fit takes so long, as `work` foresees it."""
    seconds = hundredths / 100 * min(n_images / _USUAL_IMAGES, 1.0)
    return max(_LEAST_GAIN, _GAIN_PER_SECOND * seconds * min(_MANY_TAGGED / max(n_tagged, 1), 1.0))


def heat_gain(hundredths: float, n_images: int, n_tagged: int = 0) -> float:
    """The same on a part of the images. With many tags that part only tells who adds nothing at all."""
    return _LEAST_GAIN if n_tagged > _MANY_TAGGED else gain_needed(hundredths, n_images, n_tagged)


def gain_of(
    member: Alone,
    others: Sequence[Alone],
    p_w: np.ndarray,
    captions: sparse.csr_array,
    part_of: np.ndarray,
) -> float:
    """Nats per word that a blend gains by a member; `part_of` (n,) are the parts of the captions."""
    return _nats(others, p_w, captions, part_of) - _nats([*others, member], p_w, captions, part_of)


def poor_view(
    own: Sequence[Alone],
    others: Sequence[Alone],
    p_w: np.ndarray,
    captions: sparse.csr_array,
    part_of: np.ndarray,
) -> bool:
    """Whether the best of the quick members on a view adds nothing worth waiting for to the best on other views."""
    if not own or not others:
        return False
    best, rivals = min(own, key=lambda one: one.nats), sorted(others, key=lambda one: one.nats)[:_RIVALS]
    if best.nats - rivals[0].nats < _FAR_BEHIND:
        return False
    return gain_of(best, rivals, p_w, captions, part_of) < _GAIN_OF_VIEW


def of_use(
    members: Sequence[Alone],
    needed: Sequence[float],
    p_w: np.ndarray,
    captions: sparse.csr_array,
    part_of: np.ndarray,
) -> list[int]:
    """Members that add what is needed to a blend of better ones, in their order."""
    order = np.argsort([one.nats for one in members], kind="stable").tolist()
    chosen = order[:_SURE]
    nats = _nats([members[m] for m in chosen], p_w, captions, part_of)
    for m in order[_SURE:]:
        with_it = _nats([members[i] for i in (*chosen, m)], p_w, captions, part_of)
        if nats - with_it >= needed[m]:
            chosen.append(m)
            nats = with_it
    return sorted(chosen)


def _nats(
    members: Sequence[Alone], p_w: np.ndarray, captions: sparse.csr_array, part_of: np.ndarray
) -> float:
    backgrounds = np.array([one.background for one in members])
    p_w = np.broadcast_to(p_w, members[0].p.shape)
    return nats_by_word(
        cross_fitted([one.p for one in members], backgrounds, p_w, captions, part_of), captions
    )
