"""The variables of points as numbers on an axis, with gaps for inactive variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bostruct.analysis.pictures import check_variable_names, shorten_label
from bostruct.checks import check_choice, list_first, short_repr
from bostruct.contracts import Array, BostructError
from bostruct.domains.space.variable import Variable
from bostruct.study.history import Trial
from bostruct.study.result import Result

MOST_CATEGORIES = 24  # of a variable on an axis
NAMED = 3  # names of hidden variables that a plot lists
LOG_LIST_RATIO = 10.0  # ratio of numbers in a list from which their axis is logarithmic


class PointColumn(NamedTuple):
    """One variable of n points on an axis.

    name: name of the variable, ``part.variable`` in a part.
    places: positions on the axis (n,), NaN if the variable is inactive.
    categories: the values at the places 0, 1, ...; empty if places are the numbers themselves.
    is_log: True if the axis is logarithmic.
    is_whole: True if all observed values are integers.
    """

    name: str
    places: Array
    categories: tuple[object, ...] = ()
    is_log: bool = False
    is_whole: bool = False
    choices: tuple[float, ...] = ()

    def shares(self) -> Array:
        """Return the places between 0 and 1 on the axis, 0.5 if all are the same (n,)."""
        scaled = np.log(self.places) if self.is_log else self.places
        low, high = (
            (0.0, float(len(self.categories) - 1)) if self.categories else (np.nanmin(scaled), np.nanmax(scaled))
        )
        return (scaled - low) / (high - low) if high > low else np.where(np.isnan(scaled), np.nan, 0.5)


class PointTable(NamedTuple):
    """The variables of some trials."""

    columns: tuple[PointColumn, ...]
    left_out: tuple[str, ...]


def describe_hidden(names: Sequence[str]) -> str:
    """Return which variables a plot leaves out, the first three by name.

    names: names of the variables, at least one.
    """
    return f"not drawn: {list_first([shorten_label(name) for name in names], NAMED)}"


def read_columns(result: Result, trials: Sequence[Trial], names: Sequence[str] | None) -> PointTable:
    """Read the variables of trials.

    trials: n trials, at least one.
    names: names of the variables, in order; None for all variables, except for fixed ones if others vary.

    Raises BostructError if points have no named variables or no variable can be drawn, ValueError for an unknown name
    or an empty list, TypeError for anything but names.
    """
    check_variable_names(names)
    points = [flatten_point(trial.point) for trial in trials]
    known = dict.fromkeys(name for point in points for name, value in point.items() if not isinstance(value, Mapping))
    variables: Mapping[str, Variable] = {} if result.domain is None else result.domain.variables
    ordered = [*(name for name in variables if name in known), *(name for name in known if name not in variables)]
    for name in names or ():
        check_choice("names", name, list(dict.fromkeys([*ordered, *variables])))
    columns, left_out = [], []
    varied = [name for name in ordered if name not in variables or not variables[name].is_fixed] or ordered
    for name in varied if names is None else [name for name in names if name in known]:
        values = [point.get(name, _INACTIVE) for point in points]
        column = _read_column(name, values, variables.get(name))
        if column is None:
            left_out.append(name)
        else:
            columns.append(column)
    if not columns:
        raise BostructError(f"result: none of its variables can be drawn on an axis: {', '.join(left_out)}")
    return PointTable(tuple(columns), tuple(left_out))


_INACTIVE = object()


def flatten_point(point: object) -> dict[str, Any]:
    """Return the variables of a point by name, ``part.variable`` for a variable of a part; raise BostructError."""
    if not isinstance(point, Mapping):
        raise BostructError(
            f"result: expected points made of named variables, got {short_repr(point)}; plots of single variables "
            "need a space"
        )
    if not any(issubclass(kind, Mapping) for kind in set(map(type, point.values()))):
        return {str(name): part for name, part in point.items()}
    found: dict[str, Any] = {}
    for name, value in _walk(point, ""):
        while name in found:  # {"a.b": 1, "a": {"b": 2}}
            name += "'"
        found[name] = value
    return found


def _walk(point: Mapping[Any, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, part in point.items():
        if isinstance(part, Mapping) and part:
            yield from _walk(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part


def _read_column(name: str, values: list[Any], variable: Variable | None) -> PointColumn | None:
    """Return the values on an axis; None if they are not numbers, and too many to list."""
    present = [value for value in values if value is not _INACTIVE]
    if all(_is_number(value) for value in present) and (variable is None or variable.ordered):
        places = np.array([np.nan if value is _INACTIVE else float(value) for value in values])
        is_whole = all(isinstance(value, int | np.integer) for value in present)
        choices = () if variable is None else _list_choices(variable)
        return PointColumn(name, places, is_log=_is_logarithmic(variable, places), is_whole=is_whole, choices=choices)
    if variable is not None and variable.width > 1 and variable.size > MOST_CATEGORIES:
        return None  # a permutation or a sequence, whose few observed values are not informative
    categories = _list_categories(variable, present)
    if len(categories) > MOST_CATEGORIES:
        return None
    texts = {repr(value): place for place, value in enumerate(categories)}
    places = [np.nan if value is _INACTIVE else float(texts[repr(value)]) for value in values]
    return PointColumn(name, np.array(places), tuple(categories))


def _list_choices(variable: Variable) -> tuple[float, ...]:
    """Return the numbers of a variable with listed numbers; empty for a range, or if they are consecutive integers."""
    if "choices" not in variable.describe():
        return ()
    found: list[Any] = sorted(variable.present(row) for row in variable.enumerate().tolist())
    is_range = all(isinstance(one, int) for one in found) and found[-1] - found[0] == len(found) - 1
    return () if is_range else tuple(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _is_logarithmic(variable: Variable | None, places: Array) -> bool:
    """Return whether numbers are on a logarithmic scale: as declared, or for a list over a decade or more."""
    seen = places[~np.isnan(places)]
    if not len(seen) or np.min(seen) <= 0.0:
        return False
    described = {} if variable is None else variable.describe()
    return bool(described.get("log", "choices" in described and np.max(seen) / np.min(seen) >= LOG_LIST_RATIO))


def _list_categories(variable: Variable | None, present: list[Any]) -> list[Any]:
    """Return all values of a variable with few values, in its order; otherwise the observed values as they appeared."""
    if variable is not None and variable.size <= MOST_CATEGORIES:
        return [variable.present(row) for row in variable.enumerate().tolist()]
    return list({repr(value): value for value in present}.values())
