"""Linear algebra of Gaussian processes: factors with explicit jitter, the evidence, the posterior.

One Gram matrix stands for the covariance S = amplitude (K + ratio I), ratio = nugget + noise / amplitude, so that
neither amplitude nor noise costs a pass over K. Where the noise of values differs, the ratio is one for each (n,).
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
UNBLOCKED = 64  # rows of a triangle that LAPACK inverts as fast as blocks do
LARGEST_EXPONENT = 700.0  # whose exponential float64 holds
LOG_2_PI = math.log(2.0 * math.pi)


class CholeskyFactor(NamedTuple):
    """A lower Cholesky factor and the jitter that it took.

    lower: (n, n), above whose diagonal is rubbish.
    jitter: added to the diagonal, 0 if none was needed.
    """

    lower: Array
    jitter: float


class Evidence(NamedTuple):
    """The evidence log N(residual; 0, S), and the terms that it is made of.

    quadratic: residual' (K + ratio I)^-1 residual.
    jitter: added to the diagonal of K, 0 if none was needed.
    """

    log_density: float
    log_determinant: float
    quadratic: float
    jitter: float


def cholesky(build: Callable[[], Array], ratio: float | Array) -> CholeskyFactor:
    """Factor K + ratio I, with jitter if it takes some.

    Jitter climbs the ladder; raises NumericalError, with the smallest eigenvalue, if the ladder ends.

    build: makes K (n, n), an array that may be overwritten, anew for each try.
    ratio: added to the diagonal, at least 0; a number, or (n,).
    """
    scale, least = 1.0, ratio if isinstance(ratio, float) else float(np.min(ratio))  # much noise needs no jitter
    for step in JITTER_LADDER:
        matrix = build()
        if step:
            scale = float(np.mean(matrix.diagonal())) + least
        add_to_diagonal(matrix, ratio + step * scale)
        # lower, not cleaned, in place; symmetric: its transpose is LAPACK's
        lower, failed = scipy.linalg.lapack.dpotrf(matrix.T, 1, 0, 1)
        if not failed and lower[-1, -1] < math.inf:  # OpenBLAS lets entries that are no numbers through, down to here
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
    """Add a number, or one for each row, to the diagonal of a matrix in place, and return the matrix.

    matrix: (n, n), in any memory order; einsum's view is the slower to come by.
    amount: to add, a number or (n,).
    """
    diagonal = matrix.ravel()[:: len(matrix) + 1] if matrix.flags.c_contiguous else np.einsum("ii->i", matrix)
    diagonal += amount
    return matrix


def log_determinant(lower: Array) -> float:
    """Return the log determinant of a matrix from its Cholesky factor.

    lower: (n, n), of which only the diagonal counts.
    """
    return 2.0 * float(np.log(lower.diagonal()).dot(_ones(len(lower))))  # quicker than a sum of few


@lru_cache(maxsize=4)
def _ones(n: int) -> Array:
    return np.ones(n)


@lru_cache(maxsize=4)
def _below_diagonal(n: int) -> npt.NDArray[np.bool_]:
    return np.tri(n, k=-1, dtype=bool)


def solve_lower(lower: Array, right: Array) -> Array:
    """Return L^-1 right.

    lower: L (n, n); what is above its diagonal is ignored.
    right: (n,) or (n, m).
    """
    return scipy.linalg.lapack.dtrtrs(lower, right, 1)[0]


def inverse_lower(lower: Array) -> Array:
    """Return L^-1, with zeros above its diagonal (n, n).

    lower: L (n, n); what is above its diagonal is ignored.
    """
    inverse = _invert_in_blocks(lower)
    inverse.T[_below_diagonal(len(inverse))] = 0.0  # a view in C's order: LAPACK's triangles are in Fortran's
    return inverse


def inverse_from_cholesky(lower: Array) -> Array:
    """Return (L L')^-1, symmetric (n, n), an array in C's order.

    lower: L (n, n); what is above its diagonal is ignored.
    """
    half = scipy.linalg.lapack.dlauum(_invert_in_blocks(lower), lower=1, overwrite_c=1)[0]  # L^-1, then L^-T L^-1
    inverse = np.ascontiguousarray(half.T)  # a view, where LAPACK answers in its own order
    np.copyto(inverse, inverse.T, where=_below_diagonal(len(inverse)))
    return inverse


def _invert_in_blocks(lower: Array) -> Array:
    """Return L^-1 (n, n), above whose diagonal is rubbish: products of blocks take two thirds of LAPACK's time."""
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

    build: makes K (n, n), an array that may be overwritten, anew for each try.
    residual: values less the mean (n,).
    log_amplitude: of the variance.
    ratio: of the diagonal added to K, in units of the amplitude; a number, or (n,).

    Raises NumericalError. Source: Rasmussen and Williams 2006, (2.30).
    """
    lower, jitter = cholesky(build, ratio)
    white = solve_lower(lower, residual)
    quadratic = float(white.dot(white))
    determinant = log_determinant(lower)
    return Evidence(evidence_from(determinant, quadratic, len(residual), log_amplitude), determinant, quadratic, jitter)


def evidence_from(determinant: float, quadratic: float, n: int, log_amplitude: float) -> float:
    """Return the log density of n residuals under S = exp(log_amplitude) (K + ratio I), from its two costly terms.

    determinant: log |K + ratio I|.
    quadratic: residual' (K + ratio I)^-1 residual.
    n: number of residuals.
    log_amplitude: of the variance.

    Source: Rasmussen and Williams 2006, (2.30).
    """
    if log_amplitude < -LARGEST_EXPONENT:
        return -math.inf
    return -0.5 * (quadratic * math.exp(-log_amplitude) + determinant + n * (log_amplitude + LOG_2_PI))
