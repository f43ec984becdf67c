"""Numeric variables: integers, few on a path or many on a grid, and reals, on a grid that is never listed.

The grid of reals is finer than the numbers that users write. Both kinds may have a logarithmic scale.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence

import numpy as np

from bostruct.checks import check_bool, check_integer, check_number, count_own_frames
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson
from bostruct.domains.space.choices import ChoiceVariable, path_graph, to_python
from bostruct.domains.space.clauses import When
from bostruct.domains.space.graphs import MAX_CHOICES, DyadicGraph, GeometricGraph, VariableGraph
from bostruct.domains.space.scale import GRID_STEPS, IntegerGrid, RealGrid, StepGrid, add_steps, read_decimal
from bostruct.domains.space.variable import NO_DEFAULT

LARGEST = 2**53  # float64 represents every integer up to this one
SMALLEST_STEP = 1e-15  # the smallest step of the grid, as a share of the numbers: a few rounding errors of float64
SMALLEST_RANGE = 1e-310  # its grid step is still some rounding errors of the smallest floats
STEP_ROUNDING = 1e-12  # relative rounding error of the number of steps in a range
SMALLEST_LOW = sys.float_info.min  # on a logarithmic scale: smaller floats have fewer digits


class Integer(ChoiceVariable):
    """A variable of all integers from `low` to `high`, both included.

    Up to 1000 integers without `log` are an ordered variable (path graph), which every method supports. More are
    treated as a number, as `Real` is: neighbors are steps of 1 and of 1/2, 1/4, ... of the range; with `log` steps by a
    power of 2 or by a factor. Methods that do not support `Real` reject them.

    Parameters
    ----------
    low, high : int
        Limits, -2^53 to 2^53, low <= high, with at most 2^53 values.
    log : bool, default False
        Whether values are drawn, changed and modeled on a logarithmic scale. Requires low >= 1.
    step : int, default 1
        Distance of adjacent values, at least 1, counted from `low`. Above 1, `log` must be False. A `high` between two
        values is rounded down with a warning.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid.
    """

    ordered = True
    values_are_choices = True
    grid: IntegerGrid | StepGrid | None

    def __init__(
        self,
        low: int,
        high: int,
        *,
        log: bool = False,
        step: int = 1,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        low = check_integer("low", low, -LARGEST, LARGEST)
        high = check_integer("high", high, -LARGEST, LARGEST)
        size = high - low + 1
        if low > high or (check_bool("log", log) and low < 1):
            rule = "low <= high, and low at least 1, because of log=True" if log else "low <= high"
            raise DomainError(f"Integer: expected {rule}; got low={low}, high={high}")
        if size > LARGEST:
            raise DomainError(f"Integer: expected at most 2^53 values, got low={low}, high={high}")
        self.step = check_integer("step", step, 1)
        if step > 1:
            steps = _count_steps(self.kind, low, high, step, log)
            self.low, self.high, self.log = low, int(steps.high), log
            choices, graph = _list_steps(steps)
            self.grid = None if isinstance(choices, tuple) else steps  # pyright: ignore[reportIncompatibleVariableOverride]
            super().__init__(choices, graph, when, default)
            return
        self.low, self.high, self.log, self.is_even = low, high, log, not log or size == 1
        grid = IntegerGrid(low, high, log) if (log and size > 1) or size > MAX_CHOICES else None
        self.grid = grid  # pyright: ignore[reportIncompatibleVariableOverride]
        if grid is None:
            super().__init__(tuple(range(low, high + 1)), path_graph(size), when, default)
        else:
            graph = GeometricGraph(low, high) if log else DyadicGraph(size, size.bit_length())
            super().__init__(grid, graph, when, default)

    @property
    def arguments(self) -> str:
        """The bounds, and `log` or `step` if set, as arguments of a call."""
        more = ", log=True" if self.log else "" if self.step == 1 else f", step={self.step}"
        return f"{self.low}, {self.high}{more}"

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m integers uniformly on the variable's scale (m, 1)."""
        return self.grid.sample(m, rng)[:, None] if isinstance(self.grid, IntegerGrid) else super().sample(m, rng)

    def chances(self, values: IntArray) -> Array:
        return self.grid.chances(values[:, 0]) if isinstance(self.grid, IntegerGrid) else super().chances(values)

    def parse(self, value: object) -> list[int]:
        return super().parse(value) if self.grid is None else [self.grid.vertex(to_python(value))]

    def describe(self) -> dict[str, Json]:
        """Return the bounds, and `log` or `step` if set, as JSON."""
        bounds: dict[str, Json] = {"low": self.low, "high": self.high}
        return bounds | ({"log": True} if self.log else {}) | ({} if self.step == 1 else {"step": self.step})

    @classmethod
    def from_json(cls, data: ParsedJson) -> Integer:
        return cls(data["low"], data["high"], log=data.get("log", False), step=data.get("step", 1))


