r"""Similarity graphs of images, their Laplacian and smoothing [shao2009, shao2010]. Sections: docs/models.md 3.9.

Symbol -> code, shape:  S -> Graph.S D D sparse, symmetric, non-negative, zero diagonal | deg -> degree D
  L = diag(deg) - S -> laplacian | R -> roughness | p -> p D K, a distribution an image

R(p) = sum_k p_k' L p_k = 1/2 sum over ordered pairs S_ij |p_i - p_j|^2 = sum over unordered pairs S_ij |p_i - p_j|^2.
Differs from the papers: no self-loops (they would shrink the smoothing step); the word part of a weight may be left
out where an image of the pair is not tagged, since a missing caption is unknown and not empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.graphs.edges import nearest, shared_terms, squared_distances

__all__ = ["Graph", "GraphRule", "Views", "combine"]


# --- Values ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted graph whose nodes are images. Build it with `from_adjacency` or a `GraphRule`."""

    S: sparse.csr_array  # (D, D)

    @classmethod
    def from_adjacency(cls, matrix: Any, *, asymmetric: str = "refuse") -> "Graph":
        """A graph from any square matrix of weights, dense or sparse; self-loops are dropped.

        `asymmetric`: "refuse" such a matrix, or "mean" or "max" to make it symmetric. Raises CorpusError for what is
        no such matrix.
        """
        if asymmetric not in ("refuse", "mean", "max"):
            raise TopictureError(f"graph: asymmetric must be refuse, mean or max, not {asymmetric!r}")
        try:
            S = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        except (TypeError, ValueError):
            raise CorpusError("graph: the adjacency is not a matrix of numbers") from None
        if S.ndim != 2 or S.shape[0] != S.shape[1]:
            raise CorpusError(f"graph: the adjacency must be a square matrix, not of shape {S.shape}")
        if not np.isfinite(S.data).all():
            raise CorpusError("graph: a weight is not a finite number")
        if (S.data < 0).any():
            raise CorpusError("graph: a weight is negative")
        S.sum_duplicates()
        return cls(_symmetric(_without_loops(S), asymmetric))

    @property
    def n_nodes(self) -> int:
        return self.S.shape[0]

    @property
    def n_edges(self) -> int:
        """Number of unordered pairs."""
        return self.S.nnz // 2

    @cached_property
    def degree(self) -> np.ndarray:
        """deg_i, the sum of the weights at a node, (D,)."""
        return np.asarray(self.S.sum(axis=1)).ravel()

    @property
    def isolated(self) -> np.ndarray:
        """Which nodes have no edge, (D,)."""
        return self.degree == 0

    def components(self) -> np.ndarray:
        """The connected component of each node, (D,) from 0."""
        return connected_components(self.S, directed=False)[1]

    def laplacian(self) -> sparse.csr_array:
        """L = diag(deg) - S."""
        return sparse.csr_array(sparse.diags_array(self.degree) - self.S)

    def roughness(self, p: np.ndarray) -> float:
        """R(p) >= 0: how much neighbours differ; 0 when p is constant on every component."""
        return max(0.0, float(self.degree @ (p * p).sum(axis=1) - np.vdot(p, self.S @ p)))

    def smoother(self, gamma: float) -> sparse.csr_array:
        """The matrix M of the smoothing step p <- M p = (1 - g) p + g D^-1 S p; isolated nodes stay (3.9)."""
        if not 0 <= gamma <= 1:
            raise TopictureError(f"graph: the smoothing step gamma must lie in [0, 1], not {gamma!r}")
        linked = ~self.isolated
        share = np.divide(gamma, self.degree, out=np.zeros(self.n_nodes), where=linked)
        stay = sparse.diags_array(np.where(linked, 1 - gamma, 1.0))
        M = sparse.csr_array(sparse.diags_array(share) @ self.S + stay)
        M.sort_indices()
        return M

    def smooth(self, p: np.ndarray, gamma: float, steps: int = 1) -> np.ndarray:
        """p after this many simultaneous smoothing steps, (D, K); rows stay on the simplex."""
        M = self.smoother(gamma)
        for _ in range(steps):
            p = M @ p
        return p


class Views(NamedTuple):
    """What of some images a rule compares."""

    visual: Any  # (D, U) sparse counts or None
    words: Any  # (D, V) sparse counts or None: captions take no part
    descriptor: Any  # (D, L) or None

    @classmethod
    def of(cls, corpus: Corpus) -> "Views":
        return cls(corpus.visual_words, corpus.captions, corpus.descriptor)


