"""One evaluation of an objective, and the outcome that its value or its exception comes to.

Imported by worker processes before they do anything, hence light.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, NamedTuple, NoReturn, TypeVar

from bostruct.checks import add_note
from bostruct.contracts import Infeasible
from bostruct.execution.clock import restore_clocks
from bostruct.execution.interrupts import handler_codes, is_from_handler
from bostruct.execution.machine_failures import name_cause
from bostruct.execution.reporting import Reporter, TrialStopped, WatchedPoint, receive_reports
from bostruct.outcome import Outcome, cut_middle, outcome_of, storable

MAX_PACKED = 2**24  # bytes of an exception, whose text may be of any size

Text = TypeVar("Text", str, str | None)


class Evaluation(NamedTuple):
    """The outcome of a trial as its pool hands it over, with the exception behind a failure.

    outcome: what the study is told.
    error: the exception, None where nothing was raised.
    trace: its traceback as text, None where nothing was raised.
    ended: seconds since the epoch when the objective ended; None where it is told at once.
    reports: the steps and values that it reported, ascending by step.
    stopped_at: the step at which a rule stopped it; None where none did.
    machine: the cause of a failure of the machine, as of `machine_failures.CAUSES`; None for any other outcome.
    is_declared: True if the objective returned the outcome itself, as an `Outcome`.
    """

    outcome: Outcome
    error: BaseException | None = None
    trace: str | None = None
    ended: float | None = None
    reports: tuple[tuple[int, float], ...] = ()
    stopped_at: int | None = None
    machine: str | None = None
    is_declared: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the exception apart: it may load in this process only, or nowhere, and the rest must arrive."""
        return _unpack, (self._replace(error=None)[:], None if self.error is None else _pack(self.error))


def _pack(error: BaseException) -> bytes:
    import cloudpickle

    try:
        packed = cloudpickle.dumps(error)
        # What ends a process, or takes its time, must do so here, where it costs its own trial alone.
        pickle.loads(packed)
    except BaseException:  # of any kind: this is the objective's own code; the text travels with the outcome
        return b""
    return packed if len(packed) <= MAX_PACKED else b""


def _unpack(fields: tuple[Any, ...], error: bytes | None) -> Evaluation:
    """Undo the pickling of an evaluation; an exception that does not load here is replaced by its text."""
    evaluation = Evaluation(*fields)
    if error is None:
        return evaluation
    try:
        loaded = pickle.loads(error)
    except BaseException as another:  # of any kind: this is the objective's own code
        if isinstance(another, KeyboardInterrupt) or is_from_handler(another, handler_codes()):
            raise
        loaded = None
    if not isinstance(loaded, BaseException):
        loaded = RuntimeError(evaluation.outcome.failed)
    return evaluation._replace(error=loaded)


def failure(error: BaseException) -> Evaluation:
    """Turn an exception into a failed outcome, whose reason is `TypeName: message`.

    error: what was raised.
    """
    kind, text = type(error).__name__, _render(str, error)
    trace = cut_middle(_render(lambda raised: "".join(traceback.format_exception(raised)), error))
    outcome = Outcome(failed=f"{kind}: {text}" if text else kind)
    return Evaluation(outcome, error, trace, machine=_read(name_cause, error, lambda _: None))


def _render(form: Callable[[BaseException], str], error: BaseException) -> str:
    return _read(lambda one: storable(form(one)), error, lambda another: f"(cannot be shown: {type(another).__name__})")


def _read(
    form: Callable[[BaseException], Text], error: BaseException, otherwise: Callable[[BaseException], Text]
) -> Text:
    try:
        return form(error)
    except BaseException as another:  # of any kind: an exception may define what it says
        if isinstance(another, KeyboardInterrupt) or is_from_handler(another, handler_codes()):
            raise
        return otherwise(another)


def evaluate(objective: Callable[[Any], Any], point: Any, handlers: frozenset[CodeType] = frozenset()) -> Evaluation:
    """Call the objective, and turn what it raises into an outcome, SystemExit and asyncio's CancelledError too.

    KeyboardInterrupt passes, and so does what is no `Exception` and comes from a signal handler. A process that the
    objective has forked ends here.

    objective: called with the point, returns a number.
    point: as the user wrote it, or a `WatchedPoint`.
    handlers: code of signal handlers besides those that are installed, which may have uninstalled themselves.
    """
    watched = point if isinstance(point, WatchedPoint) else WatchedPoint(point)
    with receive_reports(watched.judge, watched.sign) as reporter:
        evaluation = _call(objective, watched.point, handlers, reporter)
    restore_clocks()
    return evaluation._replace(reports=reporter.reports)


def evaluate_bytes(objective: Callable[[Any], Any], packed: bytes) -> Evaluation:
    """Evaluate a pickled point, as `evaluate` does; a point that does not load is a failure.

    objective: called with the point, returns a number.
    packed: the point, or a `WatchedPoint`.
    """
    try:
        point = pickle.loads(packed)
    except Exception as error:
        return failure(error)
    return evaluate(objective, point)


def _call(objective: Callable[[Any], Any], point: Any, handlers: frozenset[CodeType], reporter: Reporter) -> Evaluation:
    process = os.getpid()
    try:
        value = objective(point)
        if os.getpid() != process:
            sys.exit()
        return _parse_value(value)
    except BaseException as error:  # in no other variable: its frames, and what they hold, go with the outcome
        if os.getpid() != process:
            _end_fork(error)
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, TrialStopped) and reporter.outcome is not None:
            return Evaluation(reporter.outcome, stopped_at=reporter.stopped_at)
        if not isinstance(error, Exception) and is_from_handler(error, handlers | handler_codes()):
            raise
        if isinstance(error, Infeasible):
            return Evaluation(Outcome(infeasible=_render(str, error) or "infeasible"))
        _advise(error, point)
        return failure(error)


def objective_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an exception from the objective's own frame on; None where no objective raised it here.

    error: with its traceback.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not _call.__code__:
        trace = trace.tb_next
    return None if trace is None else trace.tb_next


def _parse_value(value: Any) -> Evaluation:
    try:
        return Evaluation(outcome_of(value), is_declared=isinstance(value, Outcome))
    except Exception as error:
        return failure(error.with_traceback(None))  # its frames are ours, and say nothing of the objective


def _advise(error: BaseException, point: Any) -> None:
    """Add a note to the errors that come of habits from elsewhere."""
    text = _render(str, error)
    received = "a dict of values" if isinstance(point, dict) else f"of type {type(point).__name__}"
    if isinstance(error, AttributeError) and "has no attribute 'suggest_" in text:
        add_note(
            error,
            f"The objective receives a point ({received}), not an Optuna trial: declare the space up front, "
            'bo.minimize(objective, {"x": ...}), and read point["x"].',
        )
    never_entered = error.__traceback__ is not None and error.__traceback__.tb_next is None
    if isinstance(error, TypeError) and never_entered and re.search(r"missing \d+ required|takes .* but", text):
        add_note(
            error,
            f"The objective receives one argument, the point ({received}): read what it holds there, or, for a "
            "function f of several arguments, pass lambda point: f(**point).",
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
