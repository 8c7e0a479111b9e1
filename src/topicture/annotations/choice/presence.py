r"""Probabilities that mean what they say: from p(w | image) to the probability that a person would give the tag.

An annotator's row sums to 1: it is the distribution of ONE caption word. The probability that a caption holds the word
is another quantity, found here from held-out human tags: of the pairs of image and word that get 0.8, eight in ten are
true.

    presence = isotonic( sigmoid( a ln(p(w|r) + k q_w) + b ln f_w + c p(w|r) + d + u_w ) )

f_w is the share of images that carry the word and q_w its share of all tags; a little of q_w, k of it, keeps a word
that the annotator gives no chance at all from an infinite verdict. a to d are shared; u_w, shrunk towards 0, lets a
word that is harder to see be trusted less; the isotonic step corrects the shape. All is fitted on scores of images
whose captions the annotator had not seen.

D images, V words. `known` (D, V) says which pairs a person has judged: all words of a captioned image, but only the
decided words of an image that was merely reviewed. `truth` (D, V) is true or false, or the probability of it where a
word may have been left out (`shift.completeness`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from topicture.errors import CorpusError

__all__ = [
    "JudgedPairs",
    "Presence",
    "ReliabilityBin",
    "calibration_error",
    "cross_fitted",
    "fit_presence",
    "reliability",
    "thresholds",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SMOOTHING = 0.3  # k; 0.1 to 1 were alike on Corel-5k, and no smoothing far worse
MAX_PAIRS = 400_000  # drawn for the shared coefficients; the offsets and the shape see all pairs
OFFSET_VARIANCE = 0.5
NEWTON_STEPS = 8
MAX_KNOTS = 256
MAX_SOFT_PAIRS = 100_000  # the same where pairs are true in part, and count twice
CAUTION = 1.64  # standard errors over groups: nineteen in twenty such promises should hold
FEWEST_GROUPS = 3  # that a standard error can be told from
STEP_SHRINKAGE = 5.0  # pseudo-observations that draw a step of the shape towards the raw probability
EVEN_ODDS = 0.5
SHRINKAGE = 5.0  # pseudo-observations that pull a tag's precision towards that of all tags
GROUPED_SHRINKAGE = 20.0  # where pairs of one group tell much the same


class Presence(NamedTuple):
    """A fitted calibration; `presence(p)` turns (D, V) word distributions into (D, V) presence probabilities."""

    coefficients: Floats  # (4,): a, b, c, d
    frequency: Floats  # (V,) f_w, share of the images that carry the word
    share: Floats  # (V,) q_w, share of the word among all tags
    offsets: Floats  # (V,)
    knots: Floats  # (n,) ascending
    values: Floats  # (n,) presence at the knots, not falling

    def __call__(self, p: Any) -> Floats:
        raw = _sigmoid(_linear(self, np.asarray(p, np.float64)))
        return np.interp(raw, self.knots, self.values)

    def to_arrays(self) -> dict[str, Floats]:
        """Name -> array, for a model file."""
        return self._asdict()


def fit_presence(p: Floats, truth: Any, known: Bools, *, seed: int = 0) -> Presence:
    """Learn the calibration from held-out word distributions (D, V) and what people said.

    Raises CorpusError where no judged pair is true or none is false: nothing can be learned then.
    """
    judged = truth[known]
    if not (judged > 0).any() or not (judged < 1).any():
        what = "reject some that photos lack" if (judged > 0).any() else "tag more photos"
        raise CorpusError(f"too few judged tags to say how probable a suggestion is; {what}")
    counts = (truth * known).sum(axis=0) + 0.5
    blank = Presence(
        coefficients=np.zeros(4),
        frequency=counts / (known.sum(axis=0) + 1.0),
        share=counts / counts.sum(),
        offsets=np.zeros(p.shape[1]),
        knots=np.array([0.0, 1.0]),
        values=np.array([0.0, 1.0]),
    )
    shared = blank._replace(coefficients=_shared(blank, p, truth, known, seed))
    fitted = shared._replace(offsets=_offsets(_linear(shared, p), truth, known))
    knots, values = _shape(_sigmoid(_linear(fitted, p))[known], truth[known])
    return fitted._replace(knots=knots, values=values)


def cross_fitted(p: Floats, truth: Any, known: Bools, fold_of: NDArray[np.int64], *, seed: int = 0) -> Floats:
    """Presence of each image by a calibration that has not seen its fold: what an honest judgement needs, (D, V).

    Images of no fold (-1), such as those that were reviewed but have no caption, are dealt out evenly.
    """
    presence = np.empty_like(p)
    n_folds = max(int(fold_of.max()) + 1, 2)
    fold_of = np.where(fold_of < 0, np.arange(len(fold_of)) % n_folds, fold_of)
    for fold in np.unique(fold_of):
        inside = fold_of == fold
        others = fit_presence(p[~inside], truth[~inside], known[~inside], seed=seed)
        presence[inside] = others(p[inside])
    return presence


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


# --- Fitting ------------------------------------------------------------------------------------------------------


def _linear(presence: Presence, p: Floats) -> Floats:
    a, b, c, d = presence.coefficients
    smooth = np.log(p + SMOOTHING * presence.share)
    return a * smooth + b * np.log(presence.frequency) + c * p + d + presence.offsets


def _shared(blank: Presence, p: Floats, truth: Any, known: Bools, seed: int) -> Floats:
    """a, b, c, d by logistic regression."""
    rows, words = np.nonzero(known)
    most = MAX_PAIRS if truth.dtype == bool else MAX_SOFT_PAIRS
    if len(rows) > most:
        drawn = np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))
        rows, words = rows[drawn], words[drawn]
    values = p[rows, words]
    smooth = np.log(values + SMOOTHING * blank.share[words])
    pairs = np.column_stack([smooth, np.log(blank.frequency[words]), values])
    centre, scale = pairs.mean(axis=0), np.maximum(pairs.std(axis=0), 1e-6)
    scaled, yes = (pairs - centre) / scale, np.asarray(truth[rows, words], np.float64)
    if ((yes > 0) & (yes < 1)).any():  # a pair that may be true is so in part, and in part not
        weight, scaled = np.concatenate([yes, 1 - yes]), np.concatenate([scaled, scaled])
        answer = np.repeat([1, 0], len(yes))
        model = LogisticRegression(C=10.0, max_iter=500).fit(
            scaled[weight > 0], answer[weight > 0], weight[weight > 0]
        )
    else:
        model = LogisticRegression(C=10.0, max_iter=500).fit(scaled, yes > 0)
    slopes = model.coef_[0] / scale
    return np.append(slopes, model.intercept_[0] - slopes @ centre)


def _offsets(linear: Floats, truth: Any, known: Bools) -> Floats:
    """The u_w of highest posterior probability under u_w ~ N(0, OFFSET_VARIANCE), by Newton's method for all words."""
    offsets = np.zeros(linear.shape[1])
    weight = known.astype(np.float64)
    for _ in range(NEWTON_STEPS):
        q = _sigmoid(linear + offsets)
        slope = (weight * (truth - q)).sum(axis=0) - offsets / OFFSET_VARIANCE
        curvature = (weight * q * (1 - q)).sum(axis=0) + 1 / OFFSET_VARIANCE
        offsets = offsets + np.clip(slope / curvature, -1, 1)
    return offsets


def _shape(raw: Floats, is_true: Any) -> tuple[Floats, Floats]:
    """Knots and values of the isotonic regression of truth on the raw probability.

    A step of few pairs is drawn towards the raw probability, so that three lucky pairs do not make a certainty; between
    the middles of the steps the curve is straight, which keeps the ranking of the model.
    """
    fitted = IsotonicRegression(y_min=0, y_max=1).fit_transform(raw, is_true.astype(np.float64))
    step = np.unique(fitted, return_inverse=True)[1]
    n = np.bincount(step)
    middle = np.bincount(step, raw) / n
    value = (np.bincount(step, is_true) + STEP_SHRINKAGE * middle) / (n + STEP_SHRINKAGE)
    knots, values = np.append(middle, 1.0), np.maximum.accumulate(np.append(value, value[-1]))
    if len(knots) > MAX_KNOTS:
        kept = np.unique(np.linspace(0, len(knots) - 1, MAX_KNOTS).astype(int))
        knots, values = knots[kept], values[kept]
    return knots, values


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(x, -40, 40)))
