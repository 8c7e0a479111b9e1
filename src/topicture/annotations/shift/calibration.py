"""Probabilities for the photos that nobody tagged, learned from those that somebody did, in three steps.

1. `Presence` from hidden tags, once with random folds (the world near the tagged photos) and, where untagged photos are
   far from them, once with whole groups hidden (the far world).
2. A photo gets both, in the proportion in which it is far (`worlds`).
3. Answers about single words correct the outcome (`answered`).

A group's own words are not in the vocabulary of a model that has not seen the group; so, where a group is hidden, words
that hardly occur elsewhere are no evidence.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs, Presence, cross_fitted, fit_presence
from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift.answered import Answered, fit_answered
from topicture.annotations.shift.worlds import FarWorld, Worlds
from topicture.corpus import Corpus

__all__ = ["Calibration", "Evidence", "calibrate"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST_ELSEWHERE = 3  # photos that must have a word beside those of a hidden group
MOST_OF_A_GROUP = 2.0  # pairs that the suggestions of a word in one hidden group count for
SUGGESTED = 0.3  # from this presence on


class Calibration(NamedTuple):
    """From word distributions to the probability that the word is true of the photo."""

    near: Presence
    far: Presence | None
    worlds: Worlds | None
    answered: Answered

    def far_share(self, corpus: Corpus, places: Sequence[str] | None = None) -> Floats:
        """(D,): how probably each photo is far from what was tagged; `places` (D,) are the photos' folders."""
        return np.zeros(len(corpus)) if self.worlds is None else self.worlds.far_share(corpus, places)

    def __call__(self, p: Any, far_share: Floats) -> Floats:
        """Presence (D, V) of word distributions (D, V) of photos that are far with some probability (D,)."""
        return self.answered(_mixed(self.near, self.far, p, far_share))


class Evidence(NamedTuple):
    """What is known about D photos and V words, and what models said that had not seen it.

    Attributes
    ----------
    truth, known : (D, V) as for `fit_presence`
    captioned : (D,) photos with a caption of their owner's; the verdicts on others are answers to questions
    near, far : answers with near copies hidden together, and with whole groups hidden
    """

    truth: Any
    known: Bools
    captioned: Bools
    near: HeldOut
    far: HeldOut | None = None
    world: FarWorld | None = None


def calibrate(evidence: Evidence, *, seed: int = 0) -> tuple[Calibration, JudgedPairs]:
    """The calibration, and pairs with honest presences that thresholds and `evaluate` are read from."""
    truth, known, captioned = evidence.truth, evidence.known, evidence.captioned
    asked = known & ~captioned[:, None]
    if not captioned.any():
        captioned, asked = known.any(axis=1), np.zeros_like(known)
    inside = captioned & evidence.near.p.any(axis=1)
    rows = np.flatnonzero(inside)
    near, honest = _fitted(evidence.near, rows, truth, known, seed)
    if evidence.far is None or evidence.world is None:
        found = Calibration(near, None, None, Answered.nothing(truth.shape[1]))
        pairs = JudgedPairs.of(honest, truth[rows], known[rows])
        return _with_answers(found, pairs, evidence, asked, np.zeros(len(truth)))
    world, elsewhere = evidence.world, _elsewhere(truth, evidence.far.fold_of, known)
    rows_far = np.flatnonzero(captioned & evidence.far.p.any(axis=1))
    far, honest_far = _fitted(evidence.far, rows_far, truth, elsewhere, seed)
    found = Calibration(near, far, world.worlds, Answered.nothing(truth.shape[1]))
    # In either world a photo is told what the mixture says at its likeness there.
    mixed = _mixture(honest, far(evidence.near.p[rows]), world.near[rows])
    mixed_far = _mixture(near(evidence.far.p[rows_far]), honest_far, world.hidden[rows_far])
    pairs = _pooled(
        JudgedPairs.of(mixed, truth[rows], known[rows]),
        _grouped(mixed_far, truth[rows_far], elsewhere[rows_far], world.groups[rows_far]),
        world.share,
    )
    far_share = np.where(np.isnan(world.near), world.share, world.near)
    return _with_answers(found, pairs, evidence, asked, far_share)