class Real(ChoiceVariable):
    """A variable of all numbers from `low` to `high`, both included.

    Values are on a grid of 10^12 steps; your own numbers are moved to the nearest one. `auto` and most other methods
    support it; `combo`, `bocs`, `smbo` and `mcts` do not. With `step`, up to 1000 values are an ordered variable, which
    every method supports.

    Parameters
    ----------
    low, high : float
        Finite limits, low <= high.
    log : bool, default False
        Whether values are drawn, changed and modeled on a logarithmic scale. Requires low > 0.
    step : float, optional
        Distance of adjacent values, above 0, counted from `low` in decimals: 0.1, 0.2, 0.3. Then `log` must be False. A
        `high` between two values is rounded down with a warning.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid.
    """

    ordered = True
    values_are_choices = True
    grid: RealGrid | StepGrid | None

    def __init__(
        self,
        low: float,
        high: float,
        *,
        log: bool = False,
        step: float | None = None,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        low, high = check_number("low", low) + 0.0, check_number("high", high) + 0.0  # -0.0 is 0.0
        check_bool("log", log)
        if low > high or (log and low < SMALLEST_LOW):
            needed = f", and low at least {SMALLEST_LOW:.3g}, because of log=True" if log else ""
            raise DomainError(f"Real: expected low <= high{needed}; got low={low}, high={high}")
        if not math.isfinite(high - low):
            raise DomainError(f"Real: expected a range that float64 can represent, got low={low}, high={high}")
        self.step = None if step is None else check_number("step", step, above=0.0)
        self.low, self.high, self.log, self.is_real = low, high, log, self.step is None and low < high
        if not self.is_real:
            steps = _count_steps(self.kind, low, high, self.step or max(abs(low), 1.0), log and self.step is not None)
            self.high = steps.high
            choices, graph = _list_steps(steps)
            self.grid = None if isinstance(choices, tuple) else steps  # pyright: ignore[reportIncompatibleVariableOverride]
            super().__init__(choices, graph, when, default)
            return
        grid = RealGrid(low, high, log)
        span = grid.log_span if log else (high - low) / max(abs(low), abs(high))
        if span < GRID_STEPS * SMALLEST_STEP or high - low < SMALLEST_RANGE:
            raise DomainError(f"Real: expected a range that float64 can divide finely, got low={low}, high={high}")
        self.grid = grid  # pyright: ignore[reportIncompatibleVariableOverride]
        super().__init__(grid, DyadicGraph(GRID_STEPS + 1), when, default)

    @property
    def arguments(self) -> str:
        more = ", log=True" if self.log else "" if self.step is None else f", step={self.step}"
        return f"{self.low}, {self.high}{more}"

    def parse(self, value: object) -> list[int]:
        """Return the position of the nearest number of the grid; raises PointError outside the range."""
        return super().parse(value) if self.grid is None else [self.grid.vertex(to_python(value))]

    def decode_column(self, values: Sequence[Json]) -> IntArray:
        return self.grid.vertices(values) if isinstance(self.grid, RealGrid) else super().decode_column(values)

    def describe(self) -> dict[str, Json]:
        """Return the bounds and the scale as JSON."""
        bounds: dict[str, Json] = {"low": self.low, "high": self.high, "log": self.log}
        return bounds if self.step is None else bounds | {"step": self.step}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Real:
        return cls(data["low"], data["high"], log=data.get("log", False), step=data.get("step"))


def _count_steps(kind: str, low: float, high: float, step: float, log: bool) -> StepGrid:
    """Return the numbers from low on, the last at most high; raise DomainError for steps that are uneven or too fine.

    Warns if high is not one of the numbers.
    """
    if log:
        raise DomainError(f"{kind}: step: the steps of log=True are uneven; omit step or log, or use an Ordinal")
    n_steps = float((read_decimal(high) - read_decimal(low)) / read_decimal(step))
    if n_steps >= LARGEST or max(abs(low), abs(high)) * SMALLEST_STEP > step:
        raise DomainError(f"{kind}: step: expected at most 2^53 steps that float64 can distinguish, got {step}")
    is_whole = math.isclose(n_steps, round(n_steps), rel_tol=STEP_ROUNDING)  # steps such as 1 / 3
    if is_whole:
        return StepGrid(low, high, step, round(n_steps) + 1)
    last = add_steps(low, step, int(n_steps))
    warnings.warn(
        f"{kind}: high={high} is not a whole number of steps of {step} above low={low}; the last value is {last}",
        UserWarning,
        stacklevel=count_own_frames(),
    )
    return StepGrid(low, last, step, int(n_steps) + 1)


def _list_steps(steps: StepGrid) -> tuple[Sequence[float], VariableGraph]:
    """Return the numbers and their graph: a list and a path if they are few, otherwise a grid and a dyadic graph."""
    n = len(steps)
    few = n <= MAX_CHOICES
    return (tuple(steps[i] for i in range(n)), path_graph(n)) if few else (steps, DyadicGraph(n, n.bit_length()))
