"""A fast way from JSON to rows, for the points that most files hold: of one column a variable, and of all variables."""

from __future__ import annotations

from collections.abc import Mapping
from operator import getitem
from typing import Protocol

import numpy as np

from bostruct.contracts import IntArray, Json, ParsedJson, PointError
from bostruct.domains.space.choices import ChoiceVariable, is_json_scalar
from bostruct.domains.space.variable import Variable

MAX_CHOICES = 10_000  # of a variable whose choices are tabulated


class _Columns(Protocol):
    """The column of each value of a variable, found as in a dict."""

    def __getitem__(self, value: Json, /) -> int: ...


class _DecodedColumns:
    """The columns of values that are not listed."""

    def __init__(self, variable: Variable) -> None:
        self._decode = variable.decode

    def __getitem__(self, value: Json, /) -> int:
        return self._decode(value)[0]


class KnownValues:
    """The columns of the values of each variable, which the variables' own `decode` would find one by one.

    variables: of a space, by name. Where one has several columns, or may be missing, nothing is known.
    """

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self._names = tuple(variables)
        self._columns: list[_Columns] | None = None
        if all(one.width == 1 and not one.when for one in variables.values()):
            self._columns = [_tabulate(one) for one in variables.values()]

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


def _tabulate(variable: Variable) -> _Columns:
    """Return the columns of a variable, listed where its values are its choices, and these are few scalars."""
    kind = type(variable)
    reads = (kind.parse, kind.decode) == (ChoiceVariable.parse, ChoiceVariable.decode)
    if not isinstance(variable, ChoiceVariable) or not reads or variable.size > MAX_CHOICES:
        return _DecodedColumns(variable)
    is_plain = all(map(is_json_scalar, variable.choices))
    return dict(zip(variable.choices, range(variable.size), strict=True)) if is_plain else _DecodedColumns(variable)
