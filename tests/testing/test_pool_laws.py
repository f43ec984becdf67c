"""All pools obey the laws of pools, and a pool with one fault breaks one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import cloudpickle
import pytest

from bostruct.contracts import Infeasible
from bostruct.execution.evaluation import Evaluation
from bostruct.execution.pools import ExecutorPool, FinishedTrials, InProcessPool
from bostruct.execution.processes import ProcessPool
from bostruct.outcome import Outcome
from bostruct.testing import pool_laws
from bostruct.testing.pool_laws import EXPECTED, check_pool, objective


def test_in_this_process() -> None:
    check_pool(InProcessPool)


def test_in_processes_of_our_own() -> None:
    cloudpickle.register_pickle_by_value(pool_laws)  # each process would import all laws
    check_pool(lambda objective: ProcessPool(objective, 2, None))


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_on_executors(kind: Callable[[int], Any]) -> None:
    with kind(2) as executor:
        check_pool(lambda objective: ExecutorPool(objective, executor, 3))


class FaultyPool(InProcessPool):
    """A pool in this process, but for one fault."""

    fault = "none"

    def wait(self) -> FinishedTrials:
        if self.fault == "returns nothing":
            self.fault = "none"
            return []
        ((number, evaluation),) = super().wait()
        if self.fault == "swaps values" and number in (101, 102):
            return [(number, Evaluation(Outcome((2.0 * (203 - number - 100),))))]
        if self.fault == "answers for another" and number == 104:
            return [(107, evaluation)]
        if self.fault == "repeats":
            return [(number, evaluation), (number, evaluation)]
        if self.fault == "drops errors":
            return [(number, evaluation._replace(error=None))]
        return [(number, evaluation)]

    def cancel(self, number: int) -> None:
        if self.fault != "cancels nothing":
            super().cancel(number)


FAULTS = ["returns nothing", "swaps values", "answers for another", "repeats", "drops errors", "cancels nothing"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_pool_fails(fault: str) -> None:
    def make(objective: Callable[[Any], Any]) -> FaultyPool:
        pool = FaultyPool(objective)
        pool.fault = fault
        return pool

    with pytest.raises(AssertionError):
        check_pool(make)


def test_the_faultless_passes() -> None:
    check_pool(FaultyPool)


def test_the_objective_of_the_laws_changes_its_point_and_fails_where_it_says() -> None:
    point = {"x": 4}
    assert objective(point) == 8.0
    assert point == {}
    with pytest.raises(ValueError, match="three"):
        objective({"x": 3})
    with pytest.raises(Infeasible, match="five"):
        objective({"x": 5})
    assert objective({"x": 8}) != objective({"x": 8})  # NaN
    assert sorted(EXPECTED) == [3, 5, 8]
