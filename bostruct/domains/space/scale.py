"""Grids of numbers that are too many to be listed, and each number's share of its range."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, IntArray, PointError
from bostruct.domains.space.levels import is_level

GRID_STEPS = 10**12  # steps of a Real: few enough to find each from its value, and decimal, as users write numbers
END_ROUNDING = 1e-14  # relative rounding error of sums and products that should equal an end of the range
GRID_DIGITS = 11  # digits of a number that a grid of a trillion steps can distinguish


class NumberGrid(Sequence[float]):
    """The values of a numeric variable, on a scale from 0, the lowest, to 1, the highest."""

    @property
    @abstractmethod
    def n_steps(self) -> int | None:
        """The number of steps from end to end if they are even on the scale; None otherwise."""

    @abstractmethod
    def shares(self, vertices: IntArray) -> Array:
        """Return the shares of values on the scale, in [0, 1].

        Parameters
        ----------
        vertices : array of int
            Positions on the grid, of any shape.
        """

    @abstractmethod
    def nearest(self, shares: Array) -> IntArray:
        """Return the positions of the nearest values, the inverse of `shares`.

        Parameters
        ----------
        shares : array
            Shares on the scale, in [0, 1], of any shape.
        """

    @abstractmethod
    def vertex(self, value: object) -> int:
        """Return the position of the nearest value.

        Parameters
        ----------
        value : object
            A value of the user.

        Raises
        ------
        PointError
            If it is not a value of the variable.
        """

    def take(self, vertices: IntArray) -> list[Any]:
        """Return the values at some positions, as indexing does one by one.

        Parameters
        ----------
        vertices : array of shape (m,)
            The positions.
        """
        return list(map(self.__getitem__, vertices.tolist()))

    def __contains__(self, value: object) -> bool:
        """Return whether a value is on the grid, without listing the grid.

        value: of any type.
        """
        try:
            return bool(self[self.vertex(value)] == value)
        except PointError:
            return False


@dataclass(frozen=True)
class RealGrid(NumberGrid):
    """The values of a real variable: `GRID_STEPS` + 1 numbers from low to high, at even distances.

    log: bool, True for even distances of logarithms.
    """

    low: float
    high: float
    log: bool

    def __len__(self) -> int:
        return GRID_STEPS + 1

    def __getitem__(self, vertex: Any) -> Any:
        share = int(vertex) / GRID_STEPS
        if share in (0.0, 1.0):
            return self.high if share else self.low
        if self.log:
            value = self._multiply(share * self.log_span)
            short = float(f"{value:.{GRID_DIGITS}g}")
        else:
            value = self.low + share * (self.high - self.low)
            short = round(value, self._decimals) + 0.0  # which turns -0.0 into 0.0
        # the short decimal that users write, if it has the same position
        return short if self.low <= short <= self.high and self.vertex(short) == vertex else value

    def take(self, vertices: IntArray) -> list[Any]:
        if self.log:
            return super().take(vertices)
        numbers = self.low + vertices / GRID_STEPS * (self.high - self.low)
        short = np.array([round(number, self._decimals) for number in numbers.tolist()]) + 0.0
        is_short = (self.low <= short) & (short <= self.high)
        is_short &= np.rint(GRID_STEPS * ((short - self.low) / (self.high - self.low))) == vertices
        ends = np.where(vertices == 0, self.low, self.high)
        return np.where(vertices % GRID_STEPS == 0, ends, np.where(is_short, short, numbers)).tolist()

    def shares(self, vertices: IntArray) -> Array:
        return vertices / float(GRID_STEPS)

    @property
    def n_steps(self) -> int:
        return GRID_STEPS

    def nearest(self, shares: Array) -> IntArray:
        return np.rint(shares * GRID_STEPS).astype(np.int64)

    def vertex(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            for end, vertex in ((self.low, 0), (self.high, GRID_STEPS)):
                if isinstance(value, float) and math.isclose(value, end, rel_tol=END_ROUNDING):
                    return vertex
            raise PointError(f"expected a number from {self.low} to {self.high}, got {short_repr(value)}")
        if self.log:
            return round(GRID_STEPS * (_log_ratio(value, self.low) / self.log_span))
        return round(GRID_STEPS * ((value - self.low) / (self.high - self.low)))

    def vertices(self, values: Sequence[object]) -> IntArray:
        """Return the position of the nearest number to each of some values, as `vertex` does one by one (m,).

        Raises PointError if one of them is invalid.
        """
        numbers = None
        if not self.log and set(map(type, values)) == {float}:  # NumPy's logarithm rounds otherwise
            numbers = np.array(values, dtype=np.float64)
        if numbers is None or not ((self.low <= numbers) & (numbers <= self.high)).all():
            return np.array([self.vertex(value) for value in values], dtype=np.int64)
        return np.rint(GRID_STEPS * ((numbers - self.low) / (self.high - self.low))).astype(np.int64)

    @cached_property
    def log_span(self) -> float:
        """The logarithm of high / low."""
        return _log_ratio(self.high, self.low)

    def _multiply(self, log_factor: float) -> float:
        """Return low times a factor; in a narrow range without the rounding of the logarithm of low."""
        if self.log_span < 1.0:
            return self.low * math.exp(log_factor)
        return math.exp(math.log(self.low) + log_factor)

    @cached_property
    def _decimals(self) -> int:
        return math.floor(-math.log10((self.high - self.low) / GRID_STEPS))


def _log_ratio(value: float, low: float) -> float:
    """Return the logarithm of value / low, which itself may be too large for a float."""
    ratio = value / low
    return math.log(ratio) if math.isfinite(ratio) else math.log(value) - math.log(low)


@dataclass(frozen=True)
class IntegerGrid(NumberGrid):
    """All integers from low to high, which are never listed.

    log: bool, True for the scale of their logarithms; then low >= 1.
    """

    low: int
    high: int
    log: bool

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __getitem__(self, vertex: Any) -> Any:
        if not 0 <= vertex < len(self):
            raise IndexError(f"expected a vertex in 0..{len(self) - 1}, got {vertex}")
        return self.low + int(vertex)

    @property
    def n_steps(self) -> int | None:
        return None if self.log else len(self) - 1

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw the positions of m integers, uniformly on the grid's scale (m,).

        On a logarithmic scale, an integer v has the probability of the interval from v - 1/2 to v + 1/2.

        m: int >= 0.
        rng: random number generator.
        """
        if not self.log:
            return rng.integers(0, len(self), size=m)
        logs = rng.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5), size=m)
        return np.clip(np.rint(np.exp(logs)), self.low, self.high).astype(np.int64) - self.low

    def chances(self, vertices: IntArray) -> Array:
        """Return the probability with which `sample` draws each integer, in the same shape."""
        if not self.log:
            return np.full(np.shape(vertices), 1.0 / len(self))
        values = vertices + float(self.low)
        return np.log((values + 0.5) / (values - 0.5)) / math.log((self.high + 0.5) / (self.low - 0.5))

    def shares(self, vertices: IntArray) -> Array:
        if not self.log:
            return vertices / float(len(self) - 1)
        return np.minimum(np.log1p(vertices / float(self.low)) / self._log_ratio, 1.0)

    def nearest(self, shares: Array) -> IntArray:
        last = len(self) - 1
        values = self.low * np.expm1(shares * self._log_ratio) if self.log else shares * last
        values = np.where(shares >= 1.0, last, np.rint(values))  # in a large range, rounding may miss the last integer
        return np.clip(values, 0, last).astype(np.int64)

    def vertex(self, value: object) -> int:
        """Return the position of an integer; raise PointError, naming the nearest integer, for any other value."""
        hint = ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.low <= value <= self.high and (number := int(value)) == value:
                return number - self.low
            if self.low - 1 < value < self.high + 1:
                nearest = min(max(round(value), self.low), self.high)
                if is_level(value, nearest, (nearest - 1, nearest + 1)):
                    return nearest - self.low
                hint = f"; the nearest is {nearest}"
        raise PointError(f"expected an integer from {self.low} to {self.high}, got {short_repr(value)}{hint}")

    @property
    def _log_ratio(self) -> float:
        return math.log1p((self.high - self.low) / self.low)


