"""The numbers that a real variable may be: a grid that is finer than people write, and is never listed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bostruct.checks import short_repr
from bostruct.contracts import PointError

GRID_STEPS = 10**12  # of a Real: few enough to find each again from its value, and decimal, as people's numbers are
GRID_DIGITS = 11  # of a number, which a grid of a trillion steps can tell apart


class RealGrid(Sequence[float]):
    """The values of a real variable: `GRID_STEPS` + 1 numbers from low to high, at even distances.

    low, high: float, low < high.
    log: bool, True for even distances of logarithms.
    """

    def __init__(self, low: float, high: float, *, log: bool) -> None:
        self.low, self.high, self.log = low, high, log

    def __len__(self) -> int:
        return GRID_STEPS + 1

    def __getitem__(self, vertex: Any) -> Any:
        share = int(vertex) / GRID_STEPS
        if share in (0.0, 1.0):
            return self.high if share else self.low
        if self.log:
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
            short = float(f"{value:.{GRID_DIGITS}g}")
        else:
            value = self.low + share * (self.high - self.low)
            short = round(value, self._decimals)
        # what people write, where it is the same place of the grid
        return short if self.low <= short <= self.high and self.vertex(short) == vertex else value

    @cached_property
    def _decimals(self) -> int:
        return math.floor(-math.log10((self.high - self.low) / GRID_STEPS))

    def vertex(self, value: object) -> int:
        """Return the position of the nearest number of the grid.

        value: number from low to high.

        Raises PointError for any other.
        """
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise PointError(f"expected a number from {self.low} to {self.high}, got {short_repr(value)}")
        if self.log:
            return round(GRID_STEPS * (math.log(value / self.low) / math.log(self.high / self.low)))
        return round(GRID_STEPS * ((value - self.low) / (self.high - self.low)))
