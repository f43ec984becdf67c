"""Compiled loops for numbers: one pass over pairs of points for the Matern factor, main effects and conditions.

With a = sqrt(5) |x - y| / lengthscale, a variable's kernel is p(a) exp(-a), p(a) = 1 + a + a^2 / 3. For several
variables the p are multiplied and the a are added up, so that each pair of points needs one logarithm instead of one
per variable.

The kernel of a number that some points lack is c^2 + (1 - c^2) p(a) exp(-a) if both points have it, c if one point has
it, and 1 if neither has. exp(-a) is a quotient of exponentials of single points, so that pairs need no exponential.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from bostruct.checks import announce_compilation
from bostruct.contracts import Array, IntArray

# error_model="numpy" omits the check of each division, which would prevent vectorization.
# Sums may be reordered; infinities and NaN keep their rules.
REASSOCIATED = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy")
def add_distances(xs: Array, ys: Array, rates: Array, is_same: bool, total: Array, product: Array) -> None:
    """Overwrite `total` with the sum of a over variables, and `product` with the product of p(a), for each pair.

    xs, ys: shares of n and m points (c, n), (c, m).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    is_same: True if ys are xs.
    total, product: (n, m).
    """
    c, n = xs.shape
    m = ys.shape[1]
    for i in range(n):
        end = i + 1 if is_same else m
        row, factors = total[i], product[i]
        for j in range(end):
            row[j] = 0.0
            factors[j] = 1.0
        for k in range(c):
            x, rate, others = xs[k, i], rates[k], ys[k]
            for j in range(end):
                a = abs(x - others[j]) * rate
                row[j] += a
                factors[j] *= 1.0 + a * (1.0 + a * (1.0 / 3.0))
    if is_same:
        for i in range(n):
            for j in range(i):
                total[j, i] = total[i, j]
                product[j, i] = product[i, j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def sum_slopes(xs: Array, ys: Array, rates: Array, is_same: bool, weighted: Array, out: Array) -> None:
    """Overwrite `out` with the sum over pairs of weight * d(log p(a) - a) / d(log lengthscale), for each variable (c,).

    xs, ys: shares of n and m points (c, n), (c, m).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    is_same: True if ys are xs, and `weighted` is symmetric.
    weighted: (n, m).
    """
    c, n = xs.shape
    m = ys.shape[1]
    for k in range(c):
        rate, others, total = rates[k], ys[k], 0.0
        for i in range(n):
            x, weights = xs[k, i], weighted[i]
            for j in range(i if is_same else m):
                a = abs(x - others[j]) * rate
                square = a * a * (1.0 / 3.0)
                total += weights[j] * (square * (1.0 + a) / (1.0 + a + square))
        out[k] = 2.0 * total if is_same else total


@njit(cache=True, nogil=True, error_model="numpy")
def compare_changes(
    which: IntArray, before: Array, after: Array, ys: Array, rates: Array, drop: Array, ratio: Array
) -> None:
    """Overwrite `drop` with a before minus a after each change, and `ratio` with p(a) after over p(a) before.

    ys: shares of m points (c, m).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    drop, ratio: (r, m).
    """
    for i in range(len(which)):
        k = which[i]
        old, new, rate, others = before[i], after[i], rates[k], ys[k]
        dropped, ratios = drop[i], ratio[i]
        for j in range(ys.shape[1]):
            a = abs(old - others[j]) * rate
            b = abs(new - others[j]) * rate
            dropped[j] = a - b
            ratios[j] = (1.0 + b * (1.0 + b * (1.0 / 3.0))) / (1.0 + a * (1.0 + a * (1.0 / 3.0)))


@njit(cache=True, nogil=True, error_model="numpy")
def add_effects(xs: Array, ys: Array, grown: Array, other: Array, rate: float, out: Array) -> None:
    """Add to `out` the sum over variables of p(a) exp(-a), for each pair.

    xs, ys: shares of n and m points (c, n), (c, m).
    grown, other: exp(rate * xs) (c, n), exp(rate * ys) (c, m): exp(-a) is the smaller of their two quotients.
    rate: sqrt(5) over the lengthscale, small enough that these do not overflow.
    out: (n, m).
    """
    c, n = xs.shape
    shrunk = 1.0 / other
    for i in range(n):
        row = out[i]
        for k in range(c):
            x, up, others, ups, downs = xs[k, i], grown[k, i], ys[k], other[k], shrunk[k]
            down = 1.0 / up
            for j in range(ys.shape[1]):
                a = abs(x - others[j]) * rate
                row[j] += min(up * downs[j], down * ups[j]) * (1.0 + a * (1.0 + a * (1.0 / 3.0)))


@njit(cache=True, nogil=True, error_model="numpy")
def change_effects(
    which: IntArray, before: Array, after: Array, ys: Array, other: Array, rate: float, out: Array
) -> None:
    """Overwrite `out` with p(a) exp(-a) after each change minus p(a) exp(-a) before it.

    ys: shares of m points (c, m).
    other: exp(rate * ys) (c, m).
    out: (r, m).
    """
    shrunk = 1.0 / other
    for i in range(len(which)):
        k, row = which[i], out[i]
        old, new, others, ups, downs = before[i], after[i], ys[k], other[k], shrunk[k]
        up, up_new = math.exp(rate * old), math.exp(rate * new)
        down, down_new = 1.0 / up, 1.0 / up_new
        for j in range(ys.shape[1]):
            a, b = abs(old - others[j]) * rate, abs(new - others[j]) * rate
            lost = min(up * downs[j], down * ups[j]) * (1.0 + a * (1.0 + a * (1.0 / 3.0)))
            row[j] = min(up_new * downs[j], down_new * ups[j]) * (1.0 + b * (1.0 + b * (1.0 / 3.0))) - lost


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def pull_shares(xs: Array, ys: Array, rates: Array, weighted: Array, out: Array) -> None:
    """Overwrite `out` with the sum over y of weight * d(log p(a) - a) / dx, for each x and variable.

    xs, ys: shares of m and n points (c, m), (c, n).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    weighted: (m, n).
    out: (m, c).
    """
    c, m = xs.shape
    for i in range(m):
        weights = weighted[i]
        for k in range(c):
            x, rate, others, total = xs[k, i], rates[k], ys[k], 0.0
            for j in range(ys.shape[1]):
                scaled = (x - others[j]) * rate
                a = abs(scaled)
                total += weights[j] * (scaled * (1.0 + a) / (3.0 + a * (3.0 + a)))
            out[i, k] = -rate * total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def pull_effects(xs: Array, ys: Array, rate: float, weighted: Array, out: Array) -> None:
    """Overwrite `out` with the sum over y of weight * d(p(a) exp(-a)) / dx, for each x and variable.

    xs, ys: shares of m and n points (c, m), (c, n).
    rate: sqrt(5) over the lengthscale.
    weighted: (m, n).
    out: (m, c).
    """
    c, m = xs.shape
    grown = np.exp(rate * ys)
    shrunk = 1.0 / grown
    for i in range(m):
        weights = weighted[i]
        for k in range(c):
            x, others, ups, downs, total = xs[k, i], ys[k], grown[k], shrunk[k], 0.0
            up = math.exp(rate * x)
            down = 1.0 / up
            for j in range(ys.shape[1]):
                scaled = (x - others[j]) * rate
                total += weights[j] * (scaled * (1.0 + abs(scaled)) * min(up * downs[j], down * ups[j]))
            out[i, k] = -rate * total / 3.0


LARGEST_EXPONENT = 700.0  # exp overflows at 709


@njit(cache=True, nogil=True, error_model="numpy")
def multiply_conditional(
    xs: Array,
    x_has: npt.NDArray[np.bool_],
    ys: Array,
    y_has: Array,
    rates: Array,
    c: Array,
    is_same: bool,
    product: Array,
) -> None:
    """Overwrite `product` with the product of the kernels of numbers that some points lack, for each pair.

    xs, ys: shares of n and m points (k, n), (k, m); any number in [0, 1] if a point lacks the number.
    x_has, y_has: which points have each number, as booleans (k, n), and as 1.0 or 0.0 (k, m).
    rates: sqrt(5) over the lengthscale of each number (k,).
    c: correlation between points with and without each number (k,).
    is_same: True if ys are xs.
    product: (n, m).
    """
    product[:] = 1.0
    m = ys.shape[1]
    decay = np.empty(m)
    for k in range(len(rates)):
        rate, others = rates[k], ys[k]
        ups, downs = _exponentiate(others, rate)
        without_x = 1.0 - (1.0 - c[k]) * y_has[k]  # 1 if neither point has it, c if only y has it
        high = (1.0 - c[k] ** 2) * y_has[k]
        low = c[k] - c[k] * (1.0 - c[k]) * y_has[k]  # c^2 if both points have it, c if only x has it
        for i in range(xs.shape[1]):
            row, end, x = product[i], i if is_same else m, xs[k, i]
            if not x_has[k, i]:
                for j in range(end):
                    row[j] *= without_x[j]
                continue
            _decay_pairs(x, others, ups, downs, rate, decay[:end])
            for j in range(end):
                a = abs(x - others[j]) * rate
                row[j] *= low[j] + high[j] * (decay[j] * (1.0 + a * (1.0 + a * (1.0 / 3.0))))
    if is_same:
        for i in range(len(product)):
            for j in range(i):
                product[j, i] = product[i, j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def sum_conditional_slopes(
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
    """Sum over the pairs of points that both have a number, whose kernel is k = c^2 + (1 - c^2) p(a) exp(-a).

    is_same: True if ys are xs, and `weighted` is symmetric.
    weighted: (n, m).
    slopes: overwritten with the sum of weight times the derivative of log k in the log lengthscale (k,).
    losses: overwritten with the sum of weight times (1 - k) / k (k,).
    """
    m = ys.shape[1]
    decay = np.empty(m)
    for k in range(len(rates)):
        rate, others, has = rates[k], ys[k], y_has[k]
        low, high, slope, loss = c[k] ** 2, 1.0 - c[k] ** 2, 0.0, 0.0
        ups, downs = _exponentiate(others, rate)
        for i in range(xs.shape[1]):
            if not x_has[k, i]:
                continue
            x, weights, end = xs[k, i], weighted[i], i if is_same else m
            _decay_pairs(x, others, ups, downs, rate, decay[:end])
            for j in range(end):
                a = abs(x - others[j]) * rate
                square = a * a * (1.0 / 3.0)
                kernel = low + high * (decay[j] * (1.0 + a + square))
                relative = weights[j] * has[j] / kernel
                slope += relative * (square * (1.0 + a) * decay[j])
                loss += relative * (1.0 - kernel)
        pairs = 2.0 if is_same else 1.0
        slopes[k], losses[k] = pairs * high * slope, pairs * loss


@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATED)
def pull_conditional_shares(
    xs: Array,
    x_has: npt.NDArray[np.bool_],
    ys: Array,
    y_has: Array,
    rates: Array,
    c: Array,
    weighted: Array,
    out: Array,
) -> None:
    """Overwrite `out` with the sum over y of weight times the derivative of log K in x, for each x and number.

    weighted: (n, m).
    out: (n, k), 0 in numbers that a point lacks.
    """
    decay = np.empty(ys.shape[1])
    for k in range(len(rates)):
        rate, others, has = rates[k], ys[k], y_has[k]
        low, high = c[k] ** 2, 1.0 - c[k] ** 2
        ups, downs = _exponentiate(others, rate)
        for i in range(xs.shape[1]):
            x, weights, total = xs[k, i], weighted[i], 0.0
            if x_has[k, i]:
                _decay_pairs(x, others, ups, downs, rate, decay)
                for j in range(ys.shape[1]):
                    scaled = (x - others[j]) * rate
                    a = abs(scaled)
                    kernel = low + high * (decay[j] * (1.0 + a * (1.0 + a * (1.0 / 3.0))))
                    total += weights[j] * has[j] * (scaled * (1.0 + a) * decay[j]) / kernel
            out[i, k] = -rate * high * total / 3.0


@njit(inline="always")
def _exponentiate(shares: Array, rate: float) -> tuple[Array, Array]:
    """Return exp(rate * share) and its inverse (m,); if the exponential would overflow, callers must not use them."""
    ups = np.exp(min(rate, LARGEST_EXPONENT) * shares)
    return ups, 1.0 / ups


@njit(inline="always")
def _decay_pairs(x: float, others: Array, ups: Array, downs: Array, rate: float, out: Array) -> None:
    """Overwrite `out` with exp(-a) of one x and the first ys: the smaller of two quotients if none overflows."""
    if rate <= LARGEST_EXPONENT:
        up = math.exp(rate * x)
        down = 1.0 / up
        for j in range(len(out)):
            out[j] = min(up * downs[j], down * ups[j])
    else:
        for j in range(len(out)):
            out[j] = math.exp(-abs(x - others[j]) * rate)


announce_compilation(add_distances, "some seconds")
