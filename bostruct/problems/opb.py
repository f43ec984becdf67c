"""Pseudo-Boolean optimization: .opb files, with a linear objective and linear constraints over bits."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from bostruct.checks import short_repr
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.space import MAX_VARIABLES, Space
from bostruct.problems.base import GENERATED_SEEDS, InitialPoints, SpaceProblem, evaluate_in_chunks
from bostruct.problems.maxsat import CHUNK_CELLS, EXACT, MAX_DIGITS
from bostruct.problems.paths import WrongWord, read_lines

WORDS = re.compile(r"(?:min|max)\s*:|>=|<=|[=;:<>]|[^\s=;:<>]+")
INTEGER = re.compile(r"[+-]?[0-9]+")
NAME = re.compile(r"~?[A-Za-z_][^\s~<>=;:]*")
TERM = "a coefficient and one variable, as in +2 x1 or -1 ~x2"


def opb(file: str | Path) -> SpaceProblem:
    """Return the pseudo-Boolean problem of a file: minimize a sum of costs of bits under linear constraints.

    file: .opb, plain, .gz, .bz2 or .xz. An objective to maximize becomes negative costs.

    Each violated constraint costs the sum of all costs' absolute values plus 1, so that violating it never pays off.
    Raises OSError, ValueError (naming file and line). Source: the competitions of Roussel and Manquinho.
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
    """A linear objective of bits, plus a penalty for each violated linear constraint.

    names: names of the n variables.
    costs: costs of the variables (n,), in addition to `constant`.
    coefficients: integer coefficients of the constraints (k, n).
    low, high: bounds of the sum of each constraint (k,).
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

    path: a file with at most one objective `min: +2 x1 -1 ~x2 ;` (or `max:`) and constraints `+1 x1 +3 ~x2 >= 2 ;` (or
        `=`, `<=`), which may continue in the next line.

    Raises OSError if the file cannot be opened, and ValueError, naming file and line, if it is malformed, not linear or
    has numbers above 2^53.
    """
    columns: dict[str, int] = {}
    objective: Statement | None = None
    cells, numbers, ends, low, high = array("q"), array("q"), array("q", [0]), array("q"), array("q")
    with read_lines(path) as lines:
        one = Statement(columns)
        for line in lines:
            if line.lstrip().startswith("*"):
                continue
            for i, word in enumerate(WORDS.findall(line)):
                try:
                    if not one.take(word):
                        continue
                    if one.goal and objective is not None:
                        raise ValueError("expected at most one objective")
                except ValueError as error:
                    raise WrongWord(str(error), i, WORDS) from None
                if one.goal:
                    objective = one
                else:
                    cells.extend(one.sums)
                    numbers.extend(one.sums.values())
                    ends.append(len(cells))
                    bound = (one.bound or 0) - one.constant
                    low.append(-2 * EXACT if one.relation == "<=" else bound)
                    high.append(2 * EXACT if one.relation == ">=" else bound)
                one = Statement(columns)
        if one.n_words:
            raise ValueError("expected ';' at the end of the statement")
        if not columns:
            raise ValueError("expected a variable, got none")
    n = len(columns)
    costs, offset = np.zeros(n), 0
    if objective is not None:
        sign = 1 if objective.goal == "min" else -1
        costs[list(objective.sums)] = [sign * cost for cost in objective.sums.values()]
        offset = sign * objective.constant
    table = csr_array((np.array(numbers), np.array(cells), np.array(ends)), shape=(len(low), n))
    return PseudoBoolean(tuple(columns), costs, float(offset), table, np.array(low), np.array(high))


@dataclass
class Statement:
    """An objective or a constraint, which is read word by word.

    columns: columns of the variables by name; a new variable gets the next column.
    goal: ``min`` or ``max``; empty for a constraint.
    sums: coefficients by column; `constant` is the constant of negated variables.
    relation, bound: relation and right side of a constraint.
    """

    columns: dict[str, int]
    goal: str = ""
    sums: dict[int, int] = field(default_factory=dict)
    constant: int = 0
    relation: str = ""
    bound: int | None = None
    n_words: int = 0
    total: int = 0
    coefficient: int | None = None  # a coefficient whose variable comes next

    def take(self, word: str) -> bool:
        """Add a word, and return True for the last one; raise ValueError for a word that cannot follow."""
        self.n_words += 1
        if self.n_words == 1 and word.startswith(("min", "max")) and word.endswith(":"):
            self.goal = word[:3]
        elif word == ";" and self.coefficient is None and (self.goal or self.bound is not None):
            return True
        elif word in (">=", "<=", "=") and self.coefficient is None and not self.goal and not self.relation:
            self.relation = word
        elif word == ";" or self.bound is not None:
            raise ValueError(f"expected a constraint such as '+1 x1 -2 x2 >= 1 ;', got {short_repr(word)}")
        elif self.relation:
            self.bound = _read_integer("a bound", word)
        elif self.coefficient is None:
            self.coefficient = _read_integer(TERM, word)
        else:
            self._add_term(self.coefficient, word)
            self.coefficient = None
        return False

    def _add_term(self, coefficient: int, name: str) -> None:
        if not NAME.fullmatch(name):
            raise ValueError(f"expected {TERM}, got {short_repr(f'{coefficient} {name}')}")
        self.total += abs(coefficient)
        if self.total > EXACT:
            raise ValueError("expected coefficients with a sum of at most 2^53")
        column = self.columns.setdefault(name.removeprefix("~"), len(self.columns))
        if len(self.columns) > MAX_VARIABLES:
            raise ValueError(f"expected at most {MAX_VARIABLES} variables")
        if name.startswith("~"):  # a (1 - x)
            self.constant, coefficient = self.constant + coefficient, -coefficient
        self.sums[column] = self.sums.get(column, 0) + coefficient


def _read_integer(what: str, word: str) -> int:
    if not INTEGER.fullmatch(word):
        raise ValueError(f"expected {what}, got {short_repr(word)}")
    if len(word) > MAX_DIGITS or abs(int(word)) > EXACT:
        raise ValueError(f"expected integers of at most 2^53, got {short_repr(word)}")
    return int(word)
