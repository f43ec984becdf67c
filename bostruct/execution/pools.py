"""Pools that run objectives in this process or on an executor, and the tasks that an executor runs."""

from __future__ import annotations

import logging
import pickle
import sys
import traceback
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pickle import HIGHEST_PROTOCOL
from secrets import token_hex
from time import sleep
from types import ModuleType
from typing import Any, ClassVar

from bostruct.contracts import BostructError
from bostruct.execution.clock import now
from bostruct.execution.evaluation import Evaluation, evaluate, evaluate_bytes
from bostruct.execution.interrupts import handler_codes
from bostruct.outcome import Outcome, storable

MAX_LOSSES = 3  # losses of a trial by an executor, after which it fails if other trials are evaluated
LAST_SECONDS = 30.0  # maximum silence of trials in flight on a broken executor, whose futures may never end
PAUSE_SECONDS = 3.0  # after a repeated loss: a failing executor may accept calls and lose them
MAX_REASON = 200  # characters of an executor's error in the reason of a trial
FinishedTrials = list[tuple[int, Evaluation]]
log = logging.getLogger(__name__)


class ExecutorError(BostructError):
    """Raised if an executor cannot evaluate anything; no trial fails."""


class TrialLost(BostructError):
    """Raised if an executor lost a trial in flight, because a worker died or a call was canceled."""


class Pool(ABC):
    """The base class of pools, which run trials concurrently.

    Attributes
    ----------
    slots : int, default 1
        The maximum number of trials in flight, which may change.
    """

    slots: int = 1

    @abstractmethod
    def submit(self, number: int, point: Any) -> None:
        """Start a trial; only called while fewer than `slots` are in flight.

        Parameters
        ----------
        number : int
            Number of the trial.
        point : Any
            The objective's argument, or a `WatchedPoint` for `evaluate`.
        """

    def poll(self) -> FinishedTrials:
        """Return the finished trials by number, without waiting; by default none."""
        return []

    @abstractmethod
    def wait(self) -> FinishedTrials:
        """Block until at least one trial has finished, and return the finished trials by number."""

    @abstractmethod
    def cancel(self, number: int) -> None:
        """Cancel a trial: its result is never returned, and its evaluation ends if possible.

        Parameters
        ----------
        number : int
            Number of a trial in flight.
        """

    @abstractmethod
    def close(self) -> None:
        """Cancel all running trials."""


class InProcessPool(Pool):
    """A pool that runs one trial at a time in this process, during `wait`.

    Parameters
    ----------
    objective : callable
        Function of a point.
    """

    def __init__(self, objective: Callable[[Any], Any]) -> None:
        self._objective = objective
        self._next: list[tuple[int, Any]] = []
        self._handlers = handler_codes()

    def submit(self, number: int, point: Any) -> None:
        self._next.append((number, point))

    def wait(self) -> FinishedTrials:
        number, point = self._next.pop(0)
        return [(number, evaluate(self._objective, point, self._handlers))]

    def cancel(self, number: int) -> None:
        self._next = [pair for pair in self._next if pair[0] != number]

    def close(self) -> None:
        self._next.clear()


