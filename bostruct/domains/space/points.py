"""Points of a space in their three forms: the user's dict, JSON, and an integer row.

Points that another version of the space encoded, with other values, variables or domains, can also be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.clauses import describe_when, predicate_name
from bostruct.domains.space.constraints import ConstrainedProduct, check_value, count_satisfied_rules
from bostruct.domains.space.levels import note_under
from bostruct.domains.space.variable import INACTIVE, Variable

Read = Callable[[Variable, object], Sequence[int]]
OWN = ""  # the part of a mixed space that holds its variables; the names that users give are not empty
NOTHING: Mapping[str, Any] = {"domain": "space", "variables": {}, "constraints": 0}  # of a part that did not exist yet


def check_row(space: ConstrainedProduct, x: IntArray) -> None:
    """Raise PointError for a wrong shape, an invalid value of a variable, or a violated rule."""
    refuse_dict(x)
    n_columns = space.layout.n_columns
    if np.shape(x) != (n_columns,) or not np.issubdtype(np.asarray(x).dtype, np.integer):
        raise PointError(f"point: expected {n_columns} integers, got {short_repr(x)}")
    row = np.asarray(x, dtype=np.int64)
    if not (space.is_single_choices and ((row >= 0) & (row < space.n_choices)).all()):
        for (name, v), columns in zip(space.variables.items(), space.layout.split(x), strict=True):
            if not v.when or columns[0] != INACTIVE:
                check_value(name, v, columns)
    if space.conditions and (broken_condition := space.conditions.find_broken(row)):
        raise PointError(broken_condition)
    if broken := [predicate_name(c) for c in space.constraints if not count_satisfied_rules(space, row[None], [c])[0]]:
        raise PointError(f"point: {short_repr(space.present(x), 200)} breaks the constraint {', '.join(broken)}")


def refuse_dict(x: object) -> None:
    """Raise PointError for a dict of the user's values if a point in the form of the space is expected."""
    if isinstance(x, dict):
        raise PointError(f"point: expected the result of space.parse(point), got {short_repr(x)}")


