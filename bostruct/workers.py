"""Where objectives run: in this process, on an executor, or in worker processes that may be killed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import Any, Protocol

from bostruct.outcomes import Outcome, evaluate, failure

Finished = list[tuple[int, Outcome]]


class Pool(Protocol):
    @property
    def slots(self) -> int:
        """How many trials may be in flight."""
        ...

    def submit(self, number: int, point: Any) -> None:
        """Begin a trial; only called while fewer than `slots` are in flight."""
        ...

    def wait(self) -> Finished:
        """Block until one trial or more has finished; those, by number."""
        ...

    def close(self) -> None:
        """Give up what is still in flight."""
        ...


class InProcess:
    """One trial at a time, here."""

    slots = 1

    def __init__(self, objective: Callable[[Any], Any]) -> None:
        self._objective = objective
        self._next: list[tuple[int, Any]] = []

    def submit(self, number: int, point: Any) -> None:
        self._next.append((number, point))

    def wait(self) -> Finished:
        number, point = self._next.pop()
        return [(number, evaluate(self._objective, point))]

    def close(self) -> None:
        self._next.clear()


class OnExecutor:
    """Trials as futures: all that an executor needs is submit, and futures that can be waited for."""

    def __init__(self, objective: Callable[[Any], Any], executor: Executor, slots: int) -> None:
        self.slots = slots
        self._objective = objective
        self._executor = executor
        self._futures: dict[Future[Outcome], int] = {}

    def submit(self, number: int, point: Any) -> None:
        self._futures[self._executor.submit(evaluate, self._objective, point)] = number

    def wait(self) -> Finished:
        done, _ = wait(self._futures, return_when=FIRST_COMPLETED)
        finished = [(self._futures.pop(future), _outcome(future)) for future in done]
        return sorted(finished, key=lambda pair: pair[0])

    def close(self) -> None:
        for future in self._futures:
            future.cancel()
        self._futures.clear()


def _outcome(future: Future[Outcome]) -> Outcome:
    """A future that raises speaks of its executor (a dead worker, a point that cannot be pickled)."""
    try:
        return future.result()
    except CancelledError:
        return Outcome(failed="cancelled by the executor")
    except Exception as error:
        return failure(error)
