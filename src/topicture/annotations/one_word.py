r"""One word, learned from a few clicks while somebody waits, with a collection that was looked at beforehand.

Somebody names a word and clicks on photos that have it (y = 1) and on some that have not (y = 0). The rest, D photos
x_i with mean m, mostly lack it: that is the prior, and its costly part does not depend on the clicks. With z = x - m,

    f(x) = b0 + b + z'w,    b0 = log odds of a word that few photos have,

    w, b minimise   sum over clicks of log-loss(f, y)  +  k/2 (mean over all photos of (z'w + b)^2  +  r tr(S)/L |w|^2)

where S is the covariance of the collection. The penalty is theta'A theta/2 for theta = (w, b), with A = k (S + ridge)
and k: A is factorised once. The minimum lies in the span of A^-1 z of the clicked photos, so that Newton's method works
on as many unknowns as there are clicks. Nearly all of a click's time is x'w of all photos.

Symbol -> code:  x -> rows D L | m -> mean | A -> factor | theta -> weights, offset | k -> WEIGHT | r -> RIDGE
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit

from topicture.errors import CorpusError

__all__ = ["Background", "OneWord", "learn_word"]

Floats = NDArray[np.float64]

RATE = 0.05  # share of photos that a word nobody has used yet is taken to be on
WEIGHT = 4.0
RIDGE = 20.0
SAMPLE = 5_000  # photos that stand for the collection
BLOCK = 4096
STEPS = 50
ENOUGH = 1e-9


class Rows(Protocol):
    """An array (D, L), or what can be read like one: rows that lie on disk."""

    def __len__(self) -> int: ...
    def __getitem__(self, positions: Any, /) -> NDArray[np.floating]: ...


class Background:
    """What the photos of a collection look like, all together; `learn_word` needs it, and it needs no word."""

    def __init__(self, rows: Rows, *, sample: int = SAMPLE, seed: int = 0):
        n = len(rows)
        if not n:
            raise CorpusError("there are no photos to learn a word from")
        chosen = (
            np.arange(n)
            if n <= sample
            else np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))
        )
        total, products = np.zeros(1), np.zeros((1, 1))
        for start in range(0, len(chosen), BLOCK):
            block = np.asarray(rows[chosen[start : start + BLOCK]], np.float32)
            if not np.isfinite(block).all():
                raise CorpusError(
                    "what photos look like holds values that are not numbers; measure them again"
                )
            total = total + block.sum(axis=0, dtype=np.float64)
            products = products + np.asarray(block.T @ block, np.float64)
        self.mean: Floats = total / len(chosen)
        covariance = products / len(chosen) - np.outer(self.mean, self.mean)
        ridge = RIDGE * max(np.trace(covariance) / len(covariance), np.finfo(np.float32).tiny)
        covariance[np.diag_indices_from(covariance)] += ridge
        self.factor = cho_factor(WEIGHT * covariance, lower=True)


class OneWord(NamedTuple):
    """What was learned about a word: log odds are `offset + x'weights`."""

    weights: Floats  # (L,)
    offset: float

    def log_odds(self, rows: Rows) -> Floats:
        """Of every photo, (D,)."""
        weights = self.weights.astype(np.float32)
        parts = [
            np.asarray(rows[start : start + BLOCK], np.float32) @ weights
            for start in range(0, len(rows), BLOCK)
        ]
        return np.concatenate([np.zeros(0, np.float32), *parts]).astype(np.float64) + self.offset


def learn_word(
    background: Background, clicked: NDArray[np.floating], yes: NDArray[np.bool_], rate: float = RATE
) -> OneWord:
    """Learn a word from the rows of the clicked photos (n, L), and whether each has it (n,)."""
    centred = np.asarray(clicked, np.float64) - background.mean
    prior = float(logit(rate))
    if not len(centred):
        return OneWord(np.zeros(len(background.mean)), prior)
    solved = cho_solve(background.factor, centred.T)  # A^-1 z of every click, (L, n)
    kernel = centred @ solved + 1.0 / WEIGHT
    dual = _newton(kernel, yes.astype(np.float64), prior)
    weights = solved @ dual
    return OneWord(weights, prior + float(dual.sum()) / WEIGHT - float(background.mean @ weights))


def _newton(kernel: Floats, truth: Floats, prior: float) -> Floats:
    """The dual of logistic regression: at the minimum, dual = truth - probability."""
    dual = np.zeros(len(truth))
    best = _loss(kernel, truth, prior, dual)
    for _ in range(STEPS):
        fitted = kernel @ dual
        p = expit(prior + fitted)
        curvature = np.maximum(p * (1 - p), 1e-12)
        target = np.linalg.solve(kernel + np.diag(1 / curvature), fitted + (truth - p) / curvature)
        step = 1.0
        while (now := _loss(kernel, truth, prior, dual + step * (target - dual))) > best and step > 1e-4:
            step /= 2
        dual = dual + step * (target - dual)
        if best - now <= ENOUGH * abs(best):
            break
        best = now
    return dual


def _loss(kernel: Floats, truth: Floats, prior: float, dual: Floats) -> float:
    fitted = kernel @ dual
    scores = prior + fitted
    return float(np.logaddexp(0, scores).sum() - truth @ scores + dual @ fitted / 2)
