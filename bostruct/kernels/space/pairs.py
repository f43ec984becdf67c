"""The product of two factors of the same variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, IntArray, Prepared
from bostruct.kernels.space.factor import Factor, VariableChanges


@dataclass(frozen=True)
class FactorPair(Factor):
    """The product of two factors of the same c variables, each with its own number of parameters for a variable.

    Each variable has its parameters of the first factor, then those of the second one.

    first, second: of the same variables.
    """

    first: Factor
    second: Factor

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of their variables, c."""
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

    def line(
        self, i: int, theta: Array, prepared: tuple[Prepared, Prepared], gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
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
        """Return the position of a parameter in the first factor or in the second one, None in the other."""
        if i is None:
            return None, None
        v, place = divmod(i, self.n_parameters // self.n_variables)
        if place < self._own:
            return v * self._own + place, None
        return None, v * (self.second.n_parameters // self.n_variables) + place - self._own
