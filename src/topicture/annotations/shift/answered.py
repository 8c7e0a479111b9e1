r"""What the answers to single questions say of promised probabilities.

Answers about untagged photos are few, but they are about the very photos that promises are made for. They move what
hidden tags of other photos have promised, where questions were asked and little elsewhere:

    logit q = logit p + sum_k a_k B_k(logit p) + v_w,     a_k ~ N(0, 1/10),  v_w ~ N(0, 1/10),

with bumps B_k(x) = exp(-(x - k)^2 / 2) at k = -1, ..., 5: below, nobody is asked. a and v are the most probable ones;
what comes of it is made to rise with p. Which pairs were asked about was decided by p, the word and chance: given
these, nothing is biased by the choice. Without answers q = p.

Symbol -> code, shape:  sum_k a_k B_k -> shift, at the grid (G,) | v -> words V
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

__all__ = ["Answered", "fit_answered"]

Floats = NDArray[np.float64]

_EDGE = 1e-6
_CENTRES = np.arange(-1.0, 6.0)
_GRID = np.linspace(-8, 8, 161)
_SHARED_VARIANCE, _WORD_VARIANCE = 1 / 10, 1 / 10


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
        return expit(x + np.interp(x, _GRID, self.shift) + self.words[word])

    def truth_of(self, presence: Floats, word: Any, truth: Any) -> Floats:
        """How probably pairs that were true or not in a sample, at a presence there, are true of what is asked about.

        Where answers say that less comes true than was promised, a true pair stands for so much less. Where they say
        more, nothing is added: what is accepted unseen must hold by the sample as well.
        """
        return truth * np.minimum(self.at(presence, word) / np.maximum(presence, _EDGE), 1.0)


def fit_answered(presence: Floats, word: NDArray[np.int64], truth: Any, n_words: int) -> Answered:
    """The map of highest posterior probability, from answered pairs (n,): what was promised, and the answer."""
    if not len(word):
        return Answered.nothing(n_words)
    x, y = _logit(presence), np.asarray(truth, np.float64)
    asked, position = np.unique(word, return_inverse=True)
    bumps, n_bumps = _bumps(x), len(_CENTRES)
    precision = np.repeat([1 / _SHARED_VARIANCE, 1 / _WORD_VARIANCE], [n_bumps, len(asked)])

    def loss(theta: Floats) -> tuple[float, Floats]:
        score = x + bumps @ theta[:n_bumps] + theta[n_bumps:][position]
        residual = expit(score) - y
        value = np.logaddexp(0, score).sum() - y @ score + theta**2 @ precision / 2
        slope = np.concatenate([bumps.T @ residual, np.bincount(position, residual)])
        return float(value), slope + theta * precision

    found = minimize(loss, np.zeros(n_bumps + len(asked)), jac=True, method="L-BFGS-B").x
    words = np.zeros(n_words)
    words[asked] = found[n_bumps:]
    rising = np.maximum.accumulate(_GRID + _bumps(_GRID) @ found[:n_bumps])
    return Answered(rising - _GRID, words)


def _bumps(x: Floats) -> Floats:
    return np.exp(-((x[:, None] - _CENTRES) ** 2) / 2)


def _logit(p: Floats) -> Floats:
    return logit(np.clip(p, _EDGE, 1 - _EDGE))
