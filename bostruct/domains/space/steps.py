"""The steps of sequences, from a letter to the next one, wherever that is. Rules that forbid some make points fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.sequence import Sequence
from bostruct.domains.space.variable import ABSENT, Variable


@dataclass(frozen=True)
class Steps:
    """The steps from a letter to the next one, in all sequences of a space.

    places: of each sequence, its first column, its width and the number of its letters.
    """

    places: tuple[tuple[int, int, int], ...]

    @property
    def n_kinds(self) -> int:
        """The number of steps that differ: of each sequence the square of the number of its letters."""
        return sum(k * k for _, _, k in self.places)

    def __call__(self, xs: IntArray) -> IntArray:
        """Return the numbers of the steps of each point, -1 where there is none (n, s).

        xs: n points, as rows or as single changes.
        """
        rows, found, first = np.asarray(xs), list[IntArray](), 0
        for start, width, k in self.places:
            before, after = rows[:, start : start + width - 1], rows[:, start + 1 : start + width]
            found.append(np.where((after < k) & (after != ABSENT), first + before * k + after, -1))
            first += k * k
        return np.hstack(found)


def find_steps(variables: Mapping[str, Variable]) -> Steps | None:
    """Return the steps of the sequences among some variables; None where there is no sequence.

    variables: of a space, in order.
    """
    places, column = list[tuple[int, int, int]](), 0
    for one in variables.values():
        if isinstance(one, Sequence):
            places.append((column, one.width, len(one.letters)))
        column += one.width
    return Steps(tuple(places)) if places else None
