r"""Which photos teach most when a person tags them: those that the untagged ones look like.

A photo's tags help with the photos that look like it. Let s(i, j) be the likeness of photos i and j, and T the photos
that are tagged already. The next photo to ask about is the one that adds most to

    f(T) = sum_j max_{i in T} s(i, j),

which is found photo by photo: f is submodular, so the greedy choice is within 1 - 1/e of the best set of its size
(Nemhauser, Wolsey, Fisher 1978). A photo like many untagged ones is asked about early, its twins are not, an outlier
comes late. Weighting photo j by the model's uncertainty about it did not help (`teaching_report`), and asking for the
most uncertain photos alone did worse than asking at random.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.measures.metrics import summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.interrupts import all_or_nothing

__all__ = ["LearningCurve", "Point", "labels_needed", "learning_curve", "teaching_order", "uncertainty"]

Floats = NDArray[np.float64]


class Rows(Protocol):
    """An array (D, L), or what can be read like one: rows that lie on disk."""

    def __len__(self) -> int: ...
    def __getitem__(self, positions: Any, /) -> NDArray[np.floating]: ...


# Photos that stand for a larger collection, and that are considered: the table of likeness stays below 100 MB.
MAX_PHOTOS = 5000


def uncertainty(p: Floats) -> Floats:
    """Entropy of the word distribution of each image over that of knowing nothing, (D,) between 0 and 1."""
    safe = np.maximum(p, 1e-12)
    return -(safe * np.log(safe)).sum(axis=1) / max(np.log(p.shape[1]), 1e-12)


def teaching_order(
    rows: Rows,
    tagged: NDArray[np.bool_],
    n: int,
    *,
    among: NDArray[np.bool_] | None = None,
    weight: Floats | None = None,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Positions of the n untagged photos to ask about, the one that teaches most first.

    Parameters
    ----------
    rows : (D, L), what the photos look like; compared by cosine
    tagged : (D,) bool
    among : (D,) bool, the untagged photos that may be asked about; all by default
    weight : (D,) not negative, how much it counts that a photo is like a tagged one; all alike by default

    Raises CorpusError where a row holds values that are not numbers.
    """
    untagged = np.flatnonzero(~tagged if among is None else among & ~tagged)
    asked = _sample(untagged, MAX_PHOTOS, seed)
    judges = _sample(np.arange(len(rows)), MAX_PHOTOS, seed + 1)
    likeness = np.maximum(_unit(rows, asked) @ _unit(rows, judges).T, 0).astype(np.float32)  # (asked, judges)
    covered = _covered(rows, np.flatnonzero(tagged), judges)
    counts = (np.ones(len(judges)) if weight is None else weight[judges]).astype(np.float32)
    chosen: list[int] = []
    gains = np.full(len(asked), np.inf)  # bounds: a gain never grows
    while len(chosen) < min(n, len(asked)):
        best = int(np.argmax(gains))
        gain = float(np.maximum(likeness[best] - covered, 0) @ counts)
        gains[best] = gain
        if (
            not gain < gains.max()
        ):  # where a bound is NaN too, so that every turn chooses a photo or lowers a bound
            chosen.append(best)
            covered = np.maximum(covered, likeness[best])
            gains[best] = -1.0
    return asked[chosen]


def _sample(positions: NDArray[np.int64], n: int, seed: int) -> NDArray[np.int64]:
    if len(positions) <= n:
        return positions
    return np.sort(np.random.default_rng(seed).choice(positions, n, replace=False))


def _unit(rows: Rows, positions: NDArray[np.int64]) -> NDArray[np.float32]:
    """Some of the rows at length 1; the others, which may lie on disk, are not touched."""
    some = np.asarray(rows[positions], np.float32)
    if not np.isfinite(some).all():
        raise CorpusError("what photos look like holds values that are not numbers; measure them again")
    return some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def _covered(rows: Rows, tagged: NDArray[np.int64], judges: NDArray[np.int64]) -> NDArray[np.float32]:
    """Likeness of each judge to the tagged photo most like it."""
    covered = np.zeros(len(judges), np.float32)
    judging = _unit(rows, judges).T
    for start in range(0, len(tagged), 1024):
        block = _unit(rows, tagged[start : start + 1024]) @ judging
        covered = np.maximum(covered, block.max(axis=0))
    return covered


# --- What it saves ------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """How well the test images were annotated once this many photos were tagged."""

    n_tagged: int
    mean_average_precision: float
    accuracy: float


class LearningCurve(NamedTuple):
    """One order of asking, with one random start."""

    order: str
    points: tuple[Point, ...]


def learning_curve(
    make: Callable[[], Annotator],
    pool: Corpus,
    test: Corpus,
    order: str,
    *,
    start: int,
    step: int,
    stop: int,
    seed: int,
) -> LearningCurve:
    """Tag `start` photos of the pool at random, then `step` at a time in an order, and judge on the test images.

    `order` is "random", "uncertain" (the flattest word distributions first), "teaching" (`teaching_order`) or "both"
    (the same, weighted by uncertainty). Captions of the pool answer the questions; those not asked for stay hidden.
    """
    rng = np.random.default_rng(seed)
    tagged = np.zeros(len(pool), bool)
    tagged[rng.permutation(len(pool))[:start]] = True
    points = []
    while True:
        with all_or_nothing():
            annotator = make().fit(pool.without_captions(~tagged))
        judged = summary(annotator.annotate(test.without_captions()), test.captions)
        points.append(Point(int(tagged.sum()), judged.mean_average_precision, judged.accuracy))
        if tagged.sum() >= stop:
            return LearningCurve(order, tuple(points))
        asked = _next(order, annotator, pool, tagged, step, rng)
        tagged[asked] = True


def _next(
    order: str,
    annotator: Annotator,
    pool: Corpus,
    tagged: NDArray[np.bool_],
    n: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    untagged = np.flatnonzero(~tagged)
    if order == "random":
        return rng.permutation(untagged)[:n]
    assert pool.descriptor is not None
    if order == "teaching":
        return teaching_order(pool.descriptor, tagged, n)
    unsure = uncertainty(annotator.annotate(pool.without_captions()))
    if order == "uncertain":
        return untagged[np.argsort(-unsure[untagged], kind="stable")[:n]]
    return teaching_order(pool.descriptor, tagged, n, weight=unsure)


def labels_needed(curves: Sequence[LearningCurve], order: str, measure: str, level: float) -> float:
    """Mean number of tagged photos at which an order first reaches a level, interpolated; NaN where a run does not."""
    needed = []
    for curve in curves:
        if curve.order != order:
            continue
        x = np.array([point.n_tagged for point in curve.points], np.float64)
        y = np.maximum.accumulate([getattr(point, measure) for point in curve.points])
        needed.append(float(np.interp(level, y, x)) if y[-1] >= level else float("nan"))
    return float(np.mean(needed)) if needed else float("nan")
