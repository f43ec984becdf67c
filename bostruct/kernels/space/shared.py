"""Factors of many variables that are alike: one parameter serves all of them.

Few values cannot tell the lengthscales of hundreds of variables apart. With one for all, the factor of complete graphs
is a function of the number of variables in which two points differ, which is counted once, whatever theta is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from bostruct.contracts import Array, IntArray, Prepared
from bostruct.kernels.space.complete import CompleteChanges, CompleteFactor
from bostruct.kernels.space.diffusion import TableFactor
from bostruct.kernels.space.factor import Factor, VariableChanges, count_disagreements, disagreement_change
from bostruct.kernels.space.spectra import Link

ServedFactor: TypeAlias = tuple[Factor, tuple[int, ...]]


class PreparedShared(NamedTuple):
    """A pair of batches as the factor of single parameters prepares it.

    shape: (n, m).
    """

    shape: tuple[int, int]
    inner: Prepared


@dataclass(frozen=True)
class HammingFactor(Factor):
    """The factor of variables with equally many choices, all on complete graphs, that share one parameter.

    log F = log rho(theta) times the number of variables in which two points differ: `CompleteFactor` where all its
    parameters are equal.

    size: number of choices of each variable, at least 2.
    """

    size: int
    n_variables: int
    link: Link
    has_unit_diagonal = True

    @property
    def n_parameters(self) -> int:
        return 1

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        """Count the variables in which two points differ (n, m).

        xs: choices of n points (n, c).
        ys: choices of m points (m, c); None for xs with themselves.
        """
        return count_disagreements(xs, xs if ys is None else ys, self.size)

    def log_gram(self, theta: Array, prepared: Array, without: int | None = None) -> Array:
        return prepared * (0.0 if without is not None else self._log_rho(theta))

    def gradient(self, theta: Array, prepared: Array, weighted: Array) -> Array:
        return self.link.complete_slope(theta, np.full(1, float(self.size))) * float(np.vdot(weighted, prepared))

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> CompleteChanges:
        return CompleteChanges(changes.which, disagreement_change(changes, ys))

    def log_change(self, theta: Array, prepared: CompleteChanges) -> Array:
        return np.multiply(prepared.change, self._log_rho(theta), dtype=np.float64)

    def _log_rho(self, theta: Array) -> float:
        return float(self.link.complete(theta, np.full(1, float(self.size)))[0])


@dataclass(frozen=True)
class SharedFactor(Factor):
    """A factor of any kind whose variables share one parameter."""

    factor: Factor

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of its variables."""
        return self.factor.n_variables

    @property
    def n_parameters(self) -> int:
        return 1

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.factor.has_unit_diagonal

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> PreparedShared:
        return PreparedShared((len(xs), len(xs if ys is None else ys)), self.factor.prepare(xs, ys))

    def log_gram(self, theta: Array, prepared: PreparedShared, without: int | None = None) -> Array:
        return (
            self.factor.log_gram(self._repeat(theta), prepared.inner) if without is None else np.zeros(prepared.shape)
        )

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        return self.factor.log_diag(self._repeat(theta), xs)

    def gradient(self, theta: Array, prepared: PreparedShared, weighted: Array) -> Array:
        return self.factor.gradient(self._repeat(theta), prepared.inner, weighted).sum(keepdims=True)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> Prepared:
        return self.factor.prepare_changes(changes, ys)

    def log_change(self, theta: Array, prepared: Prepared) -> Array:
        return self.factor.log_change(self._repeat(theta), prepared)

    def _repeat(self, theta: Array) -> Array:
        return np.full(self.factor.n_variables, theta[0])


def share_parameters(factors: Sequence[ServedFactor], most: int) -> list[ServedFactor]:
    """Let variables on equal graphs share one parameter, wherever they are more than some number.

    Returns factors, and which variables each serves.
    """
    found: list[ServedFactor] = []
    for factor, served in factors:
        if isinstance(factor, CompleteFactor):
            found += _share_complete(factor, served, most)
        elif isinstance(factor, TableFactor) and factor.n_variables > most:
            found.append((SharedFactor(factor), served))
        else:
            found.append((factor, served))
    return found


def _share_complete(factor: CompleteFactor, served: tuple[int, ...], most: int) -> list[ServedFactor]:
    by_size: dict[int, list[int]] = {}
    for i, size in zip(served, factor.sizes, strict=True):
        by_size.setdefault(size, []).append(i)
    many = {size: tuple(own) for size, own in by_size.items() if len(own) > most and size > 1}
    if not many:
        return [(factor, served)]
    found: list[ServedFactor] = [(HammingFactor(size, len(own), factor.link), own) for size, own in many.items()]
    pairs = zip(served, factor.sizes, strict=True)
    if left := [(i, size) for i, size in pairs if size not in many]:
        own, sizes = zip(*left, strict=True)
        found.append((CompleteFactor(sizes, factor.link), own))
    return found
