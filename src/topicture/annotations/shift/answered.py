r"""What the answers to single questions say of promised probabilities.

Answers about untagged photos are few, but they are about the very photos that promises are made for. They move what
hidden tags of other photos have promised, where questions were asked and little elsewhere:

    logit q = logit p + sum_k a_k B_k(logit p) + r(logit p) v_w,     a_k ~ N(0, s),  v_w ~ N(0, t),

with bumps B_k(x) = exp(-(x - k)^2 / 2) at k = -1, ..., 5, and a ramp r from 0 at x = -2 to 1 at 0: below, nobody is
asked. a and v are the most probable ones; what comes of it is made to rise with p. Which pairs were asked about was
decided by p, the word and chance: given these, nothing is biased by the choice. Photos of a burst have one answer: k
about the same word count 1 / k each. Without answers q = p.

How far promises may be off, s and t, groups that were hidden have shown: the evidence of s and t is that of each hidden
fold and of the answers, with a and v of their own, by Laplace's approximation (`fit_spread`). The same approximation
says how uncertain a promise is: logit q - z sd(logit q) is what may be counted on (`Posterior.lower`).

Symbol -> code, shape:  sum_k a_k B_k -> shift, at the grid (G,) | v -> words V | s, t -> Spread
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

__all__ = [
    "N_PARTS",
    "SPREADS",
    "TOLD_SPREADS",
    "Answered",
    "Posterior",
    "Sample",
    "Spread",
    "corrected_by_others",
    "fit_answered",
    "fit_posterior",
    "fit_spread",
    "log_evidence",
    "parts_of",
    "together_as_one",
]

Floats = NDArray[np.float64]

N_PARTS = 3  # in which answers judge what others have taught
_EDGE = 1e-6
_CENTRES = np.arange(-1.0, 6.0)
_GRID = np.linspace(-8, 8, 161)
_LEAST_TOLD = 0.1  # presence from which on promises count


class Sample(NamedTuple):
    """Answered pairs (n,): what was promised, of which word, what is true, and how much each counts; None: as one."""

    presence: Floats
    word: NDArray[np.int64]
    truth: Any
    weight: Any = None

    @property
    def counted(self) -> Floats:
        return np.ones(len(self.word)) if self.weight is None else np.asarray(self.weight, np.float64)

    def at(self, kept: Any) -> "Sample":
        """Some of the pairs."""
        weight = None if self.weight is None else self.counted[kept]
        return Sample(self.presence[kept], self.word[kept], np.asarray(self.truth)[kept], weight)


class Spread(NamedTuple):
    """How far promises may be off: variances of the shared bumps and of single words, in logits."""

    shared: float = 0.1
    words: float = 1.0


SPREADS = tuple(Spread(s, t) for s, t in product((0.1, 0.3, 1.0, 3.0), repeat=2))
TOLD_SPREADS = tuple(Spread(s, 1.0) for s in (0.03, 0.1, 0.3))  # a few answers bend what is told a little


class Answered(NamedTuple):
    """A fitted map; `answered(presence)` is (D, V)."""

    shift: Floats  # (G,) to be added to the logit, at the grid
    words: Floats  # (V,)

    @classmethod
    def nothing(cls, n_words: int) -> "Answered":
        """Before any answer."""
        return cls(np.zeros(len(_GRID)), np.zeros(n_words))

    def __call__(self, presence: Floats) -> Floats:
        return self.at(presence, np.arange(presence.shape[1]))

    def at(self, presence: Floats, word: Any) -> Floats:
        """The same for pairs: presence (n,) of words (n,)."""
        if not self.shift.any() and not self.words.any():
            return presence
        x = _logit(presence)
        inside = np.clip(x, _GRID[0], _GRID[-1] - 1e-9)
        step = (inside - _GRID[0]) / (_GRID[1] - _GRID[0])
        left = step.astype(np.int64)
        rising = np.maximum.accumulate(_GRID + self.shift + _ramp(_GRID) * self.words[:, None], axis=1)
        low, high = rising[word, left], rising[word, left + 1]
        return expit(low + (step - left) * (high - low) + x - inside)

    def truth_of(self, presence: Floats, word: Any, truth: Any) -> Floats:
        """How probably pairs that were true or not in a sample, at a presence there, are true of what is asked about.

        Where answers say that less comes true than was promised, a true pair stands for so much less. Where they say
        more, nothing is added: what is accepted unseen must hold by the sample as well.
        """
        return truth * np.minimum(self.at(presence, word) / np.maximum(presence, _EDGE), 1.0)


class Posterior(NamedTuple):
    """The map, and how sure it is.

    Attributes
    ----------
    asked : (k,) words that were asked about, ascending
    covariance : (7 + k, 7 + k) of the bumps and of these words
    """

    answered: Answered
    spread: Spread
    asked: NDArray[np.int64]
    covariance: Floats

    def lower(self, presence: Floats, word: NDArray[np.int64], caution: float) -> Floats:
        """Probability (n,) that may be counted on, `caution` standard deviations below what is told of pairs (n,)."""
        n = len(_CENTRES)
        bumps, ramp = _bumps(_logit(presence)), _ramp(_logit(presence))
        variance = np.einsum("nk,kl,nl->n", bumps, self.covariance[:n, :n], bumps)
        at = np.minimum(np.searchsorted(self.asked, word), max(len(self.asked) - 1, 0))
        known = np.isin(word, self.asked)
        if known.any():
            at = n + at[known]
            variance[known] += ramp[known] ** 2 * self.covariance[at, at]
            variance[known] += 2 * ramp[known] * (bumps[known] * self.covariance[at, :n]).sum(axis=1)
        variance[~known] += ramp[~known] ** 2 * self.spread.words
        told = _logit(self.answered.at(presence, word))
        return expit(told - caution * np.sqrt(np.maximum(variance, 0)))


class _Fit(NamedTuple):
    answered: Answered
    asked: NDArray[np.int64]
    precision: Floats  # negative second derivatives at the top
    log_evidence: float


def fit_answered(sample: Sample, n_words: int, spread: Spread | None = None) -> Answered:
    """The map of highest posterior probability."""
    if not len(sample.word):
        return Answered.nothing(n_words)
    return _fit(sample, n_words, spread or Spread()).answered


def corrected_by_others(answers: Sample, group: NDArray[np.int64], n_words: int, spread: Spread) -> Floats:
    """What is told of answered pairs (n,), each corrected by the answers of other parts.

    Pairs of one `group` (n,) are in one part: photos of a burst have the same answer.
    """
    found, part_of = answers.presence.copy(), parts_of(group)
    for part in range(N_PARTS):
        own = part_of == part
        told = fit_answered(answers.at(~own), n_words, spread)
        found[own] = told.at(answers.presence[own], answers.word[own])
    return found


def parts_of(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """A part (n,) for each of n things; groups stay whole."""
    return np.asarray(np.unique(group, return_inverse=True)[1] % N_PARTS, np.int64)


def together_as_one(group: NDArray[np.int64], word: NDArray[np.int64]) -> Floats:
    """How much answered pairs (n,) count: those about the same word of a group, such as a burst, as one."""
    _, pair, n = np.unique(np.stack([group, word]), axis=1, return_inverse=True, return_counts=True)
    return 1 / n[pair.ravel()]


def fit_posterior(sample: Sample, n_words: int, spread: Spread) -> Posterior:
    """The same with its uncertainty; without answers that of `spread` alone."""
    found = _fit(sample, n_words, spread)
    return Posterior(
        found.answered, spread, found.asked, np.asarray(np.linalg.inv(found.precision), np.float64)
    )


def fit_spread(samples: Sequence[Sample], n_words: int, among: Sequence[Spread] = SPREADS) -> Spread:
    """s and t of highest evidence for samples that are each off in their own way."""
    told = [one.at(kept) for one in samples if (kept := one.presence >= _LEAST_TOLD).any()]
    evidence = [sum(_fit(one, n_words, spread).log_evidence for one in told) for spread in among]
    return among[int(np.argmax(evidence))] if told else Spread()


def log_evidence(sample: Sample, n_words: int, spread: Spread) -> float:
    """How well what was promised goes with what was answered, whatever the map makes of it."""
    return _fit(sample, n_words, spread).log_evidence


def _fit(sample: Sample, n_words: int, spread: Spread) -> _Fit:
    x, y, counted = _logit(sample.presence), np.asarray(sample.truth, np.float64), sample.counted
    asked, position = np.unique(sample.word, return_inverse=True)
    bumps, ramp, n_bumps = _bumps(x), _ramp(x), len(_CENTRES)
    precision = np.repeat([1 / spread.shared, 1 / spread.words], [n_bumps, len(asked)])

    def loss(theta: Floats) -> tuple[float, Floats]:
        score = x + bumps @ theta[:n_bumps] + ramp * theta[n_bumps:][position]
        residual = counted * (expit(score) - y)
        value = counted @ (np.logaddexp(0, score) - y * score) + theta**2 @ precision / 2
        slope = np.concatenate([bumps.T @ residual, np.bincount(position, ramp * residual, len(asked))])
        return float(value), slope + theta * precision

    best = minimize(loss, np.zeros(n_bumps + len(asked)), jac=True, method="L-BFGS-B")
    found = best.x
    q = expit(x + bumps @ found[:n_bumps] + ramp * found[n_bumps:][position])
    told = counted * q * (1 - q)
    weighted = told[:, None] * bumps
    curvature = np.diag(precision)
    curvature[:n_bumps, :n_bumps] += bumps.T @ weighted
    np.add.at(curvature[n_bumps:, :n_bumps], position, ramp[:, None] * weighted)
    curvature[:n_bumps, n_bumps:] = curvature[n_bumps:, :n_bumps].T
    of_words = np.arange(n_bumps, len(found))
    curvature[of_words, of_words] += np.bincount(position, told * ramp**2, len(asked))
    log_evidence = -float(best.fun) + (np.log(precision).sum() - np.linalg.slogdet(curvature)[1]) / 2
    words = np.zeros(n_words)
    words[asked] = found[n_bumps:]
    rising = np.maximum.accumulate(_GRID + _bumps(_GRID) @ found[:n_bumps])
    return _Fit(Answered(rising - _GRID, words), asked, curvature, float(log_evidence))


def _bumps(x: Floats) -> Floats:
    return np.exp(-((x[:, None] - _CENTRES) ** 2) / 2)


def _ramp(x: Floats) -> Floats:
    return np.clip(1 + x / 2, 0.0, 1.0)


def _logit(p: Floats) -> Floats:
    return logit(np.clip(p, _EDGE, 1 - _EDGE))
