"""A factor of the product for variables whose values have features: squared differences, each with a lengthscale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.kernels.space.extent import Extent
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.kernels.space.links import compute_rates
from bostruct.kernels.space.spectra import DenseSpectrum, spectrum_of

TIME = 3.0  # of diffusion on the graph of items, in units of 1 / mean degree


@dataclass(frozen=True)
class SubsetFeatures:
    """The features of subsets of w items, for `FeatureFactor`: bits of the items, smooth ones on their graph, the size.

    width: w, at least 2.
    apart: True for a bit of each item with a lengthscale of its own.
    together: True for bits that share a lengthscale.
    graph: of the items, for w - 1 features that share a lengthscale; None for none.
    sizes: the range of the sizes, for a feature of its own; None for none.
    """

    width: int
    apart: bool
    together: bool
    graph: WeightedGraph | None = None
    sizes: Extent | None = None

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

    The time is 3 over the mean degree. The mean square of a feature is that of a bit.
    """
    spectrum = spectrum_of(graph)
    assert isinstance(spectrum, DenseSpectrum)
    decay = np.exp(-TIME * spectrum.values[1:] / spectrum.values.mean())
    return spectrum.vectors[:, 1:] * np.sqrt(decay * (len(decay) / decay.sum()))


class FeaturePair(NamedTuple):
    """Two batches as features, and the squares of these. xs, x_squares: (n, c q). ys, y_squares: (m, c q)."""

    xs: Array
    ys: Array
    x_squares: Array
    y_squares: Array


class FeatureChanges(NamedTuple):
    """Changes of single variables as features.

    which: the variable of each change (r,). before, after: the features of that variable (r, q). ys: the features of
    all variables of m points (m, c q).
    """

    which: IntArray
    before: Array
    after: Array
    ys: Array


@dataclass(frozen=True)
class FeatureFactor(Factor):
    """The factor exp(-sum_j (z_j - z'_j)^2 / (2 l_j^2)) of variables of one kind, where z are features.

    Each variable has k parameters, the logarithms of l, one for each group of features. All of it is products of
    matrices: m points take memory (n, m), however many features they have.

    features: of each variable.
    n_variables: c, each with w columns.
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
        return np.minimum(gram, 0.0, out=gram)  # rounding aside it is at most 0

    def gradient(self, theta: Array, prepared: FeaturePair, weighted: Array) -> Array:
        squares = weighted.sum(axis=1) @ prepared.x_squares + weighted.sum(axis=0) @ prepared.y_squares
        squares -= 2.0 * np.einsum("nq,nq->q", prepared.xs, weighted @ prepared.ys)
        return 2.0 * compute_rates(theta) * np.bincount(self._groups, squares, len(theta))

    def line(
        self, i: int, theta: Array, prepared: FeaturePair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
        own = np.flatnonzero(self._groups == i)
        squares = -2.0 * prepared.xs[:, own] @ prepared.ys[:, own].T
        squares += prepared.x_squares[:, own].sum(axis=1)[:, None] + prepared.y_squares[:, own].sum(axis=1)
        now = compute_rates(theta)[i] if carried else 0.0
        return lambda t: gram * np.exp((now - compute_rates(t)) * squares)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> FeatureChanges:
        w = self.features.width
        before = changes.before[:, :w]
        is_new = np.append(True, (before[1:] != before[:-1]).any(axis=1))[
            : len(before)
        ]  # changes of one value in a row
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
        """Return the features of all variables, those of the first one first (n, c q)."""
        return np.hstack([self.features.encode(own) for own in np.split(xs, self.n_variables, axis=1)])

    @property
    def _n_groups(self) -> int:
        return int(self.features.groups.max()) + 1

    @cached_property
    def _groups(self) -> IntArray:
        """The parameter of each feature of all variables (c q,)."""
        return np.concatenate([self.features.groups + v * self._n_groups for v in range(self.n_variables)])
