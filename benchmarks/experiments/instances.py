"""An instance of a problem: its space, what an evaluation measures, its limits, and how runs are scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import bostruct as bo
from benchmarks.peers.tasks import Point, Task
from bostruct.outcome import outcome_of
from bostruct.problems.base import StructuredProblem


class Measured(NamedTuple):
    """The numbers that an evaluation measured.

    objectives: one or several objectives, each minimized.
    limited: the constrained numbers, in the order of the instance's bounds.
    """

    objectives: tuple[float, ...]
    limited: tuple[float, ...] = ()


class Instance(NamedTuple):
    """An instance of a problem.

    space: space of the points.
    measure: evaluates a point; raises `bostruct.Infeasible` if the evaluation fails.
    bounds: upper bound of each constrained number, by name.
    truth: noise-free value of a point; None if there is no noise.
    corners: the lowest and the highest value of each objective, which span the box of the hypervolume; empty for one
        objective.
    nothing: value of a run without a successful feasible point.
    may_fail: whether evaluations can fail.
    initial: initial points; empty if they are drawn at random.
    """

    space: bo.Space
    measure: Callable[[Point], Measured]
    bounds: Mapping[str, float] = {}
    truth: Callable[[Point], float] | None = None
    corners: tuple[tuple[float, float], ...] = ()
    nothing: float = 0.0
    may_fail: bool = False
    initial: tuple[Point, ...] = ()

    @property
    def n_objectives(self) -> int:
        """The number of objectives."""
        return max(len(self.corners), 1)


def from_task(task: Task, **options: Any) -> Instance:
    """Make an instance with one objective and no limits, in which some evaluations fail.

    task: a task whose value raises `bostruct.Infeasible` if the evaluation fails.
    options: further fields of the instance.
    """
    return Instance(task.space, lambda point: Measured((task.value(point),)), may_fail=True, **options)


def from_problem(problem: StructuredProblem, **options: Any) -> Instance:
    """Make an instance of a generated problem.

    problem: a problem with at most one limit, an upper bound.
    options: further fields of the instance.
    """

    def measure(point: Point) -> Measured:
        outcome = outcome_of(problem.objective(point))
        return Measured(outcome.values, tuple(outcome.constraints.values()))

    return Instance(problem.space, measure, {limit.name: limit.bound for limit in problem.goals.limits}, **options)


def try_measure(instance: Instance, point: Point) -> Measured | None:
    """Evaluate a point, and return None if the evaluation fails.

    instance: instance of the problem.
    point: a point of its space.
    """
    try:
        return instance.measure(point)
    except bo.Infeasible:
        return None


def keeps_limits(instance: Instance, measured: Measured) -> bool:
    """Return whether all limits are met.

    instance: instance of the problem.
    measured: measured numbers of a point.
    """
    return all(number <= bound for number, bound in zip(measured.limited, instance.bounds.values(), strict=True))
