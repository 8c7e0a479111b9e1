r"""The energy of the Image-Word Embedding and its minimisation (docs/models.md 3.15); symbols as in iwe.py.

E is separable over images given the words' places phi: each r_n has a convex problem of its own, solved exactly for all
images of a block at once. So E is minimised over phi alone, with r solved for.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from topicture.models.neighbours import blocks

__all__ = [
    "Embedding",
    "Ridge",
    "Words",
    "descend",
    "embed",
    "energy",
    "image_gradient",
    "minimise",
    "posterior",
    "word_gradient",
    "word_step",
]


# --- Values -------------------------------------------------------------------------------------------------------


class Ridge(NamedTuple):
    """Weights of the squared distances to the origin."""

    images: float  # xi_r
    words: float  # xi_w


class Words(NamedTuple):
    """Where the words are, and how common; a word that was never seen has log_q = -inf and probability 0."""

    phi: np.ndarray  # (V, d)
    log_q: np.ndarray  # (V,)

    @property
    def b(self) -> np.ndarray:
        """ln q_i - |phi_i|^2 / 2, (V,)."""
        return self.log_q - 0.5 * np.einsum("id,id->i", self.phi, self.phi)

    @property
    def finite_b(self) -> np.ndarray:
        """b with 0 for words never seen: their P is 0, and 0 times infinity is not."""
        return np.where(np.isfinite(self.log_q), self.b, 0.0)


# --- The energy ---------------------------------------------------------------------------------------------------


def posterior(r: np.ndarray, words: Words) -> np.ndarray:
    """Q(. | r), (n, V)."""
    weights, _ = _weights(r, _table(words))
    return weights / weights.sum(axis=1, keepdims=True)


def energy(P: Any, r: np.ndarray, words: Words, ridge: Ridge) -> float:
    """E for images at r (N, d) with captions P (N, V), dense or sparse."""
    fit = -(np.einsum("nd,nd->", r, P @ words.phi) + (P @ words.finite_b).sum())
    table = _table(words)
    for rows in _image_blocks(len(r), words):
        weights, top = _weights(r[rows], table)
        fit += (np.log(weights.sum(axis=1)) + top).sum()
    return float(fit + 0.5 * ridge.images * np.vdot(r, r) + 0.5 * ridge.words * np.vdot(words.phi, words.phi))


def image_gradient(P: Any, r: np.ndarray, words: Words, ridge: Ridge) -> np.ndarray:
    """dE/dr_n = sum_i (Q_ni - P_ni) phi_i + xi_r r_n, (N, d)."""
    mean = np.concatenate([posterior(r[rows], words) @ words.phi for rows in _image_blocks(len(r), words)])
    return mean - P @ words.phi + ridge.images * r


def word_gradient(P: Any, r: np.ndarray, words: Words, ridge: Ridge) -> np.ndarray:
    """dE/dphi_i = sum_n (P_ni - Q_ni)(phi_i - r_n) + xi_w phi_i, (V, d)."""
    mass, pull = np.asarray(P.sum(axis=0)).ravel(), P.T @ r
    for rows in _image_blocks(len(r), words):
        Q = posterior(r[rows], words)
        mass = mass - Q.sum(axis=0)
        pull = pull - Q.T @ r[rows]
    return (mass + ridge.words)[:, None] * words.phi - pull


# --- Learn --------------------------------------------------------------------------------------------------------


def embed(
    P: Any, words: Words, xi_r: float, start: np.ndarray | None = None, *, tol: float = 1e-10
) -> np.ndarray:
    """The place r_n of every image, (N, d): Newton's method with halved steps, until |gradient| <= tol."""
    r = np.zeros((P.shape[0], words.phi.shape[1])) if start is None else start.copy()
    targets, table = _targets(P, words), _table(words)
    for rows in _image_blocks(len(r), words):
        r[rows] = _newton(r[rows], targets[rows], table, xi_r, tol, _MAX_STEPS).r
    return r


