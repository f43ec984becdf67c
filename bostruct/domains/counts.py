"""The number of points of a domain: exact, a lower bound, or infinite."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Exact:
    """The size of a domain all of whose points were counted.

    count: number of points.
    """

    count: int


@dataclass(frozen=True)
class AtLeast:
    """A lower bound: the points found before the budget was spent, or within the depth that is searched.

    count: number of points found.
    """

    count: int


@dataclass(frozen=True)
class Infinite:
    """The size of a domain without end: real numbers, or programs in which a substitution can contain itself."""

    count: float = math.inf


INFINITE = Infinite()
Count: TypeAlias = Exact | AtLeast | Infinite
