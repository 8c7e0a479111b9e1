r"""Companions: logistic regression of all words, in which words that go together learn from each other (models.md 14).

    presence_iw = sigmoid(x_i' W_w + b_w),      W ~ MN(0, I / ridge, Omega),      Omega_wv = C_wv / sqrt(C_ww C_vv)
    C = Y'Y + c I:  how often two words stand in one caption, and c photos that each word has for itself

    W, b minimise   sum over i, w of log-loss + ridge/2 tr(W Omega^-1 W') + 0.0005 |b|^2

A word with few photos begins where its companions are: tracks near cars. Omega has the diagonal 1, so words by
themselves have the prior of `logistic`, which is the case c -> infinity. With W = U S, S = Omega^(1/2), the penalty is
ridge/2 |U|^2: convex, and L-BFGS on U has to do with numbers of one size.

Images with single answers are examples of the words A that they were asked about. These are learned again, given the
weights of all others, R, which stay as they were:

    W_A | W_R ~ MN(W_R K, I / ridge, Omega_AA - Omega_AR K),       K = Omega_RR^-1 Omega_RA

Symbol -> code, shape:  x -> rows N L | Y -> present N V | Omega -> omega V V | S -> root V V | W, b -> linear L V, V
  W_R K -> mean L A
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from topicture.corpus import Corpus
from topicture.models.baselines.logistic import Linear, LinearView
from topicture.models.baselines.one_view import Tell
from topicture.models.neighbours import blocks

__all__ = ["Companions", "Prior", "companionship", "fit_companions", "given_others", "loss", "sample"]

_OFFSET_RIDGE = 1e-3  # enough for a word that is on every image, or on none, to stay finite


# --- Values -------------------------------------------------------------------------------------------------------


class Prior(NamedTuple):
    """Of the weights of k words: the mean, and the root of how they vary together, for ridge 1."""

    mean: np.ndarray | float  # (L, k)
    root: np.ndarray  # (k, k)

    @classmethod
    def of(cls, omega: np.ndarray, mean: np.ndarray | float = 0.0) -> "Prior":
        """S = Omega^(1/2), the symmetric one: the order of words makes no difference."""
        values, axes = np.linalg.eigh(omega)
        return cls(mean, (axes * np.sqrt(np.maximum(values, 0))) @ axes.T)


# --- Start --------------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator, omega: np.ndarray, offset: np.ndarray, n_images: int, L: int, ridge: float = 1.0
) -> Corpus:
    """Images of random looks, captioned by the story above."""
    weights = rng.normal(size=(L, len(omega))) @ Prior.of(omega).root / np.sqrt(ridge)
    rows = rng.normal(size=(n_images, L))
    captions = rng.random((n_images, len(omega))) < expit(rows @ weights + offset)
    return Corpus.from_arrays(captions.astype(float), descriptor=rows)


# --- Learn --------------------------------------------------------------------------------------------------------


def companionship(present: Any, pseudo_count: float) -> np.ndarray:
    """Omega (V, V) of captions (N, V), which may lie between 0 and 1."""
    both = present.T @ present
    both = both.toarray() if sparse.issparse(both) else np.asarray(both)
    both = both + pseudo_count * np.eye(len(both))
    lengths = np.sqrt(np.diag(both))
    return both / np.outer(lengths, lengths)


def given_others(omega: np.ndarray, weights: np.ndarray, words: np.ndarray) -> Prior:
    """What is thought of some words' weights where those of the others, of weights (L, V), are known."""
    others = np.setdiff1d(np.arange(len(omega)), words)
    across = omega[np.ix_(others, words)]
    K = np.linalg.solve(omega[np.ix_(others, others)], across)
    return Prior.of(omega[np.ix_(words, words)] - across.T @ K, weights[:, others] @ K)


