r"""Ridge regression of all words at once on one view: the best single annotator on frozen features of a network.

    W = (X'X + r I)^-1 X'(Y - mean),     score_iw = [mean_w + x_i'W_w]_+

Rows are centred and brought to length 1. Targets Y may lie between 0 and 1: words that were probably left out. One r
for all words, the best of a grid by the squared error of each image left out once, which the solution itself gives:
with the hat matrix H the residual of image i, had it not been seen, is (y_i - f_i) / (1 - H_ii).

Images with single answers are examples of the words that they were asked about. For a word w with answers y_a at rows
x_a, W_w and mean_w minimise

    sum_i (y_iw - mean_w - x_i'W_w)^2 + sum_a (y_a - mean_w - x_a'W_w)^2 + r |W_w|^2

with the r of the captions. With U the rows [x_a, 1], theta = [W_w; mean_w] of the captions alone, and
M = diag(X'X + r I, N), which is its matrix since X is centred, the answers add M^-1 U'(I + U M^-1 U')^-1 (y - U theta)
to theta (Woodbury): other words stay as they were.

Symbol -> code, shape:  X -> rows N L | Y -> targets N V | W -> weights_ L V | mean -> offset_ V | x_a -> asked A L
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, solve

from topicture.corpus import Corpus
from topicture.models.baselines.before_answers import BeforeAnswers
from topicture.models.baselines.one_view import OneView, Scaling, Tell, scaling_of

__all__ = ["RIDGES", "Ridge", "fit_ridge", "with_answers"]

RIDGES = tuple(10.0**k for k in np.arange(-1.0, 2.01, 0.25))


def fit_ridge(rows: np.ndarray, targets: np.ndarray, grid: tuple[float, ...]) -> tuple[np.ndarray, float]:
    """W (L, V) for centred rows (N, L) and targets (N, V), and the r of least squared error on images left out."""
    values, axes = np.linalg.eigh(rows.T @ rows)
    values = np.maximum(values, 0)
    turned = rows @ axes
    product = turned.T @ targets
    squares = turned**2

    def left_out_error(ridge: float) -> float:
        shrunk = 1 / (values + ridge)
        residual = targets - turned @ (shrunk[:, None] * product)
        return float((residual**2 / np.maximum(1 - squares @ shrunk, 1e-6)[:, None] ** 2).sum())

    best = min(grid, key=left_out_error)
    return axes @ (product / (values + best)[:, None]), best


def with_answers(
    rows: np.ndarray,
    solved: tuple[np.ndarray, np.ndarray],
    ridge: float,
    asked: np.ndarray,
    answers: sparse.csr_array,
) -> tuple[np.ndarray, np.ndarray]:
    """W (L, V) and mean (V,), which were `solved` before, after answers (A, V), 1 or -1, about centred rows (A, L)."""
    (weights, offset), (N, L) = (part.copy() for part in solved), rows.shape
    gram = np.asarray(rows.T @ rows, np.float64) + ridge * np.eye(L)
    factor = cho_factor(gram)
    by_word = sparse.csc_array(answers)
    for word in np.unique(answers.indices).tolist():
        mine = slice(by_word.indptr[word], by_word.indptr[word + 1])
        x = np.asarray(asked[by_word.indices[mine]], np.float64)
        missed = (by_word.data[mine] > 0) - offset[word] - x @ weights[:, word]
        if len(x) <= L:
            reach = cho_solve(factor, x.T)
            gain = solve(np.eye(len(x)) + x @ reach + 1 / N, missed, assume_a="pos")
            weights[:, word] += reach @ gain
            offset[word] += gain.sum() / N
        else:  # the same of the smaller matrix, which is then M + U'U
            total = x.sum(axis=0)
            whole = np.block([[gram + x.T @ x, total[:, None]], [total, np.array([N + len(x)])]])
            step = solve(whole, np.append(x.T @ missed, missed.sum()), assume_a="pos")
            weights[:, word] += step[:-1]
            offset[word] += step[-1]
    return weights, offset


@dataclass(eq=False, repr=False)
class Ridge(OneView):
    """Ridge regression on visual words or descriptors; images without caption or answer are not used.

    Parameters
    ----------
    ridge : penalty of squared weights; 0 chooses it by leaving images out
    power : exponent of the scores; the larger, the more the surest words get
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "ridge"
    uses_answers = True
    least_part = 0.002

    ridge: float = 0.0
    _: KW_ONLY
    power: float = 1.5
    background: float = 0.05

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("power")
        self._require("ridge", self.ridge >= 0, "be at least 0")

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        tagged = corpus[corpus.tagged]
        self.scaling_ = scaling_of(getattr(tagged, self.view))
        rows = self.scaling_(getattr(tagged, self.view))
        self.centre_ = rows.mean(axis=0)
        targets = np.minimum(sparse.csr_array(tagged.captions).toarray(), 1.0)
        self.offset_ = targets.mean(axis=0)
        grid = (self.ridge,) if self.ridge else RIDGES
        self.weights_, best = fit_ridge(rows - self.centre_, targets - self.offset_, grid)
        self.before_ = None
        if corpus.answered.any():
            asked = corpus[corpus.answered]
            words = np.unique(sparse.csr_array(asked.answers).indices)
            self.before_ = BeforeAnswers(words, self.weights_[:, words], self.offset_[words])
            self.weights_, self.offset_ = with_answers(
                rows - self.centre_,
                (self.weights_, self.offset_),
                best,
                self.scaling_(getattr(asked, self.view)) - self.centre_,
                sparse.csr_array(asked.answers),
            )
        return f"solved in one step with ridge {best:.2g}"

    def _scores(self, corpus: Corpus) -> np.ndarray:
        return self._scores_and_taken(corpus)[0]

    def _scores_and_taken(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray | None]:
        rows = self.scaling_(getattr(corpus, self.view)) - self.centre_
        scores = self._score(rows @ self.weights_ + self.offset_)
        return scores, None if self.before_ is None else self.before_.taken(rows, self._score, scores)

    def _score(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(values, 0.0) ** self.power

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {"weights": self.weights_, "offset": self.offset_, "row_centre": self.centre_}
        before = {} if self.before_ is None else self.before_.state()
        return {**arrays, **before, "centre": self.scaling_.centre, "weight": self.scaling_.weight}, {}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.weights_, self.offset_, self.centre_ = (arrays[k] for k in ("weights", "offset", "row_centre"))
        self.scaling_ = Scaling(arrays["centre"], arrays["weight"])
        self.before_ = BeforeAnswers.of_file(arrays, len(self.p_w_))
