"""Variables that not every point has: a factor and an effect around those of the variable itself.

k(absent, absent) = 1, k(absent, x) = c, k(x, y) = c^2 + (1 - c^2) k0(x, y), with 0 < c < 1. It is the covariance of
f(absent) = g, f(x) = c g + sqrt(1 - c^2) h(x), where g has variance 1 and h the kernel k0, and so it is positive
semi-definite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bostruct.contracts import Array, IntArray, Prepared
from bostruct.domains.space.variable import ABSENT
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.kernels.space.main_effects import EffectKernel


class ConditionalPair(NamedTuple):
    """Two batches, of which some points have the variable.

    x_has, y_has: positions of these points among n and among m.
    shape: (n, m).
    inner: what the variable's own factor made of these points.
    """

    x_has: IntArray
    y_has: IntArray
    shape: tuple[int, int]
    inner: Prepared


class ConditionalChanges(NamedTuple):
    """Changes of the variable, as the batches before and after them, each compared with the same points.

    before, after: pairs of r changes and m points.
    """

    before: ConditionalPair
    after: ConditionalPair


@dataclass(frozen=True)
class ConditionalFactor:
    """The factor of one variable that not every point has.

    Its parameters are that of the variable's own factor, and the logit of c, the correlation between points with and
    without the variable.

    inner: the factor of the variable alone.
    """

    inner: Factor

    @property
    def n_variables(self) -> int:
        """One."""
        return 1

    @property
    def has_unit_diagonal(self) -> bool:
        """True where the variable's own factor has."""
        return self.inner.has_unit_diagonal

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> ConditionalPair:
        """Find the points that have the variable, and prepare those.

        xs: own columns of n points (n, w).
        ys: own columns of m points (m, w); None for xs with themselves.
        """
        x_has = find_present(xs)
        if ys is None:
            return ConditionalPair(x_has, x_has, (len(xs), len(xs)), self.inner.prepare(xs[x_has]))
        y_has = find_present(ys)
        return ConditionalPair(x_has, y_has, (len(xs), len(ys)), self.inner.prepare(xs[x_has], ys[y_has]))

    def log_gram(self, theta: Array, prepared: ConditionalPair, without: int | None = None) -> Array:
        """Return log k (n, m); zeros where the variable is left out.

        theta: (2,), the variable's own parameter and the logit of c.
        prepared: of n and m points.
        without: position of a parameter, whose variable is left out; None for none.
        """
        log_gram = np.zeros(prepared.shape)
        if without is not None:
            return log_gram
        c = expit(theta[1])
        log_gram[prepared.x_has] += np.log(c)
        log_gram[:, prepared.y_has] += np.log(c)  # twice where both have it, which is overwritten
        log_gram[np.ix_(prepared.x_has, prepared.y_has)] = np.log(self._both(theta, c, prepared)[1])
        return log_gram

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return log k(x, x) of each point (n,).

        theta: (2,).
        xs: own columns of n points (n, w).
        """
        diagonal, has, c = np.zeros(len(xs)), find_present(xs), expit(theta[1])
        diagonal[has] = np.log(c**2 + (1.0 - c**2) * np.exp(self.inner.log_diag(theta[:1], xs[has])))
        return diagonal

    def gradient(self, theta: Array, prepared: ConditionalPair, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log k) in theta (2,).

        theta: (2,).
        prepared: of n and m points.
        weighted: (n, m).
        """
        c = expit(theta[1])
        own, both = self._both(theta, c, prepared)
        cotangent = weighted[np.ix_(prepared.x_has, prepared.y_has)] / both
        inner = self.inner.gradient(theta[:1], prepared.inner, cotangent * own * (1.0 - c**2))
        n_one = weighted[prepared.x_has].sum() + weighted[:, prepared.y_has].sum()
        n_one -= 2.0 * weighted[np.ix_(prepared.x_has, prepared.y_has)].sum()
        slope = 2.0 * c * float(np.vdot(cotangent, 1.0 - own)) + n_one / c
        return np.array([inner[0], slope * c * (1.0 - c)])

    def line(
        self, i: int, theta: Array, prepared: ConditionalPair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
        """Return K along one of the two parameters.

        i: position of the parameter, 0 or 1.
        theta: (2,), the parameters now.
        prepared: of n and m points.
        gram: K (n, m).
        carried: True where `gram` holds this factor at `theta`.
        """
        rest = gram / np.exp(self.log_gram(theta, prepared)) if carried else gram

        def along(t: float) -> Array:
            moved = np.array(theta, dtype=np.float64)
            moved[i] = t
            found = self.log_gram(moved, prepared)
            return np.multiply(np.exp(found, out=found), rest, out=found)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> ConditionalChanges:
        """Prepare the values before and after each change.

        changes: r changes.
        ys: own columns of m points (m, w).
        """
        width = ys.shape[1]
        return ConditionalChanges(*(self.prepare(own[:, :width], ys) for own in (changes.before, changes.after)))

    def log_change(self, theta: Array, prepared: ConditionalChanges) -> Array:
        """Return by how much each change adds to log K (r, m).

        theta: (2,).
        prepared: of `prepare_changes`.
        """
        return self.log_gram(theta, prepared.after) - self.log_gram(theta, prepared.before)

    def _both(self, theta: Array, c: float, prepared: ConditionalPair) -> tuple[Array, Array]:
        """Return the variable's own kernel, and k, between points that have it."""
        own = np.exp(self.inner.log_gram(theta[:1], prepared.inner))
        return own, c**2 + (1.0 - c**2) * own


@dataclass(frozen=True)
class ConditionalEffect:
    """The effect of a variable that not every point has: none where it is absent.

    inner: the effect of the variable alone.
    """

    inner: EffectKernel

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between values (n, m), 0 where one of them is absent.

        xs: own columns of n points (n, w).
        ys: own columns of m points (m, w).
        """
        gram, x_has, y_has = np.zeros((len(xs), len(ys))), find_present(xs), find_present(ys)
        gram[np.ix_(x_has, y_has)] = self.inner.gram(xs[x_has], ys[y_has])
        return gram

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each value with itself (n,), 0 where it is absent.

        xs: own columns of n points (n, w).
        """
        diagonal, has = np.zeros(len(xs)), find_present(xs)
        diagonal[has] = self.inner.diag(xs[has])
        return diagonal


def find_present(xs: IntArray) -> IntArray:
    """Return the positions of the points that have a variable (k,).

    xs: its columns of n points (n, w).
    """
    return np.flatnonzero(xs[:, 0] != ABSENT)
