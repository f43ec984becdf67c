"""Points of a space in their three forms: the user's dict, JSON, and an integer row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import IntArray, Json, PointError
from bostruct.domains.space.clauses import describe_when, predicate_name
from bostruct.domains.space.constraints import ConstrainedProduct, check_value, count_satisfied_rules
from bostruct.domains.space.variable import INACTIVE, Variable

Read = Callable[[Variable, object], Sequence[int]]


def check_row(space: ConstrainedProduct, x: IntArray) -> None:
    """Raise PointError for a wrong shape, a value that a variable does not have, or a rule that does not hold."""
    refuse_dict(x)
    n_columns = space.layout.n_columns
    if np.shape(x) != (n_columns,) or not np.issubdtype(np.asarray(x).dtype, np.integer):
        raise PointError(f"point: expected {n_columns} integers, got {short_repr(x)}")
    for (name, v), columns in zip(space.variables.items(), space.layout.split(x), strict=True):
        if v.when and columns[0] == INACTIVE:
            continue
        check_value(name, v, columns)
    row = np.asarray(x, dtype=np.int64)
    if space.conditions and (broken_condition := space.conditions.find_broken(row)):
        raise PointError(broken_condition)
    if broken := [predicate_name(c) for c in space.constraints if not count_satisfied_rules(space, row[None], [c])[0]]:
        raise PointError(f"point: {short_repr(space.present(x), 200)} breaks the constraint {', '.join(broken)}")


def refuse_dict(x: object) -> None:
    """Raise PointError for a dict of the user's values, if a point in the form of the space is wanted."""
    if isinstance(x, dict):
        raise PointError(f"point: expected one that parse made of a dict, space.parse(point), got {short_repr(x)}")


def check_names(space: ConstrainedProduct, point: object) -> Mapping[str, object]:
    """Return what a user gave as a point, where it is a dict whose keys are names of variables.

    Raises PointError for anything else, and for a variable that every point has and that is missing.
    """
    expected = f"expected {short_repr(list(space.variables), 200)}"
    if not isinstance(point, Mapping):
        raise PointError(
            f"point: expected a dict with the keys {short_repr(list(space.variables), 200)}, got {short_repr(point)}"
        )
    if unknown := [name for name in point if name not in space.variables]:
        owners = [
            f"; a part is given in a dict of {own!r}" for own, v in space.variables.items() if unknown[0] in v.parts
        ]
        hint = owners[0] if owners else did_you_mean(unknown[0], space.variables)
        raise PointError(f"point: unknown name {short_repr(unknown[0])}; {expected}{hint}")
    if missing := [name for name, v in space.variables.items() if name not in point and not v.when]:
        raise PointError(f"point: missing {', '.join(missing[:5])}; {expected}")
    return point


def read_row(space: ConstrainedProduct, data: Mapping[str, object], read: Read) -> IntArray:
    """Read a row from a mapping that has every variable of the point, and no other (columns,).

    Raises PointError, naming the variable, if its value cannot be read, and where the conditions of the space ask
    for a variable that is missing or forbid one that is there.
    """
    row = np.full(space.layout.n_columns, INACTIVE, dtype=np.int64)
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


def encode_row(space: ConstrainedProduct, x: IntArray) -> Json:
    """Return a point as JSON: a dict from names to choices."""
    split = space.layout.split(x)
    both = zip(space.variables.items(), split, strict=True)
    return {name: v.encode(own) for (name, v), own in both if own[0] != INACTIVE}
