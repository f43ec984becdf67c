"""The heat kernel of the Johnson graph, whose vertices are the subsets of n items that have k items.

An edge is an exchange of one item for another. By symmetry the kernel is a function of the number of exchanges between
two subsets. Its eigenvalues j (n + 1 - j) and its values, sums of Eberlein polynomials, are known in closed form
(Delsarte 1973, section 4.2), but these sums cancel where the kernel is small. A random walk knows the same kernel as a
series of positive terms, which gives the logarithm of the kernel at every distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammaln

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.factor import Factor, VariableChanges

KNOTS = 60  # lengthscales at which the kernel is computed; splines are in between
SMALLEST, LARGEST = -2.1, 3.0  # logarithms of these; beyond, the kernel hardly changes


class HeatCurves(NamedTuple):
    """The kernel as a function of the lengthscale.

    lowest, highest: logarithms of the lengthscales between which it is known.
    log_rates: log lengthscale -> log(-log kernel) at 1, 2, ... exchanges, and with 1 as second argument its derivative.
    """

    lowest: float
    highest: float
    log_rates: CubicSpline


def log_heat(n: int, k: int, times: Array) -> Array:
    """Return the logarithm of the heat kernel, over that of a subset with itself (t, most exchanges + 1).

    n: number of items, at least 2.
    k: number of items of a subset, from 1 to n - 1.
    times: of diffusion, > 0 (t,).

    The walk makes m steps, m Poisson distributed (uniformization, Jensen 1953), each of one exchange or none. By
    symmetry it is enough to follow the chance of one subset at each distance.
    """
    most = min(k, n - k)
    d = np.arange(most + 1)
    away, back = (k - d) * (n - k - d), d * d
    rate = float((away + back).max())
    n_steps = int(rate * times.max() + 12.0 * np.sqrt(rate * times.max())) + most + 40
    with np.errstate(divide="ignore"):  # logarithms of 0
        log_away, log_back, log_stay = (np.log(one / rate) for one in (away, back, rate - away - back))
    steps = np.full((n_steps, most + 1), -np.inf)
    steps[0, 0] = 0.0
    for m in range(1, n_steps):
        before, now = steps[m - 1], steps[m]
        now[:] = log_stay + before
        now[:-1] = np.logaddexp(now[:-1], log_away[:-1] + before[1:])
        now[1:] = np.logaddexp(now[1:], log_back[1:] + before[:-1])
    m = np.arange(n_steps)
    found = np.empty((len(times), most + 1))
    for i, mean in enumerate(rate * times):
        found[i] = np.logaddexp.reduce((m * np.log(mean) - mean - gammaln(m + 1.0))[:, None] + steps)
    return found - found[:, :1]


@lru_cache(maxsize=16)
def heat_curves(n: int, k: int) -> HeatCurves:
    """Return the kernel of J(n, k) as a function of the lengthscale l: one exchange correlates by exp(-1 / l^2).

    n: number of items, at least 2.
    k: number of items of a subset, from 1 to n - 1.

    That is the correlation of two bits that differ, each with a lengthscale l. The times are those at which two bits
    of a hypercube would correlate so.
    """
    near = np.exp(-0.5 * np.exp(-2.0 * np.linspace(SMALLEST, LARGEST, KNOTS)))
    log_rates = np.log(-log_heat(n, k, 2.0 / n * np.arctanh(near))[:, 1:])
    knots = -0.5 * log_rates[:, 0]
    return HeatCurves(float(knots[0]), float(knots[-1]), CubicSpline(knots, log_rates))


@dataclass(frozen=True)
class JohnsonFactor(Factor):
    """The factor of subsets of one size: the heat kernel of the Johnson graph, with one lengthscale for each variable.

    n: number of items, at least 2.
    k: number of items of a subset, from 1 to n - 1.
    n_variables: c, each with n columns of bits.
    """

    n: int
    k: int
    n_variables: int
    has_unit_diagonal = True

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> IntArray:
        """Count the exchanges between subsets (c, n, m).

        xs: own columns of n points (n, c w).
        ys: own columns of m points (m, c w); None for xs with themselves.
        """
        mine, theirs = (np.split(one, self.n_variables, axis=1) for one in (xs, xs if ys is None else ys))
        return np.array([_count_exchanges(one, other) for one, other in zip(mine, theirs, strict=True)])

    def log_gram(self, theta: Array, prepared: IntArray, without: int | None = None) -> Array:
        total = np.zeros(prepared.shape[1:])
        for v, apart in enumerate(prepared):
            if v != without:
                total += self._curve(float(theta[v]))[0].take(apart)
        return total

    def gradient(self, theta: Array, prepared: IntArray, weighted: Array) -> Array:
        slopes = [self._curve(one)[1] for one in theta]
        sums = [np.bincount(apart.ravel(), weighted.ravel(), len(slopes[0])) for apart in prepared]
        return np.array([slope @ total for slope, total in zip(slopes, sums, strict=True)])

    def line(self, i: int, theta: Array, prepared: IntArray, gram: Array, *, carried: bool) -> Callable[[float], Array]:
        alone = JohnsonFactor(self.n, self.k, 1)
        return Factor.line(alone, 0, theta[i : i + 1], prepared[i : i + 1], gram, carried=carried)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the variable of each change (r,), and the exchanges before and after it (r, m).

        changes: r changes of single variables.
        ys: own columns of m points (m, c w).
        """
        before, after = np.empty((2, len(changes.which), len(ys)), dtype=np.int64)
        for v, theirs in enumerate(np.split(ys, self.n_variables, axis=1)):
            rows = changes.which == v
            before[rows] = _count_exchanges(changes.before[rows, : self.n], theirs)
            after[rows] = _count_exchanges(changes.after[rows, : self.n], theirs)
        return changes.which, before, after

    def log_change(self, theta: Array, prepared: tuple[IntArray, IntArray, IntArray]) -> Array:
        which, before, after = prepared
        change = np.empty(after.shape)
        for v in np.unique(which).tolist():
            curve, rows = self._curve(float(theta[v]))[0], which == v
            change[rows] = curve.take(after[rows]) - curve.take(before[rows])
        return change

    def _curve(self, theta: float) -> tuple[Array, Array]:
        """Return log K by the number of exchanges, and its derivative in theta."""
        lowest, highest, log_rates = heat_curves(self.n, self.k)
        inside = min(max(theta, lowest), highest)
        rates = np.exp(log_rates(inside) - 2.0 * (theta - inside))  # as Hamming distances beyond
        slope = log_rates(inside, 1) if inside == theta else -2.0
        return np.append(0.0, -rates), np.append(0.0, -rates * slope)


def _count_exchanges(xs: IntArray, ys: IntArray) -> IntArray:
    """Return how many exchanges two subsets are apart (n, m)."""
    shared = xs.astype(np.float32) @ ys.T.astype(np.float32)  # whole numbers, which single precision holds
    return (xs[:1].sum() - shared).astype(np.int64)
