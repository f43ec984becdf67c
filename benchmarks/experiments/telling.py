"""The numbers that a peer is told: violations of limits, and the worst other trial if an evaluation failed."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.experiments.instances import Instance, Measured
from benchmarks.peers.tasks import Point


class Told(NamedTuple):
    """A point and what a peer is told of it.

    n: the number of the trial, from 0.
    point: of the instance's space.
    objectives: each minimized.
    violations: by how much each limit is broken, at most 0 where it is kept.
    failed: True where the numbers are made up, because the evaluation failed.
    """

    n: int
    point: Point
    objectives: tuple[float, ...]
    violations: tuple[float, ...]
    failed: bool


class Record:
    """The trials of a search, and what a peer is told of them.

    A failure is told once there is a success, as the worst value of all successes in each objective. It breaks each
    limit, by the largest distance of a success to it.

    instance: of the problem.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.successes: list[Told] = []
        self._failures: list[tuple[int, Point]] = []

    def add(self, point: Point, measured: Measured | None) -> list[Told]:
        """Keep a trial and return what the peer is told now: of this trial, and of those that were held back.

        point: that was evaluated.
        measured: None where the evaluation failed.
        """
        n = len(self.successes) + len(self._failures)
        if measured is None:
            self._failures.append((n, point))
            return self.list_failures()[-1:]
        bounds = self.instance.bounds.values()
        violations = tuple(number - bound for number, bound in zip(measured.limited, bounds, strict=True))
        self.successes.append(Told(n, point, measured.objectives, violations, False))
        held = self.list_failures() if len(self.successes) == 1 else []
        return [self.successes[-1], *held]

    def list_failures(self) -> list[Told]:
        """Return the failed trials with numbers as of now; none before there is a success."""
        if not self.successes:
            return []
        objectives = tuple(max(column) for column in zip(*(one.objectives for one in self.successes), strict=True))
        violations = zip(*(one.violations for one in self.successes), strict=True)
        broken = tuple(max(map(abs, column)) or 1.0 for column in violations)
        return [Told(n, point, objectives, broken, True) for n, point in self._failures]

    def list_observed(self) -> list[Told]:
        """Return all trials in order, with numbers as of now; none before there is a success."""
        return sorted([*self.successes, *self.list_failures()], key=lambda one: one.n)

    def list_points(self) -> list[Point]:
        """Return the points of all trials, those that are held back included."""
        return [one.point for one in self.successes] + [point for _, point in self._failures]

    def find_best(self) -> Point:
        """Return the point with the least value of those that did not fail."""
        return min(self.successes, key=lambda one: one.objectives[0]).point
