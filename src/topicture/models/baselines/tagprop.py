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
# Of more tagged images a sample is asked about its neighbours, who may be any: a few hundred numbers are learned.
_MOST_ASKED = 20_000


# --- Learn --------------------------------------------------------------------------------------------------------


def others_only(near: Neighbours, own: np.ndarray | None = None) -> Neighbours:
    """Neighbours of the images themselves, (n, Z) from (n, Z + 1): each one's own row is left out.

    `own` (n,) are these rows, 0, 1, ... where not given.
    """
    mine = near.rows == (np.arange(len(near.rows)) if own is None else own)[:, None]
    mine[~mine.any(axis=1), -1] = True  # copies of the image took its place: the farthest is left out instead
    shape = (len(mine), mine.shape[1] - 1)
    return Neighbours(near.rows[~mine].reshape(shape), near.cosines[~mine].reshape(shape))


def learn_rank_weights(
    rows: np.ndarray,
    present: sparse.csr_array,
    n_steps: int = N_STEPS,
    tell: Tell = lambda done, total: None,
    own: np.ndarray | None = None,
) -> np.ndarray:
    """pi (Z,), from the neighbours' rows (n, Z) and the words (N, V) that are present, by EM.

    `own` (n,) are the rows of `present` that have these neighbours, all where not given.
    """
    said, y, n_others = _said_by_rank(rows, present, present if own is None else present[own])
    per_present, per_absent = 1 / max(y.sum(), 1), 1 / max(n_others + len(y) - y.sum(), 1)
    nobody = n_others * per_absent / (1 - EPS)  # of words that no neighbour says, and that are absent
    pi = np.full(rows.shape[1], 1 / rows.shape[1])
    for step in range(n_steps):
        p = EPS + (1 - 2 * EPS) * (said @ pi)
        present_share = y * per_present / p
        absent_share = (1 - y) * per_absent / (1 - p)
        difference = (1 - 2 * EPS) * (said.T @ (present_share - absent_share))
        pi = pi * (EPS * present_share.sum() + (1 - EPS) * (absent_share.sum() + nobody) + difference)
        pi /= pi.sum()
        tell(step + 1, n_steps)
    return pi


def learn_sharpness(near: Neighbours, present: sparse.csr_array, own: np.ndarray | None = None) -> float:
    """s of the weights exp(s cos), normalised over the neighbours, by the same likelihood; `own` as above."""
    truth = sparse.csr_array((present if own is None else present[own]) > 0)
    size = truth.shape[0] * truth.shape[1]
    per_present, per_absent = 1 / max(truth.nnz, 1), 1 / max(size - truth.nnz, 1)

    def loss(log_s: float) -> float:
        said = propagated(near, present, _by_cosine(near, np.exp(log_s)))
        true = EPS + (1 - 2 * EPS) * sparse.csr_array(said.multiply(truth)).data
        every = np.log1p(-(EPS + (1 - 2 * EPS) * said.data)).sum() + (size - said.nnz) * np.log1p(-EPS)
        unsaid = truth.nnz - len(true)  # present, but no neighbour says so
        absent = every - np.log1p(-true).sum() - unsaid * np.log1p(-EPS)
        return -float(per_present * (np.log(true).sum() + unsaid * np.log(EPS)) + per_absent * absent)

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 5.0), method="bounded").x))


