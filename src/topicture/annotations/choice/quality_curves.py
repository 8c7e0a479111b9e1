"""What more tags, or more topics, would buy: quality on hidden captions, from fits on parts of what there is.

Both take time: a fit each point. `on_fit` is told how many fits are done of how many, and `seconds` bounds the whole:
no fit is begun that, by the longest so far, would end later.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from topicture.annotations.measures.metrics import summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.folds import folds_of
from topicture.models.interrupts import all_or_nothing
from topicture.models.look_alikes import look_alikes

__all__ = ["Curve", "CurvePoint", "Gain", "gain_of_last_step", "learning_curve", "quality_by_topics"]

SHARES = (0.125, 0.25, 0.5, 1.0)
TEST_PARTS = 3  # one of which is judged on
FEWEST_TAGGED = 6

OnFit = Callable[[int, int], None]


class Learner(Protocol):
    """What can learn from a corpus and annotate: every Annotator, and blends of them."""

    def fit(self, corpus: Corpus, /) -> Any: ...
    def annotate(self, corpus: Corpus, /) -> np.ndarray: ...


class CurvePoint(NamedTuple):
    """Quality at one x: means over the draws or folds with their standard errors (NaN where there is one only)."""

    x: int
    mean_average_precision: float
    map_error: float
    accuracy: float
    accuracy_error: float
    n: int


class Curve(NamedTuple):
    """Points by x; `draws` holds x -> MAP of each draw, for paired comparisons; `complete`: the time sufficed."""

    points: tuple[CurvePoint, ...]
    draws: dict[int, tuple[float, ...]]
    complete: bool


class Gain(NamedTuple):
    """What the last step of a learning curve brought: difference of MAP, paired by draw."""

    from_x: int
    to_x: int
    gain: float
    standard_error: float


def learning_curve(
    make: Callable[[], Learner],
    corpus: Corpus,
    *,
    groups: ArrayLike | None = None,
    shares: Sequence[float] = SHARES,
    n_draws: int = 4,
    seed: int = 0,
    seconds: float = np.inf,
    on_fit: OnFit = lambda done, total: None,
) -> Curve:
    """Quality against the number of tagged images.

    In every draw the captions of a random third of the tagged images are hidden, to be judged on. Of the others nested
    random shares are shown, the smallest first; all other images stay in the corpus without captions. Draws that the
    time did not suffice for are left out whole, except the first. `groups` as for `folds_of`: images of one group are
    not both shown and judged on.

    Raises CorpusError where fewer than 6 images are tagged.
    """
    tagged = np.flatnonzero(corpus.tagged)
    if len(tagged) < FEWEST_TAGGED:
        raise CorpusError(f"{len(tagged)} tagged photos are too few for a learning curve; tag at least 6")
    rng, clock = np.random.default_rng(seed), _Clock(seconds, n_draws * len(shares), on_fit)
    scores: dict[int, list[tuple[float, float]]] = defaultdict(list)
    groups = look_alikes(corpus) if groups is None else groups
    for draw in range(n_draws):
        part_of = folds_of(corpus, TEST_PARTS, seed=rng, groups=groups)
        part_of[~corpus.tagged] = -1
        test, pool = np.flatnonzero(part_of == 0), rng.permutation(np.flatnonzero(part_of > 0))
        found: dict[int, tuple[float, float]] = {}
        for share in sorted(shares):
            n_shown = max(1, round(share * len(pool)))
            if n_shown in found:
                clock.skip()
            elif clock.suffices():
                with clock:
                    found[n_shown] = _quality(make, corpus, pool[:n_shown], test)
        if draw == 0 or len(found) == len(scores):
            for x, values in found.items():
                scores[x].append(values)
    return _curve(scores, clock.sufficed)


def quality_by_topics(
    make: Callable[[int], Learner],
    corpus: Corpus,
    n_topics: Sequence[int],
    *,
    groups: ArrayLike | None = None,
    n_folds: int = 3,
    seed: int = 0,
    seconds: float = np.inf,
    on_fit: OnFit = lambda done, total: None,
) -> Curve:
    """Quality against the number of topics; one fold of the captions after the other is hidden, and judged on.

    Raises CorpusError where there are fewer tagged images than folds.
    """
    tagged = np.flatnonzero(corpus.tagged)
    if len(tagged) < n_folds:
        raise CorpusError(f"{len(tagged)} tagged photos are too few for {n_folds} folds")
    fold_of = folds_of(corpus, n_folds, seed=seed, groups=groups)  # those of `auto_choice.held_out`
    n_folds = int(fold_of.max()) + 1
    clock = _Clock(seconds, n_folds * len(n_topics), on_fit)
    scores: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for fold in range(n_folds):  # one by one, so that a run out of time leaves a whole curve of fewer folds
        shown, hidden = (
            np.flatnonzero((fold_of >= 0) & inside) for inside in (fold_of != fold, fold_of == fold)
        )
        for K in n_topics:
            if clock.suffices():
                with clock:
                    values = _quality(lambda K=K: make(K), corpus, shown, hidden)  # type: ignore[misc]
                    scores[K].append(values)
    return _curve(scores, clock.sufficed)


def gain_of_last_step(curve: Curve) -> Gain | None:
    """What the last step of a learning curve brought; None for a curve of a single point."""
    if len(curve.points) < 2:
        return None
    before, last = (point.x for point in curve.points[-2:])
    n = min(len(curve.draws[before]), len(curve.draws[last]))
    differences = np.subtract(curve.draws[last][:n], curve.draws[before][:n])
    return Gain(before, last, float(differences.mean()), _standard_error(differences))


# --- Parts --------------------------------------------------------------------------------------------------------


class _Clock:
    """Counts fits, tells of them, and says whether there is time for another."""

    def __init__(self, seconds: float, n_fits: int, on_fit: OnFit):
        self._end = perf_counter() + seconds
        self._n_fits, self._on_fit = n_fits, on_fit
        self._done, self._longest, self._begin = 0, 0.0, 0.0
        self.sufficed = True

    def suffices(self) -> bool:
        # The first fit is always made: without it there is nothing to tell.
        enough = self._done == 0 or perf_counter() + self._longest <= self._end
        self.sufficed &= enough
        return enough

    def skip(self) -> None:
        self._done += 1
        self._on_fit(self._done, self._n_fits)

    def __enter__(self) -> None:
        self._begin = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._longest = max(self._longest, perf_counter() - self._begin)
        self.skip()


def _quality(
    make: Callable[[], Learner], corpus: Corpus, shown: np.ndarray, test: np.ndarray
) -> tuple[float, float]:
    """MAP and accuracy on the test images of a fit that sees the captions of some images only."""
    hidden = np.ones(len(corpus), bool)
    hidden[shown] = False
    learner = make()
    with all_or_nothing():
        learner.fit(corpus.without_captions(hidden))
    judged = corpus[test]
    values = summary(learner.annotate(judged.without_captions()), judged.captions)
    return values.mean_average_precision, values.accuracy


def _curve(scores: dict[int, list[tuple[float, float]]], complete: bool) -> Curve:
    points = []
    for x in sorted(scores):
        values = np.array(scores[x])
        errors = [_standard_error(column) for column in values.T]
        means = values.mean(axis=0).tolist()
        points.append(CurvePoint(x, means[0], errors[0], means[1], errors[1], len(values)))
    draws = {x: tuple(pair[0] for pair in scores[x]) for x in sorted(scores)}
    return Curve(tuple(points), draws, complete)


def _standard_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