def check_names(space: ConstrainedProduct, point: object) -> Mapping[str, object]:
    """Return a user's point if it is a dict whose keys are names of variables.

    Raises PointError for anything else, and if a variable without conditions is missing.
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

    Raises PointError, naming the variable, if its value cannot be read, or if its presence contradicts the conditions
    of the space.
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
                    f"{name}: expected {'a' if exists else 'no'} value, because it exists if {words}; {but}"
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


class Contents(NamedTuple):
    """The variables and parts that the description of a space names; empty for another domain."""

    variables: Mapping[str, ParsedJson]
    parts: Mapping[str, ParsedJson]

    @property
    def names(self) -> list[str]:
        """The names of all values, the variables first."""
        return [*self.variables, *self.parts]


def read_contents(description: ParsedJson) -> Contents:
    """Return the variables and parts that the description of a space, plain or mixed, names."""
    if description.get("domain") == "space":
        return Contents(_free(_as_dict(description.get("variables"))), {})
    if description.get("domain") != "mixed":
        return Contents({}, {})
    parts, order = _as_dict(description.get("parts")), description.get("order", ())
    own = _as_dict(_as_dict(parts.get(OWN)).get("variables"))
    named = _free({name: one for name, one in own.items() if name in order})  # the other variables are tests of parts
    return Contents(named, {name: part for name, part in parts.items() if name != OWN})


def _free(variables: Mapping[str, ParsedJson]) -> dict[str, ParsedJson]:
    """Return descriptions in which the free variable, with the same values, replaces each fixed variable."""
    return {
        name: {**one["variable"], **{key: one[key] for key in ("when", "default") if key in one}}
        if _as_dict(one).get("kind") == "Fixed"
        else one
        for name, one in variables.items()
    }


def _as_dict(given: ParsedJson) -> dict[str, ParsedJson]:
    return given if isinstance(given, dict) else {}


def migrate_row(space: ConstrainedProduct, data: ParsedJson, description: ParsedJson) -> IntArray:
    """Read a row from a point that a space of another description encoded (columns,), without checking constraints.

    data: the point as JSON.

    A variable that the point lacks gets its default. A value that the space cannot represent is ignored if it is the
    default of its variable, in this space or in the other. Raises PointError, naming the variable.
    """
    theirs = read_contents(description)
    own, others = split_values(data, theirs)
    row = fill_row(space, own, theirs.variables)
    for name, value in others.items():
        check_part_left_out(name, value, theirs.parts[name])
    return row


def split_values(data: ParsedJson, theirs: Contents) -> tuple[dict[str, ParsedJson], dict[str, ParsedJson]]:
    """Return the variables of an encoded point, and its other parts; raise PointError for anything else.

    data: JSON of any form.
    """
    if not isinstance(data, Mapping) or not theirs.parts.keys() <= data.keys() <= {*theirs.names}:
        raise PointError(f"point: expected a dict of {short_repr(theirs.names, 200)}, got {short_repr(data)}")
    own = {name: value for name, value in data.items() if name not in theirs.parts}
    return own, {name: data[name] for name in theirs.parts}


def fill_row(space: ConstrainedProduct, values: Mapping[str, ParsedJson], theirs: Mapping[str, ParsedJson]) -> IntArray:
    """Read a row from encoded values of variables (columns,), as `migrate_row` reads a whole point."""
    row = np.full(space.layout.n_columns, INACTIVE, dtype=np.int64)
    variables, left = list(space.variables.items()), dict(values)
    for i in space.conditions.order:
        name, variable = variables[i]
        if variable.when and not space.conditions.holds(i, row[None])[0]:
            continue
        try:
            with note_under(name):
                row[space.layout.columns(i)] = _migrate_value(variable, left, name, theirs.get(name))
        except PointError as error:
            raise PointError(f"{name}: {error}") from None
    for name, value in left.items():
        check_left_out(space.variables.get(name), name, value, theirs[name])
    return row


def _migrate_value(
    variable: Variable, left: dict[str, ParsedJson], name: str, description: ParsedJson
) -> Sequence[int]:
    """Remove the value of a variable from the remaining values of a point; return its columns, or the default."""
    if name in left:
        return variable.decode_from(left.pop(name), description)
    if variable.default_columns is None:
        raise PointError("the trial has no value for this variable, which has no default=")
    return variable.default_columns


def fill_missing(
    space: ConstrainedProduct, point: Mapping[str, Presented], choices: Mapping[str, Presented]
) -> dict[str, Presented]:
    """Return a point with the choices that a table marks as missing, for variables that its other values activate.

    Raises PointError, naming the variable, for a value that cannot be read.
    """
    row, filled = np.full(space.layout.n_columns, INACTIVE, dtype=np.int64), dict(point)
    variables = list(space.variables.items())
    for i in space.conditions.order:  # parents first
        name, variable = variables[i]
        if name in choices and space.conditions.holds(i, row[None])[0]:
            filled[name] = choices[name]
        if name in filled:
            try:
                row[space.layout.columns(i)] = variable.parse(filled[name])
            except PointError as error:
                raise PointError(f"{name}: {error}") from None
    return filled


def check_left_out(variable: Variable | None, name: str, value: ParsedJson, description: ParsedJson) -> None:
    """Raise PointError unless a value that a space cannot represent is the default of its variable.

    variable: the variable of this name in the space; None if there is none.
    """
    if "default" in description and json.dumps(description["default"]) == json.dumps(value):
        return
    own = None if variable is None else variable.default_columns
    if variable is not None and own is not None:
        with suppress(PointError), note_under(name):
            if tuple(variable.decode_from(value, description)) == own:
                return
    why = "and it has no default=" if own is None and "default" not in description else "which is not its default"
    if variable is None and "default" not in description:
        why = "because it has no such variable; open the study once with a default= for the variable, then without it"
    raise _not_representable(name, value, why)


def check_part_left_out(name: str, value: ParsedJson, description: ParsedJson) -> None:
    """Raise PointError unless a part that the space does not have has all its values at their defaults."""
    theirs = read_contents(description)
    if not theirs.names:
        raise _not_representable(name, value, "and only spaces have default=")
    own, others = split_values(value, theirs)
    for inner, one in own.items():
        check_left_out(None, f"{name}: {inner}", one, theirs.variables[inner])
    for inner, one in others.items():
        check_part_left_out(f"{name}: {inner}", one, theirs.parts[inner])


def _not_representable(name: str, value: ParsedJson, why: str) -> PointError:
    return PointError(f"{name}: the space cannot represent the trial's value {short_repr(value)}, {why}")


def show_objects(data: ParsedJson, described: ParsedJson) -> Presented:
    """Return a point, as JSON, in which the reprs of Python objects replace their positions among the choices.

    described: the domain, variable or part, as JSON.
    """
    own = described if isinstance(described, dict) else {}
    if isinstance(data, list):
        return [show_objects(one, own) for one in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"vertex"} and "kind" in own:
        choices = next((own[name] for name in ("choices", "items", "alphabet") if name in own), ())
        choice = choices[data["vertex"]] if data["vertex"] < len(choices) else data
        return choice.get("repr", choice) if isinstance(choice, dict) else choice
    parts = own.get("parts", {})
    known = {**parts, **parts.get("", {}).get("variables", {}), **own.get("variables", {})}
    return {name: show_objects(one, known.get(name)) for name, one in data.items()}
