r"""The max-margin part of EMM [yang2010]: separation oracle, cutting planes, master problem (docs/models.md, 4).

For fixed mean responsibilities zb_n of the labelled images, with relevant classes Y_n and all others irrelevant,

    min_{w >= 0}  P(w) = nu1/2 |w|^2 - b.w + nu2 H(w)
    H(w) = 1/N_lab sum_n mean over i in Y_n, j not in Y_n of [1 - (w_i zb_ni - w_j zb_nj)]_+

H is a maximum of very many planes, one for each choice of pairs. Only those planes are made that the oracle finds
violated: H(w) >= d_t - g_t.w with d_t and g_t from how often each class of each image stands in a violated pair.

A plane is known by the w where it touches H, so the pairs behind it need not be kept; margin_pairs.py finds them.

Symbol -> code, shape:  zb -> zbar n L | Y -> relevant n L | d_t, g_t -> cut.d, cut.g C | tau -> tau T
  delta -> delta n L | w, b -> w, b C
With candidate sets (L < C classes listed for an image) every class left out has zb = 0, and they are counted together.
The gap that is reported, P(w) - D(tau), bounds P(w) - P* whatever the accuracy of the solver: w and the dual value
D(tau) are computed here from its multipliers, projected to be feasible.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.models.classes.margin_pairs import MarginProblem, Oracle, violated_pairs

__all__ = ["Cut", "MarginProblem", "Solution", "cut_at", "hinge", "solve", "violated_pairs"]

_ACTIVE = 1e-9  # share of the multipliers' sum below which a cut is not worth keeping for the next round
_IDLE = 10  # rounds without a multiplier after which a cut leaves the master problem
_BISECTIONS = 6  # of the line search where images have many relevant classes
_BINS = 4096  # of the exact one


# --- Values ----------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """A plane below H: H(v) >= d - g.v, with equality at v = w."""

    w: np.ndarray  # (C,)
    d: float
    g: np.ndarray  # (C,)


class Solution(NamedTuple):
    w: np.ndarray  # (C,)
    delta: np.ndarray  # (n, L) multipliers of the images' classes; rows sum to 0 where all classes are listed
    touching: list[np.ndarray]  # where the cuts with a multiplier touch H: a warm start for the next problem
    hinge: float  # H(w)
    primal: float  # P(w)
    gap: float  # P(w) - D(tau), an upper bound of P(w) - P*
    n_cuts: int  # cuts that were made, warm ones included
    converged: bool


# --- One plane -------------------------------------------------------------------------------------------------


def cut_at(problem: MarginProblem, w: np.ndarray) -> Cut:
    """The plane that touches H at w."""
    return Cut(w, *Oracle(problem).plane(w))


def hinge(problem: MarginProblem, w: np.ndarray) -> float:
    """H(w)."""
    cut = cut_at(problem, w)
    return cut.d - float(cut.g @ w)


# --- Cutting planes --------------------------------------------------------------------------------------------


def solve(
    problem: MarginProblem,
    b: np.ndarray,
    nu1: float,
    nu2: float,
    *,
    start: np.ndarray | None = None,
    warm: Sequence[np.ndarray] = (),
    tol: float = 1e-4,
    max_cuts: int = 500,
) -> Solution:
    """min over w >= 0 of P(w), to a gap of tol max(1, |P|). `b` and `start` are (C,).

    P(w) of the result is at most P(start). `warm` tells where the planes of a similar problem touched its H: those that
    touch the new H there come first. Not converged means that `max_cuts` were made, or that the master problem could
    not be solved more accurately; w and its true gap are given.

    Plain cutting planes jump between far corners while the planes are few. So every round searches the line from the
    best w to the master's and adds the plane where P is least on it, besides the one at the master's w that makes the
    method converge. Planes whose multiplier has been 0 for some rounds are left out: the dual value stays.
    """
    if start is None:
        start = np.maximum(b, 0) / nu1
    loss = _Loss(Oracle(problem), b, nu1, nu2)
    pool = [_PooledCut(loss.at(w).cut) for w in warm]
    best = loss.at(start)
    pool.append(_PooledCut(best.cut))
    made, bound, delta_of = len(pool), -np.inf, (np.zeros(0), list[Cut]())
    while True:
        cuts = [pooled.cut for pooled in pool]
        tau = _master(cuts, b, nu1, nu2)
        w = _weights(cuts, tau, b, nu1)
        dual = sum(t * cut.d for t, cut in zip(tau, cuts, strict=True)) - nu1 / 2 * float(w @ w)
        if dual > bound:
            bound, delta_of = dual, (tau, cuts)
        here = loss.at(w)
        # A plane no higher than the old ones leaves the master as it is: what remains is the solver's own error.
        stalled = here.hinge <= max(0.0, *(cut.d - float(cut.g @ w) for cut in cuts))
        between = loss.least_between(best, here)
        best = min(best, here, between, key=lambda point: point.primal)
        gap = float(best.primal - bound)
        converged = gap <= tol * max(1.0, abs(best.primal))
        if converged or stalled or made >= max_cuts:
            break
        pool = [pooled.aged(t > _ACTIVE * nu2) for pooled, t in zip(pool, tau, strict=True)]
        pool = [pooled for pooled in pool if pooled.idle < _IDLE]
        new = [here.cut] if between is here else [here.cut, between.cut]
        pool += [_PooledCut(cut) for cut in new]
        made += len(new)
    active = [(t, cut.w) for t, cut in zip(*delta_of, strict=True) if t > _ACTIVE * nu2]
    return Solution(
        w=best.w,
        delta=loss.oracle.multipliers(active),
        touching=[w for _, w in active],
        hinge=best.hinge,
        primal=best.primal,
        gap=gap,
        n_cuts=made,
        converged=converged,
    )


class _PooledCut(NamedTuple):
    """A cut of the master problem and for how many rounds its multiplier has been 0."""

    cut: Cut
    idle: int = 0

    def aged(self, active: bool) -> "_PooledCut":
        return _PooledCut(self.cut, 0 if active else self.idle + 1)


class _Point(NamedTuple):
    w: np.ndarray
    cut: Cut  # touches H here
    hinge: float
    primal: float


class _Loss(NamedTuple):
    """P(w) = nu1/2 |w|^2 - b.w + nu2 H(w)."""

    oracle: Oracle
    b: np.ndarray
    nu1: float
    nu2: float

    def at(self, w: np.ndarray) -> _Point:
        d, g = self.oracle.plane(w)
        hinge = d - float(g @ w)
        primal = self.nu1 / 2 * float(w @ w) - float(self.b @ w) + self.nu2 * hinge
        return _Point(w, Cut(w, d, g), hinge, float(primal))

    def least_between(self, begin: _Point, end: _Point) -> _Point:
        """About the least P on the line between two points; `end` itself where P still falls there."""
        direction = end.w - begin.w

        def slope(point: _Point) -> float:
            return float((self.nu1 * point.w - self.b - self.nu2 * point.cut.g) @ direction)

        if slope(end) <= 0:
            return end
        if self.oracle.by_sorting:
            return self._by_bisection(begin, end, slope)
        where, bend = self.oracle.switches(begin.w, end.w)
        t = _root(slope(begin), self.nu1 * float(direction @ direction), where, self.nu2 * bend)
        return min(begin, end, self.at(begin.w + t * direction), key=lambda point: point.primal)

    def _by_bisection(self, begin: _Point, end: _Point, slope: Callable[[_Point], float]) -> _Point:
        low, high, best = 0.0, 1.0, min(begin, end, key=lambda point: point.primal)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            point = self.at(begin.w + middle * (end.w - begin.w))
            best = min(best, point, key=lambda point: point.primal)
            low, high = (low, middle) if slope(point) > 0 else (middle, high)
        return best


def _root(slope: float, rise: float, where: np.ndarray, jumps: np.ndarray) -> float:
    """The t in [0, 1] where slope + rise t + the jumps up to t changes its sign from minus to plus.

    Jumps are summed in bins, and only those of the bin with the root are sorted: there may be a million.
    """
    bins = np.minimum((where * _BINS).astype(np.intp), _BINS - 1)
    up_to = slope + np.cumsum(np.bincount(bins, jumps, _BINS))
    last = int(np.argmax(np.append((up_to + rise * np.arange(1, _BINS + 1) / _BINS >= 0)[:-1], True)))
    inside = bins == last
    where, jumps = where[inside], jumps[inside]
    order = np.argsort(where)
    where = np.append(where[order], 1.0)
    # Without the rise: the slope on the way to each of these jumps, and to the end.
    before = (up_to[last - 1] if last else slope) + np.concatenate([[0.0], np.cumsum(jumps[order])])
    k = int(np.argmax(before + rise * where >= 0))  # the first that lies beyond the root
    reached = where[k - 1] if k else 0.0  # the jump at `reached` may be the change of sign
    return float(np.clip(max(reached, -before[k] / rise), 0, 1)) if rise > 0 else float(reached)


def _weights(cuts: Sequence[Cut], tau: np.ndarray, b: np.ndarray, nu1: float) -> np.ndarray:
    """w = [b + sum_t tau_t g_t]_+ / nu1."""
    total = b + sum((t * cut.g for t, cut in zip(tau, cuts, strict=True)), np.zeros_like(b))
    return np.maximum(total, 0) / nu1


def _master(cuts: Sequence[Cut], b: np.ndarray, nu1: float, nu2: float) -> np.ndarray:
    """Multipliers tau (T,) of min nu1/2 |w|^2 - b.w + nu2 xi, g_t.w + xi >= d_t, xi >= 0, w >= 0.

    Its dual is min over tau, v >= 0, sum tau <= nu2 of 1/(2 nu1) |b + sum_t tau_t g_t + v|^2 - d.tau, v for w >= 0.
    Hardly any class needs its v, so those are taken in that turn out to be negative without.
    """
    if not cuts or nu2 == 0:
        return np.zeros(len(cuts))
    g, d = np.array([cut.g for cut in cuts]), np.array([cut.d for cut in cuts])
    has_v = np.zeros(len(b), bool)
    while True:
        rows = np.vstack([g, np.eye(len(b))[has_v]])
        costs = rows @ b / nu1 - np.append(d, np.zeros(has_v.sum()))
        x = nu2 * _on_simplex(nu2 / nu1 * rows @ rows.T, costs, len(cuts))
        tau = np.maximum(x[: len(cuts)], 0)
        total = tau.sum()
        tau = tau * (nu2 / total) if total > nu2 else tau
        negative = (b + x @ rows < -1e-12 * np.abs(b + tau @ g).max()) & ~has_v
        if not negative.any():
            return tau
        has_v |= negative


def _on_simplex(quadratic: np.ndarray, linear: np.ndarray, n: int) -> np.ndarray:
    """min over x >= 0 of x'Qx / 2 + linear.x, the first n entries of x summing to at most 1."""
    import clarabel  # only max-margin training needs it

    N = len(linear)
    total = sparse.csc_matrix((np.arange(N) < n).astype(float)[None, :])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(quadratic)),
        linear,
        sparse.csc_matrix(sparse.vstack([total, -sparse.eye_array(N)])),
        np.append(1.0, np.zeros(N)),
        [clarabel.NonnegativeConeT(N + 1)],
        settings,
    )
    return np.array(solver.solve().x)
