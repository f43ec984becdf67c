"""Draw from a list of points as a space draws: each variable on its own scale, given those that it depends on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.constraints import ConstrainedProduct
from bostruct.domains.space.variable import ABSENT


def draw_listed(
    spaces: Sequence[ConstrainedProduct], rows: Sequence[IntArray], m: int, rng: np.random.Generator
) -> IntArray:
    """Draw positions in a list of points, with the chances with which unconstrained draws would be these points (m,).

    Where no space has conditions, and no variable draws some of its values more often than others, all points have the
    same chance.

    spaces: `Space`s, whose product the points are of.
    rows: of each space, the rows of the n points (n, columns), n at least 1.
    m: int >= 0.
    rng: the only source of chance.
    """
    is_even = all(one.is_even for space in spaces for one in space.variables.values())
    if is_even and not any(space.conditions for space in spaces):
        return rng.integers(len(rows[0]), size=m)
    chances = np.prod([_point_chances(space, own) for space, own in zip(spaces, rows, strict=True)], axis=0)
    return rng.choice(len(rows[0]), size=m, p=chances / np.sum(chances))


def _point_chances(space: ConstrainedProduct, rows: IntArray) -> Array:
    chances = np.ones(len(rows))
    for i, variable in enumerate(space.variables.values()):
        own = rows[:, space.layout.columns(i)]
        has = own[:, 0] != ABSENT
        chances[has] *= variable.chances(own[has])
    return chances
