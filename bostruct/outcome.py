"""The outcome of one evaluation, and its validation. It is the same object from the objective to the disk."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from numbers import Rational, Real
from typing import TYPE_CHECKING, Literal, Never, SupportsFloat

from bostruct.checks import short_repr
from bostruct.contracts import Json

Status = Literal["completed", "failed", "infeasible"]
LONGEST_TEXT = 10_000  # maximum characters of a reason; the middle of a longer reason is removed
MOST_ATTRIBUTES = 65_536  # maximum characters of the attributes of a trial, as JSON
LONGEST_KEY = 200  # maximum characters of the name of an attribute
MOST_REFUSED = 10  # maximum number of attributes of a trial that a warning names
WORKER_NUMBER = "BOSTRUCT_WORKER"  # environment variable of a worker process: its number in the run, from 0
MEAN_ROUNDING = 1e-9  # tolerance of a mean, relative to the largest repeat


@dataclass(frozen=True)
class Outcome:
    """The outcome of one evaluation: values, or the reason why there are none.

    Exactly one of `values`, `failed` and `infeasible` must be given.

    Parameters
    ----------
    values : float or tuple of float, default ()
        A finite number, or one for each objective.
    failed, infeasible : str, optional
        The reason why there is no value. If it has more than 10,000 characters, the middle is removed.
    constraints : dict of float, optional
        The measured quantity of each constraint, by name.
    cost : float, optional
        The cost of the evaluation, at least 0.
    sd : float, optional
        Known standard deviation of the noise in the values, at least 0.
    repeats : tuple of float, default ()
        Repeated measurements of the point.
    attributes : dict, optional
        Other data for `Trial.attributes`, such as the path of a file; JSON by name. Models ignore it. Invalid
        attributes are left out with a warning when the outcome is recorded.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    values: tuple[float, ...] = ()
    failed: str | None = None
    infeasible: str | None = None
    constraints: Mapping[str, float] = field(default_factory=dict, hash=False)  # a dict has no hash
    cost: float | None = None
    sd: float | None = None
    repeats: tuple[float, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict, hash=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            values: SupportsFloat | tuple[float, ...] = (),
            failed: str | None = None,
            infeasible: str | None = None,
            constraints: Mapping[str, float] = ...,
            cost: float | None = None,
            sd: float | None = None,
            repeats: tuple[float, ...] = (),
            attributes: Mapping[str, object] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.values, tuple | list):
            object.__setattr__(self, "values", (as_number("values", self.values),))
        if self.attributes is None:
            object.__setattr__(self, "attributes", {})
        if (self.values != ()) + (self.failed is not None) + (self.infeasible is not None) != 1:
            raise ValueError("outcome: expected exactly one of values, failed and infeasible")
        for name, reason in (("failed", self.failed), ("infeasible", self.infeasible)):
            if reason is not None:
                object.__setattr__(self, name, _check_reason(name, reason))
        for name, numbers in (("values", self.values), ("repeats", self.repeats)):
            if numbers != ():
                # no negative zero: the database would not keep its sign
                object.__setattr__(self, name, tuple([number + 0.0 for number in _read_numbers(name, numbers)]))
        measured = dict(_check_constraint_names(self.constraints))  # the caller may change the original
        for name, number in measured.items():
            measured[name] = _read_numbers(f"constraints[{name!r}]", (number,))[0]
        object.__setattr__(self, "constraints", measured)
        for name, number in (("cost", self.cost), ("sd", self.sd)):
            if number is not None:
                object.__setattr__(self, name, _read_numbers(name, (number,), low=0.0)[0])

    @classmethod
    def of_value(cls, value: float) -> Outcome:
        """Create the outcome of a single value, three times as fast as the constructor.

        Parameters
        ----------
        value : float
            A finite number.

        Raises
        ------
        TypeError
            If it is not a number.
        ValueError
            If it is not finite.
        """
        if type(value) is not float or not math.isfinite(value):
            value = _read_numbers("values", (value,))[0]
        made, put = cls.__new__(cls), object.__setattr__
        put(made, "values", (value + 0.0,))
        put(made, "constraints", {})
        put(made, "attributes", {})  # other fields have the defaults of the class
        return made

    @property
    def value(self) -> float | None:
        """The value of a single objective; None if there are several, or none."""
        return self.values[0] if len(self.values) == 1 else None

    @property
    def reason(self) -> str | None:
        """The reason why there is no value; None if there is a value."""
        return self.failed if self.failed is not None else self.infeasible

    @property
    def status(self) -> Status:
        """The status of a trial with this outcome."""
        return "completed" if self.values else "infeasible" if self.failed is None else "failed"


