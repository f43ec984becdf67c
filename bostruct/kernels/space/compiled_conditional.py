"""The loops of the factor of numbers that not every point has, compiled: one pass over pairs of points.

With a = sqrt(5) |x - y| / lengthscale, the kernel of a number between two points that have it is c^2 + (1 - c^2) p(a)
exp(-a), p(a) = 1 + a + a^2 / 3. It is c where one of them has it, and 1 where none has. exp(-a) is a quotient of two
exponentials, one a point, so that a pair takes none.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from bostruct.contracts import Array
from bostruct.kernels.space.compiled import REASSOCIATED

LARGEST_EXPONENT = 700.0  # of an exponential; doubles end at 709


@njit(cache=True, nogil=True, error_model="numpy")
def multiply(
    xs: Array,
    x_has: npt.NDArray[np.bool_],
    ys: Array,
    y_has: Array,
    rates: Array,
    c: Array,
    is_same: bool,
    product: Array,
) -> None:
    """Overwrite `product` by the product of the kernels of numbers that not every point has, for each pair.

    xs, ys: shares of n and m points (k, n), (k, m); any within 0 to 1 where a point lacks the number.
    x_has, y_has: which points have each number (k, n), and 1.0 or 0.0 for the same (k, m).
    rates: sqrt(5) over the lengthscale of each number (k,).
    c: of each number (k,).
    is_same: True where ys are xs.
    product: (n, m).
    """
    product[:] = 1.0
    m = ys.shape[1]
    fade = np.empty(m)
    for k in range(len(rates)):
        rate, others = rates[k], ys[k]
        ups, downs = _grow(others, rate)
        alone = 1.0 - (1.0 - c[k]) * y_has[k]  # 1 where neither point has it, c where y has it
        high = (1.0 - c[k] ** 2) * y_has[k]
        low = c[k] - c[k] * (1.0 - c[k]) * y_has[k]  # c^2 where both have it, c where x has it
        for i in range(xs.shape[1]):
            row, end, x = product[i], i if is_same else m, xs[k, i]
            if not x_has[k, i]:
                for j in range(end):
                    row[j] *= alone[j]
                continue
            _fade(x, others, ups, downs, rate, fade[:end])
            for j in range(end):
                a = abs(x - others[j]) * rate
                row[j] *= low[j] + high[j] * (fade[j] * (1.0 + a * (1.0 + a * (1.0 / 3.0))))
    if is_same:
        for i in range(len(product)):
            for j in range(i):
                product[j, i] = product[i, j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def sum_slopes(
    xs: Array,
    x_has: npt.NDArray[np.bool_],
    ys: Array,
    y_has: Array,
    rates: Array,
    c: Array,
    is_same: bool,
    weighted: Array,
    slopes: Array,
    losses: Array,
) -> None:
    """Sum over the pairs of points that both have a number, whose kernel there is k = c^2 + (1 - c^2) p(a) exp(-a).

    xs, ys, x_has, y_has, rates, c: as of `multiply`.
    is_same: True where ys are xs, and `weighted` is symmetric.
    weighted: (n, m).
    slopes: overwritten by the sum of weight times the derivative of log k in the log lengthscale (k,).
    losses: overwritten by the sum of weight times (1 - k) / k (k,).
    """
    m = ys.shape[1]
    fade = np.empty(m)
    for k in range(len(rates)):
        rate, others, has = rates[k], ys[k], y_has[k]
        low, high, slope, loss = c[k] ** 2, 1.0 - c[k] ** 2, 0.0, 0.0
        ups, downs = _grow(others, rate)
        for i in range(xs.shape[1]):
            if not x_has[k, i]:
                continue
            x, weights, end = xs[k, i], weighted[i], i if is_same else m
            _fade(x, others, ups, downs, rate, fade[:end])
            for j in range(end):
                a = abs(x - others[j]) * rate
                square = a * a * (1.0 / 3.0)
                kernel = low + high * (fade[j] * (1.0 + a + square))
                relative = weights[j] * has[j] / kernel
                slope += relative * (square * (1.0 + a) * fade[j])
                loss += relative * (1.0 - kernel)
        pairs = 2.0 if is_same else 1.0
        slopes[k], losses[k] = pairs * high * slope, pairs * loss


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def pull_shares(
    xs: Array,
    x_has: npt.NDArray[np.bool_],
    ys: Array,
    y_has: Array,
    rates: Array,
    c: Array,
    weighted: Array,
    out: Array,
) -> None:
    """Overwrite `out` by the sum over y of weight times the derivative of log K in x, for each x and number.

    xs, ys, x_has, y_has, rates, c: as of `multiply`.
    weighted: (n, m).
    out: (n, k), 0 in numbers that a point lacks.
    """
    fade = np.empty(ys.shape[1])
    for k in range(len(rates)):
        rate, others, has = rates[k], ys[k], y_has[k]
        low, high = c[k] ** 2, 1.0 - c[k] ** 2
        ups, downs = _grow(others, rate)
        for i in range(xs.shape[1]):
            x, weights, total = xs[k, i], weighted[i], 0.0
            if x_has[k, i]:
                _fade(x, others, ups, downs, rate, fade)
                for j in range(ys.shape[1]):
                    far = (x - others[j]) * rate
                    a = abs(far)
                    kernel = low + high * (fade[j] * (1.0 + a * (1.0 + a * (1.0 / 3.0))))
                    total += weights[j] * has[j] * (far * (1.0 + a) * fade[j]) / kernel
            out[i, k] = -rate * high * total / 3.0


@njit(inline="always")
def _grow(shares: Array, rate: float) -> tuple[Array, Array]:
    """Return exp(rate * share) and its inverse (m,), or what must not be read where it would overflow."""
    ups = np.exp(min(rate, LARGEST_EXPONENT) * shares)
    return ups, 1.0 / ups


@njit(inline="always")
def _fade(x: float, others: Array, ups: Array, downs: Array, rate: float, out: Array) -> None:
    """Overwrite `out` by exp(-a) of one x and the first ys: the lower of two quotients, where none overflows."""
    if rate <= LARGEST_EXPONENT:
        up = math.exp(rate * x)
        down = 1.0 / up
        for j in range(len(out)):
            out[j] = min(up * downs[j], down * ups[j])
    else:
        for j in range(len(out)):
            out[j] = math.exp(-abs(x - others[j]) * rate)
