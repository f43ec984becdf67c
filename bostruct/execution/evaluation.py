"""Evaluate an objective: its outcome, its reports, and failures caused by the machine.

Worker processes import this file first, so it imports little.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import pickle
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from traceback import clear_frames
from types import CodeType, TracebackType
from typing import Any, NamedTuple, NoReturn, TypeVar

from bostruct.checks import add_note, check_integer
from bostruct.contracts import Infeasible, Json
from bostruct.execution.clock import restore_clocks
from bostruct.execution.interrupts import handler_codes, is_from_handler
from bostruct.outcome import AttributeReader, Outcome, as_number, cut_middle, outcome_of, storable

MAX_PACKED = 2**24  # bytes of an exception, whose text may have any size
MAX_STEP = 2**53
MAX_REPORTS = 1000  # kept per trial
CONTROL_SECONDS = 60.0  # time for a small allocation; a slower process does not prove a lack of memory
HOST_CONTROL = "bytearray(b'x') * 2**26"  # written, since an untouched page takes no memory
GPU_CONTROL = "import torch; torch.ones(2**20, device='cuda:{}').sum().item()"
MAX_TEXT = 10_000  # characters of a message that are read
EARLIER = ", met before in the same process"
NUMBER_OF_GPU = re.compile(r"\bGPU (\d+)\b")
Text = TypeVar("Text", str, str | None)
Judge = Callable[[int, float], bool]  # judges one trial: called with step and value of each report; True to stop


class Evaluation(NamedTuple):
    """The outcome of a trial as returned by its pool, with the exception behind a failure.

    error: the exception, None if none was raised.
    trace: its traceback as text, None if none was raised.
    ended: time when the objective ended, in seconds since the epoch; None if the outcome is recorded at once.
    reports: the reported steps and values, ascending by step.
    stopped_at: the step at which a rule stopped the trial; None if none did.
    machine: the name of the cause of a machine failure, from `CAUSES`; None for any other outcome.
    is_declared: True if the objective returned the outcome itself, as an `Outcome`.
    attributes: plain JSON by name, from the outcome and from `set_attribute`.
    refused: the reasons why other attributes were not stored.
    """

    outcome: Outcome
    error: BaseException | None = None
    trace: str | None = None
    ended: float | None = None
    reports: tuple[tuple[int, float], ...] = ()
    stopped_at: int | None = None
    machine: str | None = None
    is_declared: bool = False
    attributes: Mapping[str, Json] = {}  # never modified
    refused: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the exception separately, because it may not load elsewhere, but the rest must arrive."""
        return _unpack_evaluation, (
            self._replace(error=None)[:],
            None if self.error is None else _pack_error(self.error),
        )


def _pack_error(error: BaseException) -> bytes:
    import cloudpickle

    try:
        packed = cloudpickle.dumps(error)
        # If this ends the process or takes long, it must happen here, where it costs only its own trial.
        pickle.loads(packed)
    except BaseException:  # any exception, because this is the objective's code; the outcome has the text
        return b""
    return packed if len(packed) <= MAX_PACKED else b""


def _unpack_evaluation(fields: tuple[Any, ...], error: bytes | None) -> Evaluation:
    """Unpickle an evaluation; an exception that does not load here is replaced by its text."""
    evaluation = Evaluation(*fields)
    if error is None:
        return evaluation
    try:
        loaded = pickle.loads(error)
    except BaseException as another:  # any exception, because this is the objective's code
        if isinstance(another, KeyboardInterrupt) or is_from_handler(another, handler_codes()):
            raise
        loaded = None
    if not isinstance(loaded, BaseException):
        loaded = RuntimeError(evaluation.outcome.failed)
    return evaluation._replace(error=loaded)


def evaluate(
    objective: Callable[[Any], Any],
    point: Any,
    handlers: frozenset[CodeType] = frozenset(),
    send: Callable[[dict[str, Json]], object] | None = None,
) -> Evaluation:
    """Call the objective, and convert exceptions into an outcome, including SystemExit and asyncio's CancelledError.

    KeyboardInterrupt propagates, and so does any other exception from a signal handler that is not an `Exception`. A
    process that the objective has forked ends here.

    send: called with each attribute as soon as it is set; None to send nothing.
    """
    watched = point if isinstance(point, WatchedPoint) else WatchedPoint(point)
    with receive_reports(watched.judge, watched.sign) as reporter:
        reporter.send = send
        evaluation = _call_objective(objective, watched.point, handlers, reporter)
    restore_clocks()
    read = reporter.attributes
    outcome = read.read_outcome(evaluation.outcome)
    return evaluation._replace(outcome=outcome, reports=reporter.reports, attributes=read.kept, refused=read.refused)


