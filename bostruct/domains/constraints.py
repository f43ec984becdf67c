"""Known constraints of a space: counting those that hold, and sampling points for which all do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bostruct.checks import shown
from bostruct.contracts import DomainError
from bostruct.domains.graphs import IntArray

if TYPE_CHECKING:
    from bostruct.domains.space import Space

DRAWS = 20_000  # before rejection is given up: enough where one point in a thousand is valid
WALKS = 50
STEPS = 2_000
NOISE = 0.1  # share of steps to a random neighbour, which lets a walk out of local minima (WalkSAT)


def satisfied(space: Space, xs: IntArray) -> IntArray:
    """How many constraints hold at each point (m, d) -> (m,); raises DomainError where one itself fails."""
    counts = np.zeros(len(xs), dtype=np.int64)
    for row, x in enumerate(xs):
        point = space.present(x)
        for constraint in space.constraints:
            try:
                counts[row] += bool(constraint(point))
            except Exception as error:
                name = getattr(constraint, "__name__", repr(constraint))
                raise DomainError(f"constraint {name} failed on {shown(point, 200)}: {error!r}") from error
    return counts


def sample_satisfying(space: Space, m: int, rng: np.random.Generator) -> IntArray:
    """m points that satisfy every constraint.

    Uniform by rejection where one draw in a thousand is valid; where constraints are tighter, by walks that repair
    random points, no longer uniform. Raises DomainError where neither finds one.
    """
    found: list[IntArray] = []
    n_found = n_drawn = 0
    while n_found < m and (n_drawn < DRAWS or n_found * 1000 >= n_drawn):
        block = rng.integers(0, space.n_choices, size=(max(64, min(m, 4096)), space.d))
        valid = block[satisfied(space, block) == len(space.constraints)]
        n_drawn += len(block)
        n_found += len(valid)
        found.append(valid)
    while n_found < m:
        found.append(_repair(space, rng)[None])
        n_found += 1
    return np.concatenate(found)[:m]


def _repair(space: Space, rng: np.random.Generator) -> IntArray:
    target = len(space.constraints)
    most = 0
    for _ in range(WALKS):
        x = rng.integers(0, space.n_choices)
        held = int(satisfied(space, x[None])[0])
        for _ in range(STEPS):
            if held == target:
                return x
            candidate = x.copy()
            i = int(rng.integers(space.d))
            candidate[i] = rng.integers(space.n_choices[i])
            now = int(satisfied(space, candidate[None])[0])
            if now >= held or rng.random() < NOISE:
                x, held = candidate, now
            most = max(most, now)
    raise DomainError(
        f"constraints: no point that satisfies all {target} was found in {DRAWS} draws and {WALKS} repairs of "
        f"{STEPS} steps (the best satisfied {most}); loosen them, or split them into smaller predicates"
    )