class ExecutorPool(Pool):
    """A pool that runs trials on an executor with `submit`, whose futures can be waited for.

    slots: maximum number of trials in flight, at least 1.

    Exceptions of the objective are part of an evaluation. A future with an exception is therefore a lost trial: a
    worker died, or the call was canceled. The trial fails with `TrialLost` and may be submitted again. A trial that was
    lost `MAX_LOSSES` times is replaced by a `LostTask`, which distinguishes a point that kills its workers from an
    executor that no longer evaluates anything.
    """

    def __init__(self, objective: Callable[[Any], Any], executor: Executor, slots: int) -> None:
        self.slots = slots  # 0 once it is broken
        self._objective = PackedObjective(objective)
        self._executor = executor
        self._numbers: dict[Future[Evaluation | NotLoaded], int] = {}
        self._ended: dict[Future[Evaluation | NotLoaded], float] = {}  # times, by the clock of this machine
        self._losses: dict[int, list[str]] = {}  # reasons of the losses of a trial, by number
        self._broken: ExecutorError | None = None  # if set, nothing is submitted any more

    def submit(self, number: int, point: Any) -> None:
        self._submit(number, Task(self._objective, point))

    def poll(self) -> FinishedTrials:
        if self._numbers and not self._ended:  # checking hundreds of futures takes longer than a cheap suggestion
            return []
        return self._poll(0.0)

    def wait(self) -> FinishedTrials:
        """Return finished trials; raise ExecutorError once no evaluated trial is left to return."""
        while not (finished := self._poll(None)):
            pass  # a trial was lost too often, and another task runs instead
        return finished

    def _submit(self, number: int, task: Task | LostTask) -> None:
        try:
            future = self._executor.submit(run_task, task, token_hex())
        except Exception as error:  # it is broken, was shut down, or cannot send the objective
            self._break(error)
            return
        self._numbers[future] = number
        future.add_done_callback(self._stamp)

    def _stamp(self, future: Future[Evaluation | NotLoaded]) -> None:
        if future in self._numbers:  # it was not canceled
            self._ended[future] = now()

    def _poll(self, timeout: float | None) -> FinishedTrials:
        is_last = self._broken is not None and timeout is None
        done, _ = wait(self._numbers, LAST_SECONDS if is_last else timeout, FIRST_COMPLETED)
        if is_last and not done:
            self.close()
        finished: FinishedTrials = []
        for future in done:
            number, ended = self._numbers.pop(future), self._ended.pop(future, None)  # done before its callbacks
            answer = _get_answer(future)
            if isinstance(answer, NotLoaded):
                self._broken = ExecutorError(f"objective: a worker of the executor cannot load it:\n{answer.trace}")
                self.slots = 0
            elif isinstance(answer, BrokenExecutor):  # any trial may have broken it, so all are requeued
                self._break(answer)
            elif isinstance(answer, Exception):
                finished += self._note_loss(number, answer)
            else:
                losses = self._losses.pop(number, [])  # if a trial was lost too often, a `LostTask` answered
                found = _make_lost(losses[-1]) if len(losses) >= MAX_LOSSES else answer
                finished.append((number, found._replace(ended=ended)))
        if self._broken is not None and not finished and not self._numbers:
            raise self._broken
        if any(len(self._losses.get(number, ())) > 1 for number, _ in finished):
            sleep(PAUSE_SECONDS)
        return sorted(finished, key=lambda pair: pair[0])

    def _note_loss(self, number: int, error: Exception) -> FinishedTrials:
        """Return the failure of a lost trial; if it was lost too often, test whether the executor still works."""
        losses = self._losses.setdefault(number, [])
        if self._objective.refusal is not None or len(losses) >= MAX_LOSSES:
            self._break(error)
            return []
        text = " ".join(f"{type(error).__name__}: {storable(str(error))}".removesuffix(": ").split())
        text = text if len(text) <= MAX_REASON else text[: MAX_REASON - 3] + "..."
        losses.append(f"its executor lost it ({text})")
        log.warning("trial %d: %s", number, losses[-1])
        if len(losses) < MAX_LOSSES:
            return [(number, _make_lost(losses[-1]))]
        self._submit(number, LostTask(losses[-1]))
        return []

    def _break(self, error: Exception) -> None:
        self.slots = 0
        error = error if self._objective.refusal is None else self._objective.refusal
        if isinstance(error, TypeError) and "cannot be sent" in str(error):
            self._broken = ExecutorError(f"{error}. No trial failed because of it")
        else:
            self._broken = ExecutorError(
                f"executor: it cannot evaluate any more: {error!r}. The trials in flight were requeued. Create a new "
                "executor, and call optimize again"
            )

    def cancel(self, number: int) -> None:
        for future in [future for future, own in self._numbers.items() if own == number]:
            del self._numbers[future]
            future.cancel()
            self._ended.pop(future, None)

    def close(self) -> None:
        futures = list(self._numbers)
        self._numbers.clear()
        for future in futures:
            future.cancel()
        self._ended.clear()


