"""Define traces: the chosen values, by the paths of the hyperparameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from bostruct.checks import short_repr
from bostruct.contracts import Json, ParsedJson
from bostruct.domains.language.errors import LanguageError, TraceError
from bostruct.domains.language.values import Value, as_value, name_value


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
            raise TraceError(f"trace: expected a mapping from places to values, got {short_repr(values)}")
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
        """Return ``{place: value}``; tuples become lists."""
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
            If the data are not those of a trace.
        """
        return cls(data)

    def __or__(self, other: Mapping[str, Value]) -> Trace:
        """Return the union of both, with the other's values for shared keys."""
        return Trace.from_valid(self._values | dict(other))
