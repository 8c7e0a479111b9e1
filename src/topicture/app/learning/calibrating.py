"""How far a model is to be trusted: worlds, completeness and answers together, as `learn` finds them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs, Presence, cross_fitted
from topicture.annotations.choice.trials import HeldOut, held_out
from topicture.annotations.shift.calibration import Calibration, calibrate
from topicture.annotations.shift.completeness import Completeness, false_rate, left_out, rightly_given
from topicture.annotations.shift.evidence import Evidence, Untagged
from topicture.annotations.shift.how_complete import Questions, fit_completeness
from topicture.annotations.shift.marks import are_marks
from topicture.annotations.shift.worlds import TAGS, FarWorld
from topicture.app.learning.choosing import images_to_judge
from topicture.app.learning.reports import not_measured
from topicture.app.learning.training_tags import TrainingTags
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.baselines.one_view import VIEWS
from topicture.models.registry import make_annotator

__all__ = [
    "MOST_FAR",
    "Omissions",
    "Trusted",
    "some_untagged",
    "trust",
    "warning_of",
    "with_omissions",
    "without_promises",
]

Floats = NDArray[np.float64]

FEWEST_QUESTIONS = 20  # answers before tags are thought incomplete
FEWEST_ANSWERS = 100  # about untagged photos, before tags that never occur together are accepted in bulk
EM_STEPS = 12  # with fewer, what is surest is told too low; with more, too high (docs/models.md, 9)
_LEAST_SHARE = 0.05  # of a word's true tags that captions are thought to hold
MOST_UNTAGGED = 1000  # photos that are asked about to see what there is to accept
MOST_FAR = 0.1  # share of far photos from which on tagged and untagged photos differ


class Trusted(NamedTuple):
    """What `learn` keeps of it."""

    calibration: Calibration
    judged: JudgedPairs  # what promises are compared with
    pairs: JudgedPairs  # those of them that may vouch for what is accepted unseen
    completeness: Completeness | None
    measured: bool = True  # whether anything was said that promises can be compared with

    @property
    def by_answers(self) -> bool:
        """Whether that is answers alone: a photo with one such tag was never said to lack the others."""
        return self.measured and self.calibration.marks is not None


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
    first: HeldOut | None = None,
    groups: Any = None,
    whole: bool = True,
    seed: int = 0,
) -> Trusted:
    """Calibrate the answers of models that had not seen the tags; `kept` are the rows of `tags` in the corpus.

    `untagged` is what the model itself says of some untagged photos, for where these are unlike the tagged ones, and
    `first` what was told of the photos before captions were completed (`with_omissions`). `groups` (D,) are photos that
    tell each other's tags. Not `whole`: the corpus is the part of a large collection that models were asked about.
    """
    truth, known, captioned = tags.truth[kept], tags.known[kept], tags.captioned[kept]
    completeness = None
    soft: Any = truth
    # Of a large collection not every photo that questions were about was asked of models.
    if tags.asked[kept][near.p.any(axis=1)].sum() >= FEWEST_QUESTIONS:
        with suppress(CorpusError):  # captions have hardly a word: nothing to compare answers with
            completeness, soft = _completed(tags, kept, near, first, seed)
    evidence = Evidence(
        corpus,
        soft,
        known,
        captioned,
        near,
        far,
        world,
        tags.rejected[kept],
        places,
        untagged,
        tags.shown[kept],
        tags.answered[kept],
        groups,
        whole,
    )
    calibration, judged, pairs = calibrate(evidence, seed=seed)
    # Where no two tags occur together, a photo without one was never said to lack it: only answers vouch for others.
    measured = calibration.marks is None and not are_marks(tags.shown[kept], captioned)
    measured |= calibration.marks is not None and tags.n_answers(kept) >= FEWEST_ANSWERS
    if not measured:
        pairs = pairs.at(np.zeros(len(pairs.word), bool))
    if completeness is not None:
        pairs = pairs._replace(truth=completeness.counted_on(pairs.truth))
    return Trusted(calibration, judged, pairs, completeness, measured)


class Omissions(NamedTuple):
    """The corpus for models that complete captions, and what was told of its images before, None of a large one."""

    corpus: Corpus
    told: HeldOut | None = None


def with_omissions(
    corpus: Corpus, tags: TrainingTags, kept: Any, places: Sequence[str], groups: Any, seed: int
) -> Omissions:
    """The corpus with how complete captions are, once answers have told that; else as it is.

    Nothing is learned yet, so ridge regression tells what the answers are compared with. What is told later on rests on
    the model that was chosen (`trust`).
    """
    view = next((name for name in VIEWS if getattr(corpus, name) is not None), None)
    if view is None or int(tags.asked[kept].sum()) < FEWEST_QUESTIONS:
        return Omissions(corpus)
    asked = np.asarray(tags.asked[kept].sum(axis=1)).ravel() > 0
    some = images_to_judge(corpus, asked, seed)
    rows = np.arange(len(corpus)) if some is None else some
    near = held_out(
        lambda: make_annotator("ridge", view=view),
        corpus[rows],
        also=tags.captioned[np.asarray(kept)[rows]],
        groups=np.asarray(groups)[rows],
        seed=seed,
    )
    photos = _captioned(tags.at(np.asarray(kept)[rows]), np.arange(len(rows)), near)
    if int(photos.asked.sum()) < FEWEST_QUESTIONS:
        return Omissions(corpus)
    # Not the share of given tags: a photo whose only tag a word is would have none without it, so that share may be
    # above what absent words, which stand beside others, have.
    try:
        odds = _how_complete(photos, seed)[0].odds
    except CorpusError:  # captions have hardly a word: nothing to compare answers with
        return Omissions(corpus)
    n_given, n_found = photos.given.sum(axis=0), (photos.truth & ~photos.given).sum(axis=0)
    # Captions have the words that answers have found as well.
    more = (n_given + n_found + 0.5) / (n_given + 0.5)
    shares = np.clip(more / (1 + odds), _LEAST_SHARE, 1.0)
    found = tags.denying(corpus, kept).with_omissions(shares, list(places))
    return Omissions(found, near if some is None else None)


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


class _Captioned(NamedTuple):
    """What is said of the n captioned photos that models were asked about, and what these said."""

    rows: NDArray[np.int64]  # (n,) among those that are learned from
    truth: Any  # (n, V)
    known: Any
    given: Any
    asked: Any
    answered: Any  # by people, beside the captions
    lots: Any  # how many pairs the questions stand for, sparse or None
    near: HeldOut

    def honest(self, targets: Any, seed: int) -> Floats:
        """Probabilities (n, V), of each photo by a calibration that has not seen it."""
        return cross_fitted(self.near.p, targets, self.known, self.near.fold_of, seed=seed)


def _captioned(tags: TrainingTags, kept: Any, near: HeldOut) -> _Captioned:
    rows = np.flatnonzero(tags.captioned[kept] & near.p.any(axis=1))
    at = np.asarray(kept)[rows]
    truth, known, given, asked = (table[at] for table in (tags.truth, tags.known, tags.given, tags.asked))
    answered = (truth | tags.rejected[at]) & ~given
    lots = None if tags.lots is None else tags.lots[at]
    own = HeldOut(near.p[rows], near.fold_of[rows])
    return _Captioned(rows, truth, known, given, asked, answered, lots, own)


def _how_complete(photos: _Captioned, seed: int) -> tuple[Completeness, Floats]:
    """How complete captions are by what was answered, and the m (n, V) that answers were compared with."""
    m = np.clip(photos.honest(photos.given, seed), 1e-6, 1 - 1e-6)  # a yes is never impossible
    row, word = np.nonzero(photos.asked)
    weight = None if photos.lots is None else np.asarray(photos.lots[row, word]).ravel()
    asked = Questions(row, word, np.asarray(photos.truth[row, word], bool), weight)
    return fit_completeness(m, photos.given, asked), m


def _completed(
    tags: TrainingTags, kept: Any, near: HeldOut, first: HeldOut | None, seed: int
) -> tuple[Completeness, Floats]:
    """How complete captions are, and how probably each pair is true: EM over what was left out and its probability.

    Questions were chosen by what a model told that took absent words for a no; one that completes captions tells
    something else. So that the choice stays fair given what is told, answers are compared with the mean of both.
    """
    photos = _captioned(tags, kept, near)
    both = photos
    if first is not None:
        both = photos._replace(near=HeldOut((near.p + first.p)[photos.rows] / 2, photos.near.fold_of))
    found, m = _how_complete(both, seed)
    given, n_tags = photos.given, photos.given.sum(axis=1)
    e = false_rate(tags.taken_back, int((~given).sum()))
    targets = np.where(given, 1.0, found.left_out(m, n_tags))
    for _ in range(EM_STEPS):
        targets = np.where(photos.answered, photos.truth, targets)
        p_now, c = photos.honest(targets, seed), found.of_photos(n_tags)
        targets = np.where(given, rightly_given(p_now, c, e), left_out(p_now, c, e))
    soft = tags.truth[kept].astype(np.float64)
    soft[photos.rows] = np.where(photos.answered, photos.truth, targets)
    return found, soft


def warning_of(found: Trusted, tags: TrainingTags, kept: Any, world: FarWorld | None) -> str:
    """One line for people where nothing was measured, or tagged and untagged photos differ; empty elsewhere."""
    shown, captioned = tags.shown[kept], tags.captioned[kept]
    # Groups as of trips, each with a place and a year.
    what = "tags" if are_marks(shown, captioned) else "groups of tags"
    if not found.measured:
        n_open = int((~captioned).sum()) * shown.shape[1]
        return not_measured(tags.n_answers(kept), FEWEST_ANSWERS, n_open, what=what)
    if found.calibration.marks is not None:
        return (
            f"Hardly two {what} occur together, so no photo says what it lacks: only answers do. More of them "
            "('topicture review --order random') tell more."
        )
    if world is None or world.share < MOST_FAR or world.kind == TAGS:  # no such groups were hidden
        return ""
    return (
        f"Tagged and untagged photos differ: {world.share:.0%} of the untagged ones are unlike what is tagged. Figures "
        f"are for such photos, judged while whole groups were hidden ({world.kind}); tag some of them to be told more."
    )
