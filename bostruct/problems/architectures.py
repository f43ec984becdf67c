"""Benchmark problems over architectures: as `bostruct.problems.base.SpaceProblem`, with points for vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, Domain, Point, Presented
from bostruct.goals.declared import Goals
from bostruct.problems.base import GENERATED_SEEDS
from bostruct.problems.structured import generated_points

AnyDomain = TypeVar("AnyDomain", bound=Domain)
PointFunction = Callable[[Presented], float]


@dataclass(frozen=True)
class ArchitectureProblem(Generic[AnyDomain]):
    """A benchmark over architectures to minimize.

    objective, mean and report are functions of a point as the domain holds it.

    name: as the registry spells it.
    space: its domain, whose points are `Architecture`s, or have one among their parts.
    objective: gives what a trial is told.
    source: the publication it comes from.
    n_initial: number of points of a set of initial points.
    optimum: the least value without noise, None where unknown.
    optimum_source: how the optimum is known, in words.
    optimal: a point that has the optimum, None where none is known.
    mean: of a noisy objective only, its mean.
    report: gives what a run is judged by at the point that it recommends, where that is not the objective, such as an
        error on test data; nothing may be chosen by it.
    report_optimum: the least value of `report`.
    """

    name: str
    space: AnyDomain
    objective: PointFunction
    source: str
    n_initial: int
    optimum: float | None = None
    optimum_source: str = "not known"
    best_known: ClassVar[float | None] = None
    optimal: Point | None = None
    mean: PointFunction | None = None
    report: PointFunction | None = None
    report_optimum: float | None = None
    goals: ClassVar[Goals] = Goals()
    reference: ClassVar[None] = None
    configs: ClassVar[tuple[int, ...]] = tuple(GENERATED_SEEDS)

    @property
    def noisy(self) -> bool:
        """True where `noise_free` differs from the objective."""
        return self.mean is not None

    @property
    def optimal_point(self) -> Presented:
        """A point with the least value, None where none is known."""
        return None if self.optimal is None else self.space.present(self.optimal)

    def __call__(self, point: object) -> float:
        """Return the value of one point; raise PointError outside the space."""
        return self.objective(self.space.parse(point))

    def evaluate(self, points: Iterable[object]) -> Array:
        """Return the values (m,) of points.

        points: m points of the space.

        Raises PointError.
        """
        return np.array([self(point) for point in points], dtype=np.float64)

    def noise_free(self, point: object, n_simulations: int = 1) -> float:
        """Return the value without noise.

        point: a point of the space.
        n_simulations: of no use here, for no mean is estimated.

        Raises PointError.
        """
        check_integer("n_simulations", n_simulations, 1)
        value = self.objective if self.mean is None else self.mean
        return value(self.space.parse(point))

    def reported(self, point: object) -> float:
        """Return the figure that a run which recommends this point is judged by; raise PointError outside the space.

        point: a point of the space.
        """
        return self.noise_free(point) if self.report is None else self.report(self.space.parse(point))

    def initial_points(self, config: int) -> list[Presented]:
        """Return distinct points, sampled with a seed of their own for each configuration.

        config: one of `configs`.

        Raises ValueError for another.
        """
        return generated_points(self.space, self.n_initial, config)
