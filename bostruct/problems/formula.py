"""Weighted clauses over binary variables, and how much weight of them a point leaves unsatisfied."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.checks import short_repr
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.space import Space
from bostruct.problems.base import evaluate_in_chunks

CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class Formula:
    """Clauses of signed variable numbers, as DIMACS writes them: 3 is x3, -3 its negation.

    n_variables: number of variables, at least 1.
    clauses: at least one, each a tuple of signed variable numbers.
    weights: of each clause, positive; infinity marks a hard clause.

    Raises ValueError.
    """

    n_variables: int
    clauses: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.n_variables < 1 or not self.clauses or len(self.clauses) != len(self.weights):
            raise ValueError(
                "formula: expected at least one variable, and as many weights as clauses, at least one; got "
                f"{self.n_variables} variables, {len(self.clauses)} clauses, {len(self.weights)} weights"
            )
        for clause, weight in zip(self.clauses, self.weights, strict=True):
            if any(literal == 0 or abs(literal) > self.n_variables for literal in clause):
                raise ValueError(f"clause: expected literals of +-1..{self.n_variables}, got {short_repr(clause)}")
            if not weight > 0:
                raise ValueError(f"weight: expected a positive number, got {weight}")

    @cached_property
    def hard(self) -> npt.NDArray[np.bool_]:
        """True for the clauses that must hold, (clauses,) of bool."""
        return np.isinf(self.weights)

    @cached_property
    def soft_weight(self) -> float:
        """The sum of the weights of the soft clauses."""
        return math.fsum(w for w in self.weights if not math.isinf(w))

    @property
    def space(self) -> Space:
        """The space of binary variables x1, x2, ..."""
        return Space({f"x{i + 1}": Binary() for i in range(self.n_variables)})


@dataclass(frozen=True, eq=False)
class ClauseWeight:
    """The sum of costs over the clauses that a point leaves unsatisfied.

    formula: has the clauses.
    costs: (clauses,), of each clause.
    constant: added to the sum.
    """

    formula: Formula
    costs: Array
    constant: float = 0.0

    def __call__(self, vertices: IntArray) -> Array:
        literals, _ = self._literals
        return evaluate_in_chunks(self._values, vertices, max(1, CHUNK_CELLS // len(literals)))

    def _values(self, vertices: IntArray) -> Array:
        literals, first = self._literals
        m, d = vertices.shape
        true = np.zeros((2 * d + 1, m), dtype=bool)  # of each literal: 0 never, i variable i, d + i its negation
        true[1 : d + 1] = vertices.T
        np.logical_not(true[1 : d + 1], out=true[d + 1 :])
        satisfied = np.logical_or.reduceat(true[literals], first, axis=0)
        return self.costs @ ~satisfied + self.constant

    @cached_property
    def _literals(self) -> tuple[IntArray, IntArray]:
        """Rows of all literals, clause after clause, and where each clause begins; 0 stands in an empty clause."""
        d = self.formula.n_variables
        rows = [[lit if lit > 0 else d - lit for lit in clause] or [0] for clause in self.formula.clauses]
        ends = np.cumsum([len(row) for row in rows])
        return np.concatenate([np.array(row) for row in rows]), np.concatenate([[0], ends[:-1]])


def raw_costs(formula: Formula) -> ClauseWeight:
    """Return the weight of the unsatisfied clauses as an objective.

    A hard clause costs all soft weight plus 1, so that none is worth breaking.

    formula: to be satisfied.
    """
    weights = np.where(formula.hard, formula.soft_weight + 1.0, formula.weights)
    return ClauseWeight(formula, weights)


def standardized_costs(formula: Formula) -> ClauseWeight:
    """Return minus the standardized weight of the satisfied clauses as an objective, in float32 (Oh et al. 2019).

    Clauses lighter than the mean then count as worse satisfied than not: it is not the MaxSAT optimum any more.

    formula: without hard clauses.

    Raises ValueError where there are hard clauses or all weights are equal.
    """
    if formula.hard.any():
        raise ValueError("weights: expected 'raw' for a formula with hard clauses; 'standardized' needs soft ones only")
    weights = np.array(formula.weights, dtype=np.float32)
    deviation = weights.std()
    if deviation == 0:
        raise ValueError("weights: expected 'raw' where all clauses weigh the same; they cannot be standardized")
    scaled = ((weights - weights.mean()) / deviation).astype(np.float64)
    return ClauseWeight(formula, scaled, -float(scaled.sum()))