def evaluate_bytes(
    objective: Callable[[Any], Any], packed: bytes, send: Callable[[dict[str, Json]], object] | None = None
) -> Evaluation:
    """Evaluate a pickled point, as `evaluate` does; a point that cannot be unpickled is a failure."""
    try:
        point = pickle.loads(packed)
    except Exception as error:
        return failure(error)
    return evaluate(objective, point, send=send)


def _call_objective(
    objective: Callable[[Any], Any], point: Any, handlers: frozenset[CodeType], reporter: Reporter
) -> Evaluation:
    process = os.getpid()
    try:
        value = objective(point)
        if os.getpid() != process:
            sys.exit()
        return _evaluation_of(value)
    except BaseException as error:  # kept in no other variable, so that its frames are released with the outcome
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
        _add_hint(error, point)
        return failure(error)


def _evaluation_of(value: Any) -> Evaluation:
    try:
        return Evaluation(outcome_of(value), is_declared=isinstance(value, Outcome))
    except Exception as error:
        return failure(error.with_traceback(None))  # its frames are internal and not helpful


def failure(error: BaseException) -> Evaluation:
    """Convert an exception into a failed outcome with the reason `TypeName: message`."""
    kind, text = type(error).__name__, _render(str, error)
    trace = cut_middle(_render(lambda raised: "".join(traceback.format_exception(raised)), error))
    outcome = Outcome(failed=f"{kind}: {text}" if text else kind)
    return Evaluation(outcome, error, trace, machine=_read_error(name_cause, error, lambda _: None))


def _render(form: Callable[[BaseException], str], error: BaseException) -> str:
    return _read_error(
        lambda one: storable(form(one)), error, lambda another: f"(cannot be shown: {type(another).__name__})"
    )


def _read_error(
    form: Callable[[BaseException], Text], error: BaseException, otherwise: Callable[[BaseException], Text]
) -> Text:
    try:
        return form(error)
    except BaseException as another:  # any exception: an exception may define its own text
        if isinstance(another, KeyboardInterrupt) or is_from_handler(another, handler_codes()):
            raise
        return otherwise(another)


def objective_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback from the objective's frame onward; None if no objective raised the exception here."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not _call_objective.__code__:
        trace = trace.tb_next
    return None if trace is None else trace.tb_next


def _add_hint(error: BaseException, point: Any) -> None:
    """Add a note to errors that are typical for users of other libraries."""
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
            f"The objective receives one argument, the point ({received}). Read the values from it, or, for a "
            "function f of several arguments, pass lambda point: f(**point).",
        )


def _end_fork(error: BaseException) -> NoReturn:
    """End a process that the objective has forked, with the exit status of its interpreter."""
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
    """Flush printed output, before a process ends or may be killed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # the objective may have closed or replaced it
            stream.flush()


class TrialStopped(BaseException):
    """Raised to end an evaluation that `report` stopped; ``except Exception`` does not catch it.

    An objective may clean up in ``finally``, but must not suppress it.
    """


class WatchedPoint(NamedTuple):
    """A point, and the callable that decides at each report whether to stop its evaluation.

    judge: called with each step and value; returns True to stop the evaluation. None to never stop.
    sign: 1.0 or -1.0, the factor of values for the judge, which minimizes.
    """

    point: object
    judge: Judge | None = None
    sign: float = 1.0


class Reporter:
    """The reports of one evaluation."""

    def __init__(self, judge: Judge | None = None, sign: float = 1.0) -> None:
        self.outcome: Outcome | None = None  # set when the evaluation is to end
        self.stopped_at: int | None = None  # the step at which the judge stopped it
        self.attributes = AttributeReader()
        self.send: Callable[[dict[str, Json]], object] | None = None  # called with attributes as they are set
        self._judge = judge
        self._sign = sign
        self._kept: list[tuple[int, float]] = []
        self._last: tuple[int, float] | None = None
        self._digits = MAX_STEP.bit_length()  # leading bits of a step that distinguish reports

    @property
    def reports(self) -> tuple[tuple[int, float], ...]:
        """The reported steps and values, ascending by step, at most `MAX_REPORTS`, including the last one.

        If there are more, the first report in each cell of a grid of steps is kept. Cells have width 1 up to some power
        of 2, and double their width at each further power. Early steps therefore stay dense, and the first report at or
        above a power of 2 is always kept.
        """
        return (*self._kept, *(() if self._last is None or self._last_is_kept else (self._last,)))

    @property
    def _last_is_kept(self) -> bool:
        return self._kept[-1] == self._last

    def take(self, step: int, value: object) -> None:
        """Store a report; raise TrialStopped if the evaluation is to end, also for every later report.

        step: an integer from 0, larger than the last one.

        Raises TypeError, and ValueError for a step that does not ascend.
        """
        if self.outcome is not None:
            raise TrialStopped("the evaluation was stopped at an earlier report")
        step, number = check_integer("step", step, 0, MAX_STEP), as_number("value", value)
        if self._last is not None and step <= self._last[0]:
            raise ValueError(f"step: expected an integer above {self._last[0]}, the last reported step, got {step}")
        if not math.isfinite(number):
            self.outcome = Outcome(failed=f"objective reported {number} at step {step}")
            raise TrialStopped(self.outcome.failed)
        self._keep(step, number)
        if self._judge is not None and self._judge(step, self._sign * number):
            self.outcome, self.stopped_at = Outcome((number,)), step
            raise TrialStopped(f"stopped at step {step}")

    def _keep(self, step: int, number: float) -> None:
        self._last = step, number
        if not self._kept or self._find_cell(step) != self._find_cell(self._kept[-1][0]):
            self._kept.append(self._last)
        while len(self._kept) + (not self._last_is_kept) > MAX_REPORTS:
            self._digits -= 1
            first = {self._find_cell(one[0]): one for one in reversed(self._kept)}
            self._kept = sorted(first.values())

    def _find_cell(self, step: int) -> tuple[int, int]:
        """Return the binary exponent of the width of a step's cell, and its leading digits."""
        exponent = max(0, step.bit_length() - self._digits)
        return exponent, step >> exponent


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


