"""Pseudo-Boolean optimization: .opb files, with a linear objective and linear constraints over bits."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from bostruct.checks import short_repr
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.space import MAX_VARIABLES, Space
from bostruct.problems.base import GENERATED_SEEDS, InitialPoints, SpaceProblem, evaluate_in_chunks
from bostruct.problems.maxsat import CHUNK_CELLS, EXACT
from bostruct.problems.paths import read_lines

PUNCTUATION = re.compile(r"(>=|<=|[=;:])")
INTEGER = re.compile(r"[+-]?[0-9]+")
NAME = re.compile(r"~?[A-Za-z_][^\s~<>=;:]*")


def opb(file: str | Path) -> SpaceProblem:
    """Return the pseudo-Boolean problem of a file: minimize a sum of costs of bits under linear constraints.

    file: .opb, plain, .gz, .bz2 or .xz. What it maximizes counts as negative costs.

    Each constraint that a point breaks costs the sum of all costs' absolute values plus 1, so that breaking it is never
    worth it. Raises OSError, ValueError (naming file and line). Source: the competitions of Roussel and Manquinho.
    """
    found = read_opb(file)
    n = len(found.names)
    return SpaceProblem(
        name=f"opb:file={file}",
        space=Space({name: Binary() for name in found.names}),
        vertex_objective=found,
        initial=InitialPoints(GENERATED_SEEDS, (2,) * n),
        source="Pseudo-Boolean Competition, Roussel and Manquinho 2009",
        configs=tuple(GENERATED_SEEDS),
    )


@dataclass(frozen=True, eq=False)
class PseudoBoolean:
    """A linear objective of bits, plus a penalty for each linear constraint that a point breaks.

    names: of the n variables.
    costs: of the variables (n,), with a constant.
    coefficients: of the constraints (k, n), integers.
    low, high: between which the sum of each constraint must lie (k,).
    """

    names: tuple[str, ...]
    costs: Array
    constant: float
    coefficients: csr_array
    low: IntArray
    high: IntArray

    def __call__(self, vertices: IntArray) -> Array:
        return evaluate_in_chunks(self._values, vertices, max(1, CHUNK_CELLS // (len(self.low) + len(self.names))))

    def _values(self, vertices: IntArray) -> Array:
        sums = (self.coefficients @ vertices.T.astype(np.int64)).T
        broken = ((sums < self.low) | (sums > self.high)).sum(axis=1)
        return vertices @ self.costs + self.constant + (np.abs(self.costs).sum() + 1.0) * broken


def read_opb(path: str | Path) -> PseudoBoolean:
    """Read a pseudo-Boolean problem from a file.

    path: with at most one objective `min: +2 x1 -1 ~x2 ;` (or `max:`) and constraints `+1 x1 +3 ~x2 >= 2 ;` (or `=`,
        `<=`), which may go on in the next line.

    Raises OSError if the file cannot be opened, and ValueError, naming file and line, if it is malformed, not linear or
    has numbers above 2^53.
    """
    columns: dict[str, int] = {}
    objective: dict[int, int] = {}
    offset, n_objectives = 0, 0
    cells, numbers, ends, low, high = array("q"), array("q"), array("q", [0]), array("q"), array("q")
    statement: list[str] = []
    with read_lines(path) as lines:
        for line in lines:
            if line.lstrip().startswith("*"):
                continue
            for token in PUNCTUATION.sub(r" \1 ", line).split():
                if token != ";":
                    statement.append(token)
                    continue
                if statement[1:2] == [":"] and statement[0] in ("min", "max"):
                    sums, constant = _read_sum(statement[2:], columns)
                    sign = 1 if statement[0] == "min" else -1
                    objective, offset = {i: sign * cost for i, cost in sums.items()}, sign * constant
                    n_objectives += 1
                    if n_objectives > 1:
                        raise ValueError("expected at most one objective")
                else:
                    sums, least, most = _read_constraint(statement, columns)
                    cells.extend(sums)
                    numbers.extend(sums.values())
                    ends.append(len(cells))
                    low.append(least)
                    high.append(most)
                statement = []
            if len(statement) > 4 * MAX_VARIABLES:
                raise ValueError(f"expected ';' after at most {2 * MAX_VARIABLES:,} terms")
        if statement:
            raise ValueError(f"expected ';' at the end of {short_repr(' '.join(statement))}")
        if not columns:
            raise ValueError("expected a variable, got none")
    n = len(columns)
    costs = np.zeros(n)
    costs[list(objective)] = list(objective.values())
    table = csr_array((np.array(numbers), np.array(cells), np.array(ends)), shape=(len(low), n))
    return PseudoBoolean(tuple(columns), costs, float(offset), table, np.array(low), np.array(high))


def _read_constraint(tokens: Sequence[str], columns: dict[str, int]) -> tuple[dict[int, int], int, int]:
    """Return the coefficients of a constraint by variable, and between which numbers their sum must lie."""
    if len(tokens) < 2 or tokens[-2] not in (">=", "<=", "=") or not INTEGER.fullmatch(tokens[-1]):
        raise ValueError(f"expected a constraint such as '+1 x1 -2 x2 >= 1 ;', got {short_repr(' '.join(tokens))}")
    sums, constant = _read_sum(tokens[:-2], columns)
    bound = int(tokens[-1])
    if abs(bound) > EXACT:
        raise ValueError(f"expected a bound of at most 2^53, got {short_repr(tokens[-1])}")
    bound -= constant
    return sums, -2 * EXACT if tokens[-2] == "<=" else bound, 2 * EXACT if tokens[-2] == ">=" else bound


def _read_sum(tokens: Sequence[str], columns: dict[str, int]) -> tuple[dict[int, int], int]:
    """Return the coefficients of a sum by variable, and its constant; variables that are new get the next column."""
    sums: dict[int, int] = {}
    constant = total = 0
    for number, name in zip(tokens[::2], [*tokens[1::2], ""], strict=False):
        if not INTEGER.fullmatch(number) or not NAME.fullmatch(name):
            wrong = short_repr(f"{number} {name}".strip())
            raise ValueError(f"expected a coefficient and one variable, as in +2 x1 or -1 ~x2, got {wrong}")
        coefficient = int(number)
        total += abs(coefficient)
        column = columns.setdefault(name.removeprefix("~"), len(columns))
        if name.startswith("~"):  # a (1 - x)
            constant, coefficient = constant + coefficient, -coefficient
        sums[column] = sums.get(column, 0) + coefficient
    if total > EXACT:
        raise ValueError("expected coefficients of at most 2^53 in all")
    if len(columns) > MAX_VARIABLES:
        raise ValueError(f"expected at most {MAX_VARIABLES} variables")
    return sums, constant