def word_sigmoids(propagated: Any, present: Any) -> tuple[np.ndarray, np.ndarray]:
    """Slope and offset (V,) of every word's logistic regression on its own p_iw, (N, V) both, by Newton's method.

    Sparse or dense: images that have neither the word nor a neighbour with it all count alike, as one term.
    """
    N, V = present.shape
    said, true = sparse.coo_array(propagated), sparse.coo_array(present)
    keys, place = np.unique(
        np.concatenate([row.astype(np.int64) * V + word for row, word in (said.coords, true.coords)]),
        return_inverse=True,
    )
    word, (x, y) = keys % V, np.zeros((2, len(keys)))
    x[place[: said.nnz]], y[place[said.nnz :]] = _STRETCH * said.data, true.data

    def per_word(values: np.ndarray) -> np.ndarray:
        return np.bincount(word, values, minlength=V)

    n_silent = N - per_word(np.ones(len(word)))
    share = np.clip(per_word(y) / N, 0.5 / N, 1 - 0.5 / N)
    a, b = np.zeros(V), np.log(share / (1 - share))
    for _ in range(_NEWTON_STEPS):
        p, silent = expit(a[word] * x + b[word]), expit(b)
        residual, curve = y - p, p * (1 - p)
        gradient_a = per_word(residual * x) - _RIDGE * a
        gradient_b = per_word(residual) - n_silent * silent
        aa = per_word(curve * x * x) + _RIDGE
        # A word on all images, or on none, has no curvature left in b; steps are clipped as well.
        ab, bb = per_word(curve * x), per_word(curve) + n_silent * silent * (1 - silent) + 1e-6
        determinant = aa * bb - ab * ab
        step_a = (bb * gradient_a - ab * gradient_b) / determinant
        step_b = (aa * gradient_b - ab * gradient_a) / determinant
        a, b = a + np.clip(step_a, -2, 2), b + np.clip(step_b, -2, 2)
    return _STRETCH * a, b


def _said_by_rank(
    rows: np.ndarray, present: sparse.csr_array, truth: sparse.csr_array
) -> tuple[sparse.csr_array, np.ndarray, int]:
    """Which neighbours say which word: ((image, word), rank) -> 1, shape (n, Z), for the pairs that anybody says.

    Also what is true of these pairs, (n,), and how many other pairs there are.
    """
    N, Z = rows.shape
    V = present.shape[1]
    lengths = np.diff(present.indptr)[rows.ravel()]
    pair = np.repeat(np.arange(N * Z), lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    word = present.indices[present.indptr[rows.ravel()][pair] + np.arange(len(pair)) - first]
    image, rank = pair // Z, pair % Z
    own_image, own_word = truth.tocoo().coords
    keys, place = np.unique(
        np.concatenate([image * V + word, own_image.astype(np.int64) * V + own_word]), return_inverse=True
    )
    y = np.zeros(len(keys))
    y[place[len(pair) :]] = truth.tocoo().data
    said = sparse.csr_array((np.ones(len(pair)), (place[: len(pair)], rank)), shape=(len(keys), Z))
    return said, y, N * V - len(keys)


# --- Use ----------------------------------------------------------------------------------------------------------


def propagate(near: Neighbours, present: sparse.csr_array, weights: np.ndarray) -> np.ndarray:
    """Weighted shares of the neighbours (D, Z) that have a word, (D, V); weights (Z,) or (D, Z)."""
    return propagated(near, present, weights).toarray()


def propagated(near: Neighbours, present: sparse.csr_array, weights: np.ndarray) -> sparse.csr_array:
    """The same, sparse."""
    D, Z = near.rows.shape
    values = np.broadcast_to(weights, (D, Z)).ravel()
    links = sparse.csr_array(
        (values, near.rows.ravel(), np.arange(0, D * Z + 1, Z)), shape=(D, present.shape[0])
    )
    return sparse.csr_array(links @ present)


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
        own = np.arange(len(self.rows_))
        if len(own) > _MOST_ASKED:
            own = np.sort(np.random.default_rng(0).choice(own, _MOST_ASKED, replace=False))
        near = others_only(nearest(self.rows_[own], self.rows_, self.n_neighbours + 1), own)
        if self.weights == "rank":
            self.weights_ = learn_rank_weights(near.rows, self.captions_, tell=tell, own=own)
        else:
            self.weights_ = np.array([learn_sharpness(near, self.captions_, own)])
        if self.word_sigmoid:
            said = propagated(near, self.captions_, self._weights_of(near))
            self.slope_, self.offset_ = word_sigmoids(said, self.captions_[own])
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
        said = propagate(near, self.captions_, self._weights_of(near))
        if not self.word_sigmoid or len(self.rows_) < 2:
            return said
        return expit(self.slope_ * said + self.offset_)

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._view_state()
        return {**arrays, "weights": self.weights_, "slope": self.slope_, "offset": self.offset_}, facts

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore_view(arrays, facts)
        self.weights_, self.slope_, self.offset_ = arrays["weights"], arrays["slope"], arrays["offset"]