def report(step: int, value: object) -> None:
    """Report an intermediate value from an objective; a `stopping_rule` may end the evaluation here.

    Call it in an objective that `optimize` or `minimize` evaluates, in the thread that evaluates it. If the rule stops
    the trial, this function raises an exception that is not a subclass of `Exception`: do not catch it. The trial then
    completes with this value. At most 1,000 reports are stored in ``trial.info["reports"]``.

    Elsewhere, nothing is recorded and a warning is logged.

    Parameters
    ----------
    step : int
        Current step, such as an epoch: an integer from 0, larger than the last one.
    value : object
        Value of the objective at this step, in the user's direction. NaN and infinities fail the trial.

    Raises
    ------
    TypeError
        If an argument is not a number.
    ValueError
        If the step does not exceed the last one.
    """
    reporter = _reporter.get()
    if reporter is None:
        message = "bostruct.report: nothing is recorded, since no study evaluates an objective in this thread"
        warnings.warn(message, stacklevel=2)
        return
    reporter.take(step, value)


def set_attribute(name: str, value: object) -> None:
    """Set an attribute of the running trial from its objective, kept in ``trial.attributes``.

    Call it in an objective that `optimize` or `minimize` evaluates, in the thread that evaluates it. Models do not use
    attributes. Attributes that were set before an exception, a timeout or the death of a worker process are stored with
    the failed trial. They are lost if a worker of an `executor` dies.

    An invalid attribute is omitted with a warning, and the evaluation continues. Elsewhere, nothing is recorded and a
    warning is logged.

    Parameters
    ----------
    name : str
        Name of the attribute, a string of 1 to 200 characters. A later value replaces an earlier one.
    value : object
        JSON data (strings, finite numbers, booleans, None, lists, dicts), NumPy numbers and arrays, or a path. All
        attributes of a trial may have at most 65,536 characters as JSON.
    """
    reporter = _reporter.get()
    if reporter is None:
        message = "bostruct.set_attribute: nothing is recorded, since no study evaluates an objective in this thread"
        warnings.warn(message, stacklevel=2)
        return
    reporter.attributes.read({name: value})
    if reporter.send is not None and name in reporter.attributes.kept:
        reporter.send({name: reporter.attributes.kept[name]})


@contextmanager
def receive_reports(judge: Judge | None, sign: float) -> Iterator[Reporter]:
    """Receive the reports of one evaluation in this context."""
    reporter = Reporter(judge, sign)
    token = _reporter.set(reporter)
    try:
        yield reporter
    finally:
        _reporter.reset(token)


class Cause(NamedTuple):
    """A cause of machine failures.

    stays: True if it affects all later evaluations in the process, at any point.
    """

    name: str
    types: frozenset[str] = frozenset()
    codes: frozenset[int] = frozenset()
    text: str = ""
    control: str = ""
    stays: bool = False


