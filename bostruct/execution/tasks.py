"""Trials as calls that an executor of any kind can run: in threads as they are, elsewhere packed by cloudpickle.

Imported by the workers of executors before they do anything, hence light.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from bostruct.execution.evaluation import Evaluation, evaluate, evaluate_bytes
from bostruct.execution.pickling import pickle_for_worker
from bostruct.outcome import Outcome


@dataclass(frozen=True)
class NotLoaded:
    """The answer of a worker that cannot load the objective.

    trace: the traceback, as text.
    """

    trace: str


class PackedObjective:
    """An objective, and its bytes once a first task has to travel.

    function: of a point.
    """

    def __init__(self, function: Callable[[object], object]) -> None:
        self.function = function
        self.refusal: TypeError | None = None  # why the objective, or a point, cannot travel
        self._packed: bytes | None = None

    def pack_with(self, point: object) -> tuple[bytes, bytes]:
        """Return the bytes of the objective and of a point; raise TypeError, and keep it, where there are none.

        point: as the objective receives it, or a `WatchedPoint`.
        """
        try:
            if self._packed is None:
                self._packed = pickle_for_worker("objective", self.function)
            return self._packed, pickle_for_worker("point", point)
        except TypeError as error:
            self.refusal = error
            raise


class Task:
    """The evaluation of one point, in this process or in the one that unpickles it.

    objective: shared by all tasks of a run, so that it is pickled once.
    point: as the objective receives it, or a `WatchedPoint`.
    """

    def __init__(self, objective: PackedObjective, point: object) -> None:
        self._objective = objective
        self._point = point

    def run(self) -> Evaluation:
        return evaluate(self._objective.function, self._point)

    def __reduce__(self) -> tuple[type[PackedTask], tuple[bytes, bytes]]:
        """Pickle by cloudpickle, whichever pickle the executor uses: lambdas and a script's own functions travel."""
        return PackedTask, self._objective.pack_with(self._point)


@dataclass(frozen=True)
class PackedTask:
    """A task that has traveled.

    objective, point: pickled.
    """

    objective: bytes
    point: bytes

    def run(self) -> Evaluation | NotLoaded:
        try:
            function = pickle.loads(self.objective)
        except (Exception, SystemExit):  # a module that leaves the program as it is imported does not load either
            return NotLoaded(traceback.format_exc())
        return evaluate_bytes(function, self.point)


@dataclass(frozen=True)
class LostTask:
    """A task in place of one that its executor lost too often: it evaluates nothing, and fails for the reason.

    Where it comes back, the executor works, so that the trial was at fault.

    reason: of the failure.
    """

    reason: str

    def run(self) -> Evaluation:
        return Evaluation(Outcome(failed=self.reason))


def run_task(task: Task | PackedTask | LostTask, call: str) -> Evaluation | NotLoaded:
    """Run a task, and return its answer; executors are given this function, as some take no other callables.

    task: to run.
    call: unique, since Dask answers a call that equals an earlier one by the answer of that one.
    """
    del call
    return task.run()
