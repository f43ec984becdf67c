"""The outcome of one evaluation, the same value from the objective to the disk, and what makes one."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

from bostruct.checks import short_repr

Status = Literal["completed", "failed", "infeasible"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one evaluation: exactly one of values, failed and infeasible is given.

    values: a finite number for each objective, in the user's direction; empty where there is a reason instead.
    failed: the reason why there is no value.
    infeasible: the reason why the point is infeasible.
    constraints: a finite number for each constraint, by its name.
    cost: of the evaluation, a finite number from 0; None where nobody said.
    sd: standard deviation of the noise in the values, a finite number from 0; None where nobody said.
    repeats: finite numbers, several measurements of the same point.

    Raises TypeError or ValueError, naming the part that is wrong.
    """

    values: tuple[float, ...] = ()
    failed: str | None = None
    infeasible: str | None = None
    constraints: Mapping[str, float] = field(default_factory=dict, hash=False)  # a dict has no hash
    cost: float | None = None
    sd: float | None = None
    repeats: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        given = [self.values != (), self.failed is not None, self.infeasible is not None]
        if sum(given) != 1:
            raise ValueError("outcome: expected exactly one of values, failed and infeasible")
        for name, reason in (("failed", self.failed), ("infeasible", self.infeasible)):
            if not isinstance(reason, str | None):
                raise TypeError(f"{name}: expected a reason, a string, got {short_repr(reason)}")
            if reason == "":
                raise ValueError(f"{name}: expected a reason, a non-empty string, got ''")
            if reason is not None:
                object.__setattr__(self, name, storable(reason))
        for name in ("values", "repeats"):
            _check_numbers(name, getattr(self, name))
            # no negative zero: the database would not keep its sign
            object.__setattr__(self, name, tuple(number + 0.0 for number in getattr(self, name)))
        if not isinstance(self.constraints, Mapping) or not all(isinstance(key, str) for key in self.constraints):
            raise TypeError(f"constraints: expected numbers by name, got {short_repr(self.constraints)}")
        _check_numbers("constraints", tuple(self.constraints.values()))
        for name in ("cost", "sd"):
            number = getattr(self, name)
            _check_numbers(name, () if number is None else (number,), low=0.0)

    @property
    def value(self) -> float | None:
        """The value of the only objective; None where there are several, or a reason."""
        return self.values[0] if len(self.values) == 1 else None

    @property
    def reason(self) -> str | None:
        """The reason why there is no value; None where there is one."""
        return self.failed if self.failed is not None else self.infeasible

    @property
    def status(self) -> Status:
        """The status of a trial with this outcome."""
        return "completed" if self.values else "infeasible" if self.failed is None else "failed"


def _check_numbers(name: str, numbers: object, low: float = -math.inf) -> None:
    """Raise TypeError unless all are floats in a tuple, ValueError unless all are finite and at least `low`."""
    if not isinstance(numbers, tuple) or not all(isinstance(number, float) for number in numbers):
        raise TypeError(f"{name}: expected numbers of type float, got {short_repr(numbers)}")
    if not all(math.isfinite(number) and number >= low for number in numbers):
        raise ValueError(f"{name}: expected finite numbers{' from 0' if low == 0 else ''}, got {short_repr(numbers)}")


def as_number(name: str, value: object) -> float:
    """Return a float for any real number, or an array or tensor of one element; raise TypeError for anything else.

    name: of the value, for the message.
    value: the number.

    NaN and infinities pass: they are outcomes, not mistakes of type. So does a masked number, as NaN.
    """
    given = value
    if callable(item := getattr(value, "item", None)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}: expected one number, got {_short(given)}") from None
        if _is_masked(given):  # `item` returns what lies under the mask
            value = math.nan
    if isinstance(value, bool) or not isinstance(value, Real):
        advice = "; there is one objective: combine the parts into one number, such as a weighted sum"
        several = isinstance(value, tuple | list | dict)
        raise TypeError(f"{name}: expected a number, got {_short(given)}{advice if several else ''}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return -math.inf if value < 0 else math.inf  # type: ignore[operator]


def _is_masked(value: object) -> bool:
    """Tell whether a value is a masked array of NumPy with a masked element; without NumPy there is none."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ma.MaskedArray) and bool(numpy.ma.getmaskarray(value).any())


def outcome_of(value: object) -> Outcome:
    """Return the outcome of an objective that returned a value; NaN and infinities become failures.

    value: as of `as_number`, or an outcome with one value or a reason, as it is.

    Raises TypeError, and ValueError for an outcome that a study cannot learn from.
    """
    if isinstance(value, Outcome):
        return check_single(value)
    number = as_number("value", value)
    if not math.isfinite(number):
        return Outcome(failed=f"objective returned {number}")
    return Outcome((number,))


def parse_outcome(value: object, failed: str | None, infeasible: str | None) -> Outcome:
    """Return the outcome of which exactly one part is given.

    value: a number, as of `as_number`, or an outcome as it is.
    failed, infeasible: a reason, a non-empty string.

    Raises TypeError or ValueError, naming what is wrong.
    """
    given = [name for name, reason in (("failed", failed), ("infeasible", infeasible)) if reason is not None]
    if not given:
        return outcome_of(value)
    if len(given) == 2 or value is not None:
        raise ValueError("expected one of a value, failed= and infeasible=, got more than one")
    for name, reason in (("failed", failed), ("infeasible", infeasible)):
        if not isinstance(reason, str | None) or reason == "":
            raise TypeError(f"{name}: expected a reason, a non-empty string, got {_short(reason)}")
    if failed is not None:
        return Outcome(failed=failed)
    return Outcome(infeasible=infeasible)


def check_single(outcome: Outcome) -> Outcome:
    """Return an outcome that a study can learn from; raise ValueError for several values or constraints.

    outcome: with one value or a reason, and any cost, standard deviation and repeats.
    """
    if len(outcome.values) > 1:
        raise ValueError(f"outcome: a study has one objective, got {len(outcome.values)} values; tell it one number")
    if outcome.constraints:
        names = ", ".join(map(repr, outcome.constraints))
        raise ValueError(f"outcome: a study takes no measured constraints, got {names}; tell infeasible= instead")
    return outcome


def storable(text: str) -> str:
    """Return the text with lone surrogates, as in file names that are not UTF-8, written as escapes.

    text: any string.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _short(value: object) -> str:
    return f"{short_repr(value)} ({type(value).__name__})"
