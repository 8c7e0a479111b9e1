r"""Graph regularisation of models with one discrete variable per image [shao2009, shao2010]. docs/models.md 3.10-3.12.

Q(Theta, p) = F(Theta, p) - lam R(p): F the model's bound, R the roughness of the posteriors p_i = q(Z_i) on a graph.
Given A (D, K), the model's log joint of every image and value of Z, F = sum_ik p_ik (A_ik - ln p_ik) + prior terms.

Two ways to update all p at once, each a value that is called with (A, p, graph, lam):
  Sweeps     LapVar1: every image's exact maximiser given its neighbours; Q never falls (3.11)
  Smoothing  LapEM and LapVar2: p = softmax(A), then damped averaging with the neighbours; Q may fall (3.10, 3.12)
`Coupling` hands such an update to the EM loop, which knows nothing of graphs; the model `with_fixed_posteriors` takes
its posteriors from there. Differs from the papers: the corrected factors 2 lam of 3.11, the safeguarded solver, and
Q is compared after the E-step, where p belongs to the parameters that it is stored with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import entr, softmax

from topicture.corpus.batches import Batches
from topicture.models.em import loop as em
from topicture.models.graphs.graph import Graph
from topicture.models.graphs.simplex import simplex_step

__all__ = [
    "Coupling",
    "Smoothing",
    "Sweeps",
    "Update",
    "fit_stages",
    "log_joints",
    "objective",
    "with_fixed_posteriors",
]

_EXCLUDED = -1e300


def objective(A: np.ndarray, p: np.ndarray, graph: Graph, lam: float) -> float:
    """Q without the terms that do not depend on p: sum p (A - ln p) - lam R(p)."""
    return _bound(A, p) - lam * graph.roughness(p)


def _bound(A: np.ndarray, p: np.ndarray) -> float:
    return float(np.vdot(p, A) + entr(p).sum())


# --- All images -----------------------------------------------------------------------------------------------------


class Update(Protocol):
    """New posteriors (D, K) of all images from A and the old ones (None at the start), and how many steps it took.

    `new_images` gives the posteriors (n, K) of images that edges `links` (n, D) join to the graph, whose own
    posteriors p (D, K) stay; `steps` as the update reported.
    """

    @property
    def may_fall(self) -> bool: ...

    def __call__(
        self, A: np.ndarray, p: np.ndarray | None, graph: Graph, lam: float
    ) -> tuple[np.ndarray, int]: ...

    def new_images(
        self, A: np.ndarray, links: sparse.csr_array, p: np.ndarray, lam: float, steps: int
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Sweeps:
    """LapVar1 (3.11): this many sweeps of exact updates per call.

    `schedule`: "gs" (one image after the other, each seeing the newest p; `order` says which comes when), "jacobi"
    (all at once from the old p) or "mm" (all at once on a majoriser; no alternating mode).
    """

    schedule: str = "jacobi"
    n: int = 2
    order: Any = None  # (D,) permutation for "gs"; the images' own order if None

    may_fall = False

    def __call__(
        self, A: np.ndarray, p: np.ndarray | None, graph: Graph, lam: float
    ) -> tuple[np.ndarray, int]:
        p = softmax(A, axis=1) if p is None else p
        for _ in range(self.n):
            p = self.sweep(A, p, graph, lam)
        return p, self.n

    def sweep(self, A: np.ndarray, p: np.ndarray, graph: Graph, lam: float) -> np.ndarray:
        """Every image once."""
        a = 2 * lam * graph.degree
        if self.schedule == "jacobi":
            return simplex_step(A + 2 * lam * (graph.S @ p), a)
        if self.schedule == "mm":
            return simplex_step(A + 2 * lam * (graph.S @ p) + a[:, None] * p, 2 * a)
        p = p.copy()
        for nodes, S in _independent_sets(graph, None if self.order is None else tuple(self.order)):
            p[nodes] = simplex_step(A[nodes] + 2 * lam * (S @ p), a[nodes])
        return p

    def new_images(
        self, A: np.ndarray, links: sparse.csr_array, p: np.ndarray, lam: float, steps: int
    ) -> np.ndarray:
        """The exact maximiser of Q in the new images."""
        return simplex_step(A + 2 * lam * (links @ p), 2 * lam * np.asarray(links.sum(axis=1)).ravel())


@dataclass(frozen=True)
class Smoothing:
    """LapEM and LapVar2 (3.10, 3.12): p = softmax(A), then smoothing steps of size gamma.

    `stop`: "fixed" (n steps), "r_tol" (until a step lowers R by at most `tol` of its first value, at most n) or
    "best_q" (of at most n steps, the one with the largest Q). Never to convergence: the limit is constant on every
    component and forgets the data.
    """

    stop: str = "r_tol"
    gamma: float = 0.1
    n: int = 200
    tol: float = 0.01

    may_fall = True

    def __call__(
        self, A: np.ndarray, p: np.ndarray | None, graph: Graph, lam: float
    ) -> tuple[np.ndarray, int]:
        p = softmax(A, axis=1)
        if self.stop == "fixed":
            return graph.smooth(p, self.gamma, self.n), self.n
        M = graph.smoother(self.gamma)
        return self._until_flat(p, M, graph) if self.stop == "r_tol" else self._best(A, p, M, graph, lam)

    def _until_flat(self, p, M, graph):
        first = R = graph.roughness(p)
        for n in range(1, self.n + 1):
            p = M @ p
            R, before = graph.roughness(p), R
            if before - R <= self.tol * first:
                return p, n
        return p, self.n

    def _best(self, A, p, M, graph, lam):
        best, chosen, best_n = objective(A, p, graph, lam), p, 0
        for n in range(1, self.n + 1):
            p = M @ p
            value = objective(A, p, graph, lam)
            if value > best:
                best, chosen, best_n = value, p, n
        return chosen, best_n

    def new_images(
        self, A: np.ndarray, links: sparse.csr_array, p: np.ndarray, lam: float, steps: int
    ) -> np.ndarray:
        """As many smoothing steps as the graph's own images took, which now stay."""
        degree = np.asarray(links.sum(axis=1)).reshape(-1, 1)
        keep = (1 - self.gamma) ** steps
        own = softmax(A, axis=1)
        mean = np.divide(links @ p, degree, out=own.copy(), where=degree > 0)
        return keep * own + (1 - keep) * mean


