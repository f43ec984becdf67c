"""Points as rows of integers, the encoding of choices and orders for peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bostruct as bo
from benchmarks.peers.tasks import Point
from benchmarks.structures.searches import from_code, to_code
from bostruct.domains.space.choices import ChoiceVariable


class Digit(NamedTuple):
    """One integer of a row.

    size: the integer is 0 to size - 1.
    is_ordered: whether near integers are similar.
    """

    size: int
    is_ordered: bool


class Digits:
    """The points of a space as rows of integers: the position of each choice, and the Lehmer code of each order.

    space: a space of unconditional choices and of orders of distinct items.
    """

    def __init__(self, space: bo.Space) -> None:
        self.variables: dict[str, Any] = dict(space.variables)
        known = ChoiceVariable | bo.Permutation
        if wrong := [name for name, own in self.variables.items() if not isinstance(own, known)]:
            raise TypeError(f"space: expected choices and orders; got {', '.join(wrong)}")
        self.digits = [digit for variable in self.variables.values() for digit in _list_digits(variable)]

    def encode(self, point: Point) -> list[int]:
        """Return the row of a point."""
        row = []
        for name, variable in self.variables.items():
            if isinstance(variable, bo.Permutation):
                row += to_code([variable.items.index(item) for item in point[name]])
            else:
                row.append(self.find_position(name, point[name]))
        return row

    def find_position(self, name: str, choice: object) -> int:
        """Return the position of a choice of a variable."""
        return list(self.variables[name].choices).index(choice)

    def decode(self, row: Sequence[int]) -> Point:
        """Return the point of a row."""
        rest, point = list(row), {}
        for name, variable in self.variables.items():
            n = len(_list_digits(variable))
            own, rest = rest[:n], rest[n:]
            if isinstance(variable, bo.Permutation):
                point[name] = tuple(variable.items[i] for i in from_code(own))
            else:
                point[name] = variable.choices[own[0]]
        return point


def _list_digits(variable: object) -> list[Digit]:
    if isinstance(variable, bo.Permutation):
        return [Digit(variable.width - i, True) for i in range(variable.width - 1)]
    assert isinstance(variable, ChoiceVariable)
    return [Digit(variable.size, variable.ordered)]
