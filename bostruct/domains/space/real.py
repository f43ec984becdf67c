"""A variable of real numbers, on a grid that is finer than people write and is never listed."""

from __future__ import annotations

import math
import sys

from bostruct.checks import check_bool, check_number
from bostruct.contracts import DomainError, Json, ParsedJson
from bostruct.domains.space.choices import ChoiceVariable, to_python
from bostruct.domains.space.graphs import DyadicGraph
from bostruct.domains.space.scale import GRID_STEPS, RealGrid
from bostruct.domains.space.variable import NO_DEFAULT
from bostruct.domains.space.when import When

SMALLEST_STEP = 1e-15  # of the grid, as a share of the numbers: a few roundings of float64
SMALLEST_RANGE = 1e-310  # of which a step of the grid is some roundings of the smallest floats, too
SMALLEST_LOW = sys.float_info.min  # of a logarithm: smaller floats have fewer digits


class Real(ChoiceVariable):
    """A variable of all numbers from low to high, both included.

    low, high: finite numbers, low < high.
    log: bool, True to draw and change values on the scale of their logarithms; then low > 0.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    Values lie on a grid of a trillion steps, to the nearest of which your own numbers are moved. `auto` and most other
    methods accept it; `combo`, `bocs`, `smbo` and `mcts` refuse it by name.
    Raises DomainError and ValueError.
    """

    ordered = True
    choices: RealGrid

    def __init__(
        self,
        low: float,
        high: float,
        *,
        log: bool = False,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        low, high = check_number("low", low) + 0.0, check_number("high", high) + 0.0  # -0.0 is 0.0
        check_bool("log", log)
        if not low < high or (log and low < SMALLEST_LOW):
            needed = f", and low at least {SMALLEST_LOW:.3g}, because of log=True" if log else ""
            raise DomainError(f"Real: expected low < high{needed}; got low={low}, high={high}")
        if not math.isfinite(high - low):
            raise DomainError(f"Real: expected a range that float64 can hold, got low={low}, high={high}")
        grid = RealGrid(low, high, log)
        span = grid.log_span if log else (high - low) / max(abs(low), abs(high))
        if span < GRID_STEPS * SMALLEST_STEP or high - low < SMALLEST_RANGE:
            raise DomainError(f"Real: expected a range that float64 can divide finely, got low={low}, high={high}")
        super().__init__(grid, DyadicGraph(GRID_STEPS + 1), when, default)

    @property
    def arguments(self) -> str:
        """The values in short, as arguments of a call."""
        grid = self.choices
        return f"{grid.low}, {grid.high}{', log=True' if grid.log else ''}"

    @property
    def has_mutable_choices(self) -> bool:
        """False: they are numbers."""
        return False

    def parse(self, value: object) -> list[int]:
        """Return the position of the nearest number of the grid; raises PointError outside the range.

        value: number from low to high.
        """
        return [self.choices.vertex(to_python(value))]

    def describe(self) -> dict[str, Json]:
        """Return the bounds and the scale as JSON."""
        return {"low": self.choices.low, "high": self.choices.high, "log": self.choices.log}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Real:
        """Rebuild the variable from what `describe` returned.

        data: with its bounds and its scale.
        """
        return cls(data["low"], data["high"], log=data.get("log", False))
