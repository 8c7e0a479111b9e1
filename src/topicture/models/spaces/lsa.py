r"""Latent semantic analysis of words and pictures together, LSA1 and LSA2 [liu2005nlsa, monay2003latent].

Sections: docs/models.md (3.13). Tagged images are vectors x_n = (w_n ; v_n), rows of X here. The latent
space is spanned by the K leading right singular vectors of X, not centred; an image to annotate is (0 ; v_q).

LSA1, "propagation": walk all tagged images by decreasing cosine in the latent space and take their words.
LSA2, "soft": P(w) from the Z nearest (neighbours.py).

Symbol -> code, shape:  X -> joint D x (V + L) | V_K -> basis (V + L) x K | Z -> n_neighbours
Differs from the paper: K is cut to the numerical rank; words may be weighted against the visual part; this weight and Z
may be chosen by validation.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from topicture.corpus import Corpus
from topicture.models.neighbours import blocks, ranked_images
from topicture.models.spaces.latent_space import Joint, LatentSpace

__all__ = ["LSA", "Basis", "propagate", "singular_vectors", "words_in_order"]

RANK_TOL = 1e-10
# Up to this many columns the triangular factor of X is decomposed, which is exact; beyond, Lanczos iteration.
_MAX_DENSE = 4096

# --- Values -------------------------------------------------------------------------------------------------------


class Basis(NamedTuple):
    """Orthonormal directions of the latent space, split into the rows of words and those of the visual part."""

    words: np.ndarray  # (V, K)
    visual: np.ndarray  # (L, K)

    def project(self, joint: Joint) -> np.ndarray:
        """V_K' x, (D, K)."""
        return joint.words @ self.words + joint.visual @ self.visual


# --- Learn --------------------------------------------------------------------------------------------------------


def singular_vectors(
    joint: Joint, n_components: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Singular values, descending, and the leading right singular vectors V_K (M, K), K cut to the numerical rank.

    All singular values where X is narrow enough to be decomposed exactly, else the K leading ones.
    """
    if min(len(joint), joint.n_columns) <= _MAX_DENSE:
        values, rows = np.linalg.svd(_triangular_factor(joint), full_matrices=False)[1:]
    else:
        values, rows = _leading(joint, n_components, rng)
    rank = int((values > RANK_TOL * values[0]).sum())  # none if X is zero
    return values, np.ascontiguousarray(rows[: min(n_components, rank)].T)


def _triangular_factor(joint: Joint) -> np.ndarray:
    """R of X = QR, found block by block of rows; it has the singular values and right singular vectors of X."""
    R = np.zeros((0, joint.n_columns))
    for rows in blocks(len(joint), 8 * joint.n_columns):
        R = np.vstack([R, joint.at(rows)])
        if len(R) > joint.n_columns:
            R = np.asarray(np.linalg.qr(R, mode="r"))
    return R


def _leading(joint: Joint, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The k leading singular values and right singular vectors (k, M), X kept sparse where it is."""
    X = sparse.hstack([joint.words, sparse.csr_array(joint.visual)]).tocsr()
    start = rng.standard_normal(min(X.shape))
    directions = svds(X, k=min(k, min(X.shape) - 1), v0=start)[2]
    # Lanczos works on X'X and loses small singular values; those of X on the subspace are exact.
    values, rotation = np.linalg.svd(X @ directions.T, full_matrices=False)[1:]
    return values, rotation @ directions


# --- Use ----------------------------------------------------------------------------------------------------------


def words_in_order(captions: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every (image, word) with its place in the image's own order: count, corpus count (both down), index (up)."""
    entries = captions.tocoo()
    image, word = entries.coords
    corpus_count = np.asarray(captions.sum(axis=0)).ravel()
    order = np.lexsort((word, -corpus_count[word], -entries.data, image))
    image, word = image[order], word[order]
    first = np.searchsorted(image, image)
    return image, word, np.arange(len(image)) - first


def propagate(ranking: np.ndarray, captions: sparse.csr_array, n_words: int) -> np.ndarray:
    """Words (D, n_words) met on a walk through the images by `ranking` (D, N); -1 pads a short list (LSA1).

    A word's place is that of the first image that has it, then its place within that image.
    """
    image, word, place = words_in_order(captions)
    by_word = np.lexsort((place, word))
    image, word, place = image[by_word], word[by_word], place[by_word]
    present, start = np.unique(word, return_index=True)
    lists = np.full((len(ranking), n_words), -1)
    longest = int(place.max()) + 1
    for d, order in enumerate(ranking):
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        met = np.minimum.reduceat(position[image] * longest + place, start)
        found = present[np.argsort(met, kind="stable")][:n_words]
        lists[d, : len(found)] = found
    return lists


# --- Estimator: no mathematics ------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class LSA(LatentSpace):
    """Latent semantic analysis of captions and visual features; untagged images are not used in the fit.

    Parameters
    ----------
    n_components : number of latent components K; cut to the rank of the data
    inference : "soft" (LSA2: words of the nearest tagged images, weighted by cosine) or "propagation" (LSA1: a ranked
        list without probabilities; `annotate` then gives the word at rank r a probability proportional to 1/r)
    n_neighbours : Z of soft inference (3 as published), or "auto": chosen on a held-out fifth of the tagged images
    view : "descriptor" or "visual_words"
    word_weight : factor of the captions in the joint vectors (1 as published); "balanced": captions and visual parts
        get the same mean square length; "auto": that, or less of it, chosen on held-out tagged images
    search : "exact", "faiss" or "auto" neighbours
    seed : of the validation split
    """

    name = "lsa"

    _: KW_ONLY
    inference: str = "soft"

    def propagate(self, corpus: Corpus, n_words: int = 5) -> np.ndarray:
        """LSA1's ranked list: word indices (D, n_words), best first; -1 pads a list that ran out of words."""
        self._check_usable(corpus)
        return self._propagate(corpus, n_words)

    def _propagate(self, corpus: Corpus, n_words: int) -> np.ndarray:
        queries = self._project(corpus)
        lists = np.zeros((len(queries), n_words), np.int64)
        for rows in blocks(len(queries), 16 * len(self.features_)):
            lists[rows] = propagate(ranked_images(queries[rows], self.features_), self.captions_, n_words)
        return lists

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        if self.inference == "soft":
            return super()._annotate(corpus)
        lists = self._propagate(corpus, corpus.n_words)
        score = np.where(lists >= 0, 1 / np.arange(1, lists.shape[1] + 1), 0.0)
        p_w = np.zeros((len(lists), corpus.n_words + 1))
        np.put_along_axis(p_w, lists, score, axis=1)  # the padding's -1 falls on the extra column
        return p_w[:, :-1] / p_w[:, :-1].sum(axis=1, keepdims=True)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("inference", ("soft", "propagation"))

    def _choose_n_neighbours(self, corpus: Corpus, rng: np.random.Generator) -> int:
        return 1 if self.inference == "propagation" else super()._choose_n_neighbours(corpus, rng)

    def _learn(self, joint: Joint, rng: np.random.Generator) -> tuple[Basis, np.ndarray, str]:
        basis = singular_vectors(joint, self.n_components, rng)[1]
        V = joint.words.shape[1]
        space = Basis(np.ascontiguousarray(basis[:V]), np.ascontiguousarray(basis[V:]))
        return space, space.project(joint), f"decomposed: {basis.shape[1]} components, no iterations needed"

    def _space_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return self.space_._asdict(), {}

    def _restore_space(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Basis:
        return Basis(arrays["words"], arrays["visual"])