def read_decimal(number: float) -> Decimal:
    """Return the decimal that people write for a number, so that 3 steps of 0.1 are 0.3."""
    return Decimal(repr(number))


def add_steps(low: float, step: float, count: int) -> float:
    """Return low plus a number of steps, an integer if low is one."""
    return type(low)(read_decimal(low) + count * read_decimal(step))


@dataclass(frozen=True)
class StepGrid(NumberGrid):
    """Numbers at even steps, in decimals; integers if low and step are integers.

    high: the last number, which a step such as 1/3 may miss by rounding.
    n: number of values.
    """

    low: float
    high: float
    step: float
    n: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, vertex: Any) -> Any:
        place = int(vertex) + (self.n if vertex < 0 else 0)
        if not 0 <= place < self.n:
            raise IndexError(f"expected a vertex in 0..{self.n - 1}, got {vertex}")
        return self.high if place == self.n - 1 else add_steps(self.low, self.step, place)

    @property
    def n_steps(self) -> int:
        return self.n - 1

    def shares(self, vertices: IntArray) -> Array:
        return vertices / float(self.n - 1)

    def nearest(self, shares: Array) -> IntArray:
        return np.clip(np.rint(shares * (self.n - 1)), 0, self.n - 1).astype(np.int64)

    def vertex(self, value: object) -> int:
        hint = ""
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            place = min(max(round((value - self.low) / self.step), 0), self.n - 1)
            adjacent = [self[i] for i in (place - 1, place + 1) if 0 <= i < self.n]
            if is_level(value, self[place], adjacent):
                return place
            hint = f"; the nearest is {self[place]}"
        allowed = f"a number from {self.low} to {self.high} in steps of {self.step}"
        raise PointError(f"expected {allowed}, got {short_repr(value)}{hint}")
