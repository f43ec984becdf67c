"""Kernels of subsets of items: a factor of the product, and a linear effect.

Subsets of k of n items have the heat kernel of the Johnson graph, whose edges exchange one item for another. By
symmetry the kernel is a function of the number of exchanges between two subsets. Its eigenvalues j (n + 1 - j) and its
values, sums of Eberlein polynomials, are known in closed form (Delsarte 1973, section 4.2), but these sums suffer from
cancellation if the kernel is small. A random walk gives the same kernel as a series of positive terms, and so its
logarithm at every distance. `FeatureFactor` adds squared differences of features of a subset, each with a lengthscale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.contracts import Array, IntArray, Prepared
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.domains.space.subset import Subset
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.factor import Factor, Line, VariableChanges
from bostruct.kernels.space.matern import LengthKernel
from bostruct.kernels.space.spectra import compute_rates

MOST_RELEVANCES = 100  # items that have one lengthscale each
KNOTS = 60  # lengthscales at which the kernel is computed, with splines in between
SMALLEST, LARGEST = -2.1, 3.0  # log lengthscales of the first and the last knot; beyond, the kernel barely changes
TIME = 3.0  # of diffusion on the graph of items, in units of 1 / mean degree


@dataclass(frozen=True)
class SubsetFeatures:
    """The features of subsets of w items, for `FeatureFactor`: bits, smooth features on a graph of the items, the size.

    width: number of items, w, at least 2.
    apart: whether there is a bit of each item with its own lengthscale.
    together: whether there are bits that share a lengthscale.
    graph: graph of the items, for w - 1 smooth features that share a lengthscale; None for no such features.
    sizes: range of the sizes, for the feature of the size; None for no such feature.
    """

    width: int
    apart: bool
    together: bool
    graph: WeightedGraph | None = None
    sizes: LengthKernel | None = None

    @property
    def groups(self) -> IntArray:
        """The group of each feature (q,)."""
        parts = [np.arange(self.width)] if self.apart else []
        parts += [np.zeros(self.width, dtype=np.int64)] if self.together else []
        parts += [np.zeros(self.width - 1, dtype=np.int64)] if self.graph is not None else []
        parts += [np.zeros(1, dtype=np.int64)] if self.sizes is not None else []
        starts = np.cumsum([0, *(int(part[-1]) + 1 for part in parts)])
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *(part + start for part, start in zip(parts, starts[:-1], strict=True))])

    def encode(self, xs: IntArray) -> Array:
        """Return the features of subsets (n, q).

        xs: bits (n, w).
        """
        bits = xs.astype(np.float64)
        parts = [bits] * (self.apart + self.together)
        if self.graph is not None:
            parts.append(bits @ _smoother(self.graph))
        if self.sizes is not None:
            parts.append(self.sizes.scale(xs)[:, None])
        return parts[0] if len(parts) == 1 else np.hstack(parts)


@lru_cache(maxsize=16)
def _smoother(graph: WeightedGraph) -> Array:
    """Return features whose inner products are the diffusion on a graph, without its constant part (w, w - 1).

    The time is 3 over the mean degree. A feature has the mean square of a bit.
    """
    spectrum = graph.spectrum()
    decay = np.exp(-TIME * spectrum.values[1:] / spectrum.values.mean())
    return spectrum.vectors[:, 1:] * np.sqrt(decay * (len(decay) / decay.sum()))


class FeaturePair(NamedTuple):
    """The features of two batches, and their squares; (n, c q) for xs and x_squares, (m, c q) for ys and y_squares."""

    xs: Array
    ys: Array
    x_squares: Array
    y_squares: Array


class FeatureChanges(NamedTuple):
    """Changes of single variables as features.

    which: the variable of each change (r,).
    before, after: the features of that variable (r, q).
    ys: the features of all variables of m points (m, c q).
    """

    which: IntArray
    before: Array
    after: Array
    ys: Array


@dataclass(frozen=True)
class FeatureFactor(Factor):
    """The factor exp(-sum_j (z_j - z'_j)^2 / (2 l_j^2)) of variables of one kind, where z are features.

    Each variable has k parameters, the logarithms of l, one for each group of features. It is computed by products of
    matrices, so m points take memory (n, m) for any number of features.
    """

    features: SubsetFeatures
    n_variables: int
    has_unit_diagonal = True

    @property
    def n_parameters(self) -> int:
        return self._n_groups * self.n_variables

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> FeaturePair:
        mine = self._encode(xs)
        theirs = mine if ys is None else self._encode(ys)
        squares = np.square(mine)
        return FeaturePair(mine, theirs, squares, squares if ys is None else np.square(theirs))

    def log_gram(self, theta: Array, prepared: FeaturePair, without: int | None = None) -> Array:
        rates = compute_rates(theta)
        if without is not None:
            rates[without] = 0.0
        weights = rates[self._groups]
        gram = (prepared.xs * (2.0 * weights)) @ prepared.ys.T
        gram -= (prepared.x_squares @ weights)[:, None]
        gram -= prepared.y_squares @ weights
        return np.minimum(gram, 0.0, out=gram)  # at most 0 except for rounding

    def gradient(self, theta: Array, prepared: FeaturePair, weighted: Array) -> Array:
        squares = weighted.sum(axis=1) @ prepared.x_squares + weighted.sum(axis=0) @ prepared.y_squares
        squares -= 2.0 * np.einsum("nq,nq->q", prepared.xs, weighted @ prepared.ys)
        return 2.0 * compute_rates(theta) * np.bincount(self._groups, squares, len(theta))

    def line(self, i: int, theta: Array, prepared: FeaturePair, gram: Array, *, carried: bool) -> Line:
        own = np.flatnonzero(self._groups == i)
        squares = -2.0 * prepared.xs[:, own] @ prepared.ys[:, own].T
        squares += prepared.x_squares[:, own].sum(axis=1)[:, None] + prepared.y_squares[:, own].sum(axis=1)
        now = compute_rates(theta)[i] if carried else 0.0
        return lambda t: gram * np.exp((now - compute_rates(t)) * squares)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> FeatureChanges:
        w = self.features.width
        before = changes.before[:, :w]
        # Changes of the same value are adjacent.
        is_new = np.append(True, (before[1:] != before[:-1]).any(axis=1))[: len(before)]
        known = self.features.encode(before[is_new])[np.cumsum(is_new) - 1]
        return FeatureChanges(changes.which, known, self.features.encode(changes.after[:, :w]), self._encode(ys))

    def log_change(self, theta: Array, prepared: FeatureChanges) -> Array:
        which, before, after, ys = prepared
        q = before.shape[1]
        change = np.empty((len(which), len(ys)))
        for v in np.unique(which).tolist():
            rows = which == v
            weights = compute_rates(theta)[self._groups[v * q : (v + 1) * q]]
            change[rows] = (2.0 * (after[rows] - before[rows]) * weights) @ ys[:, v * q : (v + 1) * q].T
            change[rows] -= ((np.square(after[rows]) - np.square(before[rows])) @ weights)[:, None]
        return change

    def _encode(self, xs: IntArray) -> Array:
        """Return the features of all variables, variable by variable (n, c q)."""
        return np.hstack([self.features.encode(own) for own in np.split(xs, self.n_variables, axis=1)])

    @property
    def _n_groups(self) -> int:
        return int(self.features.groups.max()) + 1

    @cached_property
    def _groups(self) -> IntArray:
        """The parameter of each feature of all variables (c q,)."""
        return np.concatenate([self.features.groups + v * self._n_groups for v in range(self.n_variables)])


@dataclass(frozen=True)
class FactorPair(Factor):
    """The product of two factors of the same c variables, each with its own number of parameters for a variable.

    Each variable has its parameters of the first factor, then its parameters of the second factor.
    """

    first: Factor
    second: Factor

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of variables, c."""
        return self.first.n_variables

    @property
    def n_parameters(self) -> int:
        return self.first.n_parameters + self.second.n_parameters

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.first.has_unit_diagonal and self.second.has_unit_diagonal

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> tuple[Prepared, Prepared]:
        return self.first.prepare(xs, ys), self.second.prepare(xs, ys)

    def log_gram(self, theta: Array, prepared: tuple[Prepared, Prepared], without: int | None = None) -> Array:
        (one, other), (first, second) = self._split(theta), self._place(without)
        total = self.first.log_gram(one, prepared[0], first)
        total += self.second.log_gram(other, prepared[1], second)
        return total

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        one, other = self._split(theta)
        return self.first.log_diag(one, xs) + self.second.log_diag(other, xs)

    def gradient(self, theta: Array, prepared: tuple[Prepared, Prepared], weighted: Array) -> Array:
        one, other = self._split(theta)
        slopes = self.first.gradient(one, prepared[0], weighted), self.second.gradient(other, prepared[1], weighted)
        return np.hstack([slope.reshape(self.n_variables, -1) for slope in slopes]).ravel()

    def line(self, i: int, theta: Array, prepared: tuple[Prepared, Prepared], gram: Array, *, carried: bool) -> Line:
        (one, other), (first, second) = self._split(theta), self._place(i)
        if first is not None:
            return self.first.line(first, one, prepared[0], gram, carried=carried)
        assert second is not None
        return self.second.line(second, other, prepared[1], gram, carried=carried)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[Prepared, Prepared]:
        return self.first.prepare_changes(changes, ys), self.second.prepare_changes(changes, ys)

    def log_change(self, theta: Array, prepared: tuple[Prepared, Prepared]) -> Array:
        one, other = self._split(theta)
        return self.first.log_change(one, prepared[0]) + self.second.log_change(other, prepared[1])

    @property
    def _own(self) -> int:
        """The number of parameters of a variable in the first factor."""
        return self.first.n_parameters // self.n_variables

    def _split(self, theta: Array) -> tuple[Array, Array]:
        rows = theta.reshape(self.n_variables, -1)
        return rows[:, : self._own].ravel(), rows[:, self._own :].ravel()

    def _place(self, i: int | None) -> tuple[int | None, int | None]:
        """Return the positions of a parameter in the first and the second factor, one of which is None."""
        if i is None:
            return None, None
        v, place = divmod(i, self.n_parameters // self.n_variables)
        if place < self._own:
            return v * self._own + place, None
        return None, v * (self.second.n_parameters // self.n_variables) + place - self._own


class HeatCurves(NamedTuple):
    """The kernel as a function of the lengthscale.

    lowest, highest: smallest and largest log lengthscale for which it is known.
    log_rates: function from a log lengthscale to log(-log kernel) at 1, 2, ... exchanges; with 1 as second argument,
        its derivative.
    """

    lowest: float
    highest: float
    log_rates: scipy.interpolate.CubicSpline


def log_heat(n: int, k: int, times: Array) -> Array:
    """Return the logarithm of the heat kernel over its value for equal subsets (t, largest number of exchanges + 1).

    n: number of items, at least 2.
    k: number of items of a subset, from 1 to n - 1.
    times: times of diffusion, above 0 (t,).

    A random walk makes a Poisson distributed number m of steps (uniformization, Jensen 1953), each with one exchange or
    none. By symmetry it suffices to compute the probability of one subset at each distance.
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
        found[i] = np.logaddexp.reduce((m * np.log(mean) - mean - scipy.special.gammaln(m + 1.0))[:, None] + steps)
    return found - found[:, :1]


@lru_cache(maxsize=16)
def heat_curves(n: int, k: int) -> HeatCurves:
    """Return the kernel of J(n, k) as a function of the lengthscale l: at one exchange it is exp(-1 / l^2).

    n: number of items, at least 2.
    k: number of items of a subset, from 1 to n - 1.

    This is the correlation at two different bits with lengthscale l each. The times of diffusion are chosen so that two
    bits of a hypercube would have this correlation.
    """
    near = np.exp(-0.5 * np.exp(-2.0 * np.linspace(SMALLEST, LARGEST, KNOTS)))
    log_rates = np.log(-log_heat(n, k, 2.0 / n * np.arctanh(near))[:, 1:])
    knots = -0.5 * log_rates[:, 0]
    return HeatCurves(float(knots[0]), float(knots[-1]), scipy.interpolate.CubicSpline(knots, log_rates))


@dataclass(frozen=True)
class JohnsonFactor(Factor):
    """The factor of subsets of one size: the heat kernel of the Johnson graph, with one lengthscale for each variable.

    n: number of items, at least 2.
    k: number of items of a subset, from 1 to n - 1.
    """

    n: int
    k: int
    n_variables: int
    has_unit_diagonal = True

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> IntArray:
        """Count the exchanges between subsets (c, n, m)."""
        mine, theirs = (np.split(one, self.n_variables, axis=1) for one in (xs, xs if ys is None else ys))
        return np.array([_count_exchanges(one, other) for one, other in zip(mine, theirs, strict=True)])

    def log_gram(self, theta: Array, prepared: IntArray, without: int | None = None) -> Array:
        total = np.zeros(prepared.shape[1:])
        for v, exchanges in enumerate(prepared):
            if v != without:
                total += self._curve(float(theta[v]))[0].take(exchanges)
        return total

    def gradient(self, theta: Array, prepared: IntArray, weighted: Array) -> Array:
        slopes = [self._curve(one)[1] for one in theta]
        sums = [np.bincount(counts.ravel(), weighted.ravel(), len(slopes[0])) for counts in prepared]
        return np.array([slope @ total for slope, total in zip(slopes, sums, strict=True)])

    def line(self, i: int, theta: Array, prepared: IntArray, gram: Array, *, carried: bool) -> Line:
        single = JohnsonFactor(self.n, self.k, 1)
        return Factor.line(single, 0, theta[i : i + 1], prepared[i : i + 1], gram, carried=carried)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the variable of each change (r,), and the exchanges before and after it (r, m)."""
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
        rates = np.exp(log_rates(inside) - 2.0 * (theta - inside))  # beyond, like Hamming distances
        slope = log_rates(inside, 1) if inside == theta else -2.0
        return np.append(0.0, -rates), np.append(0.0, -rates * slope)


def _count_exchanges(xs: IntArray, ys: IntArray) -> IntArray:
    """Return the number of exchanges between two subsets (n, m)."""
    shared = xs.astype(np.float32) @ ys.T.astype(np.float32)  # integers, exact in single precision
    return (xs[:1].sum() - shared).astype(np.int64)


class SubsetShape(NamedTuple):
    """The properties of a `Subset` that kernels use, independent of the items' names.

    n_items: number of items, at least 2.
    sizes: the smallest and the largest number of items of a subset.
    share: the mean share of items in a subset, in (0, 1).
    graph: graph of the items; None if there is none.
    """

    n_items: int
    sizes: tuple[int, int]
    share: float
    graph: WeightedGraph | None

    @property
    def range(self) -> LengthKernel | None:
        """The range of the sizes; None if there is only one."""
        return LengthKernel(*self.sizes, 0) if self.sizes[0] < self.sizes[1] else None

    @classmethod
    def of(cls, variable: Subset) -> SubsetShape:
        """Return the shape of a variable."""
        return cls(variable.width, variable.sizes, variable.share, variable.item_graph)


def subset_factor(shape: SubsetShape, n_variables: int) -> Factor:
    """Build the factor of `n_variables` (at least 1) variables of one shape."""
    n, (smallest, largest), _, graph = shape
    exchanges = JohnsonFactor(n, smallest, n_variables) if smallest == largest else None
    features = SubsetFeatures(n, n <= MOST_RELEVANCES, exchanges is None, graph, shape.range)
    if exchanges is not None and not len(features.groups):
        return exchanges
    found = FeatureFactor(features, n_variables)
    return found if exchanges is None else FactorPair(exchanges, found)


@dataclass(frozen=True)
class SubsetEffect(EffectKernel):
    """The linear effect of a subset: the sum of effects of its items.

    width: number of items, w.
    share: the mean share of items in a subset, in (0, 1).

    Over samples, the mean effect is 0, and the mean of the diagonal is 1.
    """

    width: int
    share: float

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return ((xs - self.share) / self._scale) @ (ys - self.share).T

    def diag(self, xs: IntArray) -> Array:
        return (xs.sum(axis=1) * (1.0 - 2.0 * self.share) + self.width * self.share**2) / self._scale

    @property
    def _scale(self) -> float:
        return self.width * self.share * (1.0 - self.share)
