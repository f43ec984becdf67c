"""Compiled loops for numbers: one pass over pairs of points for the Matern factor, main effects and conditions.

With a = sqrt(5) |x - y| / lengthscale, a variable's kernel is p(a) exp(-a), p(a) = 1 + a + a^2 / 3. For several
variables the p are multiplied and the a are added up, so that each pair of points needs one logarithm instead of one
per variable.

The kernel of a number that some points lack is c^2 + (1 - c^2) p(a) exp(-a) if both points have it, c if one point has
it, and 1 if neither has. exp(-a) is a quotient of exponentials of single points, so that pairs need no exponential.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from bostruct.contracts import Array, IntArray
from bostruct.kernels.loops import announce_compilation

Mask: TypeAlias = npt.NDArray[np.bool_]

# error_model="numpy" omits the check of each division, which would prevent vectorization.
# Sums may be reordered; infinities and NaN keep their rules. Loops over numbers that all points have index matrices by
# pairs, and make no arrays, because rows and new arrays nearly double the time of compilation.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
REASSOCIATED = {"reassoc", "contract", "nsz"}


@njit(**OPTIONS)
def add_distances(xs: Array, ys: Array, rates: Array, is_same: bool, total: Array, product: Array) -> None:
    """Add to `total` the sum of a over variables, and multiply `product` by the product of p(a), for each pair.

    xs, ys: shares of n and m points (c, n), (c, m).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    is_same: True if ys are xs; only the lower triangles are then used, and both matrices become symmetric.
    total, product: (n, m).
    """
    for i in range(len(total)):
        for k in range(len(xs)):
            x, rate = xs[k, i], rates[k]
            for j in range(i + 1 if is_same else ys.shape[1]):
                a = abs(x - ys[k, j]) * rate
                total[i, j] += a
                product[i, j] *= 1.0 + a * (1.0 + a * (1.0 / 3.0))
    if is_same:
        for i in range(len(total)):
            for j in range(i):
                total[j, i] = total[i, j]
                product[j, i] = product[i, j]


@njit(**OPTIONS, fastmath=REASSOCIATED)
def sum_slopes(xs: Array, ys: Array, rates: Array, is_same: bool, weighted: Array, out: Array) -> None:
    """Overwrite `out` with the sum over pairs of weight * d(log p(a) - a) / d(log lengthscale), for each variable (c,).

    xs, ys: shares of n and m points (c, n), (c, m).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    is_same: True if ys are xs; only pairs below the diagonal are then summed.
    weighted: (n, m).
    """
    for k in range(len(xs)):
        rate, total = rates[k], 0.0
        for i in range(len(weighted)):
            x = xs[k, i]
            for j in range(i if is_same else ys.shape[1]):
                a = abs(x - ys[k, j]) * rate
                square = a * a * (1.0 / 3.0)
                total += weighted[i, j] * (square * (1.0 + a) / (1.0 + a + square))
        out[k] = total


@njit(**OPTIONS)
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
        old, new, rate = before[i], after[i], rates[k]
        for j in range(ys.shape[1]):
            a = abs(old - ys[k, j]) * rate
            b = abs(new - ys[k, j]) * rate
            drop[i, j] = a - b
            ratio[i, j] = (1.0 + b * (1.0 + b * (1.0 / 3.0))) / (1.0 + a * (1.0 + a * (1.0 / 3.0)))


@njit(**OPTIONS)
def add_effects(xs: Array, ys: Array, grown: Array, other: Array, shrunk: Array, rate: float, out: Array) -> None:
    """Add to `out` the sum over variables of p(a) exp(-a), for each pair.

    xs, ys: shares of n and m points (c, n), (c, m).
    grown, other, shrunk: exp(rate * xs), exp(rate * ys), 1 / other: exp(-a) is the smaller of two quotients.
    rate: sqrt(5) over the lengthscale, small enough that these do not overflow.
    out: (n, m).
    """
    for i in range(len(out)):
        for k in range(len(xs)):
            x, up = xs[k, i], grown[k, i]
            down = 1.0 / up
            for j in range(ys.shape[1]):
                a = abs(x - ys[k, j]) * rate
                out[i, j] += min(up * shrunk[k, j], down * other[k, j]) * (1.0 + a * (1.0 + a * (1.0 / 3.0)))


@njit(**OPTIONS)
def change_effects(
    which: IntArray, before: Array, after: Array, ys: Array, other: Array, shrunk: Array, rate: float, out: Array
) -> None:
    """Overwrite `out` with p(a) exp(-a) after each change minus p(a) exp(-a) before it.

    ys: shares of m points (c, m).
    other, shrunk: exp(rate * ys) and its inverse (c, m).
    out: (r, m).
    """
    for i in range(len(which)):
        k, old, new = which[i], before[i], after[i]
        up, up_new = math.exp(rate * old), math.exp(rate * new)
        down, down_new = 1.0 / up, 1.0 / up_new
        for j in range(ys.shape[1]):
            a, b = abs(old - ys[k, j]) * rate, abs(new - ys[k, j]) * rate
            lost = min(up * shrunk[k, j], down * other[k, j]) * (1.0 + a * (1.0 + a * (1.0 / 3.0)))
            kept = min(up_new * shrunk[k, j], down_new * other[k, j]) * (1.0 + b * (1.0 + b * (1.0 / 3.0)))
            out[i, j] = kept - lost


@njit(**OPTIONS, fastmath=REASSOCIATED)
def pull_shares(xs: Array, ys: Array, rates: Array, weighted: Array, out: Array) -> None:
    """Overwrite `out` with the sum over y of weight * d(log p(a) - a) / dx, for each x and variable.

    xs, ys: shares of m and n points (c, m), (c, n).
    rates: sqrt(5) over the lengthscale of each variable (c,).
    weighted, out: (m, n), (m, c).
    """
    for i in range(len(out)):
        for k in range(len(xs)):
            x, rate, total = xs[k, i], rates[k], 0.0
            for j in range(ys.shape[1]):
                scaled = (x - ys[k, j]) * rate
                a = abs(scaled)
                total += weighted[i, j] * (scaled * (1.0 + a) / (3.0 + a * (3.0 + a)))
            out[i, k] = -rate * total


@njit(**OPTIONS, fastmath=REASSOCIATED)
def pull_effects(
    xs: Array, ys: Array, grown: Array, other: Array, shrunk: Array, rate: float, weighted: Array, out: Array
) -> None:
    """Overwrite `out` with the sum over y of weight * d(p(a) exp(-a)) / dx, for each x and variable.

    xs, ys, grown, other, shrunk, rate: as in `add_effects`.
    weighted, out: (n, m), (n, c).
    """
    for i in range(len(out)):
        for k in range(len(xs)):
            x, up, total = xs[k, i], grown[k, i], 0.0
            down = 1.0 / up
            for j in range(ys.shape[1]):
                scaled = (x - ys[k, j]) * rate
                decay = min(up * shrunk[k, j], down * other[k, j])
                total += weighted[i, j] * (scaled * (1.0 + abs(scaled)) * decay)
            out[i, k] = -rate * total / 3.0


LARGEST_EXPONENT = 700.0  # exp overflows at 709


@njit(**OPTIONS)
def multiply_conditional(
    xs: Array, x_has: Mask, ys: Array, y_has: Array, rates: Array, c: Array, is_same: bool, product: Array
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


@njit(**OPTIONS, fastmath=REASSOCIATED)
def sum_conditional_slopes(
    xs: Array, x_has: Mask, ys: Array, y_has: Array, rates: Array, c: Array, is_same: bool, weighted: Array, out: Array
) -> None:
    """Sum over the pairs of points that both have a number, whose kernel is k = c^2 + (1 - c^2) p(a) exp(-a).

    is_same: True if ys are xs, and `weighted` is symmetric.
    weighted: (n, m).
    out: overwritten with the sums of weight times d(log k) / d(log lengthscale), and of weight (1 - k) / k (2, k).
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
        out[0, k], out[1, k] = pairs * high * slope, pairs * loss


@njit(**OPTIONS, fastmath=REASSOCIATED)
def pull_conditional_shares(
    xs: Array, x_has: Mask, ys: Array, y_has: Array, rates: Array, c: Array, weighted: Array, out: Array
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


announce_compilation(add_distances)
