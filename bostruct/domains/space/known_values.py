"""A fast way from JSON to rows, for the points that most files hold: of one value a variable, each of few choices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bostruct.contracts import IntArray, Json, ParsedJson
from bostruct.domains.space.choices import ChoiceVariable, is_json_scalar
from bostruct.domains.space.variable import Variable

MAX_CHOICES = 10_000  # of a variable whose choices are tabulated


class KnownValues:
    """The columns of each value of each variable, by type and value, since True and 1 and 1.0 are three choices.

    variables: of a space, by name. Where one is no plain choice of scalars, or may be missing, nothing is known.
    """

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self._names = tuple(variables)
        self._known: list[dict[tuple[type, Json], int]] | None = None
        if all(_is_plain(one) for one in variables.values()):
            self._known = [_tabulate(one) for one in variables.values()]

    def read(self, data: ParsedJson) -> IntArray | None:
        """Return the row of a point (d,); None where the slow way has to read it, or to say what is wrong.

        data: JSON of any form.
        """
        if self._known is None or not isinstance(data, dict) or tuple(data) != self._names:
            return None
        try:
            pairs = zip(self._known, data.values(), strict=True)
            return np.array([known[value.__class__, value] for known, value in pairs], dtype=np.int64)
        except (KeyError, TypeError):  # no value of the variable, or an unhashable one
            return None


def _is_plain(variable: Variable) -> bool:
    """Tell whether each value of a variable is a column of its own, a scalar in JSON, and in every point."""
    if not isinstance(variable, ChoiceVariable) or variable.when or variable.size > MAX_CHOICES:
        return False
    return all(map(is_json_scalar, variable.choices))


def _tabulate(variable: Variable) -> dict[tuple[type, Json], int]:
    encoded = (variable.encode([column]) for column in range(variable.size))
    return {(value.__class__, value): column for column, value in enumerate(encoded)}
