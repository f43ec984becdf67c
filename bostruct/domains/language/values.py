"""Values and names of hyperparameters in their stored form, and traces: the chosen values, by paths."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias, TypeVar

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Json, ParsedJson
from bostruct.domains.language.errors import LanguageError, TraceError

Value: TypeAlias = Any  # None, bool, int, float, str, or tuples of these
Property = TypeVar("Property")
NAME_OF_HYPERPARAMETER = re.compile(r"\w[\w+-]*")


class NamedValue(str):
    """The name of a value, such as a function or a dict, in traces, paths and searchers."""

    __slots__ = ("target",)
    target: object

    def __new__(cls, name: str, target: object) -> NamedValue:
        made = super().__new__(cls, name)
        made.target = target
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return str, (str(self),)  # functions cannot be pickled; a space maps names to values


def as_name(name: str | None) -> str | None:
    """Return a valid key of a path; raises LanguageError.

    name: letters, digits and ``_``, and after the first character also ``+`` and ``-``; None stays None.
    """
    if name is not None and (not isinstance(name, str) or not NAME_OF_HYPERPARAMETER.fullmatch(name)):
        raise LanguageError(
            f"name: expected letters, digits, '_', '+' and '-', not beginning with '+' or '-'; got {name!r}"
        )
    return name


def as_properties(what: str, given: Mapping[str, Property] | None) -> Mapping[str, Property]:
    """Return properties by local name, an empty mapping for None; raises LanguageError.

    given: hyperparameters or constants by local name, or None.
    """
    if given is not None and not isinstance(given, Mapping):
        raise LanguageError(f"{what}: expected a dict from local names, got {short_repr(given)}")
    for name in given or ():
        if not isinstance(name, str):
            raise LanguageError(f"{what}: expected local names that are strings, got {short_repr(name)}")
    return given or {}


def as_value(what: str, value: object) -> Value:
    """Return a value that is hashable and that JSON supports; lists become tuples. Raises LanguageError.

    value: None, bool, number, string, NumPy scalar, or a list or tuple of these.
    """
    if type(value) in (int, str, float, bool, NamedValue) or value is None:
        if isinstance(value, float) and not math.isfinite(value):  # JSON does not support these
            raise LanguageError(f"{what}: expected finite numbers, got {value}")
        return value
    if isinstance(value, np.generic):
        return as_value(what, value.item())
    if isinstance(value, list | tuple):
        return tuple(as_value(what, part) for part in value)
    raise LanguageError(
        f"{what}: expected None, bools, numbers, strings or tuples of these, got {short_repr(value)}; D also takes "
        "dicts that JSON supports, functions and classes with names, and any object under your own name, "
        "D({'name': value, ...}); to choose between parts use siso_or"
    )


def name_value(what: str, value: object) -> Value:
    """Return a value in its stored form, functions and dicts by their names; raises LanguageError.

    value: as in `as_value`, or a function or class with a name, a dict that JSON supports, or a list or tuple of these.
    """
    if type(value) in (int, str, bool) or value is None:
        return value
    if isinstance(value, list | tuple):
        return tuple(name_value(what, part) for part in value)
    name = getattr(value, "__name__", None) if callable(value) else None
    if isinstance(name, str) and name != "<lambda>":
        return NamedValue(name, value)
    if isinstance(value, dict):
        try:
            return NamedValue(json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False), value)
        except (TypeError, ValueError):
            pass  # the message of `as_value` describes the fix
    return as_value(what, value)


def name_values(what: str, values: Mapping[str, object]) -> tuple[NamedValue, ...]:
    """Return values with names that the user gave; raises LanguageError."""
    return tuple(NamedValue(name, value) for name, value in as_properties(what, values).items())


def reveal(value: Value) -> object:
    """Return the argument of a user's function: the target of a name, with dicts copied."""
    if type(value) is NamedValue:
        return deepcopy(value.target) if isinstance(value.target, dict) else value.target
    return tuple(map(reveal, value)) if type(value) is tuple else value


def has_names(value: Value) -> bool:
    """Return whether a value is a `NamedValue`, or a tuple that contains one."""
    return type(value) is NamedValue or (type(value) is tuple and any(map(has_names, value)))


def targets_of(value: Value) -> Iterator[object]:
    """Yield the targets of the names in a value."""
    if type(value) is NamedValue:
        yield value.target
    elif type(value) is tuple:
        for part in value:
            yield from targets_of(part)


def stored_value(path: str, value: object) -> Value:
    """Return a chosen value in its stored form, functions and dicts by their names; raises TraceError."""
    try:
        return name_value(path, value)
    except LanguageError as error:
        raise TraceError(str(error)) from None


class Trace(Mapping[str, Value]):
    """An immutable mapping from the path of each independent hyperparameter to its value, in the order of choice.

    Traces with the same items are equal, regardless of their order.

    Parameters
    ----------
    values : mapping of str to Value
        Values by path.

    Raises
    ------
    TraceError
        If `values` is not a mapping, or a value is not allowed.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, Value]) -> None:
        if not isinstance(values, Mapping):
            raise TraceError(f"trace: expected a mapping from paths to values, got {short_repr(values)}")
        try:
            self._values = {str(key): as_value(str(key), value) for key, value in values.items()}
        except LanguageError as error:
            raise TraceError(str(error)) from None
        self._hash: int | None = None

    @classmethod
    def from_valid(cls, values: dict[str, Value]) -> Trace:
        """Make a trace of valid values; the trace takes ownership of the dict.

        Parameters
        ----------
        values : dict of str to Value
            Values by path.
        """
        trace = cls.__new__(cls)
        trace._values = values
        trace._hash = None
        return trace

    def __getitem__(self, key: str) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, Trace) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Trace, (self._values,)  # string hashes differ between processes and must not be pickled

    def __repr__(self) -> str:
        return f"Trace({self._values!r})"

    def to_json(self) -> Json:
        """Return ``{path: value}``; tuples become lists."""
        return json.loads(json.dumps(self._values))

    @classmethod
    def from_json(cls, data: ParsedJson) -> Trace:
        """Return the trace for a result of `to_json`.

        Parameters
        ----------
        data : ParsedJson
            The result of `to_json`.

        Raises
        ------
        TraceError
            If the data do not describe a trace.
        """
        return cls(data)

    def __or__(self, other: Mapping[str, Value]) -> Trace:
        """Return the union of both, with the other's values for shared keys."""
        return Trace.from_valid(self._values | dict(other))