@lru_cache(maxsize=8)
def _independent_sets(
    graph: Graph, order: tuple[int, ...] | None
) -> tuple[tuple[np.ndarray, sparse.csr_array], ...]:
    """Cut a sequential sweep into sets of nodes without edges between them, with their rows of S.

    A node's set comes after those of all its neighbours that precede it in the order, so updating set by set gives
    what updating node by node gives, and each set is one array operation.
    """
    S, n = graph.S, graph.n_nodes
    sequence = np.arange(n) if order is None else np.asarray(order)
    level = np.zeros(n, np.int64)  # 0: not reached yet
    for i in sequence:
        neighbours = S.indices[S.indptr[i] : S.indptr[i + 1]]
        level[i] = 1 + level[neighbours].max(initial=0)
    nodes = np.argsort(level, kind="stable")
    cuts = np.flatnonzero(np.diff(level[nodes], prepend=0, append=-1))
    return tuple((nodes[a:b], S[nodes[a:b]]) for a, b in pairwise(cuts))


# --- In the EM loop ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coupling:
    """`couple` of em.fit: replaces the posteriors of all images by a regularised update of them.

    A temperature T > 1 weighs the entropy of p by T (deterministic annealing); the objective at T = 1 is Q.
    """

    model: em.Model
    log_joint: Callable[[Any, Any], Any]  # tables, image -> A_i (K,)
    batches: Batches
    graph: Graph
    update: Update
    lam: float
    temperature: float = 1.0

    def __call__(self, params: Any, posteriors: list[Any]) -> tuple[list[Any], float]:
        A, T = self.A(params), self.temperature
        p, _ = self.update(A / T, self.rows(posteriors), self.graph, self.lam / T)
        penalty = self.lam * self.graph.roughness(p) - (T - 1) * float(entr(p).sum())
        return self.posteriors(p), penalty

    def A(self, params: Any) -> np.ndarray:
        """The log joint of every image, (D, K)."""
        return log_joints(self.model, self.log_joint, self.batches, params)

    def rows(self, posteriors: Sequence[Any]) -> np.ndarray | None:
        """Posteriors of chunks as one row per image, (D, K); None where the loop has not started any."""
        if any(q is None for q in posteriors):
            return None
        chunks = [em.unstack(q, len(chunk.rows)) for chunk, q in zip(self.batches, posteriors, strict=True)]
        p = np.empty((self.graph.n_nodes, chunks[0].shape[1]))
        for chunk, q in zip(self.batches, chunks, strict=True):
            p[chunk.rows] = q
        return p

    def posteriors(self, p: np.ndarray) -> list[np.ndarray]:
        """One row per image as posteriors of chunks; padding is uniform."""
        chunks = []
        for chunk in self.batches:
            lead, K = chunk.image.weight.shape, p.shape[1]
            q = np.full((lead[0] * lead[1], K), 1 / K, self.batches.dtype)
            q[: len(chunk.rows)] = p[chunk.rows]
            chunks.append(q.reshape(*lead, K))
        return chunks


