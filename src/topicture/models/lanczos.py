"""The leading eigenpairs of a large centred kernel matrix: block Lanczos iteration with full orthogonalisation.

The basis grows by blocks of more vectors than eigenpairs are wanted, so that an eigenvalue of any multiplicity is found
with all the pairs that count, and the work is products of large matrices. Iteration stops when every wanted pair
(lambda, v) has |A v - lambda v| <= 1e-10 lambda_1.
"""

import numpy as np
from scipy import sparse

__all__ = ["RESIDUAL_TOL", "leading_eigenpairs"]

RESIDUAL_TOL = 1e-10
_N_SPARE = 8  # vectors of a block beyond the wanted pairs
_MOST_BLOCKS = 14
# With fewer blocks the pairs never are good enough, and looking costs a decomposition.
_FIRST_LOOK = 5
# A direction of which orthogonalisation leaves less than this share is rounding. A pass suffices where there is none.
_CLEAN, _MOST_PASSES = 0.5, 4


def leading_eigenpairs(
    K: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues of HKH, descending, and eigenvectors (N, k); None if they did not settle.

    K (N, N) is symmetric and positive semi-definite, H = I - 11'/N; neither HKH nor a copy of K is made.
    """
    N, size = len(K), k + _N_SPARE
    if size * _FIRST_LOOK > N:
        return None
    n_blocks = min(_MOST_BLOCKS, N // size)
    basis = np.empty((n_blocks * size, N))  # rows are the orthonormal vectors
    projected = np.zeros((len(basis), len(basis)))  # HKH in the basis
    block = _orthonormal(_sketch(K, size, rng), basis[:0], rng)[0]
    for n in range(n_blocks):
        old, end = n * size, (n + 1) * size
        basis[old:end] = block.T
        image = _centred(K @ block)
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


def _sketch(K: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """K S (N, size) for a random S with one sign a row: sums of columns, a product with K for next to nothing."""
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
    Q, R = np.linalg.qr(_centred(block))
    for _ in range(_MOST_PASSES):
        Q = _centred(Q - basis.T @ (basis @ Q))
        Q, again = np.linalg.qr(Q)
        R = again @ R
        lost = np.abs(np.diag(again)) < _CLEAN
        if not lost.any():
            break
        Q[:, lost] = rng.standard_normal((len(Q), lost.sum())) / np.sqrt(len(Q))
    return Q, R


def _centred(x: np.ndarray) -> np.ndarray:
    """H x, in place."""
    x -= x.mean(axis=0)
    return x
