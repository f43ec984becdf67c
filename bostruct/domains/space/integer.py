"""A variable of integers."""

from __future__ import annotations

import math

from bostruct.checks import check_integer
from bostruct.contracts import DomainError, Json, ParsedJson
from bostruct.domains.space.choices import ChoiceVariable, path_graph
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.when import When


class Integer(ChoiceVariable):
    """A variable of all integers from low to high, both included (path graph).

    low, high: int, low < high, at most 1000 values.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.

    Raises DomainError, TypeError and ValueError.
    """

    ordered = True

    def __init__(self, low: int, high: int, *, when: When | None = None) -> None:
        low = check_integer("low", low, -(2**53), 2**53)
        high = check_integer("high", high, -(2**53), 2**53)
        if not 2 <= high - low + 1 <= MAX_CHOICES:
            raise DomainError(
                f"Integer: expected 2 to {MAX_CHOICES} values, low < high; got low={low}, high={high}"
                f"{_suggest_grid(low, high)}"
            )
        super().__init__(tuple(range(low, high + 1)), path_graph(high - low + 1), when)

    def describe(self) -> dict[str, Json]:
        """Return the bounds as JSON."""
        return {"low": self.choices[0], "high": self.choices[-1]}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Integer:
        """Rebuild the variable from what `describe` returned.

        data: with its bounds.
        """
        return cls(data["low"], data["high"])


def _suggest_grid(low: int, high: int) -> str:
    if low >= high:
        return ""
    step = math.ceil((high - low) / (MAX_CHOICES - 1))
    return (
        f". Give a grid, such as Ordinal(range({low}, {high + 1}, {step})) or one of geometric steps; or "
        f"Real({low}, {high}), rounded in the objective, for a method that takes it"
    )
