r"""Tags that an owner left out, as latent variables (docs/models.md, completeness).

y: the word is true of the photo, t: it was given, m = P(t = 1 | photo), which hidden folds tell, c = P(t = 1 | y = 1),
e = P(t = 1 | y = 0), the rate of false tags; it is small, and where nothing else is said, 0.

    m = p c,     P(y = 1 | t = 0) = rho = p (1 - c) / (1 - p c) = kappa m / (1 - m),     kappa = (1 - c) / c.

From tags alone only the product p c is known. Answers to questions about absent words of tagged photos, drawn by a rule
that looks at the word, m and chance, have the likelihood rho^yes (1 - rho)^no: one unknown per word, the odds kappa
of being left out. ln kappa_w ~ N(ln kappa + b z_w, 1/10), z_w the log of how often the word was given less its mean
over tags: common words may be left out more often, or less. b ~ N(0, 1/4) and kappa are the most probable ones. Before
any answer c = 1. With odds that sum to O_w over the photos that lack the word, kappa_w O_w of them have it all the
same: the share of its true tags that were given is n_w / (n_w + kappa_w O_w).

It depends on the photo as well: who gave many words to a photo left out fewer, ln kappa_iw = ln kappa_w + g z_i with
z_i the photo's number of tags less the mean, within 3 of it; g ~ N(0, 1/4) is the most probable one. Below, m stands
for the share with odds e^(g z_i) m / (1 - m).

All together, what is expected of a word by its own kappa_w, x = kappa_w m / (1 - m), may be off by a factor in each
stratum h of m that questions are drawn in: with Y_h yes answers to questions whose x sum to e_h, and the factor f_h ~
Gamma(a, a / f) before them, its mean is (Y_h + a) / (e_h + a / f), and the sum X_h of x over all absent pairs makes
f_h X_h words that were left out. f is the ratio of yeses and x in the strata below 0.35: above, rho is no longer
proportional to the odds.

Questions were drawn in strata of what was told then, which is not quite the m of today: among those that lie in a low
stratum now, many come from a higher one, where far more was asked, and more is true of them. So within a stratum each
counts as 1 over its chance to be drawn, scaled to the number of even answers that tell as much, (sum w)^2 / sum w^2.

EM for p given c and e: rho completes the captions, a given word is true with p c / (p c + (1 - p) e), p is fitted to
that; t ln m + (1 - t) ln(1 - m) with m = p c + (1 - p) e never falls (`observed_log_likelihood`). e is told by words
that an owner gave and that a person took back: that many, and half a one, among all pairs that were not given.

Symbol -> code, shape:  rho -> D V | kappa -> odds V | g -> PhotoSlope.slope
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SHARES",
    "STRATA",
    "Completeness",
    "PhotoSlope",
    "complete",
    "completed_captions",
    "false_rate",
    "fit_completeness",
    "fit_photo_slope",
    "left_out",
    "observed_log_likelihood",
    "odds_by_stratum",
    "rightly_given",
]

Floats = NDArray[np.float64]

STRATA = (0.02, 0.05, 0.1, 0.2, 0.35)  # borders of the probability that questions are drawn in
# Questions of each stratum, in proportion: a word that is hardly ever true tells little, whatever the answer is, and in
# the last one odds are no longer proportional; some are asked everywhere, to see whether kappa is the same.
SHARES = (1, 1, 2, 4, 6, 2)
_STRATUM_PRIOR = 4.0  # a, in yes answers
_GRID = np.exp(np.linspace(np.log(1e-3), np.log(50.0), 200))  # of kappa
_WORD_VARIANCE, _SLOPE_VARIANCE = 1 / 10, 1 / 4
_SLOPES = np.linspace(-1.0, 1.0, 21)  # b
_PHOTO_SLOPES, _MOST_OFF = np.linspace(-1.5, 1.5, 31), 3.0  # g, and |z|
_MOST = 0.95  # of rho: nothing is certain that nobody has said
_MOST_LIKELY = 0.99  # a yes: m is estimated, so odds that rule an answer out do not
_EDGE = 1e-9


class Completeness(NamedTuple):
    """How complete the tags of every word are, with the standard deviation, and all tags together.

    Attributes
    ----------
    words, deviation : (V,) share of a word's true tags that were given
    odds : (V,) kappa
    overall : share of the true tags that were given
    overall_deviation : its standard deviation
    n_questions : answers that it was learned from
    photos : what it is for photos with more and fewer tags
    """

    words: Floats
    deviation: Floats
    odds: Floats
    overall: float
    overall_deviation: float
    n_questions: int
    photos: "PhotoSlope"

    def of_photos(self, n_tags: Any) -> Floats:
        """c (D, V) of photos with so many tags, (D,)."""
        return 1 / (1 + self.odds * np.exp(self.photos.slope * self.photos.z(n_tags))[:, None])


class PhotoSlope(NamedTuple):
    """How much more is left out of photos with few tags."""

    slope: float = 0.0  # g
    mean: float = 0.0

    def z(self, n_tags: Any) -> Floats:
        """Of photos (D,)."""
        return np.clip(np.asarray(n_tags, np.float64) - self.mean, -_MOST_OFF, _MOST_OFF)

    def tilted(self, m: Floats, n_tags: Any) -> Floats:
        """The share (...) with odds e^(g z) m / (1 - m), for photos with so many tags (...)."""
        odds = m / np.maximum(1 - m, _EDGE) * np.exp(self.slope * self.z(n_tags))
        return odds / (1 + odds)


def left_out(p: Floats, c: Any, e: float = 0.0) -> Floats:
    """rho (D, V): how probably an absent word is true, for its presence p (D, V) and completeness c (V,) or (D, V)."""
    return np.minimum(p * (1 - c) / np.maximum(1 - _given_share(p, c, e), _EDGE), 1.0)


def rightly_given(p: Floats, c: Any, e: float = 0.0) -> Floats:
    """How probably a given word is true, (D, V)."""
    return np.where(p > 0, p * c / np.maximum(_given_share(p, c, e), 1e-300), 1.0 if e == 0 else 0.0)


def false_rate(n_taken_back: int, n_absent: int) -> float:
    """e, from the words that were given and taken back, and the pairs that were not given."""
    return (n_taken_back + 0.5) / (n_absent + n_taken_back + 1)


def observed_log_likelihood(p: Floats, given: Any, c: Any, e: float = 0.0) -> float:
    """Sum of t ln m + (1 - t) ln(1 - m), m = p c + (1 - p) e."""
    m = np.clip(_given_share(p, c, e), _EDGE, 1 - _EDGE)
    return float(np.where(given, np.log(m), np.log1p(-m)).sum())


def _given_share(p: Floats, c: Any, e: float) -> Floats:
    return np.asarray(p * c + (1 - p) * e)


def complete(
    fit: Callable[[Floats], Floats], given: Any, c: Any, p: Floats, n_steps: int = 5, e: float = 0.0
) -> tuple[Floats, Floats]:
    """EM: `fit` gives p (D, V) for soft targets (D, V); the last p, and the targets that it was fitted to."""

    def targets_of(p: Floats) -> Floats:
        return np.where(given, rightly_given(p, c, e), left_out(p, c, e))

    targets = targets_of(p)
    for _ in range(n_steps):
        p = fit(targets)
        targets = targets_of(p)
    return p, targets


def fit_photo_slope(m: Floats, yes: Any, n_tags: Any, mean: float) -> PhotoSlope:
    """g from answered questions (n,): what m was, whether the word is true, and how many tags the photo has."""
    is_true = np.asarray(yes, bool)
    kept = _proportional(np.digitize(m, STRATA), is_true)
    odds, z = (m / np.maximum(1 - m, _EDGE))[kept], PhotoSlope(0.0, mean).z(n_tags)[kept]
    heights = [
        _profile(odds * np.exp(slope * z), is_true[kept])[0] - slope**2 / (2 * _SLOPE_VARIANCE)
        for slope in _PHOTO_SLOPES
    ]
    return PhotoSlope(float(_PHOTO_SLOPES[int(np.argmax(heights))]), mean)


def fit_completeness(
    m: Floats,
    word: NDArray[np.int64],
    yes: Any,
    n_given: Floats,
    absent_odds: Floats,
    photos: PhotoSlope | None = None,
    weight: Floats | None = None,
) -> Completeness:
    """c from answered questions (n,): what m was (tilted by `photos`), the word, and whether it is true.

    Parameters
    ----------
    n_given : (V,) tags that were given
    absent_odds : (V, 6) sums of m / (1 - m) over the pairs that were not, by stratum of m (`odds_by_stratum`)
    weight : (n,) 1 over the chance of a question to be drawn, up to a factor; None: all alike
    """
    odds, is_true = m / np.maximum(1 - m, _EDGE), np.asarray(yes, bool)
    stratum = np.digitize(m, STRATA)
    counted = _counted(stratum, np.ones(len(m)) if weight is None else weight)
    log_likelihood = _by_kappa(odds, is_true)  # (n, G)
    log_kappa = np.log(_GRID)
    centre = _centre(odds, stratum, is_true, word, n_given)
    prior = -((log_kappa - centre[:, None]) ** 2) / (2 * _WORD_VARIANCE)
    by_word = np.zeros((len(n_given), len(_GRID)))
    np.add.at(by_word, word, log_likelihood)
    posterior = _normalised(by_word + prior)  # (V, G)
    kappa = 1 / (posterior @ (1 / (1 + _GRID))) - 1
    share = (n_given[:, None] + _EDGE) / (n_given[:, None] + _EDGE + _GRID * absent_odds.sum(axis=1)[:, None])
    mean = (posterior * share).sum(axis=1)
    deviation = np.sqrt(np.maximum((posterior * share**2).sum(axis=1) - mean**2, 0))
    total, spread = _left_out_altogether(kappa[word] * odds, stratum, is_true, counted, kappa @ absent_odds)
    given = float(n_given.sum())
    overall = given / max(given + total, _EDGE)
    uncertain = spread * overall / max(given + total, _EDGE)
    return Completeness(mean, deviation, kappa, overall, uncertain, len(word), photos or PhotoSlope())


def odds_by_stratum(m: Floats, given: Any) -> Floats:
    """Sums (V, 6) of m / (1 - m) over the pairs (D, V) that were not given, by word and stratum of m."""
    row, word = np.nonzero(~np.asarray(given, bool))
    absent, n = np.asarray(m)[row, word], len(STRATA) + 1
    odds = absent / np.maximum(1 - absent, _EDGE)
    key = word * n + np.digitize(absent, STRATA)
    return np.bincount(key, odds, np.shape(m)[1] * n).reshape(-1, n).astype(np.float64)


def _counted(stratum: NDArray[np.int64], weight: Floats) -> Floats:
    """How much each question (n,) counts: by its weight among those of its stratum, as much as these tell in all."""
    total, square = np.bincount(stratum, weight), np.bincount(stratum, weight**2)
    return weight * (total / np.maximum(square, np.finfo(float).tiny))[stratum]


def _centre(
    odds: Floats, stratum: NDArray[np.int64], yes: NDArray[np.bool_], word: NDArray[np.int64], n_given: Floats
) -> Floats:
    """ln kappa + b z (V,): kappa by the ratio of yes answers and expected ones, b of highest posterior density."""
    z = np.log(n_given + 0.5)
    z = z - np.average(z, weights=n_given + 0.5)
    kept = _proportional(stratum, yes)
    found = []
    for slope in _SLOPES:
        height, kappa = _profile(odds[kept] * np.exp(slope * z[word[kept]]), yes[kept])
        found.append((height - slope**2 / (2 * _SLOPE_VARIANCE), np.log(kappa) + slope * z))
    return max(found, key=lambda one: float(one[0]))[1]


def _profile(expected: Floats, yes: NDArray[np.bool_]) -> tuple[float, float]:
    """The log-likelihood of answers (n,) to questions with such odds, and kappa, the ratio of yeses and odds."""
    kappa = (float(yes.sum()) + 0.5) / (float(expected.sum()) + 0.5)
    rho = np.clip(kappa * expected, 1e-6, _MOST_LIKELY)
    return float(np.where(yes, np.log(rho), np.log1p(-rho)).sum()), kappa


def _proportional(stratum: NDArray[np.int64], yes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Questions (n,) below the highest stratum, where rho is proportional to the odds; all, if hardly one was a yes."""
    below: NDArray[np.bool_] = stratum < len(STRATA)
    return below if (yes & below).sum() >= _STRATUM_PRIOR else np.ones(len(yes), bool)


