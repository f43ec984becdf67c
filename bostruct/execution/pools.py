"""Pools that run objectives: in this process, on an executor, or in worker processes that may be killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from pickle import PicklingError
from typing import Any, Protocol

from bostruct.contracts import BostructError
from bostruct.execution.evaluation import Evaluation, evaluate, failure
from bostruct.execution.interrupts import handler_codes

FinishedTrials = list[tuple[int, Evaluation]]


class ExecutorError(BostructError):
    """An executor cannot evaluate anything; no trial fails for that."""


class Pool(Protocol):
    """A place to run trials in, some at a time."""

    @property
    def slots(self) -> int:
        """The number of trials that may be in flight."""
        ...

    def submit(self, number: int, point: Any) -> None:
        """Begin a trial; only called while fewer than `slots` are in flight.

        number: of the trial.
        point: as the objective receives it, or a `WatchedPoint`, for `evaluate`.
        """
        ...

    def poll(self) -> FinishedTrials:
        """Return at once the trials that have finished since, by number; none where none has."""
        ...

    def wait(self) -> FinishedTrials:
        """Block until one trial or more has finished, and return those, by number."""
        ...

    def cancel(self, number: int) -> None:
        """Give a trial up, whose evaluation is not returned any more, and end it where that can be done.

        number: of a trial in flight.
        """
        ...

    def close(self) -> None:
        """Give up what is still in flight."""
        ...


class InProcessPool:
    """A pool that runs one trial at a time in this process.

    objective: function of a point.
    """

    slots = 1

    def __init__(self, objective: Callable[[Any], Any]) -> None:
        self._objective = objective
        self._next: list[tuple[int, Any]] = []
        self._handlers = handler_codes()

    def submit(self, number: int, point: Any) -> None:
        self._next.append((number, point))

    def poll(self) -> FinishedTrials:
        return []  # trials run while they are waited for

    def wait(self) -> FinishedTrials:
        number, point = self._next.pop(0)
        return [(number, evaluate(self._objective, point, self._handlers))]

    def cancel(self, number: int) -> None:
        self._next = [pair for pair in self._next if pair[0] != number]

    def close(self) -> None:
        self._next.clear()


class ExecutorPool:
    """A pool that runs trials on an executor, which needs only submit, and futures that can be waited for.

    objective: function of a point; the executor may need to pickle it.
    executor: any `concurrent.futures.Executor`.
    slots: trials in flight at most, at least 1.
    """

    def __init__(self, objective: Callable[[Any], Any], executor: Executor, slots: int) -> None:
        self.slots = slots
        self._objective = objective
        self._executor = executor
        self._futures: dict[Future[Evaluation], int] = {}
        self._ended: dict[Future[Evaluation], float] = {}  # by our clock: an executor's machines have their own

    def submit(self, number: int, point: Any) -> None:
        try:
            future = self._executor.submit(evaluate, self._objective, point)
        except (BrokenExecutor, RuntimeError) as error:  # it is broken, or was shut down
            raise _executor_error(error) from error
        self._futures[future] = number
        future.add_done_callback(self._stamp)

    def poll(self) -> FinishedTrials:
        return self._look(0.0)

    def wait(self) -> FinishedTrials:
        """Return finished trials; raise ExecutorError once nothing that was evaluated is left to be told."""
        return self._look(None)

    def _stamp(self, future: Future[Evaluation]) -> None:
        if future in self._futures:  # and was not given up
            self._ended[future] = time.time()

    def _look(self, patience: float | None) -> FinishedTrials:
        done, _ = wait(self._futures, patience, FIRST_COMPLETED)
        finished: FinishedTrials = []
        broken: Exception | None = None
        for future in done:
            result = _result_of(future)
            if isinstance(result, Evaluation):
                ended = self._ended.pop(future, None)  # a future is done a moment before its callbacks run
                finished.append((self._futures.pop(future), result._replace(ended=ended)))
            else:
                broken = result
        if broken is not None and not finished:
            raise _executor_error(broken) from broken
        return sorted(finished, key=lambda pair: pair[0])

    def cancel(self, number: int) -> None:
        for future in [future for future, its in self._futures.items() if its == number]:
            future.cancel()
            del self._futures[future]
            self._ended.pop(future, None)

    def close(self) -> None:
        for future in self._futures:
            future.cancel()
        self._futures.clear()
        self._ended.clear()


def _result_of(future: Future[Evaluation]) -> Evaluation | Exception:
    """Return the evaluation of a trial, which holds what its objective raised, or the executor's own error."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError, PicklingError) as error:
        return error
    except Exception as error:
        return error if "pickle" in str(error) else failure(error)


def _executor_error(error: Exception) -> ExecutorError:
    if "pickle" in f"{type(error).__name__} {error}".lower():
        return ExecutorError(
            f"objective: cannot be sent to the executor's processes: {error}; define it at the top of a module, or use "
            "workers= alone, which sends functions of every kind. No trial failed for it"
        )
    return ExecutorError(f"executor: it cannot evaluate any more: {error!r}; the trials in flight were given back")
