"""Points of a space in their three forms: the user's dict, JSON, and an integer row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.constraints import ConstrainedProduct, count_satisfied_rules
from bostruct.domains.space.variable import ABSENT, Variable
from bostruct.domains.space.when import describe_when, predicate_name

Read = Callable[[Variable, object], Sequence[int]]


def check_row(space: ConstrainedProduct, x: IntArray) -> None:
    """Raise PointError for a wrong shape, a value that a variable does not have, or a rule that does not hold.

    space: `Space`.
    x: what should be an integer row (columns,).
    """
    n_columns = space.layout.n_columns
    if np.shape(x) != (n_columns,) or not np.issubdtype(np.asarray(x).dtype, np.integer):
        raise PointError(f"point: expected {n_columns} integers, got {short_repr(x)}")
    for (name, v), columns in zip(space.variables.items(), space.layout.split(x), strict=True):
        if v.when and columns[0] == ABSENT:
            continue
        try:
            v.check(columns)
        except PointError as error:
            raise PointError(f"{name}: {error}") from None
    row = np.asarray(x, dtype=np.int64)
    if space.conditions and (broken_condition := space.conditions.find_broken(row)):
        raise PointError(broken_condition)
    if broken := [predicate_name(c) for c in space.constraints if not count_satisfied_rules(space, row[None], [c])[0]]:
        raise PointError(f"point: {short_repr(space.present(x), 200)} breaks the constraint {', '.join(broken)}")


def check_names(space: ConstrainedProduct, point: object) -> Mapping[str, object]:
    """Return what a user gave as a point, where it is a dict whose keys are names of variables.

    space: `Space`.
    point: anything.

    Raises PointError for anything else, and for a variable that every point has and that is missing.
    """
    expected = f"expected {short_repr(list(space.variables), 200)}"
    if not isinstance(point, Mapping):
        raise PointError(
            f"point: expected a dict with the keys {short_repr(list(space.variables), 200)}, got {short_repr(point)}"
        )
    if unknown := [name for name in point if name not in space.variables]:
        hint = did_you_mean(unknown[0], space.variables)
        raise PointError(f"point: unknown name {short_repr(unknown[0])}; {expected}{hint}")
    if missing := [name for name, v in space.variables.items() if name not in point and not v.when]:
        raise PointError(f"point: missing {', '.join(missing[:5])}; {expected}")
    return point


def read_row(space: ConstrainedProduct, data: Mapping[str, object], read: Read) -> IntArray:
    """Read a row from a mapping that has every variable of the point, and no other (columns,).

    space: `Space`.
    data: by name, what `read` understands.
    read: a variable and what is given for it -> its columns; raises PointError.

    Raises PointError, naming the variable, where its value cannot be read, and where the conditions of the space ask
    for a variable that is missing or forbid one that is there.
    """
    row = np.full(space.layout.n_columns, ABSENT, dtype=np.int64)
    variables = list(space.variables.items())
    for i in space.conditions.order:
        name, variable = variables[i]
        if variable.when:
            exists = bool(space.conditions.holds(i, row[None])[0])
            if exists != (name in data):
                but = f"got {short_repr(data[name])}" if name in data else "it is missing"
                words = describe_when(variable.when)
                raise PointError(
                    f"{name}: expected {'a' if exists else 'no'} value, for it exists where {words}; {but}"
                )
            if not exists:
                continue
        try:
            row[space.layout.columns(i)] = read(variable, data[name])
        except PointError as error:
            raise PointError(f"{name}: {error}") from None
    return row


def reread_row(space: ConstrainedProduct, data: ParsedJson, description: ParsedJson) -> IntArray:
    """Read a row from a point that a space of another description encoded (columns,); constraints are not looked at.

    space: `Space`.
    data: the point as JSON.
    description: what `to_json` of the other space returned.

    A variable that the point lacks has its default. A value for which the space has no place is left out where it is
    the default of its variable, in this space or in the other. Raises PointError, naming the variable.
    """
    theirs = description["variables"]
    if not isinstance(data, Mapping) or not data.keys() <= theirs.keys():
        raise PointError(f"point: expected a dict of {short_repr(list(theirs), 200)}, got {short_repr(data)}")
    row = np.full(space.layout.n_columns, ABSENT, dtype=np.int64)
    variables, left = list(space.variables.items()), dict(data)
    for i in space.conditions.order:
        name, variable = variables[i]
        if variable.when and not space.conditions.holds(i, row[None])[0]:
            continue
        try:
            row[space.layout.columns(i)] = _reread_value(variable, left, name, theirs.get(name))
        except PointError as error:
            raise PointError(f"{name}: {error}") from None
    for name, value in left.items():
        _check_left_out(space.variables.get(name), name, value, theirs[name])
    return row


def _reread_value(variable: Variable, left: dict[str, ParsedJson], name: str, description: ParsedJson) -> Sequence[int]:
    """Take the value of a variable from what is left of a point, its default where that has none."""
    if name in left:
        return variable.decode_from(left.pop(name), description)
    if variable.default_columns is None:
        raise PointError("the trial has no value of it, and it has no default=")
    return variable.default_columns


def _check_left_out(variable: Variable | None, name: str, value: ParsedJson, description: ParsedJson) -> None:
    """Raise PointError unless a value for which a space has no place is the default of its variable."""
    if "default" in description and json.dumps(description["default"]) == json.dumps(value):
        return
    own = None if variable is None else variable.default_columns
    if variable is not None and own is not None:
        with suppress(PointError):
            if tuple(variable.decode_from(value, description)) == own:
                return
    why = "and it has no default=" if own is None and "default" not in description else "which is not its default"
    raise PointError(f"{name}: the space has no place for the trial's value {short_repr(value)}, {why}")


def present_row(space: ConstrainedProduct, x: IntArray) -> dict[str, Presented]:
    """Return a point as a dict of the user's values.

    space: `Space`.
    x: integer row (columns,).
    """
    split = space.layout.split(x)
    both = zip(space.variables.items(), split, strict=True)
    return {name: v.present(own) for (name, v), own in both if own[0] != ABSENT}


def encode_row(space: ConstrainedProduct, x: IntArray) -> Json:
    """Return a point as JSON: a dict from names to choices.

    space: `Space`.
    x: integer row (columns,).
    """
    split = space.layout.split(x)
    both = zip(space.variables.items(), split, strict=True)
    return {name: v.encode(own) for (name, v), own in both if own[0] != ABSENT}
