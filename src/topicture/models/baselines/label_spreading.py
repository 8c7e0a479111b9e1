r"""Label spreading [zhou2004consistency]: captions flow along a graph of similar images, tagged and untagged.

    F <- alpha S F + (1 - alpha) Y,   S = D^(-1/2) W D^(-1/2)

W joins every image with its Z nearest by cosine, symmetric; rows of Y are the captions, 0 for untagged images. A row of
F is the image's scores of words. An image that was not in the graph takes the mean of its Z nearest in it, weighted by
their cosines over the roots of their degrees, as a node of the graph would.

Symbol -> code, shape:  W -> links D D sparse | F -> spread_ D V, sparse where large | Y -> captions D V
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.baselines.one_view import (
    OneView,
    Scaling,
    Tell,
    captions_from,
    captions_state,
    scaling_of,
)
from topicture.models.baselines.tagprop import others_only
from topicture.models.neighbours import Neighbours, blocks, nearest

__all__ = ["LabelSpreading", "spread"]

N_STEPS = 30
# Scores of more images and words than this are kept of the likeliest words only, so many per image.
_MANY = 1 << 26
_KEPT_WORDS = 64
# Of more images than this a part is linked, tagged ones first: they carry captions on as well as all would.
_MOST_NODES = 100_000


def spread(
    links: sparse.csr_array,
    Y: Any,
    alpha: float,
    n_steps: int = N_STEPS,
    tell: Tell = lambda done, total: None,
) -> Any:
    """F (D, V) after so many steps from Y; the fixed point is (1 - alpha) (I - alpha S)^(-1) Y.

    A sparse Y gives a sparse F: after every step the likeliest words of each image are kept.
    """
    root = 1 / np.sqrt(_degrees(links))
    S = sparse.csr_array(links.multiply(root[:, None]).multiply(root))
    F = Y
    for step in range(n_steps):
        if sparse.issparse(Y):
            F = sparse.csr_array(
                sparse.vstack(
                    [
                        _leading(alpha * (S[block] @ F) + (1 - alpha) * Y[block])
                        for block in blocks(len(root), 12 * _KEPT_WORDS * _KEPT_WORDS)
                    ]
                )
            )
        else:
            F = alpha * (S @ F) + (1 - alpha) * Y
        tell(step + 1, n_steps)
    return F


def _leading(scores: Any) -> sparse.csr_array:
    """The likeliest words of each row, ties to the lower word id."""
    table = sparse.csr_array(scores)
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    order = np.lexsort((table.indices, -table.data, row))
    kept = np.sort(order[np.arange(len(row)) - table.indptr[row] < _KEPT_WORDS])
    ends = np.append(0, np.cumsum(np.bincount(row[kept], minlength=table.shape[0])))
    return sparse.csr_array((table.data[kept], table.indices[kept], ends), shape=table.shape)


def _degrees(links: sparse.csr_array) -> np.ndarray:
    """(D,); 1 for an image without links."""
    degrees = np.asarray(links.sum(axis=1)).ravel()
    return np.where(degrees > 0, degrees, 1.0)


def _matrix(near: Neighbours, n_images: int) -> sparse.csr_array:
    n, Z = near.rows.shape
    return sparse.csr_array(
        (np.maximum(near.cosines, 0).ravel(), near.rows.ravel(), np.arange(0, n * Z + 1, Z)),
        shape=(n, n_images),
    )


@dataclass(eq=False, repr=False)
class LabelSpreading(OneView):
    """Captions spread over the graph of all images; untagged images carry them on.

    Parameters
    ----------
    n_neighbours : links that every image begins
    alpha : share of an image's scores that comes from its neighbours, below 1
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "label-spreading"

    n_neighbours: int = 30
    _: KW_ONLY
    alpha: float = 0.9

    def _check_params(self) -> None:
        super()._check_params()
        self._check_whole("n_neighbours")
        self._require("alpha", 0 <= self.alpha < 1, "be at least 0 and below 1")

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        if len(corpus) > _MOST_NODES:
            order = np.random.default_rng(0).permutation(len(corpus))
            order = order[np.argsort(~corpus.tagged[order], kind="stable")]
            corpus = corpus[np.sort(order[:_MOST_NODES])]
        rows = getattr(corpus, self.view)
        self.scaling_ = scaling_of(rows)
        self.rows_ = self.scaling_(rows)
        few = len(corpus) * corpus.n_words <= _MANY
        Y = corpus.captions.toarray() if few else sparse.csr_array(corpus.captions)
        if len(corpus) < 2:
            self.root_degree_, self.spread_ = np.ones(1), Y
            return "one image: nothing to spread"
        near = others_only(nearest(self.rows_, self.rows_, self.n_neighbours + 1))
        links = _matrix(near, len(corpus))
        links = sparse.csr_array(links.maximum(links.T))
        self.root_degree_ = np.sqrt(_degrees(links))
        self.spread_ = spread(links, Y, self.alpha, tell=tell)
        return f"{N_STEPS} steps over {links.nnz // 2} links of {len(corpus)} images"

    def _scores(self, corpus: Corpus) -> np.ndarray:
        near = nearest(self.scaling_(getattr(corpus, self.view)), self.rows_, self.n_neighbours)
        links = _matrix(near, len(self.rows_)).multiply(1 / self.root_degree_)
        scores = sparse.csr_array(links) @ self.spread_
        return scores.toarray() if sparse.issparse(scores) else scores

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {"centre": self.scaling_.centre, "weight": self.scaling_.weight, "rows": self.rows_}
        if sparse.issparse(self.spread_):
            arrays |= captions_state(self.spread_)
        else:
            arrays["spread"] = self.spread_
        return {**arrays, "root_degree": self.root_degree_}, {}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.scaling_ = Scaling(arrays["centre"], arrays["weight"])
        self.rows_, self.root_degree_ = arrays["rows"], arrays["root_degree"]
        self.spread_ = arrays["spread"] if "spread" in arrays else captions_from(arrays, len(self.p_w_))