def word_step(P: Any, r: np.ndarray, words: Words, ridge: Ridge, step0: float) -> Words:
    """One step of steepest descent in phi at fixed r, halved from step0 until E falls enough (Armijo, 1e-4)."""
    gradient = word_gradient(P, r, words, ridge)
    slope, before = np.vdot(gradient, gradient), energy(P, r, words, ridge)
    step = step0
    while step > 1e-20 * step0:
        trial = Words(words.phi - step * gradient, words.log_q)
        if energy(P, r, trial, ridge) <= before - 1e-4 * step * slope:
            return trial
        step /= 2
    return words  # a stationary point to rounding


class Embedding(NamedTuple):
    """A fitted map; trace holds E at the start and after every step."""

    r: np.ndarray
    words: Words
    trace: list[float]
    converged: bool


def descend(P: Any, start: Words, ridge: Ridge, *, step0: float, max_iter: int, tol: float) -> Embedding:
    """Alternate the exact r-step with one step of steepest descent in phi."""
    words, converged = start, False
    r = embed(P, words, ridge.images)
    trace = [energy(P, r, words, ridge)]
    for _ in range(max_iter):
        words = word_step(P, r, words, ridge, step0)
        r = embed(P, words, ridge.images, r)
        trace.append(energy(P, r, words, ridge))
        if trace[-2] - trace[-1] <= tol * abs(trace[-1]):
            converged = True
            break
    return Embedding(r, words, trace, converged)


def minimise(P: Any, start: Words, ridge: Ridge, *, max_iter: int, tol: float) -> Embedding:
    """L-BFGS over phi of min_r E(r, phi); each r-step starts from the last one's result."""
    shape, log_q = start.phi.shape, start.log_q
    r = np.zeros((P.shape[0], shape[1]))
    trace: list[float] = []

    def at_best_r(phi: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal r
        words = Words(phi.reshape(shape), log_q)
        r, value, gradient = _embed_and_differentiate(P, words, ridge, r)
        if not trace:
            trace.append(value)
        return value, gradient.ravel()

    found = minimize(
        at_best_r,
        start.phi.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: trace.append(float(intermediate_result.fun)),
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-10},
    )
    words = Words(found.x.reshape(shape), log_q)
    return Embedding(embed(P, words, ridge.images, r), words, trace, bool(found.status == 0))


# --- One block of images --------------------------------------------------------------------------------------------

# A block's weights stay in the second-level cache: 100,000 images x 300 words take 0.08 s per pass in blocks of 256
# images and 0.4 s in blocks of 2,048.
_BLOCK_BYTES = 512 << 10
# During L-BFGS an image's gradient may be so long: its energy is then off by the square of it.
_TOL_WITHIN = 1e-6
_MAX_STEPS = 100


def _image_blocks(n_images: int, words: Words) -> Any:
    return blocks(n_images, 8 * len(words.phi), _BLOCK_BYTES)


class _Table(NamedTuple):
    """What all images need of the words, computed once."""

    directions: np.ndarray  # phi', (d, V)
    b: np.ndarray  # (V,)
    moments: (
        np.ndarray
    )  # (V, 1 + d + d^2) rows (1, phi_i, phi_i phi_i'): one product gives all moments under Q


def _table(words: Words) -> _Table:
    phi = words.phi
    products = (phi[:, :, None] * phi[:, None, :]).reshape(len(phi), -1)
    return _Table(np.ascontiguousarray(phi.T), words.b, np.column_stack([np.ones(len(phi)), phi, products]))


def _weights(r: np.ndarray, table: _Table) -> tuple[np.ndarray, np.ndarray]:
    """exp(a_ni - top_n) (n, V) and top_n = max_i a_ni (n,)."""
    a = r @ table.directions
    a += table.b
    top = a.max(axis=1)
    a -= top[:, None]
    return np.exp(a, out=a), top


