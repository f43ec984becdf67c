"""What one evaluation of an objective came to: a number, a failure with its reason, or infeasibility.

Imported by worker processes before they do anything, hence light.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

from bostruct.contracts import Infeasible


class Outcome(NamedTuple):
    """Exactly one of value (finite), failed and infeasible (reasons) is set.

    error: the exception behind a failure, with `trace`, its traceback as text; both None where nothing was raised.
    """

    value: float | None = None
    failed: str | None = None
    infeasible: str | None = None
    error: Exception | None = None
    trace: str | None = None


def as_number(name: str, value: Any) -> float:
    """A float from any real number, or from an array or tensor of one element; TypeError for anything else.

    NaN and infinities pass: they are outcomes, not mistakes of type.
    """
    given = value
    if callable(item := getattr(value, "item", None)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}: expected one number, got {_short(given)}") from None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}: expected a number, got {_short(given)}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return -math.inf if value < 0 else math.inf  # type: ignore[operator]


def outcome_of(value: Any) -> Outcome:
    """A number as the objective returned it; NaN and infinities become failures. Raises TypeError."""
    number = as_number("value", value)
    if not math.isfinite(number):
        return Outcome(failed=f"objective returned {number}")
    return Outcome(value=number + 0.0)  # no negative zero: the database would not keep its sign


def outcome_told(value: Any, failed: str | None, infeasible: str | None) -> Outcome:
    """The outcome of which exactly one part is given; raises TypeError or ValueError, naming what is wrong."""
    given = [name for name, reason in (("failed", failed), ("infeasible", infeasible)) if reason is not None]
    if not given:
        return outcome_of(value)
    if len(given) == 2 or value is not None:
        raise ValueError("expected one of a value, failed= and infeasible=, got more than one")
    for name, reason in (("failed", failed), ("infeasible", infeasible)):
        if not isinstance(reason, str | None) or reason == "":
            raise TypeError(f"{name}: expected a reason, a non-empty string, got {_short(reason)}")
    return Outcome(failed=failed, infeasible=infeasible)


def failure(error: Exception) -> Outcome:
    """The failure that an exception stands for: `TypeName: message`."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Outcome(failed=text, error=error, trace="".join(traceback.format_exception(error)))


def evaluate(objective: Callable[[Any], Any], point: Any) -> Outcome:
    """Call the objective. Its exceptions become outcomes; KeyboardInterrupt and SystemExit pass."""
    try:
        return outcome_of(objective(point))
    except Infeasible as error:
        return Outcome(infeasible=str(error) or "infeasible")
    except Exception as error:
        return failure(error)


def _short(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"
