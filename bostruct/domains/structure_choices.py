"""Structures such as orders, subsets and sequences as named choices, for models that explain values by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bostruct.checks import list_wide
from bostruct.contracts import Array, Choice, Domain, DomainError, Point
from bostruct.domains.space.decisions import coordinate
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.variable import ABSENT, Variable

MARK = "\0"  # between the name of a structure and the number of one of its choices; no user writes it
MOST_VALUES = 1_000  # of a structure; of one with more, so many are drawn
MOST_CODES = 2_000  # of all choices of a structure together, up to which each code is apart from all others


@dataclass(frozen=True)
class StructureChoices:
    """The view of a space in which a structure is as many choices as it has columns.

    domain: of variables.
    """

    domain: Domain

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the variables whose columns are no choices."""
        return tuple(name for name in list_wide(self.domain) if not self.domain.variables[name].n_codes)

    @property
    def structures(self) -> dict[str, Variable]:
        """The variables of several choices, by name."""
        return {name: one for name, one in self.domain.variables.items() if one.width > 1 and one.n_codes}

    def coordinates(self, x: Point) -> list[Choice]:
        """List the choices of a point.

        x: one point.
        """
        variables = self.domain.variables
        columns = Layout(tuple(one.width for one in variables.values())).split(x)
        return [
            one
            for (name, variable), own in zip(variables.items(), columns, strict=True)
            if own[0] != ABSENT
            for one in _describe(name, variable, own)
        ]


def _describe(name: str, variable: Variable, columns: Sequence[int]) -> list[Choice]:
    return [coordinate(name, variable, columns[0])] if variable.width == 1 else list_choices(name, variable, columns)


def list_choices(name: str, variable: Variable, columns: Sequence[int]) -> list[Choice]:
    """List the choices that make up a value of a structure: the place of each item of an order, else its columns.

    name: of the variable.
    variable: of several columns; without any choices where its columns are none.
    columns: of the value.
    """
    is_order = isinstance(variable, Permutation)
    codes = np.argsort(columns) if is_order else np.asarray(columns)
    is_ordered = is_order or variable.n_codes == 2 or variable.n_codes * variable.width > MOST_CODES
    return [
        Choice(f"{name}{MARK}{i}", name, code, variable.n_codes, is_ordered)
        for i, code in enumerate(codes.tolist())
        if variable.n_codes
    ]


def draw_values(name: str, variable: Variable, rng: np.random.Generator) -> tuple[list[list[Choice]], Array]:
    """Return values of a structure as their choices (a), and their weights (a,), which sum to 1.

    All values are there where they are few, each by its chance in a draw; else equally weighted draws.

    name: of the variable.
    variable: of several choices.
    rng: the only source of chance.
    """
    try:
        values = variable.enumerate() if variable.size <= MOST_VALUES else None
    except DomainError:  # a kind that lists no values
        values = None
    drawn = variable.sample(MOST_VALUES, rng) if values is None else values
    weights = np.ones(MOST_VALUES) if values is None else variable.chances(values)
    return [list_choices(name, variable, columns) for columns in drawn.tolist()], weights / weights.sum()