class _State(NamedTuple):
    """The images' own problems at r: LSE(a(r)) - r.(P phi) - P b + xi_r |r|^2 / 2 and what belongs to it."""

    r: np.ndarray  # (n, d)
    value: np.ndarray  # (n,)
    gradient: np.ndarray  # (n, d)
    hessian: np.ndarray  # (n, d, d), Cov_Q(phi) + xi_r I
    weights: np.ndarray  # (n, V), proportional to Q
    total: np.ndarray  # (n,), their sums


def _newton(
    r: np.ndarray, target: np.ndarray, table: _Table, xi_r: float, tol: float, max_steps: int
) -> _State:
    """The images' problems at their minima; target = (P phi, P b), (n, d + 1).

    A step is accepted if the objective falls enough, else halved; images that have converged are left alone.
    """
    state = _evaluate(r, target, table, xi_r)
    active = np.flatnonzero(np.linalg.norm(state.gradient, axis=1) > tol)
    length = np.ones(len(active))
    for _ in range(max_steps):
        if not len(active):
            break
        step = -np.linalg.solve(state.hessian[active], state.gradient[active][:, :, None])[:, :, 0]
        slope = np.einsum("nd,nd->n", state.gradient[active], step)
        trial = _evaluate(state.r[active] + length[:, None] * step, target[active], table, xi_r)
        # Near the minimum the fall is below rounding; the slack lets Newton's last steps pass.
        before = state.value[active]
        fell = trial.value <= before + 1e-4 * length * slope + 1e-14 * (1 + np.abs(before))
        if len(active) == len(r) and fell.all():
            state = trial
        else:
            for whole, part in zip(state, trial, strict=True):
                whole[active[fell]] = part[fell]
        unfinished = np.linalg.norm(state.gradient[active], axis=1) > tol
        active, length = active[unfinished], np.where(fell, 1.0, length / 2)[unfinished]
    return state


def _evaluate(r: np.ndarray, target: np.ndarray, table: _Table, xi_r: float) -> _State:
    n, d = r.shape
    weights, top = _weights(r, table)
    sums = weights @ table.moments
    total = sums[:, 0].copy()
    mean = sums[:, 1 : d + 1] / total[:, None]
    square = (sums[:, d + 1 :] / total[:, None]).reshape(n, d, d)
    value = np.log(total) + top - np.einsum("nd,nd->n", r, target[:, :d]) - target[:, d]
    value += 0.5 * xi_r * np.einsum("nd,nd->n", r, r)
    gradient = mean - target[:, :d] + xi_r * r
    hessian = square - mean[:, :, None] * mean[:, None, :] + xi_r * np.eye(d)
    return _State(r.copy(), value, gradient, hessian, weights, total)


def _embed_and_differentiate(
    P: Any, words: Words, ridge: Ridge, start: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """r at its best for phi, E there, and dE/dphi: what `embed`, `energy` and `word_gradient` give, in one pass."""
    r, total = np.empty_like(start), 0.0
    targets, table = _targets(P, words), _table(words)
    expected = np.zeros((len(words.phi), 1 + start.shape[1]))  # sum_n Q_ni (1, r_n)
    for rows in _image_blocks(len(r), words):
        state = _newton(start[rows], targets[rows], table, ridge.images, _TOL_WITHIN, _MAX_STEPS)
        r[rows] = state.r
        total += state.value.sum()
        expected += state.weights.T @ (
            np.column_stack([np.ones(len(state.r)), state.r]) / state.total[:, None]
        )
    mass = np.asarray(P.sum(axis=0)).ravel() - expected[:, 0]
    gradient = (mass + ridge.words)[:, None] * words.phi - P.T @ r + expected[:, 1:]
    return r, float(total + 0.5 * ridge.words * np.vdot(words.phi, words.phi)), gradient


def _targets(P: Any, words: Words) -> np.ndarray:
    """(P phi, P b), (N, d + 1)."""
    return P @ np.column_stack([words.phi, words.finite_b])
