"""How far a model is to be trusted: worlds, completeness and answers together, as `learn` finds them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs, Presence, cross_fitted
from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift.calibration import Calibration, calibrate
from topicture.annotations.shift.completeness import (
    Completeness,
    false_rate,
    fit_completeness,
    fit_photo_slope,
    left_out,
    odds_by_stratum,
    rightly_given,
)
from topicture.annotations.shift.evidence import Evidence, Untagged
from topicture.annotations.shift.worlds import FarWorld
from topicture.app.learning.training_tags import TrainingTags
from topicture.corpus import Corpus

__all__ = ["MOST_FAR", "Trusted", "differing", "some_untagged", "trust", "without_promises"]

Floats = NDArray[np.float64]

FEWEST_QUESTIONS = 20  # answers before tags are thought incomplete
FEWEST_ANSWERS = 100  # about untagged photos, before tags that never occur together are accepted in bulk
EM_STEPS = 3
MOST_UNTAGGED = 1000  # photos that are asked about to see what there is to accept
MOST_FAR = 0.1  # share of far photos from which on tagged and untagged photos differ


class Trusted(NamedTuple):
    """What `learn` keeps of it."""

    calibration: Calibration
    judged: JudgedPairs  # what promises are compared with
    pairs: JudgedPairs  # those of them that may vouch for what is accepted unseen
    completeness: Completeness | None


def trust(
    corpus: Corpus,
    tags: TrainingTags,
    kept: Any,
    near: HeldOut,
    far: HeldOut | None,
    world: FarWorld | None,
    *,
    places: Sequence[str] | None = None,
    untagged: Untagged | None = None,
    seed: int = 0,
) -> Trusted:
    """Calibrate the answers of models that had not seen the tags; `kept` are the rows of `tags` in the corpus.

    `untagged` is what the model itself says of some untagged photos, for where these are unlike the tagged ones.
    """
    truth, known, captioned = tags.truth[kept], tags.known[kept], tags.captioned[kept]
    completeness = None
    soft: Any = truth
    # Of a large collection not every photo that questions were about was asked of models.
    if tags.asked[kept][near.p.any(axis=1)].sum() >= FEWEST_QUESTIONS:
        completeness, soft = _completed(tags, kept, near, seed)
    evidence = Evidence(
        corpus, soft, known, captioned, near, far, world, tags.rejected[kept], places, untagged
    )
    calibration, judged, pairs = calibrate(evidence, seed=seed)
    n_answers = int((known & ~captioned[:, None]).sum())
    # Where no two tags occur together, a photo without one was never said to lack it: only answers vouch for others.
    if calibration.marks is not None and n_answers < FEWEST_ANSWERS:
        pairs = pairs.at(np.zeros(len(pairs.word), bool))
    return Trusted(calibration, judged, pairs, completeness)


def without_promises(found: Trusted, words: NDArray[np.int64]) -> Trusted:
    """The same where nobody was asked about some words while they were hidden: these are new.

    They are told as sure as other words are, and no surer; and nothing vouches for accepting them unseen.
    """
    if not len(words):
        return found

    def cautious(presence: Presence) -> Presence:
        offsets = presence.offsets.copy()
        offsets[words] = np.minimum(offsets[words], 0.0)
        return presence._replace(offsets=offsets)

    near, far = found.calibration.near, found.calibration.far
    calibration = found.calibration._replace(near=cautious(near), far=None if far is None else cautious(far))
    return found._replace(calibration=calibration, pairs=found.pairs.at(~np.isin(found.pairs.word, words)))


def some_untagged(
    corpus: Corpus,
    judged: NDArray[np.bool_],
    places: Sequence[str],
    annotate: Callable[[Corpus], Floats],
    seed: int,
) -> Untagged | None:
    """What is told of some of the photos that nobody said anything about, not `judged` (D,); None: there are none."""
    by_id = np.argsort(corpus.image_ids, kind="stable")
    silent = by_id[~judged[by_id]]
    if not len(silent):
        return None
    rows = np.sort(np.random.default_rng(seed).permutation(silent)[:MOST_UNTAGGED])
    some = corpus[rows].without_captions()
    return Untagged(some, np.asarray(annotate(some), np.float64), [places[row] for row in rows])


def _completed(tags: TrainingTags, kept: Any, near: HeldOut, seed: int) -> tuple[Completeness, Floats]:
    """How complete captions are, and how probably each pair is true: EM over what was left out and its probability."""
    truth, known, given, asked = (table[kept] for table in (tags.truth, tags.known, tags.given, tags.asked))
    answered = (truth | tags.rejected[kept]) & ~given
    rows = np.flatnonzero(tags.captioned[kept] & near.p.any(axis=1))
    p, fold_of = near.p[rows], near.fold_of[rows]

    def honest(targets: Any) -> Floats:
        return cross_fitted(p, targets, known[rows], fold_of, seed=seed)

    m = np.clip(honest(given[rows]), 0, 1 - 1e-6)
    row, word = np.nonzero(asked[rows])
    yes, n_tags = truth[rows][row, word], given[rows].sum(axis=1)
    photos = fit_photo_slope(m[row, word], yes, n_tags[row], float(n_tags.mean()))
    m = photos.tilted(m, n_tags[:, None])
    counts = given[rows].sum(axis=0).astype(np.float64)
    found = fit_completeness(m[row, word], word, yes, counts, odds_by_stratum(m, given[rows]), photos)
    e = false_rate(tags.taken_back, int((~given[rows]).sum()))
    soft = truth.astype(np.float64)
    targets = np.where(given[rows], 1.0, np.minimum(found.odds * m / (1 - m), 1.0))
    for _ in range(EM_STEPS):
        targets = np.where(answered[rows], truth[rows], targets)
        p_now, c = honest(targets), found.of_photos(n_tags)
        targets = np.where(given[rows], rightly_given(p_now, c, e), left_out(p_now, c, e))
    soft[rows] = np.where(answered[rows], truth[rows], targets)
    return found, soft


def differing(world: FarWorld | None, calibration: Calibration) -> str:
    """One line for people where tagged and untagged photos differ; empty where they do not."""
    if calibration.marks is not None:
        return (
            "No two tags occur together, so no photo says what it lacks: probabilities are guesses until questions are "
            "answered ('topicture review --order random')."
        )
    if world is None or world.share < MOST_FAR:
        return ""
    return (
        f"Tagged and untagged photos differ: {world.share:.0%} of the untagged ones are unlike what is tagged. Figures "
        f"are for such photos, judged while whole groups were hidden ({world.kind}); tag some of them to be told more."
    )
