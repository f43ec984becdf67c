"""Variables that are numbers: Matern-5/2 on the share of their range, one lengthscale each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.scale import NumberGrid
from bostruct.kernels.space.factor import VariableChanges

ROOT = math.sqrt(5.0)
MAX_FACTORS = 8  # of a product that is taken before its logarithm: each is at most about 1e21, so it cannot overflow


class NumberPair(NamedTuple):
    """Two batches as shares of the variables' ranges.

    xs: of n points (c, n).
    ys: of m points (c, m).
    """

    xs: Array
    ys: Array


class NumberChanges(NamedTuple):
    """Changes of numbers, by their distances to each y.

    which: the variable of each change (r,).
    before: its distance to each y before the change (r, m).
    after: the same after it (r, m).
    """

    which: IntArray
    before: Array
    after: Array


@dataclass(frozen=True)
class MaternFactor:
    """The factor of numbers, one column each: k = (1 + a + a^2 / 3) exp(-a), a = sqrt(5) |x - y| / lengthscale.

    x and y are shares of the range, on the scale on which the variable is even (Rasmussen and Williams 2006, equation
    4.17). theta is the log lengthscale: 1 is the whole range.

    grids: of each variable, its numbers and the scale on which they are even.
    """

    grids: tuple[NumberGrid, ...]

    @property
    def n_variables(self) -> int:
        """The number of its variables."""
        return len(self.grids)

    @property
    def has_unit_diagonal(self) -> bool:
        """True: equal numbers correlate fully."""
        return True

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> NumberPair:
        """Turn positions on the grids into shares.

        xs: positions of n points (n, c).
        ys: positions of m points (m, c); None for xs with themselves.
        """
        own = self._shares(xs)
        return NumberPair(own, own if ys is None else self._shares(ys))

    def log_gram(self, theta: Array, prepared: NumberPair, without: int | None = None) -> Array:
        """Return the part of log K that comes from these variables (n, m).

        theta: (c,).
        prepared: of n and m points.
        without: position of a variable to leave out; None for none.
        """
        log_gram = np.zeros((prepared.xs.shape[1], prepared.ys.shape[1]))
        product: Array | None = None
        kept = [i for i in range(self.n_variables) if i != without]
        for k, i in enumerate(kept):
            a = _distances(prepared, i, theta[i])
            log_gram -= a
            polynomial = a * (a / 3.0 + 1.0)
            polynomial += 1.0
            product = polynomial if product is None else np.multiply(product, polynomial, out=product)
            if (k + 1) % MAX_FACTORS == 0 or k + 1 == len(kept):
                log_gram += np.log(product, out=product)
                product = None
        return log_gram

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return zeros (n,): equal numbers correlate fully.

        theta: (c,).
        xs: positions of n points (n, c).
        """
        del theta
        return np.zeros(len(xs))

    def gradient(self, theta: Array, prepared: NumberPair, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log K) in theta (c,).

        theta: (c,).
        prepared: of n and m points.
        weighted: (n, m).
        """
        slopes = [np.vdot(weighted, _slope(_distances(prepared, i, t))) for i, t in enumerate(theta)]
        return np.array(slopes, dtype=np.float64)

    def line(
        self, i: int, theta: float, prepared: NumberPair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
        """Return K along the parameter of one variable; each call overwrites what the last returned.

        i: position of the variable.
        theta: its parameter now.
        prepared: of n and m points.
        gram: K (n, m).
        carried: True where `gram` holds the kernel of variable i at `theta`.
        """
        far = _distances(prepared, i, 0.0)
        rest = gram / np.exp(_log_matern(far * math.exp(-theta))) if carried else gram
        out = np.empty_like(rest)

        def along(t: float) -> Array:
            np.exp(_log_matern(far * math.exp(-t)), out=out)
            return np.multiply(out, rest, out=out)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> NumberChanges:
        """Measure how far each y is from the number before and after each change.

        changes: r changes.
        ys: positions of m points (m, c).
        """
        theirs = self._shares(ys)[changes.which]  # (r, m)
        before, after = (
            ROOT * np.abs(self._shares_of(changes.which, own[:, 0])[:, None] - theirs)
            for own in (changes.before, changes.after)
        )
        return NumberChanges(changes.which, before, after)

    def log_change(self, theta: Array, prepared: NumberChanges) -> Array:
        """Return by how much each change adds to log K (r, m).

        theta: (c,).
        prepared: of `prepare_changes`.
        """
        rates = np.exp(-theta)[prepared.which][:, None]
        return _log_matern(prepared.after * rates) - _log_matern(prepared.before * rates)

    def _shares(self, xs: IntArray) -> Array:
        """Return the shares of points by variable (c, n); xs: (n, c)."""
        shares = np.empty((self.n_variables, len(xs)))
        for i, grid in enumerate(self.grids):
            shares[i] = grid.shares(xs[:, i])
        return shares

    def _shares_of(self, which: IntArray, vertices: IntArray) -> Array:
        """Return the share of each of r vertices, each of its own variable (r,)."""
        shares = np.empty(len(which))
        for i in np.unique(which).tolist():
            rows = which == i
            shares[rows] = self.grids[i].shares(vertices[rows])
        return shares


def _distances(prepared: NumberPair, i: int, theta: float) -> Array:
    """Return sqrt(5) times the distance over the lengthscale (n, m)."""
    far = prepared.xs[i][:, None] - prepared.ys[i]
    np.abs(far, out=far)
    far *= ROOT * math.exp(-theta)
    return far


def _log_matern(a: Array) -> Array:
    return np.log1p(a * (1.0 + a / 3.0)) - a


def _slope(a: Array) -> Array:
    """Return the derivative of the log kernel in the log lengthscale."""
    square = a * a / 3.0
    return square * (1.0 + a) / (1.0 + a + square)