class AttributeReader:
    """The attributes of one trial: plain JSON is kept; for anything else, the reason is recorded."""

    def __init__(self) -> None:
        self.kept: dict[str, Json] = {}
        self._refused: list[str] = []
        self._n_refused = 0
        self._sizes: dict[str, int] = {}  # characters of JSON, with the name
        self._n_left = MOST_ATTRIBUTES
        self._n_room = 0  # characters that the current value may still have

    @property
    def refused(self) -> tuple[str, ...]:
        """The reasons why attributes were not kept; if there are many, the first ones and the number of others."""
        n_others = self._n_refused - len(self._refused)
        return (*self._refused, *([f"attributes: {n_others:,} others are left out, too"] if n_others else []))

    def read(self, attributes: object) -> None:
        """Keep a copy of attributes; NumPy numbers and arrays become numbers and lists, paths become strings."""
        if not isinstance(attributes, Mapping):
            self._refuse(TypeError(f"attributes: expected JSON by name, a dict, got {_show(attributes)}"))
            return
        for name, value in attributes.items():
            try:
                self._keep(name, value)
            except Exception as error:  # any exception, because a value may run its own code
                self._refuse(error)

    def read_outcome(self, outcome: Outcome) -> Outcome:
        """Keep the attributes of an outcome, and return it without them."""
        if isinstance(outcome.attributes, dict) and not outcome.attributes:
            return outcome
        self.read(outcome.attributes)
        return replace(outcome, attributes={})

    def _refuse(self, error: Exception) -> None:
        self._n_refused += 1
        if self._n_refused <= MOST_REFUSED:
            self._refused.append(f"{error}; the attribute is left out")

    def _keep(self, name: object, value: object) -> None:
        """Keep an attribute; raise an error, with its name, if it is not JSON or too large."""
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_KEY or name != storable(name):
            raise TypeError(f"attributes: expected names of 1 to {LONGEST_KEY} characters, got {_show(name)}")
        n_left = self._n_left + self._sizes.get(name, 0)
        self._n_room = n_left - len(name)
        try:
            text = json.dumps(self._simplify(value))
            n_left -= len(name) + len(text)
            if n_left < 0:
                raise _TooLarge
        except _TooLarge:
            raise ValueError(
                f"attributes[{name!r}]: expected at most {MOST_ATTRIBUTES:,} characters of JSON in all attributes of a "
                "trial, got more; write large data to a file, and give its path"
            ) from None
        except Exception as error:
            why = "expected JSON (valid strings, finite numbers, booleans, None, lists, dicts by strings)"
            raise TypeError(f"attributes[{name!r}]: {why}, {error}") from error
        self.kept[name] = json.loads(text)
        self._sizes[name], self._n_left = len(name) + len(text), n_left

    def _simplify(self, value: object) -> object:
        """Return a value as plain JSON; raise TypeError, with the invalid part, or _TooLarge."""
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
            self._take(0 if value.size <= self._n_room else value.size)  # type: ignore[union-attr]
            value = value.tolist()  # type: ignore[union-attr]
        self._take(len(value) if isinstance(value, str) else 1)
        if isinstance(value, Mapping):
            return {self._simplify(key) if isinstance(key, str) else _reject(key): self._simplify(one)
                    for key, one in value.items()}  # fmt: skip
        if isinstance(value, list | tuple):
            return [self._simplify(one) for one in value]
        is_plain = value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
        if is_plain or (isinstance(value, str) and value == storable(value)):
            return value
        return _reject(value)

    def _take(self, n: int) -> None:
        """Count the minimum number of characters of a value in JSON."""
        self._n_room -= n
        if self._n_room < 0:
            raise _TooLarge


class _TooLarge(Exception):
    """Raised if an attribute takes more characters than are left."""


def _reject(part: object) -> Never:
    raise TypeError(f"got {_show(part)}")


def _check_reason(name: str, reason: object) -> str:
    """Return a reason in its stored form; raise TypeError if it is not a string, ValueError if it is empty."""
    if not isinstance(reason, str):
        raise TypeError(f"{name}: expected a reason, a string, got {short_repr(reason)}")
    if reason == "":
        raise ValueError(f"{name}: expected a reason, a non-empty string, got ''")
    return cut_middle(storable(reason))


