"""Problems of several objectives, all minimized."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.experiments.instances import Instance, Measured, from_problem
from benchmarks.experiments.limits import read_cells
from benchmarks.peers.orders import ALPHABET, ehrlich
from benchmarks.peers.tasks import Point
from benchmarks.peers.tasks import from_problem as task_of
from bostruct.problems.orders import ordering
from bostruct.problems.subsets import biknapsack

ITEMS = 30  # items of the knapsack
RANKED = 12
WORST_ERROR, WORST_LATENCY = 90, 95  # percentiles of the table that bound the box of the hypervolume
SECOND = 10_000  # added to the seed for the second criterion of an order


def knapsack(seed: int, data: Path | None = None) -> Instance:
    """Make a knapsack of 30 items, in which a tenth of the pairs have extra value: minus the value, and the weight.

    seed: seed of values and weights.
    data: unused.

    The best value of the box is the value of all items.
    """
    del data
    problem = biknapsack(ITEMS, seed)
    assert problem.reference is not None
    worst_value, worst_weight = problem.reference
    best_value = from_problem(problem).measure(dict.fromkeys(problem.space.variables, True)).objectives[0]
    return from_problem(problem, corners=((best_value, worst_value), (0.0, worst_weight)))


def letters_15(seed: int, data: Path | None = None) -> Instance:
    """Make two objectives: an Ehrlich function of 15 letters, and the number of different letters in the sequence.

    seed: seed of the instance.
    data: unused.
    """
    del data
    task = ehrlich(seed)

    def measure(point: Point) -> Measured:
        return Measured((task.value(point), float(len(set(point.values())))))

    return Instance(task.space, measure, corners=((-1.0, 0.0), (1.0, ALPHABET + 1.0)), may_fail=True)


def two_rankings(seed: int, data: Path | None = None) -> Instance:
    """Make an order of 12 items by two criteria, each a linear ordering problem.

    seed: seed of the two matrices.
    data: unused.

    The worst values of the box are the means over all orders.
    """
    del data
    tasks = [task_of(ordering(RANKED, own)) for own in (seed, seed + SECOND)]

    def measure(point: Point) -> Measured:
        return Measured(tuple(task.value(point) for task in tasks))

    order = tuple(range(RANKED))
    means = [(task.value({"order": order}) + task.value({"order": order[::-1]})) / 2.0 for task in tasks]
    least = -RANKED * (RANKED - 1) / 2.0  # each pair is worth at most 1
    return Instance(tasks[0].space, measure, corners=((least, means[0]), (least, means[1])))


def cells(n_objectives: int, seed: int, data: Path | None) -> Instance:
    """Make the choice of a cell of NAS-Bench-201: its error on ImageNet-16-120 and size, and its latency on a Pixel 3.

    n_objectives: 2, or 3 with the latency.
    seed: selects one of the trainings.
    data: folder of the table, if any.

    Raises FileNotFoundError if the table does not exist.
    """
    table = read_cells(seed, data)
    columns = [table.errors, table.sizes, table.latencies][:n_objectives]
    tops = [np.percentile(table.errors, WORST_ERROR), table.sizes.max(), np.percentile(table.latencies, WORST_LATENCY)]

    def measure(point: Point) -> Measured:
        row = table.find(point)
        return Measured(tuple(float(column[row]) for column in columns))

    corners = tuple((float(column.min()), float(top)) for column, top in zip(columns, tops, strict=False))
    return Instance(table.space, measure, corners=corners)


TWO = {
    "nas-bench-201 two objectives": partial(cells, 2),
    "knapsack 30 two objectives": knapsack,
    "ehrlich 15 two objectives": letters_15,
    "orders 12 two criteria": two_rankings,
}
THREE = {"nas-bench-201 three objectives": partial(cells, 3)}
LOST = """\
The number is the **hypervolume lost**: the share of the box between the best and the worst values that no evaluated
point dominates. Methods do not know the box."""
TWO_TEXT = f"""\
The validation error of cells of NAS-Bench-201 on ImageNet-16-120, and their size. A knapsack: minus the value and the
weight of 30 items. An Ehrlich function of 15 letters, and how many different letters a sequence has; sequences with a
banned step fail. An order of 12 items by two linear ordering problems. {LOST}"""
THREE_TEXT = f"""\
The validation error of cells of NAS-Bench-201 on ImageNet-16-120, their size, and their latency on a Pixel 3.
{LOST}"""
