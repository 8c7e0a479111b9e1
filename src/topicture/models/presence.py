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
    "SLOPE_VARIANCE",
    "SMOOTHING",
    "Presence",
    "cross_fitted",
    "drawn_pairs",
    "fit_presence",
    "logistic",
    "refuse_one_sided",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SMOOTHING = 0.3  # k; 0.1 to 1 were alike on Corel-5k, and no smoothing far worse
MAX_PAIRS = 400_000  # drawn for the shared coefficients; the offsets and the shape see all pairs
OFFSET_VARIANCE = 0.5
SLOPE_VARIANCE = 10.0
NEWTON_STEPS = 8
MAX_KNOTS = 256
MAX_SOFT_PAIRS = 100_000  # the same where pairs are true in part, and count twice
STEP_SHRINKAGE = 5.0  # pseudo-observations that draw a step of the shape towards the raw probability


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
    refuse_one_sided(truth[known])
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


def refuse_one_sided(judged: Any) -> None:
    """Raises CorpusError where no judged pair (n,) is true or none is false."""
    if not (judged > 0).any() or not (judged < 1).any():
        what = "reject some that photos lack" if (judged > 0).any() else "tag more photos"
        raise CorpusError(f"too few judged tags to say how probable a suggestion is; {what}")


def drawn_pairs(truth: Any, known: Bools, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and words of the known pairs (D, V), or of as many of them as a regression needs."""
    rows, words = np.nonzero(known)
    most = MAX_PAIRS if truth.dtype == bool else MAX_SOFT_PAIRS
    if len(rows) > most:
        drawn = np.random.default_rng(seed).choice(len(rows), most, replace=False)
        for rare in (truth[rows, words] > 0, truth[rows, words] < 1):  # one side may be too rare to be drawn
            if not rare[drawn].any():
                drawn = np.append(drawn, np.flatnonzero(rare)[:most])
        drawn = np.sort(drawn)
        rows, words = rows[drawn], words[drawn]
    return rows, words


def logistic(
    pairs: Floats, truth: Any, *, unit: Floats | None = None, variance: float = SLOPE_VARIANCE
) -> Floats:
    """Slopes of the columns of (n, k), and last the intercept, (k + 1,), by logistic regression on truth (n,).

    Slopes are N(0, variance) a priori, where a column is measured in units (k,): its deviations, unless told otherwise.
    """
    centre, scale = pairs.mean(axis=0), np.maximum(pairs.std(axis=0), 1e-6) if unit is None else unit
    scaled, yes = (pairs - centre) / scale, np.asarray(truth, np.float64)
    if ((yes > 0) & (yes < 1)).any():  # a pair that may be true is so in part, and in part not
        weight, scaled = np.concatenate([yes, 1 - yes]), np.concatenate([scaled, scaled])
        answer = np.repeat([1, 0], len(yes))
        model = LogisticRegression(C=variance, max_iter=500).fit(
            scaled[weight > 0], answer[weight > 0], weight[weight > 0]
        )
    else:
        model = LogisticRegression(C=variance, max_iter=500).fit(scaled, yes > 0)
    slopes = model.coef_[0] / scale
    return np.append(slopes, model.intercept_[0] - slopes @ centre)


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


def _linear(presence: Presence, p: Floats) -> Floats:
    a, b, c, d = presence.coefficients
    smooth = np.log(p + SMOOTHING * presence.share)
    return a * smooth + b * np.log(presence.frequency) + c * p + d + presence.offsets


def _shared(blank: Presence, p: Floats, truth: Any, known: Bools, seed: int) -> Floats:
    """a, b, c, d by logistic regression."""
    rows, words = drawn_pairs(truth, known, seed)
    values = p[rows, words]
    smooth = np.log(values + SMOOTHING * blank.share[words])
    pairs = np.column_stack([smooth, np.log(blank.frequency[words]), values])
    return logistic(pairs, truth[rows, words])


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
