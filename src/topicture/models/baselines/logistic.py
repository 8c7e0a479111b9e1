r"""One-vs-rest logistic regression: every word against its absence, all words at once.

    presence_iw = sigmoid(x_i' W_w + b_w),   W, b minimise   sum over i, w of log-loss + ridge/2 |W|^2

It is convex; L-BFGS on the weights of all words together finds what a solver for each word finds, with one sparse
product a step. Probabilities of presence are normalised to a distribution.

Images with single answers are examples of the words that they were asked about: the loss of such a word has a term for
each of its answers more. These words are learned again by themselves, others stay as they were.

Symbol -> code, shape:  x_i -> rows D L | W -> weights L V | b -> offset V
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from topicture.corpus import Corpus
from topicture.models.baselines.before_answers import BeforeAnswers
from topicture.models.baselines.one_view import OneView, Tell
from topicture.models.neighbours import blocks

__all__ = ["Linear", "LinearView", "Logistic", "fit_logistic"]


class Linear(NamedTuple):
    """Weights of all words."""

    weights: np.ndarray  # (L, V)
    offset: np.ndarray  # (V,)

    def __call__(self, rows: Any) -> np.ndarray:
        """x'W + b, (D, V)."""
        return np.asarray(rows @ self.weights) + self.offset


def fit_logistic(
    rows: Any,
    present: Any,
    ridge: float,
    max_iter: int,
    tol: float,
    tell: Tell = lambda done, total: None,
    given: Callable[[slice], np.ndarray] | None = None,
    asked: tuple[Any, sparse.csr_array] | None = None,
) -> tuple[Linear, int]:
    """Weights for rows (N, L), sparse or dense, and words that are present (N, V), 0/1, too; and the number of steps.

    Sums are made block by block of images: nothing of size images x words is held. An offset has hardly any ridge:
    enough for a word that is on every image, or on none, to stay finite. `given` is what is known of a block's images
    before, (n, V): it is added to their scores. `asked` are rows (A, L) and answers (A, V) about them, 1 or -1: more
    examples of these words alone.
    """
    (N, L), V = rows.shape, present.shape[1]
    shrink = np.append(np.full(L, ridge), 1e-3)[:, None]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        theta = theta.reshape(L + 1, V)
        value, gradient = float((shrink * theta**2).sum()) / 2, shrink * theta
        for block in blocks(N, 4 * 8 * V):
            x, y = rows[block], present[block]
            y = y.toarray() if sparse.issparse(y) else y
            scores = Linear(theta[:-1], theta[-1])(x)
            if given is not None:
                scores += given(block)
            residual = expit(scores) - y
            value += float(np.logaddexp(0, scores).sum() - np.vdot(y, scores))
            gradient[:-1] += x.T @ residual
            gradient[-1] += residual.sum(axis=0)
        if asked is not None:
            value += _add_answers(theta, *asked, gradient)
        return value, gradient.ravel()

    share = (np.asarray(present.sum(axis=0)).ravel() + 0.5) / (N + 1)
    start = np.zeros((L + 1, V))
    start[-1] = np.log(share / (1 - share))
    options = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-6 * N}
    steps = count(1)
    found = minimize(
        loss,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options=options,
        callback=lambda theta: tell(next(steps), None),
    )
    theta = found.x.reshape(L + 1, V)
    return Linear(np.ascontiguousarray(theta[:-1]), theta[-1].copy()), int(found.nit)


def _add_answers(theta: np.ndarray, rows: Any, answers: sparse.csr_array, gradient: np.ndarray) -> float:
    """The loss of answers (A, V) about rows (A, L); its gradient (L + 1, V) is added."""
    value = 0.0
    for block in blocks(rows.shape[0], 4 * 8 * answers.shape[1]):
        x, said = rows[block], answers[block].toarray()
        scores, yes, known = Linear(theta[:-1], theta[-1])(x), said > 0, said != 0
        residual = np.where(known, expit(scores) - yes, 0.0)
        value += float((np.logaddexp(0, scores)[known]).sum() - scores[yes].sum())
        gradient[:-1] += x.T @ residual
        gradient[-1] += residual.sum(axis=0)
    return value


