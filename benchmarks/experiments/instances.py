"""An instance of a problem: what an evaluation of a point measures, and what counts as its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import bostruct as bo
from benchmarks.peers.tasks import Point, Task
from bostruct.outcome import outcome_of
from bostruct.problems.base import StructuredProblem


class Measured(NamedTuple):
    """The numbers that an evaluation gave.

    objectives: each minimized, one or several.
    limited: the numbers that limits bound, in the order of the instance's bounds.
    """

    objectives: tuple[float, ...]
    limited: tuple[float, ...] = ()


class Instance(NamedTuple):
    """An instance of a problem.

    space: of the points.
    measure: of a point; raises `bostruct.Infeasible` where the evaluation fails.
    bounds: the most that each limited number may be, by name.
    truth: value of a point without noise; None where there is no noise.
    corners: the least and the greatest value of each objective that count for the hypervolume, which is a share of the
        box between them; empty for one objective.
    nothing: value of a run that found no point that counts.
    may_fail: True where evaluations fail.
    initial: points to begin with; empty where they are drawn at random.
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
    """Make an instance of one objective without limits, some of whose evaluations fail.

    task: whose value raises `bostruct.Infeasible` where the evaluation fails.
    options: fields of the instance.
    """
    return Instance(task.space, lambda point: Measured((task.value(point),)), may_fail=True, **options)


def from_problem(problem: StructuredProblem, **options: Any) -> Instance:
    """Make an instance of a generated problem.

    problem: with at most one limit, an upper one.
    options: fields of the instance.
    """

    def measure(point: Point) -> Measured:
        outcome = outcome_of(problem.objective(point))
        return Measured(outcome.values, tuple(outcome.constraints.values()))

    return Instance(problem.space, measure, {limit.name: limit.bound for limit in problem.goals.limits}, **options)


def try_measure(instance: Instance, point: Point) -> Measured | None:
    """Return what a point measures, None where the evaluation fails.

    instance: of the problem.
    point: of its space.
    """
    try:
        return instance.measure(point)
    except bo.Infeasible:
        return None


def keeps_limits(instance: Instance, measured: Measured) -> bool:
    """Tell whether no limit is broken.

    instance: of the problem.
    measured: of a point.
    """
    return all(number <= bound for number, bound in zip(measured.limited, instance.bounds.values(), strict=True))
