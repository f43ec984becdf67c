"""The Branin function on a grid of two ordered variables with 51 values each."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.discrete import Ordinal
from bostruct.domains.space.space import Space
from bostruct.problems.base import GENERATED_SEEDS, InitialPoints, SpaceProblem, prove_by_enumeration

SOURCE = "Branin 1972; grid of Oh et al., NeurIPS 2019 (COMBO)"
VALUES = 51
EDGE_WEIGHT = 50.0  # as published: the number of values less 1
N_INITIAL = 2
GRID_TENTHS = 3 * np.arange(VALUES)  # in tenths


def branin_at(x1: Array | float, x2: Array | float) -> Array:
    """Evaluate the Branin function, whose minimum is 0.397887, in its own coordinates.

    x1: numbers in [-5, 10], any shape.
    x2: numbers in [0, 15], same shape.
    """
    bowl = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    return bowl**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10


def branin_values(vertices: IntArray) -> Array:
    """Evaluate the Branin function -> (m,).

    vertices: points (m, 2).
    """
    return branin_at((GRID_TENTHS[vertices[:, 0]] - 50) / 10, GRID_TENTHS[vertices[:, 1]] / 10)


def branin() -> SpaceProblem:
    """Return the Branin problem: x1 = -5, -4.7, ..., 10 and x2 = 0, 0.3, ..., 15, on path graphs with edge weight 50.

    Initial points are the center, as published, and one random point, which has no seed in the paper; here it is seeded
    by the configuration.
    """
    problem = SpaceProblem(
        name="branin",
        space=Space(
            {
                "x1": Ordinal(((GRID_TENTHS - 50) / 10).tolist(), weight=EDGE_WEIGHT),
                "x2": Ordinal((GRID_TENTHS / 10).tolist(), weight=EDGE_WEIGHT),
            }
        ),
        vertex_objective=branin_values,
        initial=InitialPoints(GENERATED_SEEDS, (VALUES, VALUES), fixed=((25, 25),), count=N_INITIAL),
        source=SOURCE,
        configs=tuple(GENERATED_SEEDS),
    )
    return prove_by_enumeration(problem)
