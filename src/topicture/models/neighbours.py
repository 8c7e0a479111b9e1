r"""Soft inference: words of an image from the tagged images nearest to it in a latent space (docs/models.md 3.13).

P(w) proportional to sum over the Z nearest of [cos_j]_+ w_j; where no neighbour has a positive cosine and a word, P is
the empirical distribution. A cosine with a vector of length 0 is 0. Neighbours are ranked by cosine rounded to 12
decimals, ties to the lower index (2.7).

Up to a million images the search is exact. Beyond, and where all products would take too long, faiss keeps compressed
vectors in lists on disk [jegou2011product]: the lists nearest to a query give candidates, ranked by their true cosines.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.elsewhere import engine_elsewhere
from topicture.extras import has_module
from topicture.models.searching.elsewhere import find_elsewhere
from topicture.models.searching.lists import by_faiss, by_lists, n_candidates
from topicture.models.searching.products import (
    DECIMALS,
    Find,
    by_double_precision,
    by_single_precision,
    by_sparse_products,
    mostly_zeros,
)
from topicture.models.searching.rows import MANY_ROWS, blocks, comparable, unit_rows

__all__ = [
    "EXACT_ROWS",
    "Neighbours",
    "blocks",
    "caption_log_likelihood",
    "log_likelihood_of_captions",
    "nearest",
    "plan_of",
    "ranked_images",
    "shares_of",
    "soft_inference",
    "unit_rows",
    "votes_of",
]

# From this many cosines on, products in single precision find the candidates.
_MANY = 100_000_000
# Cosines that are held at a time; memory of more than 32 MB comes fresh from the system each time, which takes longer
# than to fill it. So many queries at least make full use of a product of matrices.
_COSINE_BYTES = 16 << 20
_FULL_PRODUCT = 64
_CANDIDATE_BYTES = 64 << 20
# More rows, or more multiplications (some ten minutes of one core), and lists on disk give candidates.
EXACT_ROWS = 1_000_000
_EXACT_PRODUCTS = 2e13
# In captions' likelihoods so much of the mass is the empirical distribution: no word has probability 0.
_BACKGROUND = 0.1
# Fewer cosines are found sooner than sent.
_SHARED = 1 << 28

_FINDERS: dict[str, Callable[[np.ndarray, int], Find]] = {
    "exact": by_double_precision,
    "single": by_single_precision,
    "sparse": by_sparse_products,
    "faiss": by_faiss,
    "lists": by_lists,
}


class Neighbours(NamedTuple):
    """Nearest training images of D queries, best first; fewer than Z where there are fewer images."""

    rows: np.ndarray  # (D, Z) int
    cosines: np.ndarray  # (D, Z)


def nearest(queries: np.ndarray, features: np.ndarray, n: int, search: str = "auto") -> Neighbours:
    """The n rows of features (N, K) with the largest cosine for every query (D, K).

    `search` is "exact", "single" (candidates by products in float32, their order in float64), "sparse" (products of
    what is not 0), "faiss" (as "single", by faiss), "lists" (compressed, on disk; nearly all of the nearest) or "auto"
    (see `plan_of`; "sparse" for many rows that are mostly 0). All but lists give the same rows.
    """
    same = queries is features
    features = comparable(features)
    queries = features if same else comparable(queries)
    n = min(n, len(features))
    if search == "auto":
        search = plan_of(len(queries), *features.shape)
        if len(features) >= MANY_ROWS and mostly_zeros(features):
            search = "sparse"
        elif search == "lists" and not (n_candidates(n) < len(features) and has_module("faiss")):
            search = "single"
    engine = engine_elsewhere()
    if engine is not None and (search == "lists" or len(queries) * len(features) < _SHARED):
        engine = None
    if engine is not None:
        search = "exact"  # the same rows, and no worker needs an index of its own
    rows = np.zeros((len(queries), n), np.int64)
    cosines = np.zeros((len(queries), n))
    find = _FINDERS[search](features, n)
    parts = list(blocks(len(queries), *_bytes_held(search, n, *features.shape)))
    found = (
        (find(np.asarray(queries[block], np.float64)) for block in parts)
        if engine is None
        else find_elsewhere(engine, _FINDERS[search], queries, features, n, parts)
    )
    for block, (best, how_near) in zip(parts, found, strict=True):
        rows[block], cosines[block] = best, how_near
    return Neighbours(rows, cosines)


def _bytes_held(search: str, n: int, n_rows: int, n_columns: int) -> tuple[int, int]:
    """For a query, and in all."""
    if search in ("faiss", "lists"):  # faiss cuts its work itself; what is held are the candidates' rows
        return 8 * n_candidates(n) * n_columns, _CANDIDATE_BYTES
    one = min(4 * n_rows, _COSINE_BYTES // _FULL_PRODUCT) if search == "single" else 8 * n_rows
    return one, _COSINE_BYTES


def plan_of(n_queries: int, n_rows: int, n_columns: int) -> str:
    """How "auto" searches: "exact", "single" (exact, too) or "lists"."""
    products = float(n_queries) * n_rows * n_columns
    if n_rows > EXACT_ROWS or (products > _EXACT_PRODUCTS and n_rows > MANY_ROWS):
        return "lists"
    return "single" if n_queries * n_rows >= _MANY or n_rows >= MANY_ROWS else "exact"


def soft_inference(
    near: Neighbours, captions: sparse.csr_array, empirical: np.ndarray, n: int | None = None
) -> np.ndarray:
    """P(w) for every query, (D, V), from its n nearest (all that were found if None)."""
    return shares_of(votes_of(near, captions, n), empirical)


def votes_of(near: Neighbours, captions: sparse.csr_array, n: int | None = None) -> np.ndarray:
    """Sums of the captions (N, V) of the n nearest, by their cosines, (D, V)."""
    rows, weights = near.rows[:, :n], np.maximum(near.cosines[:, :n], 0.0)
    D, Z = rows.shape
    links = sparse.csr_array(
        (weights.ravel(), rows.ravel(), np.arange(0, D * Z + 1, Z)), shape=(D, captions.shape[0])
    )
    return (links @ captions).toarray()


def shares_of(mass: np.ndarray, empirical: np.ndarray) -> np.ndarray:
    """Votes (D, V) as distributions; the empirical one (V,) where there is no vote."""
    totals = mass.sum(axis=1, keepdims=True)
    return np.where(totals > 0, mass / np.where(totals > 0, totals, 1.0), empirical)


def ranked_images(queries: np.ndarray, features: np.ndarray) -> np.ndarray:
    """All N rows of features by decreasing cosine, for every query, (D, N)."""
    cosines = np.round(unit_rows(queries) @ unit_rows(features).T, DECIMALS)
    return np.argsort(-cosines, axis=1, kind="stable")


def caption_log_likelihood(
    near: Neighbours, captions: sparse.csr_array, empirical: np.ndarray, truth: sparse.csr_array, n: int
) -> float:
    """Log-probability of the true captions (D, V) of the queries under soft inference from n neighbours."""
    return log_likelihood_of_captions(soft_inference(near, captions, empirical, n), empirical, truth)


def log_likelihood_of_captions(p_w: np.ndarray, empirical: np.ndarray, truth: sparse.csr_array) -> float:
    """Log-probability of the true captions (D, V) under given word probabilities (D, V).

    Probabilities are mixed with a tenth of the empirical distribution, so that a word that no neighbour has costs
    much, but not everything.
    """
    p = (1 - _BACKGROUND) * p_w + _BACKGROUND * empirical
    tokens = truth.tocoo()
    seen = p[tokens.coords[0], tokens.coords[1]]
    # A word that no training image has is as improbable under every setting.
    return float(tokens.data @ np.log(np.where(seen > 0, seen, 1.0)))
