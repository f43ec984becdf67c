"""The choices of points as numbers of one list, for models that count what points have in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Batch, Domain, IntArray
from bostruct.domains.space.choices import ChoiceVariable, number_grid
from bostruct.domains.space.variable import ABSENT, Variable

SHORTEST_ROW = 4  # columns of equal choices that count as a sequence
MOST_CODES = 64  # values of a column; one with more is left out
MOST_STEPS = 32  # values of a column of a sequence


@dataclass(frozen=True)
class ChoiceCodes:
    """The columns of a point that hold choices, and how many choices each has.

    columns: of a point, ascending (c,).
    sizes: how many codes each has, that of an absent variable, the last one, included (c,).
    steps: pairs of positions in `columns` that follow each other in a row of equal choices, by row: what follows what
        may mean the same wherever it stands.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]

    def encode(self, xs: Batch) -> IntArray:
        """Return the code of each column, in 0..size - 1 (n, c).

        xs: n points.
        """
        codes = np.asarray(xs, dtype=np.int64)[:, list(self.columns)]
        return np.where(codes == ABSENT, np.array(self.sizes) - 1, codes)


def find_codes(domain: Domain) -> ChoiceCodes | None:
    """Return the choices of a domain's variables; None where none of them has choices that are few enough.

    domain: of variables, such as a `Space`.
    """
    columns, sizes, steps = list[int](), list[int](), list[tuple[int, int]]()
    start = 0
    for _, group in itertools.groupby(domain.variables.values(), _name_row):
        own = list(group)
        first = len(columns)
        for one in own:
            if 2 <= one.n_codes <= MOST_CODES:
                columns += range(start, start + one.width)
                sizes += [one.n_codes + bool(one.when)] * one.width
            start += one.width
        steps += _pair_row(first, len(columns), own)
    return ChoiceCodes(tuple(columns), tuple(sizes), tuple(steps)) if columns else None


def _pair_row(first: int, end: int, variables: Sequence[Variable]) -> Iterator[tuple[int, int]]:
    """Pair the columns of a row that is long enough, and whose values are not too many."""
    if end - first >= SHORTEST_ROW and 3 <= variables[0].n_codes <= MOST_STEPS and not variables[0].when:
        yield from itertools.pairwise(range(first, end))


def _name_row(variable: Variable) -> object:
    """Name what variables of one row have in common: their choices, which have no order; others stand alone."""
    if isinstance(variable, ChoiceVariable) and number_grid(variable) is None and not variable.ordered:
        return variable.kind, repr(variable.choices), repr(variable.when)
    return id(variable)
