"""The numbers that a peer is told: slacks of limits, and the worst so far where an evaluation failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.experiments.instances import Instance, Measured
from benchmarks.peers.tasks import Point


class Told(NamedTuple):
    """A point and what a peer is told of it.

    point: of the instance's space.
    objectives: each minimized.
    slacks: by how much each limit is broken, at most 0 where it is kept.
    failed: True where the numbers are made up, because the evaluation failed.
    """

    point: Point
    objectives: tuple[float, ...]
    slacks: tuple[float, ...]
    failed: bool


class Record:
    """What a peer was told.

    Where an evaluation failed, each number is the worst so far; before any, an objective is 0 and a slack 1.

    instance: of the problem.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.told: list[Told] = []

    def add(self, point: Point, measured: Measured | None) -> Told:
        """Keep a trial and return what the peer is told of it.

        point: that was evaluated.
        measured: None where the evaluation failed.
        """
        if measured is None:
            objectives = self._find_worst([one.objectives for one in self.told], self.instance.n_objectives, 0.0)
            slacks = self._find_worst([one.slacks for one in self.told], len(self.instance.bounds), 1.0)
            found = Told(point, objectives, slacks, True)
        else:
            bounds = self.instance.bounds.values()
            slacks = tuple(number - bound for number, bound in zip(measured.limited, bounds, strict=True))
            found = Told(point, measured.objectives, slacks, False)
        self.told.append(found)
        return found

    def find_best(self) -> Point:
        """Return the point with the least value of those that did not fail."""
        return min((one for one in self.told if not one.failed), key=lambda one: one.objectives[0]).point

    @staticmethod
    def _find_worst(rows: Sequence[tuple[float, ...]], width: int, before: float) -> tuple[float, ...]:
        return tuple(max(column) for column in zip(*rows, strict=True)) if rows else (before,) * width