@dataclass(eq=False, repr=False)
class LinearView(OneView):
    """Presences sigmoid(x'W + b); a subclass implements `_solve`, and `_solve_again` for words with answers."""

    uses_answers = True
    least_part = 0.002

    _: KW_ONLY
    max_iter: int = 100
    tol: float = 1e-5

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("ridge", "max_iter", "tol")

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        tagged = corpus[corpus.tagged]
        view = getattr(tagged, self.view)
        # Dense columns are centred and get one common scale, so that the same ridge suits any network's numbers.
        self.centre_, self.scale_ = np.zeros(view.shape[1]), 1.0
        if not sparse.issparse(view):
            self.centre_ = view.mean(axis=0, dtype=np.float64)
            self.scale_ = float(np.sqrt(np.mean(view.var(axis=0, dtype=np.float64)))) or 1.0
        # What was probably left out is present in part.
        rows, present = self._rows(tagged), sparse.csr_array(tagged.captions.minimum(1.0))
        self.linear_, n_steps = self._solve(rows, present, tell)
        self.before_ = None
        if corpus.answered.any():
            asked = corpus[corpus.answered]
            answers = sparse.csr_array(asked.answers)
            words = np.unique(answers.indices)
            about = self._rows(asked), sparse.csr_array(answers[:, words])
            again, n_more = self._solve_again(rows, present, words, about, tell)
            self.before_ = BeforeAnswers(words, self.linear_.weights[:, words], self.linear_.offset[words])
            self.linear_.weights[:, words], self.linear_.offset[words] = again
            n_steps += n_more
        return f"L-BFGS: {n_steps} steps"

    @abstractmethod
    def _solve(self, rows: Any, present: sparse.csr_array, tell: Tell) -> tuple[Linear, int]:
        """Weights of all words, and the number of steps, for rows (N, L) and words that are present (N, V), 0 to 1."""

    @abstractmethod
    def _solve_again(
        self,
        rows: Any,
        present: sparse.csr_array,
        words: np.ndarray,
        asked: tuple[Any, sparse.csr_array],
        tell: Tell,
    ) -> tuple[Linear, int]:
        """The same of some words alone, with answers (A, k) about rows (A, L) as more examples of these."""

    def _rows(self, corpus: Corpus) -> Any:
        rows = getattr(corpus, self.view)
        return rows if sparse.issparse(rows) else (rows - self.centre_) / self.scale_

    def _scores(self, corpus: Corpus) -> np.ndarray:
        return self._scores_and_taken(corpus)[0]

    def _scores_and_taken(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray | None]:
        rows = self._rows(corpus)
        scores = expit(self.linear_(rows))
        return scores, None if self.before_ is None else self.before_.taken(rows, expit, scores)

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        before = {} if self.before_ is None else self.before_.state()
        return {**self.linear_._asdict(), **before, "centre": self.centre_}, {"scale": self.scale_}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.linear_ = Linear(arrays["weights"], arrays["offset"])
        self.centre_, self.scale_ = arrays["centre"], float(facts["scale"])
        self.before_ = BeforeAnswers.of_file(arrays, len(self.p_w_))


@dataclass(eq=False, repr=False)
class Logistic(LinearView):
    """One logistic regression per word on visual words or descriptors; those without caption or answer are not used.

    Parameters
    ----------
    ridge : penalty of squared weights, 1/C of other libraries
    max_iter, tol : of L-BFGS; it stops when a step lowers the loss by less than `tol` of it
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "logistic"

    ridge: float = 3.0
    _: KW_ONLY
    background: float = 0.05

    def _solve(self, rows: Any, present: sparse.csr_array, tell: Tell) -> tuple[Linear, int]:
        return fit_logistic(rows, present, self.ridge, self.max_iter, self.tol, tell)

    def _solve_again(
        self,
        rows: Any,
        present: sparse.csr_array,
        words: np.ndarray,
        asked: tuple[Any, sparse.csr_array],
        tell: Tell,
    ) -> tuple[Linear, int]:
        return fit_logistic(rows, present[:, words], self.ridge, self.max_iter, self.tol, tell, asked=asked)
