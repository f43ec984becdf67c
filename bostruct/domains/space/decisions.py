"""Treat a space of variables as a tree of decisions, and its points as bags of hashed tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Choice, Infeasible, IntArray, token
from bostruct.domains.space.choices import number_grid
from bostruct.domains.space.constraints import ConstrainedProduct, valid_mask
from bostruct.domains.space.variable import ABSENT, Variable

RESAMPLING_DRAWS = 1_000
DRAWS_OF_ONE = 64  # of a variable that is to change: of two values the likelier has two chances in three


def coordinate(name: str, variable: Variable, vertex: int) -> Choice:
    """Return a variable of a point as a coordinate; for a number on a grid, the value is a share of its range.

    name: str.
    variable: `Variable`.
    vertex: int, the point's choice of it.
    """
    if (grid := number_grid(variable)) is not None:
        return Choice(name, name, float(grid.shares(np.array(vertex))), math.inf, True)
    return Choice(name, name, vertex, len(variable), variable.ordered)


def coordinate_values(space: ConstrainedProduct, xs: IntArray) -> npt.NDArray[np.float64]:
    """Return the values of the coordinates of each point (m, d).

    space: `Space`.
    xs: integer rows (m, d).
    """
    values = np.array(xs, dtype=np.float64)
    for i, variable in enumerate(space.variables.values()):
        if (grid := number_grid(variable)) is not None:
            values[:, i] = grid.shares(np.asarray(xs)[:, i])
    return values


def token_table(names: Sequence[str], n_choices: IntArray) -> IntArray:
    """Return a token for each variable and vertex (d, most choices).

    names: names of the variables.
    n_choices: (d,), how many choices each has.
    """
    table = np.zeros((len(names), int(n_choices.max())), dtype=np.int64)
    for i, (name, count) in enumerate(zip(names, n_choices.tolist(), strict=True)):
        table[i, :count] = [token(f"{name} = {vertex}") for vertex in range(count)]
    return table


def resample(space: ConstrainedProduct, x: IntArray, names: Sequence[str], rng: np.random.Generator) -> IntArray:
    """Return a valid point with these variables drawn anew, one alone among its other choices.

    space: `Space`.
    x: integer row (d,).
    names: names of variables.
    rng: `numpy.random.Generator`.

    Returns x where none is found in 1,000 draws.
    """
    changed = [space.positions[name] for name in names]
    variables = list(space.variables.values())
    is_plain = space.layout.is_simple and all(variables[i].is_even for i in changed)
    for _ in range(RESAMPLING_DRAWS if space.constraints else 1):
        row = np.array(x, dtype=np.int64)
        if space.conditions or not is_plain:
            _sample_each(space, variables, row, changed, rng)
        elif len(changed) == 1:
            n = int(space.n_choices[changed[0]])
            row[changed] = (int(row[changed[0]]) + int(rng.integers(1, n))) % n
        else:
            row[changed] = rng.integers(0, space.n_choices[changed])
        if not space.constraints or valid_mask(space, row[None])[0]:
            return row
    return np.array(x, dtype=np.int64)


def _sample_each(
    space: ConstrainedProduct,
    variables: Sequence[Variable],
    row: IntArray,
    changed: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """Draw some variables of a row anew, in place, one alone among its other values, and those that they make exist."""
    for i in changed:
        own = space.layout.columns(i)
        if row[own.start] != ABSENT:
            drawn = variables[i].sample(DRAWS_OF_ONE if len(changed) == 1 else 1, rng)
            row[own] = drawn[int(np.argmax((drawn != row[own]).any(axis=1)))]
    space.conditions.settle_randomly(row[None], rng)


def decisions(space: ConstrainedProduct, x: IntArray) -> tuple[int, ...]:
    """Return the vertex of each variable that a point has, parents first.

    space: `Space` whose variables are one choice each.
    x: integer row (d,).
    """
    return tuple(int(x[i]) for i in space.conditions.order if x[i] != ABSENT)


def choice_after(space: ConstrainedProduct, made: Sequence[int]) -> Choice | None:
    """Return the variable that is decided next, as a coordinate at its first vertex; None after the last.

    space: `Space` whose variables are one choice each.
    made: the vertices of the variables before it.
    """
    i = _replay(space, made)[1]
    return None if i is None else coordinate(*list(space.variables.items())[i], 0)


def decide(space: ConstrainedProduct, name: str, value: float) -> int:
    """Return the vertex that the value of a coordinate stands for, the nearest one.

    space: `Space`.
    name: of a variable.
    value: as `coordinate` has it: a share of the range for numbers on a grid, else a vertex.
    """
    grid = number_grid(space.variables[name])
    return round(value) if grid is None else int(grid.nearest(np.array(value)))


def _replay(space: ConstrainedProduct, made: Sequence[int]) -> tuple[IntArray, int | None]:
    """Return the row with these vertices, other variables absent, and the position of the variable decided next."""
    row = np.full(space.d, ABSENT, dtype=np.int64)
    left = list(made)
    for i in space.conditions.order:
        if space.conditions.holds(i, row[None])[0]:
            if not left:
                return row, i
            row[i] = left.pop(0)
    return row, None


def roll_out(space: ConstrainedProduct, made: Sequence[int], rng: np.random.Generator) -> IntArray:
    """Draw a valid point with these vertices first; raises Infeasible.

    space: `Space`.
    made: vertices of the first variables.
    rng: `numpy.random.Generator`.
    """
    draws = RESAMPLING_DRAWS if space.constraints else 1
    known = _replay(space, made)[0] if space.conditions else np.array(made, dtype=np.int64)
    given = np.flatnonzero(known != ABSENT)
    for first in range(0, draws, 50):
        rows = space.sample_freely(min(50, draws - first), rng)
        rows[:, given] = known[given]
        valid = valid_mask(space, space.conditions.settle_randomly(rows, rng))
        if valid.any():
            return rows[int(np.argmax(valid))]
    raise Infeasible(f"no valid point with the choices {tuple(made)} was found in up to {draws} draws")
