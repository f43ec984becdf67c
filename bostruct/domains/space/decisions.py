"""Treat a space of variables as a tree of decisions, and its points as bags of hashed tokens."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Infeasible, IntArray
from bostruct.domains.space.choices import number_grid
from bostruct.domains.space.constraints import ConstrainedProduct, valid_mask
from bostruct.domains.space.variable import Variable

RESAMPLING_DRAWS = 1_000
DRAWS_OF_ONE = 64  # of a variable that is to change: of two values the likelier has two chances in three


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One choice of a point.

    path: str, its name, or its place in a program.
    kind: str, what several choices of a program have in common, as in ``Conv2D.filters``; of a variable its name.
    value: float, the position of its value among `count`.
    count: float, the number of values it can have.
    ordered: bool, True where neighboring values are alike.
    """

    path: str
    kind: str
    value: float
    count: float
    ordered: bool


def coordinate(name: str, variable: Variable, vertex: int) -> Coordinate:
    """Return a variable of a point as a coordinate; for a number on a grid, the value is a share of its range.

    name: str.
    variable: `Variable`.
    vertex: int, the point's choice of it.
    """
    if (grid := number_grid(variable)) is not None:
        return Coordinate(name, name, float(grid.shares(np.array(vertex))), math.inf, True)
    return Coordinate(name, name, vertex, len(variable), variable.ordered)


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


def token(text: str) -> int:
    """Hash a text to 63 bits, the same in every process.

    text: str.
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


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
        if not is_plain:
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
    """Draw some variables of a row anew, in place; one alone among its other values."""
    for i in changed:
        own = space.layout.columns(i)
        drawn = variables[i].sample(1 if len(changed) > 1 or variables[i].is_even else DRAWS_OF_ONE, rng)
        row[own] = drawn[int(np.argmax((drawn != row[own]).any(axis=1)))]


def roll_out(space: ConstrainedProduct, made: Sequence[int], rng: np.random.Generator) -> IntArray:
    """Draw a valid point with these vertices first; raises Infeasible.

    space: `Space`.
    made: vertices of the first variables.
    rng: `numpy.random.Generator`.
    """
    draws = RESAMPLING_DRAWS if space.constraints else 1
    for first in range(0, draws, 50):
        rows = space.sample_freely(min(50, draws - first), rng)
        rows[:, : len(made)] = made
        valid = valid_mask(space, rows)
        if valid.any():
            return rows[int(np.argmax(valid))]
    raise Infeasible(f"no valid point with the choices {tuple(made)} was found in {draws} draws")
