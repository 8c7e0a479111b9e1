r"""Tags that an owner left out, as latent variables (docs/models.md, completeness).

y: the word is true of the photo, t: it was given, m = P(t = 1 | photo), which hidden folds tell, c = P(t = 1 | y = 1),
e = P(t = 1 | y = 0), the rate of false tags; it is small, and where nothing else is said, 0.

    m = p c,     P(y = 1 | t = 0) = rho = p (1 - c) / (1 - p c) = kappa m / (1 - m),     kappa = (1 - c) / c.

From tags alone only the product p c is known; answers to questions tell kappa (`how_complete`). Before any, c = 1. It
depends on word and photo: who gave many words to a photo left out fewer, ln kappa_iw = ln kappa_w + g z_i with z_i
the photo's number of tags less the mean, within 3 of it.

m is estimated. Where it is off by a factor xi, the rho that is true on average is the mean of min(xi u, 1),
u = kappa m / (1 - m): u where u is small, and less than that where u is near 1. A curve of that kind serves for it,

    rho(u) = u / (1 + (u / r)^q)^(1/q),     q = 2.5,  r = 0.95.

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
    "CAUTION",
    "ENOUGH",
    "SHARES",
    "STRATA",
    "Completeness",
    "PhotoSlope",
    "bend",
    "bent",
    "complete",
    "false_rate",
    "left_out",
    "observed_log_likelihood",
    "odds_of",
    "rightly_given",
]

Floats = NDArray[np.float64]

STRATA = (0.02, 0.05, 0.1, 0.2, 0.35)  # borders of the probability that questions are drawn in
# Questions of each stratum, in proportion: a word that is hardly ever true tells little, whatever the answer is, and in
# the last one nearly all is true; some are asked everywhere, to see whether kappa is the same.
SHARES = (1, 1, 2, 4, 6, 2)
ENOUGH = 100  # answers, from which on what is left out may be counted on as it is told
CAUTION = 1.28  # standard deviations: nine in ten such bounds should hold
_MOST_OFF = 3.0  # |z|
_SHARPNESS = 2.5  # q; 2 to 3 fit what is true of Corel-5k with tags left out, for every way and share
_MOST = 0.95  # r: nothing is certain that nobody has said
_EDGE = 1e-9


class PhotoSlope(NamedTuple):
    """How much more is left out of photos with few tags."""

    slope: float = 0.0  # g
    mean: float = 0.0

    def z(self, n_tags: Any) -> Floats:
        """Of photos (D,)."""
        return np.clip(np.asarray(n_tags, np.float64) - self.mean, -_MOST_OFF, _MOST_OFF)

    def factor(self, n_tags: Any) -> Floats:
        """e^(g z), of photos (D,)."""
        return np.asarray(np.exp(self.slope * self.z(n_tags)))


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
    log_deviation : standard deviation of ln kappa, of all words together
    """

    words: Floats
    deviation: Floats
    odds: Floats
    overall: float
    overall_deviation: float
    n_questions: int
    photos: PhotoSlope = PhotoSlope()
    log_deviation: float = 0.0

    def of_photos(self, n_tags: Any) -> Floats:
        """c (D, V) of photos with so many tags, (D,)."""
        return 1 / (1 + self.odds * self.photos.factor(n_tags)[:, None])

    def left_out(self, m: Floats, n_tags: Any) -> Floats:
        """rho (D, V), for m (D, V) and the photos' numbers of tags (D,)."""
        return bent(self.odds * self.photos.factor(n_tags)[:, None] * odds_of(m))

    def counted_on(self, rho: Any) -> Floats:
        """What of rho may be counted on while answers are few: its odds, less what their scatter may have made of them.

        Nine in ten such bounds should hold; with `ENOUGH` answers, and with what is certain, nothing is taken away.
        """
        few = max(0.0, 1 - self.n_questions / ENOUGH)
        share = np.exp(-CAUTION * few * self.log_deviation)
        rho = np.asarray(rho, np.float64)
        return np.asarray(share * rho / (1 - rho + share * rho))


def odds_of(m: Floats) -> Floats:
    """m / (1 - m)."""
    return np.asarray(m / np.maximum(1 - m, _EDGE))


def bent(u: Any) -> Floats:
    """rho(u)."""
    return np.asarray(u / (1 + (u / _MOST) ** _SHARPNESS) ** (1 / _SHARPNESS))


def bend(u: Any) -> Floats:
    """d ln rho / d ln u: 1 where u is small, 0 where it is large."""
    return np.asarray(1 / (1 + (u / _MOST) ** _SHARPNESS))


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
