"""Generated benchmark problems with limits or several objectives, and those over orders, subsets and sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from bostruct.checks import check_integer
from bostruct.contracts import Domain, Presented
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals
from bostruct.problems.base import GENERATED_SEEDS, draw_points

N_INITIAL = 10  # points of a set of initial points
ONE = Goals()  # objective, to be minimized
ObjectivePoint = Mapping[str, Any]


@dataclass(frozen=True)
class StructuredProblem:
    """A generated benchmark to minimize, without noise.

    name: as the registry spells it.
    space: of its points.
    objective: a function of a point that returns what a trial is told: a number; a number and those that limits bound;
        or a number for each objective.
    source: the publication that the problem comes from.
    goals: its objectives and limits.
    optimum: the least value that keeps all limits, None where it is not proved, and for several objectives.
    optimum_source: how the optimum is known, in words.
    optimal_point: a point that has the optimum, None where none is known.
    reference: of several objectives, the corner up to which the hypervolume counts.
    """

    name: str
    space: Space
    objective: Callable[[ObjectivePoint], object]
    source: str
    goals: Goals = ONE
    optimum: float | None = None
    optimum_source: str = "not known"
    optimal_point: ObjectivePoint | None = None
    reference: tuple[float, ...] | None = None
    best_known: ClassVar[None] = None
    noisy: ClassVar[bool] = False
    noise_free: ClassVar[None] = None
    configs: ClassVar[tuple[int, ...]] = tuple(GENERATED_SEEDS)

    def __call__(self, point: ObjectivePoint) -> object:
        """Return what a trial at one point is told; raise PointError, naming the variable that is wrong."""
        return self.objective(self.space.present(self.space.parse(point)))

    def initial_points(self, config: int) -> list[dict[str, Any]]:
        """Return ten distinct points, sampled with a seed of their own for each configuration.

        config: one of `configs`.

        Raises ValueError for another.
        """
        return generated_points(self.space, N_INITIAL, config)


def attach_optimum(problem: StructuredProblem, point: ObjectivePoint, proof: str) -> StructuredProblem:
    """Return a problem of one objective with its optimum.

    problem: without one.
    point: that has it.
    proof: how it was found, such as dynamic programming.
    """
    return replace(problem, optimum=problem(point), optimum_source=f"proved by {proof}", optimal_point=point)


def generated_points(domain: Domain, n: int, config: int) -> list[Presented]:
    """Return the initial points of a problem that published none, those of a configuration by a seed of their own.

    domain: of the points.
    n: number of points.
    config: 1 to 25.

    Raises ValueError for another configuration.
    """
    if check_integer("config", config, 0) not in GENERATED_SEEDS:
        raise ValueError(f"config: expected one of {', '.join(map(str, GENERATED_SEEDS))}; got {config}")
    return draw_points(domain, n, GENERATED_SEEDS[config])


def read_variable(name: str, value: Callable[[Any], float]) -> Callable[[ObjectivePoint], float]:
    """Return an objective of points that is a function of one variable's value.

    name: of the variable.
    value: function of what the variable holds.
    """
    return partial(_value_of, name, value)


def _value_of(name: str, value: Callable[[Any], float], point: ObjectivePoint) -> float:
    return value(point[name])