@dataclass(frozen=True)
class GraphRule:
    """How to connect images.

    Parameters
    ----------
    kind : "threshold" (pairs that share enough terms) or "neighbours" (the nearest by cosine)
    min_visual, min_words : T_f and T_w, the number of shared visual words or of shared words that makes an edge; inf
        switches words off
    strict : more than T instead of at least T
    n_neighbours : number of neighbours of an image
    mutual : an edge only where each image is among the neighbours of the other
    features : what neighbours are found by, and weights computed from: "visual_words" or "descriptor"
    weighting : "binary" (1), "heat" (exp(-|F_i - F_j|^2 / sigma_visual - |W_i - W_j|^2 / sigma_words)) or "dot"
        (mu_visual F_i.F_j + mu_words W_i.W_j)
    words_of_untagged : count the word part of a weight also for pairs with an untagged image, as in print
    """

    kind: str = "threshold"
    min_visual: float = 3
    min_words: float = np.inf
    strict: bool = False
    n_neighbours: int = 15
    mutual: bool = False
    features: str = "visual_words"
    weighting: str = "binary"
    sigma_visual: float = 10.0
    sigma_words: float = 10.0
    mu_visual: float = 1.0
    mu_words: float = 1.0
    words_of_untagged: bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise TopictureError(
                    f"graph: {name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        for name in ("sigma_visual", "sigma_words"):
            if not getattr(self, name) > 0:
                raise TopictureError(f"graph: {name} must be positive, not {getattr(self, name)!r}")
        for name in ("min_visual", "min_words", "mu_visual", "mu_words"):
            if not getattr(self, name) >= 0:
                raise TopictureError(f"graph: {name} must not be negative, not {getattr(self, name)!r}")
        if not (isinstance(self.n_neighbours, int | np.integer) and self.n_neighbours >= 1):
            raise TopictureError(
                f"graph: n_neighbours must be a positive whole number, not {self.n_neighbours!r}"
            )

    def graph(self, images: Views) -> Graph:
        """The graph of these images."""
        edges = self._edges(images, images, same=True)
        if self.kind == "neighbours":
            edges = edges.minimum(edges.T) if self.mutual else edges.maximum(edges.T)
        edges = _without_loops(sparse.csr_array(edges))
        # Equal to rounding already; exactly equal after this.
        return Graph(_symmetric(self._weigh(edges, images, images), "mean"))

    def links(self, new: Views, known: Views) -> sparse.csr_array:
        """Weights (D_new, D_known) of the edges from new images, whose captions are not known, to known ones."""
        new = Views(new.visual, None, new.descriptor)
        return self._weigh(self._edges(new, known, same=False), new, known)

    def _edges(self, rows: Views, columns: Views, same: bool) -> sparse.csr_array:
        if self.kind == "neighbours":
            return nearest(self._features(rows), self._features(columns), self.n_neighbours, same=same)
        more = 1 if self.strict else 0
        edges = shared_terms(self._counts(rows), self._counts(columns), self.min_visual + more)
        if rows.words is not None and np.isfinite(self.min_words):
            edges = edges.maximum(shared_terms(rows.words, columns.words, self.min_words + more))
        return sparse.csr_array(edges)

    def _weigh(self, edges: sparse.csr_array, rows: Views, columns: Views) -> sparse.csr_array:
        """The same edges with their weights."""
        if self.weighting == "binary":
            return _with_data(edges, np.ones(edges.nnz))
        distance, dot = squared_distances(edges, self._features(rows), self._features(columns))
        word_distance = word_dot = np.zeros(edges.nnz)
        if rows.words is not None:
            word_distance, word_dot = squared_distances(edges, rows.words, columns.words)
            if not self.words_of_untagged:
                both = _both_tagged(edges, rows.words, columns.words)
                word_distance, word_dot = word_distance * both, word_dot * both
        if self.weighting == "heat":
            return _with_data(edges, np.exp(-distance / self.sigma_visual - word_distance / self.sigma_words))
        return _with_data(edges, np.maximum(0, self.mu_visual * dot + self.mu_words * word_dot))

    def _features(self, images: Views) -> Any:
        if self.features == "visual_words":
            return self._counts(images)
        if images.descriptor is None:
            raise CorpusError("graph: the corpus has no descriptor; give one, or compare visual words")
        return np.asarray(images.descriptor, np.float64)

    def _counts(self, images: Views) -> sparse.csr_array:
        if images.visual is None:
            raise CorpusError("graph: the corpus has no visual words; count them, or compare descriptors")
        return sparse.csr_array(images.visual)


_CHOICES = {
    "kind": ("threshold", "neighbours"),
    "features": ("visual_words", "descriptor"),
    "weighting": ("binary", "heat", "dot"),
}


def combine(graphs: Sequence[Graph], weights: Sequence[float] | None = None) -> Graph:
    """One graph from several of the same images (modalities, albums, authors): the weighted sum of their S."""
    if not graphs:
        raise TopictureError("graph: combine needs at least one graph")
    weights = [1.0] * len(graphs) if weights is None else list(weights)
    if len(weights) != len(graphs) or not all(weight >= 0 for weight in weights):
        raise TopictureError("graph: combine needs one non-negative weight a graph")
    if len({graph.n_nodes for graph in graphs}) > 1:
        raise CorpusError("graph: the graphs to combine have different numbers of images")
    S = sum((weight * graph.S for weight, graph in zip(weights, graphs, strict=True)), start=0 * graphs[0].S)
    S = sparse.csr_array(S)
    S.eliminate_zeros()
    return Graph(S)


# --- Matrices ----------------------------------------------------------------------------------------------------


def _without_loops(S: sparse.csr_array) -> sparse.csr_array:
    row = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    S.data[S.indices == row] = 0
    S.eliminate_zeros()
    return S


def _symmetric(S: sparse.csr_array, asymmetric: str) -> sparse.csr_array:
    transposed = sparse.csr_array(S.T)
    if asymmetric == "refuse" and S.nnz and abs(S - transposed).max() > 1e-12 * S.max():
        raise CorpusError(
            "graph: the adjacency is not symmetric; symmetrise it with asymmetric='mean' or 'max'"
        )
    S = S.maximum(transposed) if asymmetric == "max" else (S + transposed) / 2
    S = sparse.csr_array(S)
    S.sort_indices()
    return S


def _with_data(edges: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    S = sparse.csr_array((data, edges.indices, edges.indptr), shape=edges.shape)
    S.eliminate_zeros()
    return S


def _both_tagged(edges: sparse.csr_array, rows: Any, columns: Any) -> np.ndarray:
    """1.0 for every edge whose two images have a caption."""
    i = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    tagged = [np.asarray(words.sum(axis=1)).ravel() > 0 for words in (rows, columns)]
    return (tagged[0][i] & tagged[1][edges.indices]).astype(np.float64)
