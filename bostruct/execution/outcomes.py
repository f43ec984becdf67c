"""The outcome of one evaluation of an objective: a number, a failure with its reason, or infeasibility.

Imported by worker processes before they do anything, hence light.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable
from numbers import Real
from types import CodeType
from typing import Any, NamedTuple, NoReturn

from bostruct.checks import short_repr
from bostruct.contracts import Infeasible
from bostruct.execution.interrupts import handler_codes, is_from_handler


class Outcome(NamedTuple):
    """The outcome of one evaluation: exactly one of value (finite), failed and infeasible (reasons) is set.

    error: the exception behind a failure, with `trace`, its traceback as text; both None where nothing was raised.
    """

    value: float | None = None
    failed: str | None = None
    infeasible: str | None = None
    error: BaseException | None = None
    trace: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the exception apart: it may load in this process only, or nowhere, and the rest must arrive."""
        return _unpack, (tuple(self._replace(error=None)), None if self.error is None else _pack(self.error))


def _pack(error: BaseException) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(error)
    except Exception:  # of any kind: this is the objective's own code; the text travels with the outcome
        return b""


def _unpack(fields: tuple[Any, ...], error: bytes | None) -> Outcome:
    """Undo the pickling of an outcome; an exception that does not load here is replaced by its text."""
    outcome = Outcome(*fields)
    if error is None:
        return outcome
    try:
        loaded = pickle.loads(error)
    except Exception:  # of any kind: this is the objective's own code
        loaded = None
    return outcome._replace(error=loaded if isinstance(loaded, BaseException) else RuntimeError(outcome.failed))


def as_number(name: str, value: Any) -> float:
    """Return a float for any real number, or an array or tensor of one element; raise TypeError for anything else.

    name: of the value, for the message.
    value: the number.

    NaN and infinities pass: they are outcomes, not mistakes of type.
    """
    given = value
    if callable(item := getattr(value, "item", None)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}: expected one number, got {_short(given)}") from None
    if isinstance(value, bool) or not isinstance(value, Real):
        advice = "; there is one objective: combine the parts into one number, such as a weighted sum"
        several = isinstance(value, tuple | list | dict)
        raise TypeError(f"{name}: expected a number, got {_short(given)}{advice if several else ''}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return -math.inf if value < 0 else math.inf  # type: ignore[operator]


def outcome_of(value: Any) -> Outcome:
    """Return the outcome of an objective that returned a value; NaN and infinities become failures.

    value: as of `as_number`.

    Raises TypeError.
    """
    number = as_number("value", value)
    if not math.isfinite(number):
        return Outcome(failed=f"objective returned {number}")
    return Outcome(value=number + 0.0)  # no negative zero: the database would not keep its sign


def parse_outcome(value: Any, failed: str | None, infeasible: str | None) -> Outcome:
    """Return the outcome of which exactly one part is given.

    value: a number, as of `as_number`.
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
    return Outcome(failed=failed and storable(failed), infeasible=infeasible and storable(infeasible))


def storable(text: str) -> str:
    """Return the text with lone surrogates, as in file names that are not UTF-8, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def failure(error: BaseException) -> Outcome:
    """Turn an exception into a failed outcome, whose reason is `TypeName: message`.

    error: what was raised.
    """
    kind, text = type(error).__name__, _render(str, error)
    trace = _render(lambda raised: "".join(traceback.format_exception(raised)), error)
    return Outcome(failed=f"{kind}: {text}" if text else kind, error=error, trace=trace)


def _render(form: Callable[[BaseException], str], error: BaseException) -> str:
    try:
        return storable(form(error))
    except BaseException as another:  # of any kind: an exception may define what it says
        if isinstance(another, KeyboardInterrupt) or is_from_handler(another, handler_codes()):
            raise
        return f"(cannot be shown: {type(another).__name__})"


def evaluate(objective: Callable[[Any], Any], point: Any, handlers: frozenset[CodeType] = frozenset()) -> Outcome:
    """Call the objective, and turn what it raises into an outcome, SystemExit and asyncio's CancelledError too.

    KeyboardInterrupt passes, and so does what is no `Exception` and comes from a signal handler. A process that the
    objective has forked ends here.

    objective: called with the point, returns a number.
    point: as the user wrote it.
    handlers: code of signal handlers besides those that are installed, which may have uninstalled themselves.
    """
    process = os.getpid()
    try:
        value = objective(point)
        if os.getpid() != process:
            sys.exit()
        return _parse_returned(value)
    except BaseException as error:  # in no other variable: its frames, and what they hold, go with the outcome
        if os.getpid() != process:
            _end_fork(error)
        if isinstance(error, KeyboardInterrupt):
            raise
        if not isinstance(error, Exception) and is_from_handler(error, handlers | handler_codes()):
            raise
        if isinstance(error, Infeasible):
            return Outcome(infeasible=_render(str, error) or "infeasible")
        _advise(error, point)
        return failure(error)


def _parse_returned(value: Any) -> Outcome:
    try:
        return outcome_of(value)
    except Exception as error:
        return failure(error.with_traceback(None))  # its frames are ours, and say nothing of the objective


def _advise(error: BaseException, point: Any) -> None:
    """Add a note to the errors that come of habits from elsewhere."""
    text = _render(str, error)
    received = "a dict of values" if isinstance(point, dict) else f"of type {type(point).__name__}"
    if isinstance(error, AttributeError) and "has no attribute 'suggest_" in text:
        error.add_note(
            f"The objective receives a point ({received}), not an Optuna trial: declare the space up front, "
            'bo.minimize(objective, {"x": ...}), and read point["x"].'
        )
    never_entered = error.__traceback__ is not None and error.__traceback__.tb_next is None
    if isinstance(error, TypeError) and never_entered and re.search(r"missing \d+ required|takes .* but", text):
        error.add_note(
            f"The objective receives one argument, the point ({received}): read what it holds there, or, for a "
            "function f of several arguments, pass lambda point: f(**point)."
        )


def _end_fork(error: BaseException) -> NoReturn:
    """End a process that the objective has forked, with the status that its interpreter would have given it."""
    status = 1
    try:
        if not isinstance(error, SystemExit):
            traceback.print_exception(error)
        elif isinstance(error.code, int | None):
            status = (error.code or 0) & 0xFF
        else:
            print(error.code, file=sys.stderr)
        flush_output()
    finally:
        os._exit(status)


def flush_output() -> None:
    """Write what was printed, before a process ends or may be killed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # the objective may have closed or replaced it
            stream.flush()


def _short(value: Any) -> str:
    return f"{short_repr(value)} ({type(value).__name__})"
