"""Find the listed number that a given number represents up to the rounding of floats."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import NamedTuple, TypeAlias

import numpy as np

Exact: TypeAlias = int | float | Fraction

GAP_SHARE = Fraction(1, 1_000_000)  # share of the gap to a level's nearest neighbor within which a number is the level
TIE = Fraction(1, 10**9)  # share of a half: some programs round ties up and others down
SMALLEST_SINGLE, LARGEST_SINGLE = (float(one) for one in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))


class Rounding(NamedTuple):
    """The numbers of one column that were read as levels because the levels round to them."""

    n: int
    given: object
    level: object


@dataclass
class RoundedNumbers:
    """The numbers that a block has read as levels because the levels round to them."""

    found: dict[str, Rounding] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    def note(self, given: object, level: object) -> None:
        """Count a number."""
        name = ": ".join(self.path)
        known = self.found.get(name, Rounding(0, given, level))
        self.found[name] = known._replace(n=known.n + 1)

    def __str__(self) -> str:
        return "".join(
            f"\n- {name}: {one.n} such, the first {one.given!r}, read as {one.level!r}"
            for name, one in self.found.items()
        )


_accepted: ContextVar[RoundedNumbers | None] = ContextVar("rounded_numbers", default=None)


@contextmanager
def accept_rounded(notes: RoundedNumbers | None = None) -> Iterator[RoundedNumbers]:
    """Accept numbers to which a level rounds within a block, as in frames and files; yield the accepted numbers.

    notes: the numbers of earlier blocks; None for the numbers of the enclosing block, or a new record.
    """
    notes = notes or _accepted.get() or RoundedNumbers()
    token = _accepted.set(notes)
    try:
        yield notes
    finally:
        _accepted.reset(token)


@contextmanager
def note_under(name: str) -> Iterator[None]:
    """Record the rounded numbers of a block under a name."""
    notes = _accepted.get()
    if notes is None:
        yield
        return
    notes.path.append(name)
    try:
        yield
    finally:
        notes.path.pop()


class Levels:
    """The numbers among the choices of a variable, sorted."""

    def __init__(self, choices: Sequence[object]) -> None:
        known = [(number, i) for i, one in enumerate(choices) if (number := read_exact(one)) is not None]
        known.sort()
        self._choices = choices
        self._numbers = [number for number, _ in known]
        self._positions = [i for _, i in known]

    def find(self, given: object, others: Iterable[object] = ()) -> int | None:
        """Return the position of the choice that a number represents; None if there is none.

        The number is nearer to the choice than a millionth of the gap between the choice and its nearest neighbor, or
        equal to it in float32. Within `accept_rounded` it may also be a float to which only this choice rounds at the
        written digits.
        """
        place, notes = self._find_nearest(given), _accepted.get()
        if place is None:
            return None
        if not is_level(given, self._numbers[place], [self._numbers[i] for i in self._clip(place - 1, place + 1)]):
            if notes is None or not (self._rounds_to(place, given) or self._is_rounded(place, given, others)):
                return None
            notes.note(given, self._choices[self._positions[place]])
        return self._positions[place]

    def find_nearest(self, given: object) -> int | None:
        """Return the position of the choice that is nearest to a number; None for an object that is not a number."""
        place = self._find_nearest(given)
        return None if place is None else self._positions[place]

    def _find_nearest(self, given: object) -> int | None:
        if not self._numbers or (number := read_exact(given)) is None:
            return None
        after, exact = bisect_left(self._numbers, number), Fraction(number)
        return min(self._clip(after - 1, after), key=lambda place: abs(Fraction(self._numbers[place]) - exact))

    def _clip(self, *places: int) -> list[int]:
        return [place for place in places if 0 <= place < len(self._numbers)]

    def _rounds_to(self, place: int, given: object) -> bool:
        """Return whether a level, and no other level, rounds to a number at the number's digits."""
        if (bounds := _find_bounds(given)) is None:
            return False
        first, last = bisect_left(self._numbers, bounds[0]), bisect_right(self._numbers, bounds[1])
        return (first, last) == (place, place + 1)

    def _is_rounded(self, place: int, given: object, others: Iterable[object]) -> bool:
        """Return whether a number, and no other of its variable, rounds to a level at the level's digits."""
        bounds = _find_bounds(self._choices[self._positions[place]])
        numbers = [number for one in others if (number := read_exact(one)) is not None]
        rounded = [] if bounds is None else [one for one in numbers if bounds[0] <= one <= bounds[1]]
        return rounded == [read_exact(given)]


def is_level(given: object, level: Exact, adjacent: Sequence[Exact]) -> bool:
    """Return whether a number is a level: nearer than a millionth of the smallest gap, or equal in float32."""
    if (number := read_exact(given)) is None:
        return False
    gap = min((abs(Fraction(one) - Fraction(level)) for one in adjacent), default=Fraction(0))
    if abs(Fraction(number) - Fraction(level)) < GAP_SHARE * gap:
        return True
    if isinstance(number, int) or (isinstance(level, int) and gap == 1):
        return False
    single = _as_single(number)
    return single is not None and single == _as_single(level) and all(_as_single(one) != single for one in adjacent)


def read_exact(value: object) -> Exact | None:
    """Return a finite number in a type that compares exactly; None for anything else, and for a bool."""
    if type(value) is int:
        return value
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else None
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, float | np.floating) or not isinstance(value, Real):
        return None
    return float(value) if math.isfinite(value) else None


def _as_single(value: object) -> float | None:
    """Return a number rounded to float32; None outside of its range."""
    number = read_exact(value)
    if number is None or not SMALLEST_SINGLE <= abs(number) <= LARGEST_SINGLE:
        return None
    return float(np.float32(float(number)))


def _find_bounds(value: object) -> tuple[Fraction, Fraction] | None:
    """Return the least and the greatest number that round to a float at its written digits; None for other objects.

    A float that float32 can represent is written with the digits of float32.
    """
    if type(value) is not float or not math.isfinite(value):
        return None
    written = Decimal(str(np.float32(value)) if _as_single(value) == value else repr(value))
    exponent = written.as_tuple().exponent
    assert isinstance(exponent, int)  # because the number is finite
    half = Fraction(10) ** exponent / 2 * (1 + TIE)
    return Fraction(written) - half, Fraction(written) + half