def _with_answers(
    found: Calibration, pairs: JudgedPairs, evidence: Evidence, asked: Bools, far_share: Floats
) -> tuple[Calibration, JudgedPairs]:
    rows = np.flatnonzero(asked.any(axis=1) & evidence.near.p.any(axis=1))
    if not len(rows):
        return found, pairs
    presence = found(evidence.near.p[rows], far_share[rows])
    here = asked[rows]
    answers = JudgedPairs.of(presence, evidence.truth[rows], here)
    answered = fit_answered(answers.presence, answers.word, answers.truth, evidence.truth.shape[1])
    parts = [
        pairs._replace(
            presence=answered.at(pairs.presence, pairs.word),
            truth=answered.truth_of(pairs.presence, pairs.word, np.asarray(pairs.truth, np.float64)),
        ),
        answers._replace(
            presence=answered.at(answers.presence, answers.word),
            truth=np.asarray(answers.truth, np.float64),
            weight=None if pairs.weight is None else np.ones(len(answers.word)),
            group=None if pairs.group is None else -1 - np.nonzero(here)[0],
        ),
    ]
    return found._replace(answered=answered), _joined(parts)


def _fitted(scores: HeldOut, rows: Any, truth: Any, known: Bools, seed: int) -> tuple[Presence, Floats]:
    p, is_true, judged = scores.p[rows], truth[rows], known[rows]
    presence = fit_presence(p, is_true, judged, seed=seed)
    return presence, cross_fitted(p, is_true, judged, scores.fold_of[rows], seed=seed)


def _elsewhere(truth: Any, fold_of: NDArray[np.int64], known: Bools) -> Bools:
    """The known pairs whose word occurs often enough outside the photo's fold."""
    found = known.copy()
    for fold in np.unique(fold_of[fold_of >= 0]):
        inside = fold_of == fold
        found[inside] &= (truth[(fold_of >= 0) & ~inside] > 0.5).sum(axis=0) >= FEWEST_ELSEWHERE
    return found


def _mixed(near: Presence, far: Presence | None, p: Any, far_share: Floats) -> Floats:
    return near(p) if far is None else _mixture(near(p), far(p), far_share)


def _mixture(near: Floats, far: Floats, far_share: Floats) -> Floats:
    return (1 - far_share[:, None]) * near + far_share[:, None] * far


def _grouped(presence: Floats, truth: Any, known: Bools, groups: NDArray[np.int64]) -> JudgedPairs:
    """Pairs of a world of groups; what is suggested in one group stands or falls together, and counts little more."""
    row, word = np.nonzero(known)
    pairs = JudgedPairs.of(presence, truth, known)
    group = np.unique(groups, return_inverse=True)[1][row]
    key = group * known.shape[1] + word
    n_suggested = np.bincount(key, pairs.presence >= SUGGESTED)[key]
    weight = np.where(pairs.presence >= SUGGESTED, np.minimum(1.0, MOST_OF_A_GROUP / np.maximum(n_suggested, 1)), 1.0)
    return pairs._replace(weight=weight, group=group)


def _pooled(near: JudgedPairs, far: JudgedPairs, share: float) -> JudgedPairs:
    """Both worlds, in the proportion in which untagged photos live there."""
    n_groups = int(far.group.max(initial=0)) + 1
    near = near._replace(weight=np.full(len(near.word), 1 - share), group=n_groups + np.arange(len(near.word)))
    return _joined([near, far._replace(weight=share * far.weight)])


def _joined(parts: list[JudgedPairs]) -> JudgedPairs:
    return JudgedPairs(
        *(None if columns[0] is None else np.concatenate(columns) for columns in zip(*parts, strict=True))
    )