def loss(
    theta: np.ndarray,
    rows: Any,
    present: Any,
    prior: Prior,
    ridge: float,
    asked: tuple[Any, sparse.csr_array] | None = None,
) -> tuple[float, np.ndarray]:
    """What theta = [U; b] (L + 1, k) costs on rows (N, L) and words that are present (N, k), 0 to 1; and the gradient.

    `asked` are rows (A, L) and answers (A, k) about them, 1 or -1. Sums are made block by block of images: nothing of
    size images x words is held.
    """
    shrink = np.append(np.full(len(theta) - 1, ridge), _OFFSET_RIDGE)[:, None]
    linear = Linear(prior.mean + theta[:-1] @ prior.root, theta[-1])
    value, gradient = float((shrink * theta**2).sum()) / 2, shrink * theta
    of_weights = np.zeros_like(linear.weights)
    for x, y, known in _examples(rows, present, asked):
        scores = linear(x)
        residual = (expit(scores) - y) * known
        value += float((known * (np.logaddexp(0, scores) - y * scores)).sum())
        of_weights += x.T @ residual
        gradient[-1] += residual.sum(axis=0)
    gradient[:-1] += of_weights @ prior.root
    return value, gradient


def fit_companions(
    rows: Any,
    present: Any,
    prior: Prior,
    ridge: float,
    max_iter: int,
    tol: float,
    tell: Tell = lambda done, total: None,
    asked: tuple[Any, sparse.csr_array] | None = None,
) -> tuple[Linear, int]:
    """W (L, k) and b (k,) of least loss, and the number of steps."""
    (N, L), k = rows.shape, present.shape[1]
    share = (np.asarray(present.sum(axis=0)).ravel() + 0.5) / (N + 1)
    start = np.zeros((L + 1, k))
    start[-1] = np.log(share / (1 - share))
    steps = count(1)

    def flat(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss(theta.reshape(L + 1, k), rows, present, prior, ridge, asked)
        return value, gradient.ravel()

    found = minimize(
        flat,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-6 * N},
        callback=lambda theta: tell(next(steps), None),
    )
    theta = found.x.reshape(L + 1, k)
    return Linear(prior.mean + theta[:-1] @ prior.root, theta[-1].copy()), int(found.nit)


def _examples(
    rows: Any, present: Any, asked: tuple[Any, sparse.csr_array] | None
) -> Iterator[tuple[Any, np.ndarray, np.ndarray | float]]:
    """Blocks of images: rows, words that are present, and of which of them that is known."""
    per_image = 4 * 8 * present.shape[1]
    for block in blocks(rows.shape[0], per_image):
        y = present[block]
        yield rows[block], y.toarray() if sparse.issparse(y) else y, 1.0
    if asked is not None:
        for block in blocks(asked[0].shape[0], per_image):
            said = asked[1][block].toarray()
            yield asked[0][block], said > 0, said != 0


# --- Estimator: no mathematics -------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Companions(LinearView):
    """Logistic regressions on visual words or descriptors, in which words that go together learn from each other.

    Images without caption or answer are not used.

    Parameters
    ----------
    ridge : penalty of squared weights
    pseudo_count : photos that every word is thought to have for itself; the more, the less words learn from each other
    max_iter, tol : of L-BFGS; it stops when a step lowers the loss by less than `tol` of it
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "companions"

    ridge: float = 30.0
    _: KW_ONLY
    pseudo_count: float = 2.0
    background: float = 0.0

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("pseudo_count")

    def _solve(self, rows: Any, present: sparse.csr_array, tell: Tell) -> tuple[Linear, int]:
        prior = Prior.of(companionship(present, self.pseudo_count))
        return fit_companions(rows, present, prior, self.ridge, self.max_iter, self.tol, tell)

    def _solve_again(
        self,
        rows: Any,
        present: sparse.csr_array,
        words: np.ndarray,
        asked: tuple[Any, sparse.csr_array],
        tell: Tell,
    ) -> tuple[Linear, int]:
        prior = given_others(companionship(present, self.pseudo_count), self.linear_.weights, words)
        how = (self.ridge, self.max_iter, self.tol, tell)
        return fit_companions(rows, present[:, words], prior, *how, asked=asked)
