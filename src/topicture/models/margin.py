r"""The max-margin part of EMM [yang2010]: separation oracle, cutting planes, master problem (MODELS.md, 4).

For fixed mean responsibilities zb_n of the labelled images, with relevant classes Y_n and all others irrelevant,

    min_{w >= 0}  P(w) = nu1/2 |w|^2 - b.w + nu2 H(w)
    H(w) = 1/N_lab sum_n mean over i in Y_n, j not in Y_n of [1 - (w_i zb_ni - w_j zb_nj)]_+

H is a maximum of very many planes, one for each choice of pairs. Only those planes are made that the oracle finds
violated: H(w) >= d_t - g_t.w with d_t and g_t from how often each class of each image stands in a violated pair.

Symbol -> code, shape:  zb -> zbar n L | Y -> relevant n L | T_t -> cut.pairs n L, signed counts (times u_n)
  d_t, g_t -> cut.d, cut.g C | tau -> tau T | delta -> delta n L | w, b -> w, b C
With candidate sets (L < C classes listed for an image) every class left out has zb = 0, and they are counted together.
The gap that is reported, P(w) - D(tau), bounds P(w) - P* whatever the accuracy of the solver: w and the dual value
D(tau) are computed here from its multipliers, projected to be feasible.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

__all__ = ["Cut", "MarginProblem", "Solution", "cut_at", "hinge", "solve", "violated_pairs"]

_ACTIVE = 1e-9  # share of the multipliers' sum below which a cut is not worth keeping for the next round
_IDLE = 10  # rounds without a multiplier after which a cut leaves the master problem
_FEW = 16  # relevant classes of an image up to which comparing beats sorting
_BISECTIONS = 6


# --- Values ----------------------------------------------------------------------------------------------------


class MarginProblem(NamedTuple):
    """The images that have a margin term: at least one region, one relevant and one irrelevant class."""

    zbar: np.ndarray  # (n, L) mean responsibilities
    relevant: np.ndarray  # (n, L) bool
    classes: np.ndarray | None  # (n, L) which classes the columns are; None: column c is class c
    n_classes: int  # C
    n_labelled: int  # N_lab: all labelled images, with or without a margin term

    @property
    def unit(self) -> np.ndarray:
        """u_n = 1 / (N_lab |Y_n| |Y_n^c|), (n, 1)."""
        n_relevant = self.relevant.sum(axis=1, keepdims=True)
        return 1 / (max(self.n_labelled, 1) * n_relevant * (self.n_classes - n_relevant))


class Cut(NamedTuple):
    """A plane below H: H(w) >= d - g.w. `pairs` says which pairs it counts and outlives a change of zbar."""

    pairs: np.ndarray  # (n, L) int32: violated pairs of each class, positive for relevant classes
    d: float
    g: np.ndarray  # (C,)


class Solution(NamedTuple):
    w: np.ndarray  # (C,)
    delta: np.ndarray  # (n, L) multipliers of the images' classes; rows sum to 0 where all classes are listed
    cuts: list[Cut]  # those with a multiplier: a warm start for the next problem
    hinge: float  # H(w)
    primal: float  # P(w)
    gap: float  # P(w) - D(tau), an upper bound of P(w) - P*
    n_cuts: int  # cuts that were made, warm ones included
    converged: bool


# --- Oracle ----------------------------------------------------------------------------------------------------


def violated_pairs(problem: MarginProblem, w: np.ndarray) -> np.ndarray:
    """In how many violated pairs each class of each image stands, (n, L) int32; at most O(L log L) an image.

    A pair (i in Y, j not in Y) is violated if s_j > s_i - 1, strictly, with s_c = w_c zb_c. Where images have few
    relevant classes, each of these is compared with all others; else one sort answers for all pairs.
    """
    relevant = problem.relevant
    s = problem.zbar * (w if problem.classes is None else w[problem.classes])
    keys = np.where(relevant, s - 1, s)
    most = int(relevant.sum(axis=1).max(initial=0))
    counts = (_by_comparison if most <= _FEW else _by_sorting)(keys, relevant, most)
    n_unlisted = problem.n_classes - relevant.shape[1]  # irrelevant classes with s = 0
    counts[relevant & (keys < 0)] += n_unlisted
    return counts


def _by_comparison(keys: np.ndarray, relevant: np.ndarray, most: int) -> np.ndarray:
    """Violated pairs of the classes listed, by comparing all irrelevant keys with each of the `most` relevant ones."""
    n, L = keys.shape
    rows, columns = np.nonzero(relevant)
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)  # among the relevant classes of its image
    own = np.full((n, most), np.inf)
    own[rows, place] = keys[rows, columns]
    others = np.where(relevant, -np.inf, keys)
    counts, of_own = np.zeros((n, L), np.int32), np.zeros((n, most), np.int32)
    for i in range(most):
        violated = others > own[:, i, None]
        counts += violated
        of_own[:, i] = np.count_nonzero(violated, axis=1)
    counts[rows, columns] = of_own[rows, place]
    return counts


def _by_sorting(keys: np.ndarray, relevant: np.ndarray, most: int) -> np.ndarray:
    """The same from one sort: where keys tie irrelevant classes stand first, so pairs on the margin do not count."""
    n, L = keys.shape
    order = np.lexsort((relevant, keys), axis=-1)
    is_relevant = np.take_along_axis(relevant, order, axis=1)
    irrelevant_up_to = np.cumsum(~is_relevant, axis=1)
    irrelevant_above = (L - relevant.sum(axis=1))[:, None] - irrelevant_up_to
    relevant_below = np.cumsum(is_relevant, axis=1)
    counts = np.empty((n, L), np.int32)
    np.put_along_axis(counts, order, np.where(is_relevant, irrelevant_above, relevant_below), axis=1)
    return counts


def cut_at(problem: MarginProblem, w: np.ndarray) -> Cut:
    """The plane that touches H at w."""
    counts = violated_pairs(problem, w)
    return _plane(problem, np.where(problem.relevant, counts, -counts))


def hinge(problem: MarginProblem, w: np.ndarray) -> float:
    """H(w)."""
    cut = cut_at(problem, w)
    return cut.d - float(cut.g @ w)


def _plane(problem: MarginProblem, pairs: np.ndarray) -> Cut:
    """d = sum_n u_n sum_{i in Y_n} n_i and g_c = sum_n T_nc zb_nc, T = u pairs."""
    unit = problem.unit
    d = float((unit * np.where(problem.relevant, pairs, 0)).sum())
    terms = unit * pairs * problem.zbar
    if problem.classes is None:
        return Cut(pairs, d, terms.sum(axis=0))
    g = np.bincount(problem.classes.ravel(), weights=terms.ravel(), minlength=problem.n_classes)
    return Cut(pairs, d, g)


# --- Cutting planes --------------------------------------------------------------------------------------------


def solve(
    problem: MarginProblem,
    b: np.ndarray,
    nu1: float,
    nu2: float,
    *,
    start: np.ndarray | None = None,
    warm: Sequence[Cut] = (),
    tol: float = 1e-4,
    max_cuts: int = 500,
) -> Solution:
    """min over w >= 0 of P(w), to a gap of tol max(1, |P|). `b` and `start` are (C,).

    P(w) of the result is at most P(start). `warm` are cuts of an earlier problem over the same images and classes: the
    pairs of any cut give a valid plane for any zbar, so only d and g are computed anew. Not converged means that
    `max_cuts` were made, or that the master problem could not be solved more accurately; w and its true gap are given.

    Plain cutting planes jump between far corners while the planes are few. So every round searches the line from the
    best w to the master's and adds the plane where P is least on it, besides the one at the master's w that makes the
    method converge. Planes whose multiplier has been 0 for some rounds are left out: the dual value stays.
    """
    if start is None:
        start = np.maximum(b, 0) / nu1
    pool = [_Held(_plane(problem, cut.pairs)) for cut in warm]
    best = _at(problem, start, b, nu1, nu2)
    pool.append(_Held(best.cut))
    made, bound, delta_of = len(pool), -np.inf, (np.zeros(0), list[Cut]())
    while True:
        cuts = [held.cut for held in pool]
        tau = _master(cuts, b, nu1, nu2)
        w = _weights(cuts, tau, b, nu1)
        dual = sum(t * cut.d for t, cut in zip(tau, cuts, strict=True)) - nu1 / 2 * float(w @ w)
        if dual > bound:
            bound, delta_of = dual, (tau, cuts)
        here = _at(problem, w, b, nu1, nu2)
        # A plane no higher than the old ones leaves the master as it is: what remains is the solver's own error.
        stalled = here.hinge <= max(0.0, *(cut.d - float(cut.g @ w) for cut in cuts))
        between = _line_search(problem, best, here, b, nu1, nu2)
        best = min(best, here, between, key=lambda point: point.primal)
        gap = float(best.primal - bound)
        converged = gap <= tol * max(1.0, abs(best.primal))
        if converged or stalled or made >= max_cuts:
            break
        pool = [held.aged(t > _ACTIVE * nu2) for held, t in zip(pool, tau, strict=True)]
        pool = [held for held in pool if held.idle < _IDLE]
        new = [here.cut] if between is here else [here.cut, between.cut]
        pool += [_Held(cut) for cut in new]
        made += len(new)
    kept = [(t, cut) for t, cut in zip(*delta_of, strict=True) if t > _ACTIVE * nu2]
    delta = problem.unit * sum((t * cut.pairs for t, cut in kept), np.zeros(problem.zbar.shape))
    return Solution(
        w=best.w,
        delta=delta,
        cuts=[cut for _, cut in kept],
        hinge=best.hinge,
        primal=best.primal,
        gap=gap,
        n_cuts=made,
        converged=converged,
    )


class _Held(NamedTuple):
    """A cut of the master problem and for how many rounds its multiplier has been 0."""

    cut: Cut
    idle: int = 0

    def aged(self, active: bool) -> "_Held":
        return _Held(self.cut, 0 if active else self.idle + 1)


class _Point(NamedTuple):
    w: np.ndarray
    cut: Cut  # the plane that touches H here
    hinge: float
    primal: float


def _at(problem: MarginProblem, w: np.ndarray, b: np.ndarray, nu1: float, nu2: float) -> _Point:
    cut = cut_at(problem, w)
    hinge = cut.d - float(cut.g @ w)
    return _Point(w, cut, hinge, float(_quadratic(w, b, nu1) + nu2 * hinge))


def _line_search(
    problem: MarginProblem, begin: _Point, end: _Point, b: np.ndarray, nu1: float, nu2: float
) -> _Point:
    """About the least P on the line between two points, by bisection on the sign of its slope."""
    direction = end.w - begin.w

    def slope(point: _Point) -> float:
        return float((nu1 * point.w - b - nu2 * point.cut.g) @ direction)

    if slope(end) <= 0:
        return end
    low, high, best = 0.0, 1.0, min(begin, end, key=lambda point: point.primal)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        point = _at(problem, begin.w + middle * direction, b, nu1, nu2)
        best = min(best, point, key=lambda point: point.primal)
        low, high = (low, middle) if slope(point) > 0 else (middle, high)
    return best


def _quadratic(w: np.ndarray, b: np.ndarray, nu1: float) -> float:
    return nu1 / 2 * float(w @ w) - float(b @ w)


def _weights(cuts: Sequence[Cut], tau: np.ndarray, b: np.ndarray, nu1: float) -> np.ndarray:
    """w = [b + sum_t tau_t g_t]_+ / nu1."""
    total = b + sum((t * cut.g for t, cut in zip(tau, cuts, strict=True)), np.zeros_like(b))
    return np.maximum(total, 0) / nu1


def _master(cuts: Sequence[Cut], b: np.ndarray, nu1: float, nu2: float) -> np.ndarray:
    """Multipliers tau (T,) of min nu1/2 |w|^2 - b.w + nu2 xi, g_t.w + xi >= d_t, xi >= 0, w >= 0."""
    if not cuts or nu2 == 0:
        return np.zeros(len(cuts))
    import clarabel  # only max-margin training needs it

    C, T = len(b), len(cuts)
    g, d = np.array([cut.g for cut in cuts]), np.array([cut.d for cut in cuts])
    scale = max(1.0, nu2)  # of the objective, so that the solver's multipliers are of order one
    quadratic: Any = sparse.diags_array(np.append(np.full(C, nu1 / scale), 0.0)).tocsc()
    linear = np.append(-b / scale, nu2 / scale)
    planes = sparse.csc_array(np.column_stack([-g, -np.ones(T)]))
    constraints = sparse.vstack([planes, -sparse.eye_array(C + 1)], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic),
        linear,
        sparse.csc_matrix(constraints),
        np.append(-d, np.zeros(C + 1)),
        [clarabel.NonnegativeConeT(T + C + 1)],
        settings,
    ).solve()
    tau = np.maximum(np.array(solution.z[:T]) * scale, 0)
    total = tau.sum()
    return tau * (nu2 / total) if total > nu2 else tau
