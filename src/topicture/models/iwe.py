r"""Image-Word Embedding, IWE [liu2005nlsa]: images and words as points of one plane; nearness is probability.

Section numbers are those of MODELS.md (3.15). Image n is at r_n, word i at phi_i, both in d dimensions (2: a map).

    Q_ni = softmax_i( ln q_i - |r_n - phi_i|^2 / 2 ),   q = word frequencies of the tagged images
    E = - sum_ni P_ni ln Q_ni + xi_r/2 sum |r_n|^2 + xi_w/2 sum |phi_i|^2,   P_n = caption of image n, normalised

Since |r_n|^2 cancels in the softmax, ln Q_ni = a_ni - LSE_i a_ni with a_ni = r_n.phi_i + b_i and
b_i = ln q_i - |phi_i|^2 / 2. Given phi, every r_n is a convex problem of its own, solved exactly by Newton's method. A
new image gets P from any other annotator, is placed by the same problem, and is answered with Q at its place.

Symbol -> code, shape:  r -> r N d | phi -> phi V d | q -> log_q V | P -> P N V | a, b -> a N V, b V
Differs from the paper: the ridges xi, without which an image whose caption is one word at the rim has no place; L-BFGS
over phi with r solved for (its gradient is dE/dphi at the solution); the best of several random starts.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone

from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.base import Annotator
from topicture.models.empirical import word_frequencies
from topicture.models.neighbours import blocks
from topicture.models.registry import annotator_class, make_annotator

__all__ = [
    "IWE",
    "Ridge",
    "Words",
    "embed",
    "energy",
    "image_gradient",
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

# A block's weights stay in the second-level cache: 100,000 images x 300 words take 0.08 s a pass in blocks of 256
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


# --- Estimator: no mathematics ------------------------------------------------------------------------------------

_STARTING_IMAGES = 4000


class NeededViews:
    """`needs` of the base annotator; on the class, those of the default one."""

    def __get__(self, instance: Any, owner: type) -> tuple[str, ...]:
        base = "nlsa" if instance is None else instance.base
        return tuple((annotator_class(base) if isinstance(base, str) else base).needs)


class IWE(Annotator):
    """Places images and words on one map and answers with the words near an image's place.

    The map is learned from the captions of the tagged images. A new image is placed by the probabilities that the
    base annotator gives it.

    Parameters
    ----------
    base : registry name of an annotator, or an annotator; fitted on the same corpus
    n_dims : dimensions of the map d
    ridge_images, ridge_words : xi_r, xi_w; how strongly points are drawn to the origin, 0.01 to 0.1
    optimiser : "lbfgs", or "descent" (steepest descent, as published)
    step : first step length of "descent"
    max_iter, tol : of the optimiser; tol is the relative change of E
    n_init : number of random starts; the one with the least E is kept (a large collection compares them on a sample)
    seed : of the starts, and of a base given by name

    Attributes
    ----------
    base_ : the fitted base annotator
    word_coordinates_ : (V, d)
    image_coordinates_ : (N, d) of the tagged images
    image_ids_ : (N,) their ids
    word_counts_ : (V,) how often each word was seen
    restarts_ : minus E of every start (of a sample of 4,000 images, where there are more than twice as many)
    """

    name = "iwe"
    needs: ClassVar[Any] = NeededViews()

    def __init__(
        self,
        base: str | Annotator = "nlsa",
        *,
        n_dims: int = 2,
        ridge_images: float = 0.05,
        ridge_words: float = 0.05,
        optimiser: str = "lbfgs",
        step: float = 0.5,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 5,
        seed: int = 0,
    ):
        self.base = base
        self.n_dims = n_dims
        self.ridge_images = ridge_images
        self.ridge_words = ridge_words
        self.optimiser = optimiser
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.seed = seed

    def transform(self, corpus: Corpus) -> np.ndarray:
        """Places of images on the map, (D, d), from the base annotator's probabilities."""
        self._check_usable(corpus)
        return self._place(corpus)

    def _place(self, corpus: Corpus) -> np.ndarray:
        P = _over_seen_words(self.base_.annotate(corpus), self._words())
        return embed(P, self._words(), self.ridge_images)

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        return posterior(self._place(corpus), self._words())

    def _words(self) -> Words:
        return Words(self.word_coordinates_, self.log_q_)

    # --- Learn -------------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        for name in ("n_dims", "n_init", "max_iter"):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= 1):
                raise TopictureError(f"{self.name}: {name} must be a positive whole number, not {value!r}")
        for name in ("ridge_images", "ridge_words", "step"):
            if not getattr(self, name) > 0:
                raise TopictureError(f"{self.name}: {name} must be positive, not {getattr(self, name)!r}")
        if self.optimiser not in ("lbfgs", "descent"):
            raise TopictureError(f"{self.name}: optimiser must be lbfgs or descent, not {self.optimiser!r}")

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        if not corpus.tagged.any():
            raise CorpusError(f"{self.name}: no image is tagged, so there are no words to place")
        self.base_ = self._new_base().fit(corpus, callback=callback)
        tagged = corpus if corpus.tagged.all() else corpus[corpus.tagged]
        self.word_counts_ = np.asarray(tagged.captions.sum(axis=0)).ravel()
        with np.errstate(divide="ignore"):
            self.log_q_ = np.log(word_frequencies(tagged))
        rng = np.random.default_rng(self.seed)
        best, values = self._best_start(_normalised(tagged.captions), rng)
        self.word_coordinates_ = np.ascontiguousarray(best.words.phi)
        self.image_coordinates_ = best.r
        self.image_ids_ = tagged.image_ids
        self.restarts_ = -np.array(values)
        self.objective_trace_ = -np.array(best.trace)
        self.n_iter_ = len(best.trace) - 1
        self.result_ = "converged" if best.converged else f"stopped after {self.n_iter_} iterations"

    def _new_base(self) -> Annotator:
        if not isinstance(self.base, str):
            return clone(self.base)
        base = make_annotator(self.base)
        return base.set_params(seed=self.seed) if "seed" in base.get_params() else base

    def _best_start(self, P: sparse.csr_array, rng: np.random.Generator) -> tuple[Embedding, list[float]]:
        """The embedding from the start with the least E, and E of all starts.

        Starts are compared on a sample of a large collection; only the best goes on with all images.
        """
        few = P[np.sort(rng.choice(P.shape[0], _STARTING_IMAGES, replace=False))] if _is_large(P) else P
        starts = [rng.standard_normal((P.shape[1], self.n_dims)) for _ in range(self.n_init)]
        tried = [self._learn(few, Words(phi, self.log_q_)) for phi in starts]
        best = min(tried, key=lambda found: found.trace[-1])
        return self._learn(P, best.words) if _is_large(P) else best, [found.trace[-1] for found in tried]

    def _learn(self, P: sparse.csr_array, start: Words) -> Embedding:
        ridge = Ridge(self.ridge_images, self.ridge_words)
        if self.optimiser == "lbfgs":
            return minimise(P, start, ridge, max_iter=self.max_iter, tol=self.tol)
        return descend(P, start, ridge, step0=self.step, max_iter=self.max_iter, tol=self.tol)

    # --- Files -------------------------------------------------------------------------------------------

    def _header_params(self) -> dict[str, Any]:
        # An annotator as base is not JSON: its own part of the file says what it is (`_state`).
        return {
            **super()._header_params(),
            "base": self.base if isinstance(self.base, str) else self.base_.name,
        }

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        header, arrays = self.base_._file_content()
        own = {
            "word_coordinates": self.word_coordinates_,
            "word_counts": self.word_counts_,
            "image_coordinates": self.image_coordinates_,
            "restarts": self.restarts_,
        }
        facts = {
            "base": header,
            "base_is_named": isinstance(self.base, str),
            "image_ids": self.image_ids_.tolist(),
        }
        return {**own, **{f"base.{name}": array for name, array in arrays.items()}}, facts

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        header = facts["base"]
        base_arrays = {name[5:]: array for name, array in arrays.items() if name.startswith("base.")}
        self.base_ = annotator_class(header["model"]).from_state(
            header, base_arrays, source=f"the base of {self.name}"
        )
        if not facts["base_is_named"]:
            self.base = clone(self.base_)
        self.word_coordinates_ = arrays["word_coordinates"]
        self.word_counts_ = arrays["word_counts"]
        self.image_coordinates_ = arrays["image_coordinates"]
        self.restarts_ = arrays["restarts"]
        self.image_ids_ = np.array(facts["image_ids"], dtype=np.str_)
        with np.errstate(divide="ignore"):
            self.log_q_ = np.log(self.word_counts_ / self.word_counts_.sum())


def _is_large(P: sparse.csr_array) -> bool:
    return P.shape[0] > 2 * _STARTING_IMAGES


def _normalised(captions: sparse.csr_array) -> sparse.csr_array:
    """P_n, the captions with rows that sum to 1."""
    return sparse.csr_array(captions.multiply(1 / np.asarray(captions.sum(axis=1)).ravel()[:, None]))


def _over_seen_words(P: np.ndarray, words: Words) -> np.ndarray:
    """P without the words that training never saw, rows summing to 1; the word frequencies if nothing is left."""
    q = np.exp(words.log_q)
    P = np.where(q > 0, P, 0.0)
    totals = P.sum(axis=1, keepdims=True)
    return np.where(totals > 0, P / np.where(totals > 0, totals, 1.0), q)
