r"""Weighted neighbours with learned weights and a sigmoid for every word, after TagProp [guillaumin2009tagprop].

    p_iw = sum over k of pi_k [(1 - eps) y_jw + eps (1 - y_jw)],   j = the k-th nearest tagged image of i
    presence_iw = sigmoid(a_w p_iw + b_w)

The weights pi, on the simplex, maximise the likelihood of the tagged images' own captions given their neighbours, image
i not among them; present and absent words get the same total weight. It is concave in pi; EM climbs it. Words' own
sigmoids are logistic regressions on p_iw: rare words are propagated too seldom without them.

Symbol -> code, shape:  pi -> weights_ Z | p_iw -> propagated D V | a_w, b_w -> slope_, offset_ V
Differs from the paper: rank weights, or one sharpness of the cosine, over one distance; a_w and b_w are learned after
pi, drawn slightly towards no effect.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax

from topicture.corpus import Corpus
from topicture.models.baselines.knn import NeighbourView
from topicture.models.baselines.one_view import Tell
from topicture.models.neighbours import Neighbours, nearest

__all__ = ["TagProp", "learn_rank_weights", "learn_sharpness", "others_only", "propagate", "word_sigmoids"]

EPS = 1e-3
N_STEPS = 40
# Of the logistic regressions: p_iw is small, so it is stretched before its slope is shrunk.
_STRETCH = 10.0
_RIDGE = 1.0
_NEWTON_STEPS = 12


# --- Learn --------------------------------------------------------------------------------------------------------


def others_only(near: Neighbours) -> Neighbours:
    """Neighbours of the images themselves, (N, Z) from (N, Z + 1): each one's own row is left out."""
    own = near.rows == np.arange(len(near.rows))[:, None]
    own[~own.any(axis=1), -1] = True  # copies of the image took its place: the farthest is left out instead
    shape = (len(own), own.shape[1] - 1)
    return Neighbours(near.rows[~own].reshape(shape), near.cosines[~own].reshape(shape))


def learn_rank_weights(
    rows: np.ndarray, present: sparse.csr_array, n_steps: int = N_STEPS, tell: Tell = lambda done, total: None
) -> np.ndarray:
    """pi (Z,), from the neighbours' rows (N, Z) and the words (N, V) that are present, by EM."""
    N, Z = rows.shape
    V = present.shape[1]
    said = _said_by_rank(rows, present)  # (N V, Z)
    y = present.toarray().ravel()
    per_present, per_absent = 1 / max(y.sum(), 1), 1 / max(N * V - y.sum(), 1)
    pi = np.full(Z, 1 / Z)
    for step in range(n_steps):
        p = EPS + (1 - 2 * EPS) * (said @ pi)
        present_share = y * per_present / p
        absent_share = (1 - y) * per_absent / (1 - p)
        difference = (1 - 2 * EPS) * (said.T @ (present_share - absent_share))
        pi = pi * (EPS * present_share.sum() + (1 - EPS) * absent_share.sum() + difference)
        pi /= pi.sum()
        tell(step + 1, n_steps)
    return pi


def learn_sharpness(near: Neighbours, present: sparse.csr_array) -> float:
    """s of the weights exp(s cos), normalised over the neighbours, by the same likelihood."""
    y = present.toarray()
    per_present, per_absent = 1 / max(y.sum(), 1), 1 / max(y.size - y.sum(), 1)

    def loss(log_s: float) -> float:
        p = EPS + (1 - 2 * EPS) * propagate(near, present, _by_cosine(near, np.exp(log_s)))
        return -float(np.sum(np.where(y > 0, per_present * np.log(p), per_absent * np.log1p(-p))))

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 5.0), method="bounded").x))


