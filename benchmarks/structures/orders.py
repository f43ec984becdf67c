"""Assignments, tours and rankings: problems whose points are orders, made from seeds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import bostruct as bo
from benchmarks.peers.tasks import Point, Task, Value

MOST_FLOW = 10


def assignment(n: int, seed: int, data: Path | None = None) -> Task:
    """Make a quadratic assignment (Koopmans and Beckmann 1957): which of n facilities stands in which place.

    The value is the sum over all pairs of facilities of their flow times the distance of their places, which are
    random points of the unit square. Half the pairs have no flow.

    n: facilities, and places.
    seed: of flows and places.
    data: unused.
    """
    del data
    rng = np.random.default_rng([seed, 31])
    flow = np.triu(rng.integers(1, MOST_FLOW + 1, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    flow = flow + flow.T
    places = rng.random((n, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)

    def value(point: Point) -> float:
        order = np.array(point["order"])
        return float(np.sum(flow[np.ix_(order, order)] * distances) / 2.0)

    return _make(n, value)


def tour(n: int, seed: int, data: Path | None = None) -> Task:
    """Make a traveling salesman problem: the length of a round trip through n random points of the unit square.

    n: cities.
    seed: of the cities.
    data: unused.
    """
    del data
    cities = np.random.default_rng([seed, 32]).random((n, 2))

    def value(point: Point) -> float:
        trip = cities[np.array(point["order"])]
        return float(np.linalg.norm(trip - np.roll(trip, 1, axis=0), axis=1).sum())

    return _make(n, value)


def ranking(n: int, seed: int, data: Path | None = None) -> Task:
    """Make a linear ordering problem: minus the sum of the entries of a random matrix above its diagonal, reordered.

    An entry, uniform in 0 to 1, is what it is worth that one item stands before another.

    n: items.
    seed: of the matrix.
    data: unused.
    """
    del data
    worth = np.random.default_rng([seed, 33]).random((n, n))

    def value(point: Point) -> float:
        order = np.array(point["order"])
        return -float(np.triu(worth[np.ix_(order, order)], 1).sum())

    return _make(n, value)


def _make(n: int, value: Value) -> Task:
    return Task(bo.Space({"order": bo.Permutation(range(n))}), value)


ORDERS = {
    "qap 12": partial(assignment, 12),
    "qap 20": partial(assignment, 20),
    "tsp 12": partial(tour, 12),
    "tsp 20": partial(tour, 20),
    "ordering 12": partial(ranking, 12),
    "ordering 20": partial(ranking, 20),
}
TEXT = """\
A quadratic assignment says which facility stands in which place, and sums flow times distance over all pairs. A tour is
the length of a round trip through cities. An ordering gains, for each two items, what it is worth that one is before
the other. The number in the name is that of the items. A seed is an instance."""
