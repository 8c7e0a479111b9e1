r"""Ridge regression of all words at once on one view: the best single annotator on frozen features of a network.

    W = (X'X + r I)^-1 X'(Y - mean),     score_iw = [mean_w + x_i'W_w]_+

Rows are centred and brought to length 1. Targets Y may lie between 0 and 1: words that were probably left out. One r
for all words, the best of a grid by the squared error of each image left out once, which the solution itself gives:
with the hat matrix H the residual of image i, had it not been seen, is (y_i - f_i) / (1 - H_ii).

Symbol -> code, shape:  X -> rows N L | Y -> targets N V | W -> weights_ L V | mean -> offset_ V
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.baselines.one_view import OneView, Scaling, Tell, scaling_of

__all__ = ["Ridge", "fit_ridge"]

_GRID = tuple(10.0**k for k in np.arange(-1.0, 2.01, 0.25))


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


@dataclass(eq=False, repr=False)
class Ridge(OneView):
    """Ridge regression on visual words or descriptors; untagged images are not used.

    Parameters
    ----------
    ridge : penalty of squared weights; 0 chooses it by leaving images out
    power : exponent of the scores; the larger, the more the surest words get
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "ridge"

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
        grid = (self.ridge,) if self.ridge else _GRID
        self.weights_, best = fit_ridge(rows - self.centre_, targets - self.offset_, grid)
        return f"solved in one step with ridge {best:.2g}"

    def _scores(self, corpus: Corpus) -> np.ndarray:
        rows = self.scaling_(getattr(corpus, self.view)) - self.centre_
        return np.maximum(rows @ self.weights_ + self.offset_, 0.0) ** self.power

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {"weights": self.weights_, "offset": self.offset_, "row_centre": self.centre_}
        return {**arrays, "centre": self.scaling_.centre, "weight": self.scaling_.weight}, {}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.weights_, self.offset_, self.centre_ = (arrays[k] for k in ("weights", "offset", "row_centre"))
        self.scaling_ = Scaling(arrays["centre"], arrays["weight"])