def log_joints(
    model: em.Model, log_joint: Callable[[Any, Any], Any], batches: Batches, params: Any
) -> np.ndarray:
    """A (D, K) of the images of a corpus.

    A value of Z that an image excludes (-inf, without pseudo-counts) becomes -1e300: its p is still exactly 0, and an
    image that excludes all of them gets the uniform p (2.8).
    """
    parts = list(em.map_images(log_joint, em.tables(model, params), batches))
    A = np.empty((sum(len(rows) for rows, _ in parts), parts[0][1].shape[1]))
    for rows, values in parts:
        A[rows] = np.maximum(np.asarray(values, np.float64), _EXCLUDED)
    return A


@em.model_maker
def with_fixed_posteriors(model: em.Model, statistics: Callable[[Any, Any, Any], Any]) -> em.Model:
    """The model whose E-step keeps the posterior p (K,) that it is given, and collects its statistics."""

    def e_step(tables, image, p):
        return p, statistics(tables, image, p)

    return model._replace(e_step=e_step)


def fit_stages(
    model: em.Model,
    batches: Batches,
    params: Any,
    prior: Any,
    *,
    stages: Sequence[Coupling],
    tol: float = 1e-5,
    **settings: Any,
) -> em.FitResult:
    """EM under one coupling after the other, each from where the last ended; the result is that of the last.

    `model` is one `with_fixed_posteriors`. Couplings before the last are easier (larger temperature, other lam):
    annealing and continuation. They only prepare, and end at ten times the tolerance. After an interrupt in one of
    them, one E-step of the last still tells the objective, which is not that of the others.
    """
    posteriors, interrupted = None, False
    for i, stage in enumerate(stages):
        last = i == len(stages) - 1
        if interrupted and not last:
            continue
        here = {**settings, "max_iter": 0} if interrupted else settings
        result = em.fit(
            model,
            batches,
            params,
            prior,
            couple=stage,
            may_fall=stage.update.may_fall,
            posteriors=posteriors,
            tol=tol if last else 10 * tol,
            **here,
        )
        params, posteriors = result.params, result.posteriors
        interrupted = interrupted or result.reason is em.Results.interrupted
    return result._replace(reason=em.Results.interrupted) if interrupted else result
