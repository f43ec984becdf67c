"""Polynomials in indicators of choices: features of sparse linear regression (Baptista and Poloczek 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_integer
from bostruct.contracts import Array, Batch, DomainError, IntArray

MAX_MONOMIALS = 50_000  # a sweep of the sampler then takes about a second at 300 points


@dataclass(frozen=True)
class Monomials:
    """All products of indicators of up to `order` different variables, constants left out.

    A variable with two choices has one indicator, of the second; any other has one for each choice.

    n_choices: number of choices of each variable.
    order: the most variables in one product, 1 to 4.

    Raises TypeError, ValueError; DomainError for more than 50,000 monomials.
    """

    n_choices: tuple[int, ...]
    order: int = 2

    def __post_init__(self) -> None:
        check_integer("order", self.order, 1, 4)
        if self.count > MAX_MONOMIALS:
            raise DomainError(
                f"order: {self.order} gives {self.count} monomials here, at most {MAX_MONOMIALS} are fitted"
            )

    @cached_property
    def columns(self) -> tuple[range, ...]:
        """The indicators of each variable."""
        starts = np.cumsum([0, *map(indicator_count, self.n_choices)]).tolist()
        return tuple(range(a, b) for a, b in pairwise(starts))

    @property
    def n_columns(self) -> int:
        return self.columns[-1].stop

    @property
    def count(self) -> int:
        """Number of monomials: the elementary symmetric sums of the numbers of indicators."""
        sums = [1] + [0] * self.order
        for k in map(indicator_count, self.n_choices):
            for order in range(self.order, 0, -1):
                sums[order] += k * sums[order - 1]
        return sum(sums[1:])

    @cached_property
    def members(self) -> IntArray:
        """The indicators of each monomial (p, order), filled with `n_columns`, which stands for 1."""
        rows = [
            (*chosen, *[self.n_columns] * (self.order - size))
            for size in range(1, self.order + 1)
            for variables in combinations(self.columns, size)
            for chosen in product(*variables)
        ]
        return np.array(rows, dtype=np.int64)

    def indicators(self, xs: Batch) -> Array:
        """Return the indicators of m points, and a column of ones (m, n_columns + 1).

        xs: m points (m, d).
        """
        rows = np.asarray(xs, dtype=np.int64)
        held: npt.NDArray[np.float64] = np.zeros((len(rows), self.n_columns + 1))
        held[:, -1] = 1.0
        for i, columns in enumerate(self.columns):
            if len(columns) == 1:
                held[:, columns.start] = rows[:, i]
            else:
                held[np.arange(len(rows)), columns.start + rows[:, i]] = 1.0
        return held

    def __call__(self, xs: Batch) -> Array:
        """Return the monomials of m points (m, p)."""
        held = self.indicators(xs)
        found = held[:, self.members[:, 0]]
        for k in range(1, self.order):
            found *= held[:, self.members[:, k]]
        return found


def indicator_count(n_choices: int) -> int:
    """Return the number of indicators of a variable: one where it has two choices, else one for each choice.

    n_choices: number of choices of the variable.
    """
    return 1 if n_choices == 2 else n_choices


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A weighted sum of monomials, without a constant.

    monomials: p terms.
    coefficients: (p,), of each term.
    """

    monomials: Monomials
    coefficients: Array

    def __call__(self, xs: Batch) -> Array:
        """Return the polynomial's values at m points (m,)."""
        return self.monomials(xs) @ self.coefficients

    @property
    def columns(self) -> Sequence[range]:
        return self.monomials.columns

    def quadratic(self) -> tuple[Array, Array]:
        """Return coefficients of single indicators (D,), and of pairs (D, D), symmetric, half of each on either side.

        Raises ValueError above order two.
        """
        if self.monomials.order > 2:
            raise ValueError(f"order: expected at most 2, got {self.monomials.order}")
        d = self.monomials.n_columns
        whole: Any = np.zeros((d + 1, d + 1))
        members = self.monomials.members
        second = members[:, 1] if self.monomials.order == 2 else np.full(len(members), d)
        whole[members[:, 0], second] = self.coefficients
        return whole[:d, d].copy(), 0.5 * (whole[:d, :d] + whole[:d, :d].T)
