r"""Blends of word distributions in log space, with weights learned on captions that no member had seen.

    ln p(w | i) = sum over members m of c_m ln[(1 - b_m) p_m(w | i) + b_m p(w)] + c_0 ln p(w) - ln Z_i,   c_m >= 0

b_m is the share of the word frequencies that makes member m's own captions most probable; c_m is its weight and, since
weights need not sum to 1, its temperature; c_0 takes out the frequencies that several members repeat. The likelihood of
the captions is concave in c, so there is one answer.

Symbol -> code, shape:  p_m -> p n V | b_m -> backgrounds M | c_1..c_M -> weights M | c_0 -> prior_weight
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax

from topicture.errors import FitWarning

__all__ = ["Blend", "best_background", "cross_fitted", "fit_blend", "nats_by_word", "pruned"]

BACKGROUNDS = (1e-4, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
# A member stays in a blend if without it a caption's word would cost this many nats more.
_LEAST_GAIN = 5e-4
# Where members tell the words apart without a mistake, no weight is large enough; nobody should be that sure.
_MOST_WEIGHT = 5.0
_FTOL = 1e-9  # relative change of the loss at which the solver ends


class Blend(NamedTuple):
    """How members are put together."""

    backgrounds: np.ndarray  # (M,)
    weights: np.ndarray  # (M,)
    prior_weight: float

    def __call__(self, members: Iterable[np.ndarray], p_w: np.ndarray) -> np.ndarray:
        """p(w | i), (n, V), from the members' (n, V); p_w is (V,), or (n, V) where it differs by image.

        Members are taken one after the other: where they come as they are made, only one is held at a time.
        """
        scores: Any = self.prior_weight * np.log(p_w)
        for p, background, weight in zip(members, self.backgrounds, self.weights, strict=True):
            of_member = _log_mixed(p, p_w, background)
            of_member *= weight
            of_member += scores
            scores = of_member
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores


def nats_by_word(p: np.ndarray, captions: sparse.csr_array) -> float:
    """Mean of -ln p(w | i) over the words of the captions (n, V); its exponential is the caption perplexity."""
    image, word = captions.nonzero()
    counts = np.asarray(captions[image, word]).ravel()
    seen = np.maximum(p[image, word], np.finfo(np.float64).tiny)  # a product of many may underflow
    return float(-(counts @ np.log(seen)) / counts.sum())


def best_background(p: np.ndarray, p_w: np.ndarray, captions: sparse.csr_array) -> float:
    """b under which the captions are most probable."""
    return min(BACKGROUNDS, key=lambda b: nats_by_word((1 - b) * p + b * p_w, captions))


def fit_blend(
    members: Sequence[np.ndarray],
    backgrounds: np.ndarray,
    p_w: np.ndarray,
    captions: sparse.csr_array,
    start: Blend | None = None,
) -> Blend:
    """Weights under which the captions (n, V) are most probable, for given backgrounds; `start` is a guess.

    Warns with a FitWarning where the solver says that it did not get there.
    """
    M = len(members)
    log_p = np.stack(
        [_log_mixed(p, p_w, b) for p, b in zip(members, backgrounds, strict=True)]
        + [np.broadcast_to(np.log(p_w), members[0].shape)]
    )
    y = captions.toarray().astype(np.float64)
    lengths, total = y.sum(axis=1, keepdims=True), float(y.sum())
    of_captions = np.array([np.vdot(part, y) for part in log_p])

    def loss(c: np.ndarray) -> tuple[float, np.ndarray]:
        log_q = log_softmax(np.tensordot(c, log_p, 1), axis=1)
        expected = np.tensordot(log_p, lengths * np.exp(log_q), 2)
        return -float(np.vdot(y, log_q)) / total, (expected - of_captions) / total

    first = (
        np.append(np.full(M, 1 / M), 0.0) if start is None else np.append(start.weights, start.prior_weight)
    )
    bounds = [(0.0, _MOST_WEIGHT)] * M + [(-_MOST_WEIGHT, _MOST_WEIGHT)]
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": _FTOL})
    if not found.success:
        warnings.warn(
            f"the weights of a blend may not be the best: {found.message}", FitWarning, stacklevel=2
        )
    c = found.x
    return Blend(np.asarray(backgrounds, np.float64), c[:-1], float(c[-1]))


def pruned(
    members: Sequence[np.ndarray], backgrounds: np.ndarray, p_w: np.ndarray, captions: sparse.csr_array
) -> list[int]:
    """Which members to keep: the one of least weight goes as long as the captions hardly miss it."""
    kept = list(range(len(members)))
    blend = fit_blend(members, backgrounds, p_w, captions)
    nats = nats_by_word(blend(members, p_w), captions)
    while len(kept) > 1:
        # Those without any weight go at once: nothing changes without them.
        unused = np.flatnonzero(blend.weights <= 0)[: len(kept) - 1]
        least = unused if len(unused) else np.argmin(blend.weights)
        fewer = np.delete(kept, least).tolist()
        parts = [members[m] for m in fewer]
        # From where it was: weights found from afresh are a little off, which must not count against the smaller blend.
        others = Blend(backgrounds[fewer], np.delete(blend.weights, least), blend.prior_weight)
        smaller = fit_blend(parts, backgrounds[fewer], p_w, captions, others)
        cost = nats_by_word(smaller(parts, p_w), captions)
        if cost - nats > _LEAST_GAIN:
            break
        kept, blend, nats = fewer, smaller, cost
    return kept


def cross_fitted(
    parts: Sequence[np.ndarray],
    backgrounds: np.ndarray,
    p_w: np.ndarray,
    captions: sparse.csr_array,
    fold_of: np.ndarray,
) -> np.ndarray:
    """Answers (n, V) of blends with weights learned on the other folds; of one blend where there is a single fold."""
    folds = np.unique(fold_of)
    answers = np.zeros_like(parts[0])
    for fold in folds:
        inside = fold_of == fold
        others = ~inside if len(folds) > 1 else inside
        blend = fit_blend([p[others] for p in parts], backgrounds, p_w[others], captions[others])
        answers[inside] = blend([p[inside] for p in parts], p_w[inside])
    return answers


def _log_mixed(p: np.ndarray, p_w: np.ndarray, background: float) -> np.ndarray:
    mixed = (1 - background) * np.asarray(p, np.float64)
    mixed += background * p_w
    return np.log(mixed, out=mixed)
