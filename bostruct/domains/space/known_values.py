"""A fast way from JSON to rows and back, for the points that most files hold: one column a variable, none missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import getitem

import numpy as np

from bostruct.contracts import IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choices import ChoiceVariable, is_json_scalar, number_grid
from bostruct.domains.space.real import Real
from bostruct.domains.space.variable import Variable

MAX_CHOICES = 10_000  # of a variable whose choices are tabulated
BYTE = 256  # numbers that a byte tells apart


class _DecodedColumns:
    """The columns of values that are not listed, found as in a dict."""

    def __init__(self, variable: Variable) -> None:
        self._variable = variable
        self._decode = variable.decode

    def __getitem__(self, value: Json, /) -> int:
        return self._decode(value)[0]

    def read(self, values: Sequence[Json]) -> IntArray:
        """Return the columns of m values (m,); raise PointError where the variable has not one of them."""
        if type(self._variable) is Real:
            return self._variable.choices.vertices(values)
        return np.array([self[value] for value in values], dtype=np.int64)


class _Columns(dict):
    """The columns of values that are listed: a dict, which reads many values at once."""

    def __init__(self, choices: Sequence[Presented]) -> None:
        super().__init__(zip(choices, range(len(choices)), strict=True))
        self._are_values = len(self) <= BYTE and list(self) == list(range(len(self)))  # as of bits, and of 0, 1, 2

    def read(self, values: Sequence[Json]) -> IntArray:
        """Return the columns of m values (m,); raise KeyError or TypeError where one is not listed."""
        if self._are_values:
            with suppress(TypeError, ValueError):  # a float, and what no byte holds, is looked up
                columns = np.frombuffer(bytes(values), dtype=np.uint8)  # type: ignore[arg-type]  # an eighth of the time
                if columns.max(initial=0) < len(self):
                    return columns.astype(np.int64)
        return np.fromiter(map(self.__getitem__, values), dtype=np.int64, count=len(values))


class KnownValues:
    """The columns of the values of each variable, which the variables' own `decode` would find one by one.

    variables: of a space, by name. Where one has several columns, or may be missing, nothing is known.
    """

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self._names = tuple(variables)
        self._columns: list[_Columns | _DecodedColumns] | None = None
        if all(one.width == 1 and not one.when for one in variables.values()):
            self._columns = [_tabulate(one) for one in variables.values()]
        own = (ChoiceVariable.present, ChoiceVariable.encode)
        are_own = all((type(one).present, type(one).encode) == own for one in variables.values())
        listed = [list(known) for known in self._columns or () if isinstance(known, _Columns)]
        self._choices = listed if are_own and len(listed) == len(variables) else None

    def write(self, x: IntArray) -> dict[str, Presented] | None:
        """Return a point by names, which is what both `present` and `encode` of its variables make; None where unknown.

        x: integer row (d,).

        Raises IndexError, TypeError or ValueError for most of what is no row of the space.
        """
        if self._choices is None:
            return None
        columns = np.asarray(x).tolist()
        if min(columns) < 0:  # an index from the end
            raise IndexError(columns)
        return dict(zip(self._names, map(getitem, self._choices, columns), strict=True))

    def read(self, data: ParsedJson) -> IntArray | None:
        """Return the row of a point (d,); None where the slow way has to read it, or to say what is wrong.

        data: JSON of any form.
        """
        if self._columns is None or not isinstance(data, dict) or tuple(data) != self._names:
            return None
        try:
            return np.array(list(map(getitem, self._columns, data.values())), dtype=np.int64)
        except (KeyError, TypeError, PointError):  # no value of the variable, or an unhashable one
            return None

    def read_values(self, points: Sequence[Sequence[Json]]) -> IntArray | None:
        """Return the rows of points (m, d); None where one has to be read the slow way.

        points: the values of each, in the order of the variables.
        """
        if self._columns is None or any(len(values) != len(self._columns) for values in points):
            return None
        rows = np.empty((len(points), len(self._columns)), dtype=np.int64)
        try:
            for position, (known, values) in enumerate(zip(self._columns, zip(*points, strict=True), strict=True)):
                rows[:, position] = known.read(values)
        except (KeyError, TypeError, PointError):
            return None
        return rows


def _tabulate(variable: Variable) -> _Columns | _DecodedColumns:
    """Return the columns of a variable, listed where its values are its choices, and these are few scalars."""
    if not isinstance(variable, ChoiceVariable) or not variable.reads_listed or number_grid(variable) is not None:
        return _DecodedColumns(variable)
    is_plain = variable.size <= MAX_CHOICES and all(map(is_json_scalar, variable.choices))
    return _Columns(variable.choices) if is_plain else _DecodedColumns(variable)
