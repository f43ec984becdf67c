"""Linear algebra of Gaussian processes: factors with explicit jitter, the evidence, the posterior.

The covariance is S = amplitude (K + ratio I) with ratio = nugget + noise / amplitude, so that neither amplitude nor
noise costs a pass over K. If the noise differs between values, the ratio is an array (n,).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.contracts import Array, NumericalError

JITTER_LADDER = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # shares of the mean diagonal; the last is the bound
UNBLOCKED = 64  # rows of a triangle up to which LAPACK is as fast as inversion in blocks
LARGEST_EXPONENT = 700.0  # its exponential is finite in float64
LOG_2_PI = math.log(2.0 * math.pi)


class CholeskyFactor(NamedTuple):
    """A lower Cholesky factor and the jitter that it needed.

    lower: the factor (n, n), with arbitrary entries above its diagonal.
    jitter: number added to the diagonal, 0 if none was needed.
    """

    lower: Array
    jitter: float


class Evidence(NamedTuple):
    """The evidence log N(residual; 0, S), and its terms.

    quadratic: residual' (K + ratio I)^-1 residual.
    jitter: number added to the diagonal of K, 0 if none was needed.
    """

    log_density: float
    log_determinant: float
    quadratic: float
    jitter: float


def cholesky(build: Callable[[], Array], ratio: float | Array) -> CholeskyFactor:
    """Factor K + ratio I, with jitter if necessary.

    The jitter increases along `JITTER_LADDER`. Raises NumericalError, with the smallest eigenvalue, if all steps fail.

    build: () -> K (n, n), a new array for each try, which may be overwritten.
    ratio: a number, or an array (n,), to add to the diagonal, at least 0.
    """
    scale, least = 1.0, ratio if isinstance(ratio, float) else float(np.min(ratio))  # much noise needs no jitter
    for step in JITTER_LADDER:
        matrix = build()
        if step:
            scale = float(np.mean(matrix.diagonal())) + least
        add_to_diagonal(matrix, ratio + step * scale)
        # lower, not cleaned, in place; symmetric: its transpose is LAPACK's
        lower, failed = scipy.linalg.lapack.dpotrf(matrix.T, 1, 0, 1)
        if not failed and lower[-1, -1] < math.inf:  # OpenBLAS lets NaN and infinity spread to this entry
            return CholeskyFactor(lower, step * scale)
    matrix = build()
    if not np.all(np.isfinite(matrix)):
        raise NumericalError(f"the Gram matrix of {len(matrix)} points has entries that are not finite")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    raise NumericalError(
        f"K + {least:.3g} I of {len(matrix)} points is not positive definite with jitter up to "
        f"{JITTER_LADDER[-1] * scale:.3g}: trace {np.trace(matrix):.3g}, smallest eigenvalue of K {smallest:.3g}"
    )


def add_to_diagonal(matrix: Array, amount: float | Array) -> Array:
    """Add a number, or one number per row, to the diagonal of a matrix in place, and return the matrix.

    matrix: the matrix (n, n), in any memory order; the view of einsum takes longer to create.
    amount: a number or an array (n,).
    """
    diagonal = matrix.ravel()[:: len(matrix) + 1] if matrix.flags.c_contiguous else np.einsum("ii->i", matrix)
    diagonal += amount
    return matrix


def log_determinant(lower: Array) -> float:
    """Return the log determinant of a matrix from its Cholesky factor.

    lower: the factor (n, n), of which only the diagonal is used.
    """
    return 2.0 * float(np.log(lower.diagonal()).dot(_ones(len(lower))))  # faster than a sum of a few numbers


@lru_cache(maxsize=4)
def _ones(n: int) -> Array:
    return np.ones(n)


@lru_cache(maxsize=4)
def _below_diagonal(n: int) -> npt.NDArray[np.bool_]:
    return np.tri(n, k=-1, dtype=bool)


def solve_lower(lower: Array, right: Array) -> Array:
    """Return L^-1 right.

    lower: L (n, n); entries above its diagonal are ignored.
    right: (n,) or (n, m).
    """
    return scipy.linalg.lapack.dtrtrs(lower, right, 1)[0]


def inverse_lower(lower: Array) -> Array:
    """Return L^-1, with zeros above its diagonal (n, n).

    lower: L (n, n); entries above its diagonal are ignored.
    """
    inverse = _invert_in_blocks(lower)
    inverse.T[_below_diagonal(len(inverse))] = 0.0  # a view in C's order: LAPACK's triangles are in Fortran's
    return inverse


def inverse_from_cholesky(lower: Array) -> Array:
    """Return (L L')^-1, symmetric (n, n), an array in C's order.

    lower: L (n, n); entries above its diagonal are ignored.
    """
    half = scipy.linalg.lapack.dlauum(_invert_in_blocks(lower), lower=1, overwrite_c=1)[0]  # L^-1, then L^-T L^-1
    inverse = np.ascontiguousarray(half.T)  # a view, if LAPACK returns Fortran's order
    np.copyto(inverse, inverse.T, where=_below_diagonal(len(inverse)))
    return inverse


def _invert_in_blocks(lower: Array) -> Array:
    """Return L^-1 (n, n), arbitrary above its diagonal; products of blocks take two thirds of LAPACK's time."""
    n, k = len(lower), len(lower) // 2
    if n <= UNBLOCKED:
        return scipy.linalg.lapack.dtrtri(lower, lower=1)[0]
    first, second = _invert_in_blocks(lower[:k, :k]), _invert_in_blocks(lower[k:, k:])
    inverse = np.empty((n, n), order="F")
    inverse[:k, :k], inverse[k:, k:] = first, second
    between = scipy.linalg.blas.dtrmm(-1.0, second, lower[k:, :k], lower=1)
    inverse[k:, :k] = scipy.linalg.blas.dtrmm(1.0, first, between, side=1, lower=1, overwrite_b=1)
    return inverse


def evidence(build: Callable[[], Array], residual: Array, log_amplitude: float, ratio: float | Array) -> Evidence:
    """Return the log density of residuals under S = exp(log_amplitude) (K + ratio I).

    build: () -> K (n, n), a new array for each try, which may be overwritten.
    residual: values less the mean (n,).
    log_amplitude: log of the amplitude, a variance.
    ratio: a number, or an array (n,), to add to the diagonal of K, in units of the amplitude.

    Raises NumericalError. Source: Rasmussen and Williams 2006, (2.30).
    """
    lower, jitter = cholesky(build, ratio)
    white = solve_lower(lower, residual)
    quadratic = float(white.dot(white))
    determinant = log_determinant(lower)
    return Evidence(evidence_from(determinant, quadratic, len(residual), log_amplitude), determinant, quadratic, jitter)


def evidence_from(determinant: float, quadratic: float, n: int, log_amplitude: float) -> float:
    """Return the log density of n residuals under S = exp(log_amplitude) (K + ratio I), given its two costly terms.

    determinant: log |K + ratio I|.
    quadratic: residual' (K + ratio I)^-1 residual.
    n: number of residuals.
    log_amplitude: log of the amplitude, a variance.

    Source: Rasmussen and Williams 2006, (2.30).
    """
    if log_amplitude < -LARGEST_EXPONENT:
        return -math.inf
    return -0.5 * (quadratic * math.exp(-log_amplitude) + determinant + n * (log_amplitude + LOG_2_PI))
