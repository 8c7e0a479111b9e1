"""The leading eigenpairs of a large centred kernel matrix: block Lanczos iteration with full orthogonalisation.

The basis grows by blocks of more vectors than eigenpairs are wanted, so that an eigenvalue of any multiplicity is found
with all the pairs that count, and the work is products of large matrices. Iteration stops when every wanted pair
(lambda, v) has |A v - lambda v| <= 1e-10 lambda_1.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from topicture.threads import ForEach, side_by_side

__all__ = ["RESIDUAL_TOL", "leading_eigenpairs"]

RESIDUAL_TOL = 1e-10
_N_SPARE = 8  # vectors of a block beyond the wanted pairs
_MOST_BLOCKS = 14
# With fewer blocks the pairs never are good enough, and looking costs a decomposition.
_FIRST_LOOK = 5
# A direction of which orthogonalisation leaves less than this share is rounding. A pass suffices where there is none.
_CLEAN, _MOST_PASSES = 0.5, 4
# Columns that depend on each other more than this are orthogonalised by reflections, not by their products.
_DEPENDENT = 1e-5
_ROWS = 512  # of K in one product


def leading_eigenpairs(
    K: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues of HKH, descending, and eigenvectors (N, k); None if they did not settle.

    K (N, N) is symmetric and positive semi-definite, H = I - 11'/N; neither HKH nor a copy of K is made.
    """
    if (k + _N_SPARE) * _FIRST_LOOK > len(K):
        return None
    with side_by_side() as for_each:
        return _iterate(K, k, rng, for_each)


def _iterate(
    K: np.ndarray, k: int, rng: np.random.Generator, for_each: ForEach
) -> tuple[np.ndarray, np.ndarray] | None:
    N, size = len(K), k + _N_SPARE
    n_blocks = min(_MOST_BLOCKS, N // size)
    basis = np.empty((n_blocks * size, N))  # rows are the orthonormal vectors
    projected = np.zeros((len(basis), len(basis)))  # HKH in the basis
    block = _orthonormal(_sketch(K, size, rng), basis[:0], rng)[0]
    for n in range(n_blocks):
        old, end = n * size, (n + 1) * size
        basis[old:end] = block.T
        image = _centred(_product(K, block, for_each))
        coefficients = basis[:end] @ image
        projected[:end, old:end], projected[old:end, :end] = coefficients, coefficients.T
        image -= basis[:end].T @ coefficients
        block, remainder = _orthonormal(image, basis[:end], rng)
        if n + 1 < _FIRST_LOOK:
            continue
        values, rotation = np.linalg.eigh(projected[:end, :end])
        values, rotation = values[: -k - 1 : -1], rotation[:, : -k - 1 : -1]
        residuals = np.linalg.norm(remainder @ rotation[old:end], axis=0)
        if residuals.max() <= RESIDUAL_TOL * values[0]:
            return values, basis[:end].T @ rotation
    return None


def _product(K: np.ndarray, block: np.ndarray, for_each: ForEach) -> np.ndarray:
    product = np.empty((len(K), block.shape[1]))

    def fill(start: int) -> None:
        np.matmul(K[start : start + _ROWS], block, out=product[start : start + _ROWS])

    for_each(fill, range(0, len(K), _ROWS))
    return product


def _sketch(K: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """K S (N, size) for a random S with one sign per row: sums of columns, a product with K for next to nothing."""
    N = len(K)
    signs, columns = rng.choice([-1.0, 1.0], N), rng.integers(size, size=N)
    S = sparse.csr_array((signs, columns, np.arange(N + 1)), shape=(N, size))
    return (S.T.tocsr() @ K).T


def _orthonormal(
    block: np.ndarray, basis: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Q (N, b), orthonormal, centred, orthogonal to the basis (m, N), and R (b, b): the rest of the block is Q R.

    Where the block has nothing left but rounding (K of low rank), random directions take its place; R is 0 there.
    """
    Q, R = _qr(_centred(block))
    for _ in range(_MOST_PASSES):
        Q = _centred(Q - basis.T @ (basis @ Q))
        Q, again = _qr(Q)
        R = again @ R
        lost = np.abs(np.diag(again)) < _CLEAN
        if not lost.any():
            break
        Q[:, lost] = rng.standard_normal((len(Q), lost.sum())) / np.sqrt(len(Q))
    return Q, R


def _qr(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (N, b), orthonormal, and upper triangular R (b, b): block = Q R.

    By the Cholesky factor of the columns' products, twice (once leaves an error of the squared condition number):
    products of large matrices, where LAPACK's reflections go column by column and lose time with more threads.
    """
    Q, R = block, np.eye(block.shape[1])
    for _ in range(2):
        try:
            root = np.linalg.cholesky(Q.T @ Q).T
        except np.linalg.LinAlgError:
            return np.linalg.qr(block)
        lengths = np.diag(root)
        if lengths.min() < _DEPENDENT * lengths.max():
            return np.linalg.qr(block)
        Q, R = Q @ solve_triangular(root, np.eye(len(root))), root @ R
    return Q, R


def _centred(x: np.ndarray) -> np.ndarray:
    """H x, in place."""
    x -= x.mean(axis=0)
    return x
