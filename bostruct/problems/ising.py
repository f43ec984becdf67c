"""Ising sparsification: which couplings of a small spin glass can be removed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.space import Space
from bostruct.problems.base import (
    InitialPoints,
    SpaceProblem,
    all_bits,
    evaluate_in_chunks,
    mersenne_words,
    seeds_of_case,
)

TAG = "2019ICML_ISING"
SOURCE = "Baptista and Poloczek, ICML 2018; instances of Oh et al., NeurIPS 2019 (COMBO)"
SIDE = 4
WEAKEST, STRONGEST = 0.05, 5.0
ISING_CHUNK = 65_536

# Spins of one row of the grid, (16, 4); the bonds that a state satisfies, along the row and down to the next row.
SPINS = 1.0 - 2.0 * ((np.arange(2**SIDE)[:, None] >> np.arange(SIDE)) & 1)
ALONG = SPINS[:, :-1] * SPINS[:, 1:]  # (16, 3)
DOWN = SPINS[:, None, :] * SPINS[None, :, :]  # (16, 16, 4)

# Positions of the couplings in a point: grid edges sorted by their two sites. Row-major within each kind.
HORIZONTAL = np.array([0, 2, 4, 7, 9, 11, 14, 16, 18, 21, 22, 23])
VERTICAL = np.setdiff1d(np.arange(24), HORIZONTAL)
# The upper half are rows 0, 1 and the bonds 0-1; the lower half the bonds 1-2, rows 2, 3 and the bonds 2-3.
UPPER_BONDS = np.concatenate([HORIZONTAL[:6], VERTICAL[:4]])
LOWER_BONDS = np.concatenate([VERTICAL[4:8], HORIZONTAL[6:9], VERTICAL[8:], HORIZONTAL[9:]])


@dataclass(frozen=True, eq=False)
class Ising:
    """Kullback-Leibler divergence from p to its sparsified q, plus strength times the couplings kept.

    p(s) is proportional to exp(sum over bonds of 2 J_e s s'), q has J_e x_e. The sums over the 2^16 states are exact:
    transfer matrices that meet in the middle. Tables have the sums over the upper two rows for each of their 2^10
    points, and over the lower two rows for each of their 2^14 points, so that log Z_q is one product of 16.

    horizontal: (4, 3), J of the bonds within a row.
    vertical: (3, 4), J of the bonds between rows.
    """

    horizontal: Array
    vertical: Array
    strength: float

    def __call__(self, vertices: IntArray) -> Array:
        return evaluate_in_chunks(self._values, vertices, ISING_CHUNK)

    def _values(self, vertices: IntArray) -> Array:
        upper, lower = self.halves
        halves = (
            upper[vertices[:, UPPER_BONDS] @ _place_values(10)],
            lower[vertices[:, LOWER_BONDS] @ _place_values(14)],
        )
        log_z = np.log(np.einsum("ms,ms->m", *halves))
        return log_z + self.constant - vertices @ self.gains

    @cached_property
    def couplings(self) -> Array:
        """J in the order of the variables, (24,)."""
        ordered = np.empty(24)
        ordered[HORIZONTAL], ordered[VERTICAL] = self.horizontal.ravel(), self.vertical.ravel()
        return ordered

    @cached_property
    def correlations(self) -> Array:
        """E_p[s s'] of each bond, in the order of the variables, (24,)."""
        return _spin_correlations(self.horizontal, self.vertical)

    @cached_property
    def log_z(self) -> float:
        """Log Z_p."""
        upper, lower = self.halves
        return float(np.log(upper[-1] @ lower[-1]))

    @cached_property
    def constant(self) -> float:
        """2 sum J E_p[s s'] - log Z_p."""
        return float(2 * self.couplings @ self.correlations - self.log_z)

    @cached_property
    def gains(self) -> Array:
        """The amount by which keeping each bond decreases the linear part of the objective, (24,)."""
        return 2 * self.couplings * self.correlations - self.strength

    @cached_property
    def halves(self) -> tuple[Array, Array]:
        """Sums over row 0 (2^10, 16) and over rows 2, 3 (2^14, 16), for each set of kept bonds and state of row 1."""
        # exp of the bonds, for kept bonds and states: along each row (8, 16), between two rows (16, 16, 16)
        rows = [np.exp(2 * (all_bits(3) * j) @ ALONG.T) for j in self.horizontal]
        bonds = [np.exp(2 * np.einsum("kj,stj->kst", all_bits(4) * j, DOWN)) for j in self.vertical]
        upper = np.einsum("as,cst,bt->abct", rows[0], bonds[0], rows[1], optimize=True)
        below = np.einsum("ctu,du->cdtu", bonds[2], rows[3])
        last = below.sum(axis=-1)  # kept bonds 2-3, kept in row 3, state of row 2
        lower = np.einsum("cst,at,bdt->cabds", bonds[1], rows[2], last, optimize=True)
        return upper.reshape(2**10, -1), np.ascontiguousarray(lower.reshape(2**14, -1))


def ising(case: int = 1286, strength: float = 0.0) -> SpaceProblem:
    """Return the problem of choosing which of the 24 couplings of a 4 x 4 spin glass to keep.

    case: seed of the instance, 0 to 2^32 - 1; published are 1286, 6786, 8158, 8193 and 8733.
    strength: lambda, the penalty of each kept coupling, from 0; published are 0, 1e-4 and 1e-2.

    Raises TypeError or ValueError.
    """
    case = check_integer("case", case, 0, 2**32 - 1)
    strength = check_number("lambda", strength, 0.0)
    objective = Ising(*couplings(case), strength)
    optimum, vertices = exact_optimum(objective)
    seeds = seeds_of_case(TAG, case)
    return SpaceProblem(
        name=f"ising:case={case},lambda={strength:g}",
        space=Space({f"bond {a}-{b}": Binary() for a, b in grid_edges()}),
        vertex_objective=objective,
        initial=InitialPoints(seeds, (2,) * 24),
        source=SOURCE,
        configs=tuple(seeds),
        optimum=0.0 if strength == 0 else optimum,  # a divergence: 0 if every coupling is kept
        optimum_source="proved by enumeration of all 2^24 points",
        optimal_vertices=(1,) * 24 if strength == 0 else vertices,
    )


def grid_edges() -> list[tuple[int, int]]:
    """Return pairs of neighboring sites of the grid, sites numbered row by row, in the order of the variables."""
    sites = range(SIDE * SIDE)
    across = [(i, i + 1) for i in sites if i % SIDE < SIDE - 1]
    return sorted(across + [(i, i + SIDE) for i in sites if i < SIDE * (SIDE - 1)])


def couplings(case: int) -> tuple[Array, Array]:
    """Return J of the horizontal (4, 3) and vertical (3, 4) bonds, as torch draws them, in float32."""
    drawn = mersenne_words(case, 48).reshape(4, 12)
    signs = (2 * (drawn[[0, 2]] % 2) - 1).astype(np.float32)
    uniform = (drawn[[1, 3]] & (2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)
    magnitudes = uniform * np.float32(STRONGEST - WEAKEST) + np.float32(WEAKEST)
    across, down = (signs * magnitudes).astype(np.float64)
    return across.reshape(SIDE, SIDE - 1), down.reshape(SIDE - 1, SIDE)


def exact_optimum(objective: Ising) -> tuple[float, tuple[int, ...]]:
    """Return the minimum over all 2^24 points, and a minimizer; takes about 0.1 s."""
    upper, lower = objective.halves
    upper_bits, lower_bits = all_bits(10), all_bits(14)
    linear = lower_bits @ objective.gains[LOWER_BONDS]
    best, rows = np.inf, (0, 0)
    for a, (row, bits) in enumerate(zip(upper, upper_bits, strict=True)):
        values = np.log(lower @ row) - linear
        b = int(np.argmin(values))
        value = float(values[b] - bits @ objective.gains[UPPER_BONDS])
        if value < best:
            best, rows = value, (a, b)
    point = np.zeros(24, dtype=np.int64)
    point[UPPER_BONDS], point[LOWER_BONDS] = upper_bits[rows[0]], lower_bits[rows[1]]
    return best + objective.constant, tuple(map(int, point))


def _spin_correlations(horizontal: Array, vertical: Array) -> Array:
    """Return E_p[s s'] of each bond, in the order of the variables, from the marginals of rows and of pairs of rows."""
    rows = np.exp(2 * horizontal @ ALONG.T)  # (4, 16)
    bonds = np.exp(2 * np.einsum("rj,stj->rst", vertical, DOWN))  # (3, 16, 16)
    before, after = [rows[0]], [rows[-1]]  # sums over all rows above, and over all rows below, including the own row
    for r in range(SIDE - 1):
        before.append((before[-1] @ bonds[r]) * rows[r + 1])
        after.append((bonds[-1 - r] @ after[-1]) * rows[-2 - r])
    after.reverse()
    z = before[-1].sum()
    result = np.empty(24)
    result[HORIZONTAL] = np.concatenate(
        [(b * a / row) @ ALONG / z for b, a, row in zip(before, after, rows, strict=True)]
    )
    result[VERTICAL] = np.concatenate(
        [np.einsum("s,st,t,stj->j", before[r], bonds[r], after[r + 1], DOWN) / z for r in range(SIDE - 1)]
    )
    return result


def _place_values(n: int) -> IntArray:
    """Return the place values of n bits, highest first."""
    return 2 ** np.arange(n - 1, -1, -1)
