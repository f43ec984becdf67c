"""Assignments, tours and rankings: problems over orders, generated from seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.peers.tasks import Task, from_problem
from bostruct.problems.base import StructuredProblem
from bostruct.problems.orders import ordering, qap, tsp


def make_order(make: Callable[[int, int], StructuredProblem], n: int, seed: int, data: Path | None = None) -> Task:
    """Make an instance of a problem over orders.

    make: makes the problem, given the number of items and the seed.
    n: number of items.
    seed: seed of the instance.
    data: unused.
    """
    del data
    return from_problem(make(n, seed))


ORDERS = {
    "qap 12": partial(make_order, qap, 12),
    "qap 20": partial(make_order, qap, 20),
    "tsp 12": partial(make_order, tsp, 12),
    "tsp 20": partial(make_order, tsp, 20),
    "ordering 12": partial(make_order, ordering, 12),
    "ordering 20": partial(make_order, ordering, 20),
}
TEXT = """\
A quadratic assignment (qap) places facilities and sums flow times distance over all pairs. A tour (tsp) has the length
of a round trip through cities. A linear ordering gains a weight for each pair of items by which of them is first. The
number in the name is the number of items. A seed is an instance. With ten seeds many intervals contained zero, so seeds
were added."""
