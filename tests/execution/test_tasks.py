"""Trials as calls: in place where nothing pickles them, by cloudpickle where something does."""

from __future__ import annotations

import pickle
import threading

import pytest

from bostruct.execution.evaluation import Evaluation, WatchedPoint, report
from bostruct.execution.pools import LostTask, NotLoaded, PackedObjective, Task, run_task


def travel(task):
    """Send a task as an executor of processes does: by the plain pickle."""
    return pickle.loads(pickle.dumps(task))


def test_a_task_that_stays_calls_the_objective_itself():
    seen = []
    run_task(Task(PackedObjective(seen.append), 3), "1")
    assert seen == [3]


def test_a_task_that_travels_takes_a_closure_along():
    factor = 2.0
    task = Task(PackedObjective(lambda point: factor * point), 3)
    assert run_task(travel(task), "1").outcome.values == run_task(task, "2").outcome.values == (6.0,)


def test_the_objective_is_pickled_once_for_all_its_tasks():
    objective = PackedObjective(len)
    first, second = Task(objective, "ab").__reduce__()[1], Task(objective, "abc").__reduce__()[1]
    assert first[0] is second[0]


def test_what_cannot_travel_is_kept_as_the_reason():
    objective = PackedObjective(len)
    with pytest.raises(TypeError, match="point: cannot be sent"):
        pickle.dumps(Task(objective, threading.Lock()))
    assert "point: cannot be sent" in str(objective.refusal)


class Unloadable:
    def __reduce__(self):
        return int, ("not a number",)

    def __call__(self, _):
        return 1.0


def test_a_worker_that_cannot_load_the_objective_says_why():
    answer = run_task(travel(Task(PackedObjective(Unloadable()), 1)), "1")
    assert isinstance(answer, NotLoaded)
    assert "not a number" in answer.trace


def test_a_point_that_does_not_load_fails():
    answer = run_task(travel(Task(PackedObjective(float), Unloadable())), "1")
    assert isinstance(answer, Evaluation)
    assert "not a number" in (answer.outcome.failed or "")


def test_the_judge_of_a_stopping_rule_travels_too():
    def objective(_):
        for step in range(5):
            report(step, 10.0 - step)

    answer = run_task(travel(Task(PackedObjective(objective), WatchedPoint(0, lambda step, _: step == 2))), "1")
    assert (answer.stopped_at, answer.outcome.values) == (2, (8.0,))


def test_a_lost_task_fails_for_its_reason_and_calls_nothing():
    assert run_task(travel(LostTask("gone")), "1").outcome.failed == "gone"