# The first match counts. CUDA errors that lose no context, such as an invalid configuration, are caused by the point.
CAUSES = (
    Cause(
        "no memory on the GPU",
        types=frozenset({"OutOfMemoryError"}),
        text=r"(CUDA|HIP) (error: )?out of memory|(CUDA|HIP)_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation"
        r"|CUBLAS_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED: Out of memory",
        control=GPU_CONTROL,
    ),
    Cause(
        "a lost GPU",
        text=r"an illegal (memory access|instruction) was encountered|device-side assert triggered"
        r"|unspecified launch failure|misaligned address|hardware stack error|invalid program counter"
        r"|uncorrectable (ECC|NVLink) error|the launch timed out and was terminated|context is destroyed"
        r"|(CUDA|HIP) (driver )?error: (unknown|initialization) error|no CUDA-capable device is detected"
        r"|CUDA-capable device(s|\(s\) is/) ?are busy|No CUDA GPUs are available"
        r"|(CUDA|HIP)_ERROR_(ILLEGAL_(ADDRESS|INSTRUCTION)|ASSERT|LAUNCH_(FAILED|TIMEOUT)|MISALIGNED_ADDRESS|UNKNOWN"
        r"|HARDWARE_STACK_ERROR|INVALID_PC|ECC_UNCORRECTABLE|(NOT_|DE)INITIALIZED|CONTEXT_IS_DESTROYED|NO_DEVICE)"
        r"|CU(BLAS|DNN)_STATUS_(NOT_INITIALIZED|EXECUTION_FAILED|INTERNAL_ERROR)"
        r"|the memory of \S+ does not (?:heal|recover)",  # bostruct.nas
        stays=True,
    ),
    Cause(
        "a full disk",
        codes=frozenset({errno.ENOSPC, errno.EDQUOT}),
        text=r"No space left on device|Disk quota exceeded|database or disk is full",
    ),
    Cause(
        "no memory on the host",
        types=frozenset({"MemoryError"}),
        codes=frozenset({errno.ENOMEM}),
        text=r"DefaultCPUAllocator: (can't|not enough)|std::bad_alloc|Cannot allocate memory",
        control=HOST_CONTROL,
    ),
    Cause("a failing disk or file system", codes=frozenset({errno.EIO, errno.ESTALE, errno.EROFS})),
    Cause("too many open files", codes=frozenset({errno.EMFILE, errno.ENFILE}), stays=True),
    Cause("a module that cannot be imported", types=frozenset({"ImportError"})),
    Cause("a broken pool", types=frozenset({"BrokenExecutor"}), stays=True),
)
_met: set[Cause] = set()  # permanent causes in this process


def find_cause(error: BaseException) -> Cause | None:
    """Return the machine cause of an exception or of its causes; None if there is none."""
    for one in _list_chain(error, with_context=False):
        for cause in CAUSES:
            if isinstance(one, Exception) and _is_sign(one, cause):
                return cause
    return None


def _list_chain(error: BaseException, with_context: bool) -> list[BaseException]:
    """Return an exception and its causes; with its context, also the exceptions that were being handled."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and all(following is not one for one in found):
        found.append(following)
        following = following.__cause__ or (following.__context__ if with_context else None)
    return found


def _is_sign(error: Exception, cause: Cause) -> bool:
    if cause.types & {kind.__name__ for kind in type(error).__mro__}:
        return True
    if isinstance(error, OSError) and error.errno in cause.codes:
        return True
    return bool(cause.text) and re.search(cause.text, str(error)[:MAX_TEXT]) is not None


def name_cause(error: BaseException) -> str | None:
    """Return the name of the cause if an exception is a machine failure; None if the point caused it.

    A lack of memory is caused by the point, unless a small allocation in a separate process also fails. The name ends
    with `EARLIER` if this process met a permanent cause before.
    """
    cause = find_cause(error)
    if cause is None:
        return None
    if not cause.control:
        earlier = EARLIER if cause in _met else ""
        _met.update({cause} if cause.stays else ())
        return cause.name + earlier
    _free_memory(error)
    gpu = NUMBER_OF_GPU.search(str(error))
    return cause.name if fails_control(cause.control.format(gpu[1] if gpu else 0)) else None


def name_cause_of_kill() -> str | None:
    """Return the cause if a killed process indicates a lack of memory, because the system has none left; else None."""
    cause = next(cause for cause in CAUSES if cause.control == HOST_CONTROL)
    return cause.name if fails_control(cause.control) else None


def fails_control(code: str) -> bool:
    """Run a line of Python in a separate process, and return True if it fails."""
    import subprocess

    if "torch" in code and not ((torch := sys.modules.get("torch")) and torch.cuda.is_available()):
        return False
    nowhere = subprocess.DEVNULL
    command = [sys.executable, "-c", code]
    try:
        ended = subprocess.run(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, timeout=CONTROL_SECONDS, check=False
        )
        return ended.returncode != 0
    except subprocess.TimeoutExpired:
        return False
    except MemoryError:
        return True
    except OSError as error:  # perhaps no process can be started
        return error.errno in (errno.ENOMEM, errno.EAGAIN)


def _free_memory(error: BaseException) -> None:
    """Release the objects of an exception's frames, and torch's cached GPU memory."""
    for one in _list_chain(error, with_context=True):
        clear_frames(one.__traceback__)
    if (torch := sys.modules.get("torch")) is not None:
        with contextlib.suppress(Exception):  # the device may not respond
            torch.cuda.empty_cache()