def _get_answer(future: Future[Evaluation | NotLoaded]) -> Evaluation | NotLoaded | Exception:
    """Return the answer of a task, or the executor's error; Ctrl-C and exceptions of signal handlers propagate."""
    try:
        return future.result()
    except Exception as error:  # any exception, since exceptions of the objective are part of an evaluation
        return error


def _make_lost(reason: str) -> Evaluation:
    return Evaluation(Outcome(failed=reason), TrialLost(reason))


class PackedObjective:
    """An objective, which is pickled when the first task is sent."""

    def __init__(self, function: Callable[[object], object]) -> None:
        self.function = function
        self.refusal: TypeError | None = None  # why the objective, or a point, cannot be pickled
        self._packed: bytes | None = None

    def pack_with(self, point: object) -> tuple[bytes, bytes]:
        """Return the bytes of the objective and of a point; raise and store a TypeError if they cannot be pickled."""
        try:
            if self._packed is None:
                self._packed = pickle_for_worker("objective", self.function)
            return self._packed, pickle_for_worker("point", point)
        except TypeError as error:
            self.refusal = error
            raise


def run_task(task: Task | PackedTask | LostTask, call: str) -> Evaluation | NotLoaded:
    """Run a task and return its answer; a module-level function, since some executors accept no other callables."""
    del call
    return task.run()


class Task:
    """The evaluation of one point, in this process or in the process that unpickles it."""

    def __init__(self, objective: PackedObjective, point: object) -> None:
        self._objective = objective
        self._point = point

    def run(self) -> Evaluation:
        return evaluate(self._objective.function, self._point)

    def __reduce__(self) -> tuple[type[PackedTask], tuple[bytes, bytes]]:
        """Pickle by cloudpickle, whatever pickle the executor uses, to support lambdas and functions of a script."""
        return PackedTask, self._objective.pack_with(self._point)


@dataclass(frozen=True)
class PackedTask:
    """A pickled task."""

    objective: bytes
    point: bytes

    def run(self) -> Evaluation | NotLoaded:
        try:
            function = pickle.loads(self.objective)
        except (Exception, SystemExit):  # a module that exits while it is imported does not load either
            return NotLoaded(traceback.format_exc())
        return evaluate_bytes(function, self.point)


@dataclass(frozen=True)
class NotLoaded:
    """The answer of a worker that cannot load the objective."""

    trace: str


@dataclass(frozen=True)
class LostTask:
    """A replacement for a task that its executor lost too often: it evaluates nothing, and fails with the reason.

    If its answer arrives, the executor works, and the lost trial was at fault.
    """

    reason: str

    def run(self) -> Evaluation:
        return Evaluation(Outcome(failed=self.reason))


def pickle_for_worker(name: str, value: Any) -> bytes:
    """Pickle a value by cloudpickle, with modules of any type by name.

    Raises TypeError if it cannot be pickled.

    Some libraries put instances of subclasses of ModuleType into `sys.modules`, such as `torch.ops`, which pickle does
    not support. cloudpickle includes them implicitly: with a function that reads `torch`, it includes each loaded
    submodule whose name occurs in its code, even for another purpose.
    """
    import cloudpickle

    kinds = {type(module) for module in sys.modules.copy().values() if isinstance(module, ModuleType)} - {ModuleType}

    table: Any = cloudpickle.Pickler.dispatch_table

    class Pickler(cloudpickle.Pickler):
        dispatch_table: ClassVar[Any] = ChainMap(dict.fromkeys(kinds, _reduce_module), table)

    try:
        with BytesIO() as file:
            Pickler(file).dump(value)
            return file.getvalue()
    except Exception as error:
        raise TypeError(
            f"{name}: cannot be sent to a worker process: {error!r}. It refers to an object of this process, such as a "
            "lock, a connection or a generator; create that object inside the objective, or use neither workers nor "
            "trial_timeout"
        ) from error


def _reduce_module(module: ModuleType) -> Any:
    name = module.__name__
    return (import_module, (name,)) if sys.modules.get(name) is module else module.__reduce_ex__(HIGHEST_PROTOCOL)
