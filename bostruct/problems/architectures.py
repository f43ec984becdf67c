"""What a benchmark problem over architectures is: `bostruct.problems.base.Problem`, with points for vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, Point
from bostruct.problems.base import GENERATED_SEEDS

PointFunction = Callable[[Any], float]


@dataclass(frozen=True)
class ArchitectureProblem:
    """A benchmark to minimize.

    name: how the registry spells it. space: its domain, whose points are `Architecture`s, or have one among their
    parts. objective, mean and report are functions of such a point as the domain holds it. objective: what a trial is
    told. mean: of a noisy objective only, its mean. report: what a run is judged by at the point that it recommends,
    where that is not the objective, such as an error on test data; nothing may be chosen by it. optimum: the least
    value without noise, None where unknown; report_optimum: the least of `report`. optimal: a point that has the
    optimum. n_initial: how many points a set of initial points has.
    """

    name: str
    space: Any
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
    direction: ClassVar[str] = "minimize"
    configs: ClassVar[tuple[int, ...]] = tuple(GENERATED_SEEDS)

    @property
    def noisy(self) -> bool:
        """Whether `noise_free` differs from the objective."""
        return self.mean is not None

    @property
    def optimal_point(self) -> Any:
        """A point with the least value, None where none is known."""
        return None if self.optimal is None else self.space.present(self.optimal)

    def __call__(self, point: Any) -> float:
        """The value of one point; raises PointError."""
        return self.objective(self.space.parse(point))

    def evaluate(self, points: Iterable[Any]) -> Array:
        """Values of m points -> (m,); raises PointError."""
        return np.array([self(point) for point in points], dtype=np.float64)

    def noise_free(self, point: Any, n_simulations: int = 1) -> float:
        """The value without noise; raises PointError. n_simulations: of no use here, for no mean is estimated."""
        check_integer("n_simulations", n_simulations, 1)
        value = self.objective if self.mean is None else self.mean
        return value(self.space.parse(point))

    def reported(self, point: Any) -> float:
        """What a run that recommends this point is judged by; raises PointError."""
        return self.noise_free(point) if self.report is None else self.report(self.space.parse(point))

    def initial_points(self, config: int) -> list[Any]:
        """Distinct points, sampled with a seed of their own for each of `configs`; raises ValueError for another."""
        if check_integer("config", config, 0) not in GENERATED_SEEDS:
            raise ValueError(f"config: expected one of {', '.join(map(str, self.configs))}; got {config}")
        rng = np.random.default_rng(GENERATED_SEEDS[config])
        drawn: list[Point] = []
        for _ in range(self.n_initial):
            drawn.append(self.space.sample_unseen(frozenset(self.space.keys(drawn)), rng))
        return [self.space.present(x) for x in drawn]