def _read_numbers(name: str, numbers: object, low: float = -math.inf) -> tuple[float, ...]:
    """Return floats; raise TypeError unless all are numbers in a tuple, ValueError unless finite and at least `low`."""
    if not isinstance(numbers, tuple):
        raise TypeError(f"{name}: expected a tuple of numbers, got {_show(numbers)}")
    if not all(map(isinstance, numbers, repeat(float))):
        numbers = tuple(as_number(name, number) for number in numbers)
    if not (all(map(math.isfinite, numbers)) and min(numbers) >= low):
        shown = numbers[0] if len(numbers) == 1 else numbers
        raise ValueError(f"{name}: expected finite numbers{' from 0' if low == 0 else ''}, got {short_repr(shown)}")
    return numbers


def _check_constraint_names(constraints: object) -> Mapping[str, object]:
    """Return constraints; raise TypeError unless they are a mapping from names."""
    if not isinstance(constraints, Mapping) or not all(isinstance(name, str) for name in constraints):
        raise TypeError(f"constraints: expected numbers by name, got {_show(constraints)}")
    return constraints


def as_number(name: str, value: object) -> float:
    """Return a float for any real number, or an array or tensor of one element; raise TypeError for anything else.

    NaN and infinities are returned, because they are outcomes, not type errors. A masked number becomes NaN.
    """
    given = value
    if callable(item := getattr(value, "item", None)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}: expected one number, got {_show(given)}") from None
        if _is_masked(given):  # `item` returns the number under the mask
            value = math.nan
    if isinstance(value, bool) or not isinstance(value, Real):
        hint = "; return float(...)" if isinstance(value, SupportsFloat) else ""  # a bool, a decimal
        raise TypeError(f"{name}: expected a number, got {_show(given)}{hint}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return -math.inf if value < 0 else math.inf  # type: ignore[operator]


def _is_masked(value: object) -> bool:
    """Return whether a value is a NumPy array with a masked element."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ma.MaskedArray) and bool(numpy.ma.getmaskarray(value).any())


def outcome_of(value: object, verb: str = "objective returned") -> Outcome:
    """Return the outcome of an objective that returned a value; NaN and infinities become failures.

    value: a number for `as_number`; a tuple of two or more numbers, one for each objective; a dict with the key
        ``value`` or ``repeats``, and any of ``constraints``, ``sd``, ``cost`` and ``attributes``; or an `Outcome`.
    verb: start of the reason if a number is not finite.

    Raises TypeError, and ValueError for an inconsistent outcome.
    """
    if type(value) is float and math.isfinite(value):  # almost always
        return Outcome.of_value(value)
    if isinstance(value, Mapping):
        return _read_parts(value, verb)
    if not isinstance(value, Outcome):
        return _make_outcome(verb, value)
    if value.repeats and len(value.values) == 1:
        mean, largest = _mean(value.repeats), max(map(abs, value.repeats))
        if not math.isclose(value.values[0], mean, rel_tol=0.0, abs_tol=MEAN_ROUNDING * largest):
            raise ValueError(
                f"values: expected the mean of the repeats {short_repr(value.repeats)}, {mean!r}, got "
                f"{value.values[0]!r}"
            )
    return value


def parse_outcome(
    value: object,
    failed: str | None = None,
    infeasible: str | None = None,
    *,
    sd: object = None,
    repeats: object = None,
    constraints: object = None,
) -> Outcome:
    """Return the outcome from exactly one of a value, repeats and a reason.

    sd: standard deviation of the noise in the value, at least 0; None or NaN if unknown.
    repeats: repeated measurements of the point, whose mean is the value; None for none.
    constraints: the measured quantity of each constraint by name; None for none.

    Raises TypeError or ValueError, with the name of the argument.
    """
    if value is None and failed is None and infeasible is None and repeats is None:
        raise TypeError("value: expected a number, or failed= or infeasible= with a reason, got None")
    if failed is None and infeasible is None and sd is None and repeats is None and constraints is None:
        return outcome_of(value, verb="observed")
    parts = {"sd": sd, "repeats": repeats, "constraints": constraints}
    others = [name for name, part in parts.items() if part is not None]
    reasons = {"failed": failed, "infeasible": infeasible}
    given = [name for name, reason in reasons.items() if reason is not None]
    if given and (len(given) == 2 or value is not None):
        raise ValueError("expected one of a value, failed= and infeasible=, got more than one")
    if given and others:
        raise ValueError(f"{others[0]}: expected None with {given[0]}=, got {_show(parts[others[0]])}")
    for name in given:
        if not isinstance(reasons[name], str) or not reasons[name]:
            raise TypeError(f"{name}: expected a reason, a non-empty string, got {_show(reasons[name])}")
    if given:
        return Outcome(failed=failed, infeasible=infeasible)
    if isinstance(value, Outcome | Mapping):
        raise ValueError(f"{others[0]}: expected None with a value that has all parts, got {_show(parts[others[0]])}")
    return _make_outcome("observed", value, repeats, constraints, sd)


def _read_parts(given: Mapping[object, object], verb: str) -> Outcome:
    """Return the outcome from a dict."""
    known = ("value", "repeats", "constraints", "sd", "cost", "attributes")
    if not given or not given.keys() <= set(known):
        raise TypeError(f"value: expected a number, or a dict with the keys {', '.join(known)}, got {_show(given)}")
    value, repeats, constraints, sd, cost, attributes = (given.get(name) for name in known)
    if isinstance(value, Outcome | Mapping):
        raise TypeError(f"value: expected a number, got {_show(value)}")
    outcome = _make_outcome(verb, value, repeats, constraints, sd, cost)
    return outcome if attributes is None else replace(outcome, attributes=attributes)


def _make_outcome(
    verb: str, value: object, repeats: object = None, constraints: object = None, sd: object = None, cost: object = None
) -> Outcome:
    """Return the outcome from the arguments of a user; a number that is not finite makes it a failure."""
    measured = _read_constraints(constraints)
    several = _read_repeats(repeats)
    if several and value is not None:
        raise ValueError("repeats: expected None with a value; without one, the mean of the repeats is the value")
    if several and all(map(math.isfinite, several)):
        values: tuple[float, ...] = (_mean(several),)
    else:
        values = several or _parse_values(value)
    noise, price = (None if one is None else as_number(name, one) for name, one in (("sd", sd), ("cost", cost)))
    noise = None if noise is not None and math.isnan(noise) else noise  # as of a single measurement
    if not all(map(math.isfinite, values)):
        shown = values[0] if len(values) == 1 else values
        why = _explain_infinity(value, values)
        return Outcome(failed=f"{verb} {'repeats ' if several else ''}{shown}{why}")
    for name in (name for name, number in measured.items() if not math.isfinite(number)):
        return Outcome(failed=f"{verb} {measured[name]} for the constraint {name!r}")
    return Outcome(values, constraints=measured, sd=noise, repeats=several, cost=price)


def _explain_infinity(value: object, values: tuple[float, ...]) -> str:
    """Return the end of a message if a value is an integer or a fraction beyond float64; "" otherwise."""
    given = value if isinstance(value, tuple) else (value,)
    is_beyond = any(isinstance(one, Rational) and math.isinf(read) for one, read in zip(given, values, strict=False))
    return ": a number too large for a float" if is_beyond else ""


def _mean(numbers: Sequence[float]) -> float:
    try:
        return math.fsum(one / len(numbers) for one in numbers)
    except OverflowError:  # for the largest floats, whose shares are rounded up
        return max(numbers, key=abs)


def _parse_values(value: object) -> tuple[float, ...]:
    size = getattr(value, "size", 1)  # an integer of arrays, but a method of tensors, which `as_number` reads
    if isinstance(value, list) or (isinstance(size, int) and size != 1):
        fix = "the number itself" if isinstance(value, list) and len(value) == 1 else "tuple(...)"
        raise TypeError(
            f"value: expected a number, or a tuple of numbers for several objectives, got {_show(value)}; pass {fix}"
        )
    if not isinstance(value, tuple):
        return (as_number("value", value),)
    if len(value) < 2:
        raise TypeError(f"value: expected a number, or a tuple of several, got {_show(value)}; pass the number itself")
    return tuple(as_number(f"value[{position}]", one) for position, one in enumerate(value))


def _read_repeats(repeats: object) -> tuple[float, ...]:
    if repeats is None:
        return ()
    if isinstance(repeats, str | Mapping) or not isinstance(repeats, Iterable) or not (several := tuple(repeats)):
        raise TypeError(f"repeats: expected numbers, several measurements of one point, got {_show(repeats)}")
    return tuple(as_number(f"repeats[{position}]", one) for position, one in enumerate(several))


def _read_constraints(constraints: object) -> dict[str, float]:
    if constraints is None:
        return {}
    measured = _check_constraint_names(constraints)
    return {name: as_number(f"constraints[{name!r}]", number) for name, number in measured.items()}


def storable(text: str) -> str:
    """Return a text with escaped lone surrogates, which file names that are not UTF-8 contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def cut_middle(text: str) -> str:
    """Return a text of at most `LONGEST_TEXT` characters; in a longer text, a count replaces the middle."""
    if len(text) <= LONGEST_TEXT:
        return text
    end = LONGEST_TEXT // 2 - 40  # leaves room for the count
    return f"{text[:end]} [... {len(text) - 2 * end:,} characters left out ...] {text[-end:]}"


def _show(value: object) -> str:
    return f"{short_repr(value)} ({type(value).__name__})"
