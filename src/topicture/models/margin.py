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
    """In how many violated pairs each class of each image stands, (n, L) int32; O(L log L) an image.

    A pair (i in Y, j not in Y) is violated if s_j > s_i - 1, strictly, with s_c = w_c zb_c. One sort of the keys
    s_i - 1 and s_j answers for all pairs: where keys tie, irrelevant classes stand first, so that a pair exactly on
    the margin is not counted.
    """
    relevant, n, L = problem.relevant, *problem.zbar.shape
    s = problem.zbar * (w if problem.classes is None else w[problem.classes])
    keys = np.where(relevant, s - 1, s)
    order = np.lexsort((relevant, keys), axis=-1)
    is_relevant = np.take_along_axis(relevant, order, axis=1)
    irrelevant_up_to = np.cumsum(~is_relevant, axis=1)
    irrelevant_above = (L - relevant.sum(axis=1))[:, None] - irrelevant_up_to
    relevant_below = np.cumsum(is_relevant, axis=1)
    counts = np.empty((n, L), np.int32)
    np.put_along_axis(counts, order, np.where(is_relevant, irrelevant_above, relevant_below), axis=1)
    n_unlisted = problem.n_classes - L  # irrelevant classes with s = 0
    counts[relevant & (keys < 0)] += n_unlisted
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
    """
    cuts = [_plane(problem, cut.pairs) for cut in warm]
    tau = _master(cuts, b, nu1, nu2)
    w = _weights(cuts, tau, b, nu1) if start is None else start
    best_primal, best_dual = (np.inf, w, 0.0), (-np.inf, tau)
    while True:
        new = cut_at(problem, w)
        value = new.d - float(new.g @ w)
        best_primal = min(
            best_primal, (_quadratic(w, b, nu1) + nu2 * value, w, value), key=lambda found: found[0]
        )
        master_w = _weights(cuts, tau, b, nu1)
        dual = sum(t * cut.d for t, cut in zip(tau, cuts, strict=True)) - nu1 / 2 * float(master_w @ master_w)
        best_dual = max(best_dual, (dual, tau), key=lambda found: found[0])
        gap = best_primal[0] - best_dual[0]
        converged = gap <= tol * max(1.0, abs(best_primal[0]))
        # A new plane no higher than the old ones leaves the master as it is: what remains is the solver's own error.
        stalled = w is not start and value <= max([0.0, *(cut.d - float(cut.g @ w) for cut in cuts)])
        if converged or stalled or len(cuts) >= max_cuts:
            break
        cuts.append(new)
        tau = _master(cuts, b, nu1, nu2)
        w = _weights(cuts, tau, b, nu1)
    # The best multipliers belong to the first len(tau) cuts.
    kept = [(t, cut) for t, cut in zip(best_dual[1], cuts, strict=False) if t > _ACTIVE * nu2]
    delta = problem.unit * sum((t * cut.pairs for t, cut in kept), np.zeros(problem.zbar.shape))
    return Solution(
        w=best_primal[1],
        delta=delta,
        cuts=[cut for _, cut in kept],
        hinge=best_primal[2],
        primal=best_primal[0],
        gap=gap,
        n_cuts=len(cuts),
        converged=converged,
    )


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
