"""Problems with an upper limit on a number that each evaluation measures."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

import bostruct as bo
from benchmarks.experiments.failures import find_kernels
from benchmarks.experiments.instances import Instance, Measured, from_problem
from benchmarks.peers.measured import DEVICES, QUERIES, kernel_tuning
from benchmarks.peers.tasks import Point, Value
from bostruct import problems
from bostruct.problems.subsets import knapsack as max_value

ITEMS = 40  # items of the knapsack
SAT_VARIABLES, SAT_CLAUSES, MOST_TRUE = 60, 300, 24
MOST_PARAMETERS = 0.35  # millions
TYPICAL_POINTS = 201
NAS_SKIPPED = "the table is read: give the folder that has it in a folder nasbench201 as --data DIR"


def knapsack(seed: int, data: Path | None = None) -> Instance:
    """Make a 0/1 knapsack of 40 items: minus the value, with a limited weight.

    seed: seed of values and weights.
    data: unused.
    """
    del data
    return from_problem(max_value(ITEMS, seed))


def sparse_max3sat(seed: int, data: Path | None = None) -> Instance:
    """Make a relabeled Max-3-SAT of 60 variables, of which at most 24 may be true.

    seed: seed of the instance and of the labels.
    data: unused.
    """
    del data
    problem = problems.load(f"max3sat:variables={SAT_VARIABLES},clauses={SAT_CLAUSES},seed={seed},relabel={seed}")
    space = problem.space
    assert isinstance(space, bo.Space)

    def measure(point: Point) -> Measured:
        return Measured((problem(point),), (float(sum(map(bool, point.values()))),))

    return Instance(space, measure, {"true": float(MOST_TRUE)}, nothing=_find_typical(space, problem, seed))


def _find_typical(space: bo.Space, value: Value, seed: int) -> float:
    """Return the median value of random points."""
    xs = space.sample(TYPICAL_POINTS, np.random.default_rng([seed, 62]))
    return float(np.median([value(space.present(x)) for x in xs]))


def small_cell(seed: int, data: Path | None) -> Instance:
    """Make the choice of a cell of NAS-Bench-201 with few parameters: its error on ImageNet-16-120, in percent.

    seed: selects one of the trainings.
    data: folder of the table, if any.

    Raises FileNotFoundError if the table does not exist.
    """
    table = read_cells(seed, data)

    def measure(point: Point) -> Measured:
        row = table.find(point)
        return Measured((float(table.errors[row]),), (float(table.sizes[row]),))

    return Instance(table.space, measure, {"parameters": MOST_PARAMETERS}, nothing=float(np.median(table.errors)))


class Cells:
    """The cells of NAS-Bench-201 as six choices.

    errors: validation errors on ImageNet-16-120 of one training, in percent (n,).
    sizes: millions of parameters (n,).
    latencies: latencies on a Pixel 3 measured by HW-NAS-Bench, in milliseconds (n,).
    """

    def __init__(self, file: Path, seed: int) -> None:
        with np.load(file, allow_pickle=False) as held:
            edges, accuracies = held["edges"], held["in16_val_200ep"]
            self.sizes, hardware, columns = held["c10_params_M"], held["in16_hw"], held["hw_columns"].tolist()
        own = accuracies[:, seed % QUERIES]
        self.errors = 100.0 - np.where(np.isnan(own), accuracies[:, 0], own)
        self.latencies = hardware[:, columns.index("pixel3_latency")]
        self._rows = {tuple(row): n for n, row in enumerate(edges.tolist())}
        self.space = bo.Space({f"edge {i}": list(OPERATIONS) for i in range(edges.shape[1])})

    def find(self, point: Point) -> int:
        """Return the row of a point."""
        return self._rows[tuple(OPERATIONS.index(point[name]) for name in self.space.variables)]


OPERATIONS = ("none", "skip", "conv1", "conv3", "pool")


def read_cells(seed: int, data: Path | None) -> Cells:
    """Read the cells of NAS-Bench-201; raise FileNotFoundError if the table does not exist.

    seed: selects one of the trainings.
    data: folder of the table, if any.
    """
    file = None if data is None else data / "nasbench201" / "nasbench201.npz"
    if file is None or not file.exists():
        raise FileNotFoundError(NAS_SKIPPED)
    return Cells(file, seed)


def steady_kernel(kernel: str, seed: int, data: Path | None) -> Instance:
    """Make the tuning of a GPU kernel whose run time must be steady; its conditions are hidden.

    kernel: one of `benchmarks.peers.measured.DEVICES`.
    seed: selects the device.
    data: folder of the tables, if any.

    The standard deviation of the run time as a share of its mean is limited to its median in the table. Raises
    FileNotFoundError if the tables do not exist.
    """
    folder = find_kernels(data)
    device = DEVICES[kernel][seed % len(DEVICES[kernel])]
    with np.load(folder / "kernel_tuning" / f"{kernel}.npz", allow_pickle=False) as held:
        choices = json.loads(str(held[f"{device}_space"]))
        rows, times, deviations = (held[f"{device}_{name}"] for name in ("config", "ms", "sd"))
    shares = {tuple(row): float(share) for row, share in zip(rows.tolist(), deviations / times, strict=True)}
    task = kernel_tuning(kernel, seed, folder)

    def measure(point: Point) -> Measured:
        value = task.value(point)  # raises Infeasible if the evaluation fails
        return Measured((value,), (shares[tuple(choices[name].index(point[name]) for name in choices)],))

    bound = float(np.nanmedian(list(shares.values())))
    typical = float(np.nanmedian(times))
    return Instance(bo.Space(task.space.variables), measure, {"sd": bound}, nothing=typical, may_fail=True)


LIMITS = {
    "knapsack 40": knapsack,
    "max-3-sat 60 few true": sparse_max3sat,
    "nas-bench-201 small": small_cell,
    "kernel convolution steady": partial(steady_kernel, "convolution"),
}
TEXT = """\
A 0/1 knapsack of 40 items, weakly correlated, that holds 35% of their weight: minus the value. Max-3-SAT of 60
variables of which at most 24 may be true. The validation error of cells of NAS-Bench-201 on ImageNet-16-120 with at
most 0.35 million parameters. The run time of a GPU kernel (Kernel Tuner's hub) whose standard deviation is at most the
median share of the mean; configurations that its conditions forbid fail, and no method knows these conditions.
Methods observe the constrained quantity. The value is that of the best feasible point."""
