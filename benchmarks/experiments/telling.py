"""The numbers that a peer observes: objectives and violations, and the worst other values for a failed trial."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.experiments.instances import Instance, Measured
from benchmarks.peers.tasks import Point


class ObservedTrial(NamedTuple):
    """A trial as a peer observes it.

    n: number of the trial, from 0.
    point: a point of the instance's space.
    objectives: objectives, each minimized.
    violations: how much each limit is violated, at most 0 if the limit is met.
    failed: whether the evaluation failed, so that the numbers are replacements.
    """

    n: int
    point: Point
    objectives: tuple[float, ...]
    violations: tuple[float, ...]
    failed: bool


class Record:
    """The trials of a search, as a peer observes them.

    A failure is held back until there is a success. It gets the worst value of all successes in each objective, and
    violates each limit by the largest distance of a success to the limit.

    instance: instance of the problem.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.successes: list[ObservedTrial] = []
        self._failures: list[tuple[int, Point]] = []

    def add(self, point: Point, measured: Measured | None) -> list[ObservedTrial]:
        """Record a trial, and return the trials that the peer observes now: this one and those held back until now.

        point: the evaluated point.
        measured: its numbers; None if the evaluation failed.
        """
        n = len(self.successes) + len(self._failures)
        if measured is None:
            self._failures.append((n, point))
            return self.list_failures()[-1:]
        bounds = self.instance.bounds.values()
        violations = tuple(number - bound for number, bound in zip(measured.limited, bounds, strict=True))
        self.successes.append(ObservedTrial(n, point, measured.objectives, violations, False))
        held = self.list_failures() if len(self.successes) == 1 else []
        return [self.successes[-1], *held]

    def list_failures(self) -> list[ObservedTrial]:
        """Return the failed trials with their current numbers; empty before the first success."""
        if not self.successes:
            return []
        objectives = tuple(max(column) for column in zip(*(one.objectives for one in self.successes), strict=True))
        violations = zip(*(one.violations for one in self.successes), strict=True)
        broken = tuple(max(map(abs, column)) or 1.0 for column in violations)
        return [ObservedTrial(n, point, objectives, broken, True) for n, point in self._failures]

    def list_observed(self) -> list[ObservedTrial]:
        """Return all trials in order, with their current numbers; empty before the first success."""
        return sorted([*self.successes, *self.list_failures()], key=lambda one: one.n)

    def list_points(self) -> list[Point]:
        """Return the points of all trials, including those held back."""
        return [one.point for one in self.successes] + [point for _, point in self._failures]

    def find_best(self) -> Point:
        """Return the successful point with the lowest value."""
        return min(self.successes, key=lambda one: one.objectives[0]).point
