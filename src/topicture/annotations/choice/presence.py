"""What was promised and what came true: honest probabilities beside the verdicts of people, and thresholds from them.

How probabilities are found stands in `models.presence`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.models.presence import Presence, cross_fitted, fit_presence

__all__ = [
    "JudgedPairs",
    "Presence",
    "ReliabilityBin",
    "calibration_error",
    "cross_fitted",
    "error_by_chance",
    "fit_presence",
    "reliability",
    "thresholds",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CAUTION = 1.64  # standard errors over groups: nineteen in twenty such promises should hold
FEWEST_GROUPS = 3  # that a standard error can be told from
EVEN_ODDS = 0.5
SHRINKAGE = 5.0  # pseudo-observations that pull a tag's precision towards that of all tags
GROUPED_SHRINKAGE = 20.0  # where pairs of one group tell much the same


class JudgedPairs(NamedTuple):
    """Pairs of image and word that a person has judged, with an honest presence."""

    word: NDArray[np.int64]  # (n,)
    presence: Floats  # (n,)
    truth: Any  # (n,) true or false, or how probably true
    weight: Any = None  # (n,) how much a pair counts; None: all alike
    group: Any = None  # (n,) pairs of one group stand or fall together; None: each by itself

    @classmethod
    def of(cls, presence: Floats, truth: Any, known: Bools) -> "JudgedPairs":
        """The known pairs of (D, V) tables."""
        return cls(np.nonzero(known)[1], presence[known], truth[known])

    def at(self, kept: Any) -> "JudgedPairs":
        """Some of the pairs."""
        some: dict[str, Any] = {name: None if a is None else a[kept] for name, a in self._asdict().items()}
        return JudgedPairs(**some)

    def above(self, presence: float) -> "JudgedPairs":
        """The pairs from a presence on: all that thresholds ask for, and a small part of the whole."""
        return self.at(self.presence >= presence)

    @property
    def weights(self) -> Floats:
        return np.ones(len(self.word)) if self.weight is None else np.asarray(self.weight, np.float64)


# --- Judging ------------------------------------------------------------------------------------------------------


class ReliabilityBin(NamedTuple):
    """Suggestions of similar probability: what was promised, and what came true."""

    low: float
    high: float
    n: int
    promised: float  # mean probability
    observed: float  # share that people had given


def reliability(pairs: JudgedPairs, n_bins: int = 10) -> list[ReliabilityBin]:
    """Promised and observed frequency in bins of equal width; empty bins are left out."""
    bins = np.minimum((pairs.presence * n_bins).astype(int), n_bins - 1)
    weights = pairs.weights
    return [
        ReliabilityBin(
            b / n_bins,
            (b + 1) / n_bins,
            round(float(weights[inside].sum())),
            float(np.average(pairs.presence[inside], weights=weights[inside])),
            float(np.average(pairs.truth[inside], weights=weights[inside])),
        )
        for b in range(n_bins)
        if weights[inside := bins == b].sum() > 0
    ]


def calibration_error(bins: list[ReliabilityBin]) -> float:
    """Mean distance of promised and observed frequency, weighted by the number of pairs above 0.1.

    Nearly all pairs of image and word are improbable and right about it; they would hide every fault of the others.
    """
    told = [b for b in bins if b.low >= 0.1]
    total = sum(b.n for b in told)
    return sum(b.n * abs(b.promised - b.observed) for b in told) / total if total else float("nan")


def error_by_chance(bins: list[ReliabilityBin]) -> float:
    """What `calibration_error` is on average where all promises are exact: few pairs come out one way or the other."""
    told = [b for b in bins if b.low >= 0.1 and b.n]
    total = sum(b.n for b in told)
    spread = [np.sqrt(2 / np.pi * b.promised * (1 - b.promised) / b.n) for b in told]
    return float(sum(b.n * s for b, s in zip(told, spread, strict=True)) / total) if total else float("nan")


def thresholds(pairs: JudgedPairs, n_words: int, precision: float, *, below: Floats | None = None) -> Floats:
    """For each word the lowest presence from which on suggestions reach a precision, (V,); infinite where none does.

    A word with few held-out tags says little by itself: its precision is shrunk towards that of all words at the same
    presence. The lowest place is sought downwards from the surest suggestion and kept at the first failure, so a lucky
    run further down does not count. Whatever the others reach together, a suggestion that is more probably wrong than
    right is never above a threshold.

    Where pairs come in groups, what all words reach is lessened by its uncertainty over groups. `below` (V,) is the
    highest presence of a word that there is to accept: what was accepted before does not vouch for the rest.
    """
    if below is not None:
        pairs = pairs.at(pairs.presence <= below[pairs.word])
    pooled = _pooled_precision(pairs)
    shrinkage = SHRINKAGE if pairs.group is None else GROUPED_SHRINKAGE
    found = np.full(n_words, np.inf)
    if not len(pairs.word):
        return found
    by_word = np.argsort(pairs.word, kind="stable")
    words, starts = np.unique(pairs.word[by_word], return_index=True)
    for word, rows in zip(words, np.split(by_word, starts[1:]), strict=True):
        order = rows[np.argsort(-pairs.presence[rows], kind="stable")]
        p, weight = pairs.presence[order], pairs.weights[order]
        hits = np.cumsum(weight * pairs.truth[order])
        estimate = (hits + shrinkage * np.interp(p, *pooled)) / (np.cumsum(weight) + shrinkage)
        last_of_ties = np.append(p[1:] < p[:-1], True)
        reached = (estimate >= precision)[last_of_ties]
        n_good = len(reached) if reached.all() else int(np.argmin(reached))
        if n_good:
            found[word] = max(p[last_of_ties][n_good - 1], EVEN_ODDS)
    return found


def _pooled_precision(pairs: JudgedPairs) -> tuple[Floats, Floats]:
    """Precision of everything at or above a presence, at 101 presences; less its standard error over groups."""
    grid = np.linspace(0, 1, 101)
    order = np.argsort(pairs.presence, kind="stable")
    weight, truth = pairs.weights[order], np.asarray(pairs.truth, np.float64)[order]
    first = np.searchsorted(pairs.presence[order], grid)
    hits = np.append(np.cumsum((weight * truth)[::-1])[::-1], 0.0)[first]
    n = np.append(np.cumsum(weight[::-1])[::-1], 0.0)[first]
    precision: Floats = (hits + grid) / (n + 1)
    if pairs.group is None:
        return grid, precision
    group = np.unique(np.asarray(pairs.group)[order], return_inverse=True)[1]
    for k, start in enumerate(first):
        misses = np.bincount(group[start:], weight[start:] * (truth[start:] - precision[k]))
        n_groups = np.count_nonzero(np.bincount(group[start:]))
        if n_groups < FEWEST_GROUPS:  # no better than what more groups have shown
            precision[k] = precision[max(k - 1, 0)]
            continue
        spread = float(misses @ misses) * n_groups / max(int(n_groups) - 1, 1)
        precision[k] -= CAUTION * np.sqrt(spread) / (n[k] + 1)
    return grid, precision