def _left_out_altogether(
    expected: Floats,
    stratum: NDArray[np.int64],
    yes: NDArray[np.bool_],
    counted: Floats,
    absent: Floats,
) -> tuple[float, float]:
    """How many words were left out, sum over h of f_h X_h, and its standard deviation.

    `expected` (n,) and `absent` (6,) are the x of the questions, and their sums over all absent pairs of the strata.
    """
    n = len(STRATA) + 1
    n_yes, asked = np.bincount(stratum, counted * yes, n), np.bincount(stratum, counted * expected, n)
    told = _proportional(stratum, yes)
    base_yes = float(counted[told] @ yes[told]) + 0.5
    base = float(counted[told] @ expected[told]) + 0.5
    factor = base_yes / base
    shape, rate = n_yes + _STRATUM_PRIOR, asked + _STRATUM_PRIOR / factor
    by_stratum = float(((absent / rate) ** 2 * shape).sum())
    by_factor = float((absent * shape / rate**2).sum() * _STRATUM_PRIOR / factor**2) ** 2
    return float(absent @ (shape / rate)), float(np.sqrt(by_stratum + by_factor * base_yes / base**2))


def completed_captions(given: Any, m: Floats, completeness: Completeness, least: float = 0.05) -> Floats:
    """Captions (D, V) with what was probably left out as fractions; small ones are dropped."""
    rho = np.minimum(completeness.odds * m / np.maximum(1 - m, _EDGE), _MOST)
    return np.where(given, 1.0, np.where(rho >= least, rho, 0.0))


def _by_kappa(odds: Floats, yes: NDArray[np.bool_]) -> Floats:
    rho = np.clip(odds[:, None] * _GRID, 1e-6, _MOST_LIKELY)
    return np.where(yes[:, None], np.log(rho), np.log1p(-rho))


def _normalised(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
