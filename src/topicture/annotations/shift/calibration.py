"""Probabilities for the photos that nobody tagged, learned from those that somebody did, in three steps.

1. `Presence` from hidden tags, once with random folds (the world near the tagged photos) and, where untagged photos are
   far from them, once with whole groups hidden (the far world, `unseen`).
2. A photo gets both, in the proportion in which it is far (`worlds`). Where tags mark a few photos each, `marks` tells
   the presence in their place.
3. Answers about untagged photos teach what a rejected word looks like (`denials`) and correct the outcome (`answered`).
4. Where there are two worlds, what is accepted unseen must hold with the caution that hidden groups have taught.

A group's own words are not in the vocabulary of a model that has not seen the group; so, where a group is hidden, words
that hardly occur elsewhere are no evidence.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs, Presence, cross_fitted, fit_presence
from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift.answered import (
    TOLD_SPREADS,
    Answered,
    Posterior,
    Sample,
    corrected_by_others,
    fit_answered,
    fit_posterior,
    fit_spread,
    parts_of,
    together_as_one,
)
from topicture.annotations.shift.completeness import CAUTION
from topicture.annotations.shift.denials import (
    FEWEST_REJECTIONS,
    Denials,
    borne_out,
    fit_denials,
    without_own_answers,
)
from topicture.annotations.shift.evidence import Evidence
from topicture.annotations.shift.marks import COUNTED_ON, MOST_COUNTED, Marks, are_marks, fit_marks_apart
from topicture.annotations.shift.pooling import SUGGESTED, grouped, joined, pooled
from topicture.annotations.shift.unseen import FEWEST_WORDS, cross_fitted_unseen, elsewhere, fit_unseen
from topicture.annotations.shift.worlds import FEWEST_UNTAGGED, TAGS, Worlds, centre_of, look_rows
from topicture.corpus import Corpus
from topicture.errors import CorpusError

__all__ = ["Calibration", "calibrate", "no_better_than_answers"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OWN_ANSWERS = 5.0  # answers about a word that its bound counts for, where they say less
FIRM = 1000.0  # pairs that a bound counts for


class Calibration(NamedTuple):
    """From word distributions to the probability that the word is true of the photo.

    Attributes
    ----------
    near, far : calibrations of the two worlds; `far` is None, with `worlds`, where there is only one
    centre : (L,) of what photos look like, as `denials` and `marks` need it
    marks : in place of the two worlds, where tags mark a few photos each
    """

    near: Presence
    far: Presence | None
    worlds: Worlds | None
    centre: Floats
    denials: Denials
    answered: Answered
    marks: Marks | None = None

    def __call__(self, p: Floats, corpus: Corpus, places: Sequence[str] | None = None) -> Floats:
        """Presence (D, V) of word distributions (D, V) of photos, each by itself; `places` (D,) are their folders."""
        looks = look_rows(corpus, self.centre) if self.marks is not None or len(self.denials.words) else None
        presence = self.near(p) if self.marks is None else self.marks(looks)
        if self.far is not None and self.worlds is not None:
            presence = _mixture(presence, self.far(p), self.worlds.far_share(corpus, places))
        if len(self.denials.words):
            presence = self.denials(presence, looks)
        return self.answered(presence)


def calibrate(evidence: Evidence, *, seed: int = 0) -> tuple[Calibration, JudgedPairs, JudgedPairs]:
    """The calibration, pairs with honest presences that `evaluate` is read from, and pairs for thresholds.

    These are the same where tagged photos are a random sample. Where they are not, they are pairs of the untagged
    photos themselves, each as true as may be counted on (`Posterior.lower`).
    """
    truth, known, n_words = evidence.truth, evidence.known, evidence.truth.shape[1]
    scored: Bools = np.asarray(evidence.near.p.any(axis=1))
    rows = np.flatnonzero(np.asarray(evidence.captioned & scored))
    if not _both_ways(truth[rows], known[rows]):  # one word, say: only answers tell where it is not
        rows = np.flatnonzero(known.any(axis=1) & scored)
    fair = known if evidence.answered is None else known & (evidence.answered | evidence.captioned[:, None])
    asked: Bools = np.where(scored[:, None], fair, False)
    asked[rows] = False
    centre = centre_of(evidence.corpus)
    # Where owners' captions are few, what was accepted stands in for them: marks are learned from that, too.
    shown: Bools = np.asarray(evidence.captioned | evidence.corpus.tagged)
    untagged: Bools = np.where((scored & ~evidence.captioned)[:, None], fair, False)
    about = np.flatnonzero(untagged.any(axis=1))
    marked = None if centre is None else _marked(centre, evidence, (truth > 0.5) & shown[:, None], about)
    try:
        near, honest = _fitted(evidence.near, rows, truth, known, seed)
    except CorpusError:  # nobody ever said that a word is not true
        if marked is None:
            raise
        near, honest = _unused(n_words), np.zeros((len(rows), n_words))
    found = Calibration(
        near,
        None,
        None,
        np.zeros(0) if centre is None else centre,
        Denials(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(0)),
        Answered.nothing(n_words),
    )
    pairs, far_share = JudgedPairs.of(honest, truth[rows], known[rows]), None
    samples: list[Sample] | None = None
    without = None
    if marked is not None:
        marks, pairs, without = marked
        found, samples = found._replace(marks=marks), []  # no hidden group tells how far promises are off
        asked = untagged
    elif evidence.far is not None and evidence.world is not None and evidence.world.kind != TAGS:
        found, pairs, far_share, samples = _with_far_world(found, pairs, honest, rows, evidence, seed)
    return _with_answers(found, pairs, evidence, asked, far_share, samples, without)


def _groups(evidence: Evidence) -> NDArray[np.int64]:
    return np.arange(len(evidence.known)) if evidence.groups is None else np.asarray(evidence.groups)


def _both_ways(truth: Any, known: Bools) -> bool:
    judged = truth[known]
    return bool((judged > 0).any() and (judged < 1).any())


def _unused(n_words: int) -> Presence:
    """In place of what hidden tags would have told, where marks tell all."""
    half, ends = np.full(n_words, 0.5), np.array([0.0, 1.0])
    return Presence(np.zeros(4), half, half, np.zeros(n_words), ends, ends)


def _marked(
    centre: Floats, evidence: Evidence, given: Bools, about: NDArray[np.int64]
) -> tuple[Marks, JudgedPairs, Floats] | None:
    """Presence by looks, and pairs of unlabelled photos, of which less is counted on than is told.

    And what photos that answers are `about` (n,) would be told without the words of their groups, (n, V).
    None where tags do not mark a few photos each, or there is nothing to compare these with.
    """
    # What answers have found in captions says that more belongs there, and not which kind of tags these are.
    apart = are_marks(given if evidence.shown is None else evidence.shown, evidence.captioned)
    if not apart and (evidence.world is None or evidence.world.kind != TAGS):
        return None
    looks = look_rows(evidence.corpus, centre)
    # With those that people were asked about: they rank high, and without them all others would seem to. In a part of
    # a collection they would be too many.
    silent: Bools = np.asarray(~evidence.known.any(axis=1))
    unlabelled: Bools = ~np.asarray(evidence.captioned) if evidence.whole else silent
    if evidence.untagged is not None and silent.sum() < len(evidence.untagged.p):
        looks = np.vstack([looks, look_rows(evidence.untagged.corpus, centre)])
        given = np.vstack([given, np.zeros(evidence.untagged.p.shape, bool)])
        unlabelled = np.append(np.zeros(len(unlabelled), bool), np.ones(len(evidence.untagged.p), bool))
    if (unlabelled & ~given.any(axis=1)).sum() < FEWEST_UNTAGGED:
        return None
    marks, without = fit_marks_apart(looks, given, unlabelled, about, _groups(evidence)[about])
    told = marks(looks[unlabelled][:MOST_COUNTED])
    return marks, JudgedPairs.of(told, COUNTED_ON * told, np.ones(told.shape, bool)), without


def _with_far_world(
    found: Calibration, pairs: JudgedPairs, honest: Floats, rows: Any, evidence: Evidence, seed: int
) -> tuple[Calibration, JudgedPairs, Floats | None, list[Sample] | None]:
    world, scores, truth = evidence.world, evidence.far, evidence.truth
    assert world is not None
    assert scores is not None
    counted = elsewhere(truth, scores.fold_of, evidence.known)
    hidden = np.flatnonzero(evidence.captioned & (scores.fold_of >= 0) & scores.p.any(axis=1))
    if not (truth[hidden][counted[hidden]] < 1).any():  # nobody ever said that a word is not true
        return found, pairs, None, None
    try:
        far, honest_far = _fitted_far(scores, hidden, evidence, counted, world.groups, seed)
    except CorpusError:  # hardly a word of a hidden group occurs in others
        far = _hardly_ever(found.near, truth[hidden], counted[hidden])
        honest_far = far(scores.p[hidden])
    # In either world a photo is told what the mixture says at its likeness there.
    inside = ~np.isnan(world.near[rows])
    mixed = _mixture(honest[inside], far(evidence.near.p[rows[inside]]), world.near[rows[inside]])
    mixed_far = _mixture(found.near(scores.p[hidden]), honest_far, world.hidden[hidden])
    together = pooled(
        JudgedPairs.of(mixed, truth[rows[inside]], evidence.known[rows[inside]]),
        grouped(mixed_far, truth[hidden], counted[hidden], world.groups[hidden]),
        world.share,
    )
    far_share = np.where(
        np.isnan(world.near), world.worlds.far_share(evidence.corpus, evidence.places), world.near
    )
    fold = scores.fold_of[hidden]
    samples: list[Sample] = []
    for inside in (np.flatnonzero(fold == one) for one in np.unique(fold)):
        few = JudgedPairs.of(mixed_far[inside], truth[hidden[inside]], counted[hidden[inside]])
        samples.append(Sample(few.presence, few.word, np.asarray(few.truth, np.float64)))
    return found._replace(far=far, worlds=world.worlds), together, far_share, samples


def _with_answers(
    found: Calibration,
    pairs: JudgedPairs,
    evidence: Evidence,
    asked: Bools,
    far_share: Floats | None,
    samples: list[Sample] | None,
    of_marks: Floats | None,
) -> tuple[Calibration, JudgedPairs, JudgedPairs]:
    rows = np.flatnonzero(asked.any(axis=1))
    present: Bools = np.asarray(evidence.known & (evidence.truth > 0.5))
    # Captions say already what their photos lack. A term that only they had taught would be corrected by no answer.
    rejected = np.zeros_like(present)
    if evidence.rejected is not None:
        rejected[~evidence.captioned] = evidence.rejected[~evidence.captioned]
    if found.centre.size and (rejected.sum(axis=0) >= FEWEST_REJECTIONS).any():
        looks = look_rows(evidence.corpus, found.centre)
        found = found._replace(denials=fit_denials(looks, present, rejected))
    if not len(rows) and samples is None:
        return found, pairs, pairs
    groups, p = _groups(evidence), evidence.near.p[rows]
    presence = found.near(p) if of_marks is None else of_marks
    if found.far is not None and far_share is not None:
        presence = _mixture(presence, found.far(p), far_share[rows])
    here = asked[rows]
    group = groups[rows][np.nonzero(here)[0]]
    if len(rows) and len(found.denials.words):
        denied = without_own_answers(presence, looks, present, rejected, rows, parts_of(groups[rows]))
        kept = borne_out(found.denials.words, presence, denied, evidence.truth[rows], here, groups[rows])
        found = found._replace(denials=found.denials.at(kept))
        presence[:, found.denials.words] = denied[:, found.denials.words]
    answers = JudgedPairs.of(presence, np.asarray(evidence.truth[rows], np.float64), here)
    sample = Sample(answers.presence, answers.word, answers.truth, together_as_one(group, answers.word))
    spread = fit_spread([sample], present.shape[1], TOLD_SPREADS)
    answered = fit_answered(sample, present.shape[1], spread)
    # An answer that had a say in what is told of it would vouch for itself.
    answers = answers._replace(presence=corrected_by_others(sample, group, present.shape[1], spread))
    promises = None
    if samples is not None and evidence.untagged is not None:
        posterior = fit_posterior(sample, present.shape[1], fit_spread([*samples, sample], present.shape[1]))
        promises = _counted_on(found, answered, posterior, evidence, sample)
    pairs = joined(
        [
            pairs._replace(
                presence=answered.at(pairs.presence, pairs.word),
                truth=answered.truth_of(pairs.presence, pairs.word, np.asarray(pairs.truth, np.float64)),
                weight=pairs.weights,
            ),
            answers._replace(
                weight=sample.counted,
                group=None if pairs.group is None else -1 - group,
            ),
        ]
    )
    # Nothing but answers was ever compared with what marks tell.
    judged = pairs if found.marks is None or not len(rows) else answers._replace(weight=sample.counted)
    return found._replace(answered=answered), judged, pairs if promises is None else promises


def _counted_on(
    found: Calibration, answered: Answered, posterior: Posterior, evidence: Evidence, answers: Sample
) -> JudgedPairs:
    """Pairs of untagged photos that may be suggested, each as true as may be counted on.

    Their weight keeps the bounds of a word from being drawn to those of others: a bound is no small sample.
    """
    assert evidence.untagged is not None
    photos, p, places = evidence.untagged
    presence = found(p, photos, places)
    row, word = np.nonzero(presence >= SUGGESTED)
    some = presence[row, word]
    bound = no_better_than_answers(posterior.lower(some, word, CAUTION), some, word, answers)
    return JudgedPairs(word, answered.at(some, word), bound, np.full(len(word), FIRM))


def no_better_than_answers(
    bound: Floats, presence: Floats, word: NDArray[np.int64], answers: Sample
) -> Floats:
    """Bounds (n,) lessened where the answers about the word, as sure or surer, were yes less often.

    A word whose presence says little, true now and then wherever it is suggested, is not what the model of answers has.
    """
    found = bound.copy()
    for one in np.unique(answers.word):
        mine, own = np.flatnonzero(word == one), answers.at(answers.word == one)
        own = own.at(np.argsort(-own.presence, kind="stable"))
        sure = np.searchsorted(-own.presence, -presence[mine], side="right")  # answers at least as sure
        n, hits = (np.append(0.0, np.cumsum(part))[sure] for part in (own.counted, own.counted * own.truth))
        found[mine] = np.minimum(bound[mine], (hits + OWN_ANSWERS * bound[mine]) / (n + OWN_ANSWERS))
    return found


def _fitted(scores: HeldOut, rows: Any, truth: Any, known: Bools, seed: int) -> tuple[Presence, Floats]:
    p, is_true, judged = scores.p[rows], truth[rows], known[rows]
    presence = fit_presence(p, is_true, judged, seed=seed)
    return presence, cross_fitted(p, is_true, judged, scores.fold_of[rows], seed=seed)


def _fitted_far(
    scores: HeldOut, hidden: Any, evidence: Evidence, counted: Bools, groups: NDArray[np.int64], seed: int
) -> tuple[Presence, Floats]:
    if counted.shape[1] < FEWEST_WORDS:
        return _fitted(scores, hidden, evidence.truth, counted, seed)
    tables = (scores.p, evidence.truth, evidence.known, scores.fold_of, groups)
    told = [table[hidden] for table in tables]
    return fit_unseen(*told, seed=seed), cross_fitted_unseen(*told, seed=seed)


def _hardly_ever(near: Presence, truth: Any, known: Bools) -> Presence:
    """A world in which too few words are true to tell when: all pairs have the same probability."""
    share = (float(truth[known].sum()) + 0.5) / (int(known.sum()) + 1)
    return near._replace(knots=np.array([0.0, 1.0]), values=np.full(2, share))


def _mixture(near: Floats, far: Floats, far_share: Floats) -> Floats:
    return (1 - far_share[:, None]) * near + far_share[:, None] * far