def word_sigmoids(propagated: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and offset (V,) of every word's logistic regression on its own p_iw, (N, V) both, by Newton's method."""
    x = _STRETCH * propagated
    share = np.clip(present.mean(axis=0), 0.5 / len(x), 1 - 0.5 / len(x))
    a, b = np.zeros(x.shape[1]), np.log(share / (1 - share))
    for _ in range(_NEWTON_STEPS):
        p = expit(a * x + b)
        residual, curve = present - p, p * (1 - p)
        gradient_a = (residual * x).sum(axis=0) - _RIDGE * a
        gradient_b = residual.sum(axis=0)
        aa = (curve * x * x).sum(axis=0) + _RIDGE
        # A word on all images, or on none, has no curvature left in b; steps are clipped as well.
        ab, bb = (curve * x).sum(axis=0), curve.sum(axis=0) + 1e-6
        determinant = aa * bb - ab * ab
        step_a = (bb * gradient_a - ab * gradient_b) / determinant
        step_b = (aa * gradient_b - ab * gradient_a) / determinant
        a, b = a + np.clip(step_a, -2, 2), b + np.clip(step_b, -2, 2)
    return _STRETCH * a, b


def _said_by_rank(rows: np.ndarray, present: sparse.csr_array) -> sparse.csr_array:
    """Which neighbours say which word: ((image, word), rank) -> 1, shape (N V, Z)."""
    N, Z = rows.shape
    V = present.shape[1]
    lengths = np.diff(present.indptr)[rows.ravel()]
    pair = np.repeat(np.arange(N * Z), lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    word = present.indices[present.indptr[rows.ravel()][pair] + np.arange(len(pair)) - first]
    image, rank = pair // Z, pair % Z
    return sparse.csr_array((np.ones(len(pair)), (image * V + word, rank)), shape=(N * V, Z))


# --- Use ----------------------------------------------------------------------------------------------------------


def propagate(near: Neighbours, present: sparse.csr_array, weights: np.ndarray) -> np.ndarray:
    """Weighted shares of the neighbours (D, Z) that have a word, (D, V); weights (Z,) or (D, Z)."""
    D, Z = near.rows.shape
    values = np.broadcast_to(weights, (D, Z)).ravel()
    links = sparse.csr_array(
        (values, near.rows.ravel(), np.arange(0, D * Z + 1, Z)), shape=(D, present.shape[0])
    )
    return (links @ present).toarray()


def _by_cosine(near: Neighbours, sharpness: float) -> np.ndarray:
    return np.exp(log_softmax(sharpness * near.cosines, axis=1))


# --- Estimator: no mathematics ------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class TagProp(NeighbourView):
    """Neighbours with weights by rank or by cosine, learned by maximum likelihood; untagged images are not used.

    Parameters
    ----------
    n_neighbours : Z; fewer where there are fewer tagged images
    weights : "rank" (one weight a rank) or "cosine" (exp(s cos), s learned)
    word_sigmoid : whether every word has its own sigmoid
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "tagprop"

    _: KW_ONLY
    weights: str = "rank"
    word_sigmoid: bool = True

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("weights", ("rank", "cosine"))

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        self._keep(corpus)
        self.captions_ = sparse.csr_array((self.captions_ > 0).astype(np.float64))
        n_words = self.captions_.shape[1]
        self.slope_, self.offset_ = np.zeros(n_words), np.zeros(n_words)
        if len(self.rows_) < 2:
            self.weights_ = np.ones(1)
            return "one tagged image: nothing to learn from"
        near = others_only(nearest(self.rows_, self.rows_, self.n_neighbours + 1))
        if self.weights == "rank":
            self.weights_ = learn_rank_weights(near.rows, self.captions_, tell=tell)
        else:
            self.weights_ = np.array([learn_sharpness(near, self.captions_)])
        if self.word_sigmoid:
            propagated = propagate(near, self.captions_, self._weights_of(near))
            self.slope_, self.offset_ = word_sigmoids(propagated, self.captions_.toarray())
        return f"weights of {near.rows.shape[1]} neighbours learned from {len(near.rows)} tagged images"

    def _weights_of(self, near: Neighbours) -> np.ndarray:
        if self.weights == "cosine":
            return _by_cosine(near, float(self.weights_[0]))
        # A new image may have one neighbour more than the tagged ones, which have not themselves.
        return np.pad(self.weights_, (0, max(0, near.rows.shape[1] - len(self.weights_))))[
            : near.rows.shape[1]
        ]

    def _scores(self, corpus: Corpus) -> np.ndarray:
        near = self._nearest(corpus)
        propagated = propagate(near, self.captions_, self._weights_of(near))
        if not self.word_sigmoid or len(self.rows_) < 2:
            return propagated
        return expit(self.slope_ * propagated + self.offset_)

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._view_state()
        return {**arrays, "weights": self.weights_, "slope": self.slope_, "offset": self.offset_}, facts

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore_view(arrays, facts)
        self.weights_, self.slope_, self.offset_ = arrays["weights"], arrays["slope"], arrays["offset"]
