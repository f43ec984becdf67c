"""Problems whose values were measured once: run times of GPU kernels, yields of reactions, accuracies of cells."""

from __future__ import annotations

import csv
import json
import lzma
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.peers.tables import open_arrays, report_damage
from benchmarks.peers.tasks import Point, Task
from bostruct import problems

DEVICES = {"convolution": ("A100", "A4000", "MI250X", "W6600"), "dedispersion": ("A100", "MI250X")}
REACTIONS = {"suzuki_miyaura": 1.0, "buchwald_hartwig": 100.0}  # with the number that is a yield of 100%
QUERIES = 3  # trainings of a cell


def kernel_tuning(kernel: str, seed: int, data: Path) -> Task:
    """Make the tuning of a GPU kernel: run time in milliseconds, over the configurations that its conditions allow.

    kernel: one of `DEVICES`.
    seed: chooses the device.
    data: the folder of the tables.

    A configuration that did not run fails.

    Raises OSError if the file is missing, ValueError if it is damaged.
    """
    device = DEVICES[kernel][seed % len(DEVICES[kernel])]
    file = data / "kernel_tuning" / f"{kernel}.npz"
    with open_arrays(file) as stored:
        choices = json.loads(str(stored[f"{device}_space"]))
        rows, times = stored[f"{device}_config"], stored[f"{device}_ms"]
        return _from_table(choices, [tuple(row) for row in rows.tolist()], times, "the configuration did not run", True)


def reaction(name: str, seed: int, data: Path) -> Task:
    """Make the choice of the parts of a reaction: minus its yield, as a share.

    name: one of `REACTIONS`.
    seed: unused, because there is only one table; seeds differ in their initial points.
    data: the folder of the tables.

    Raises OSError if the file is missing, ValueError if it is damaged.
    """
    del seed
    file = data / "reactions" / f"{name}.csv.xz"
    with report_damage(file), lzma.open(file, "rt", encoding="utf-8") as stream:
        head, *lines = list(csv.reader(stream))
        parts = {part: sorted({line[i] for line in lines}) for i, part in enumerate(head[:-1])}
        choices = {part: values for part, values in parts.items() if len(values) > 1}
        columns = [(head.index(part), {value: k for k, value in enumerate(values)}) for part, values in choices.items()]
        rows = [tuple(codes[line[i]] for i, codes in columns) for line in lines]
        yields = -np.array([float(line[-1]) for line in lines]) / REACTIONS[name]
        return _from_table(choices, rows, yields, "the yield was not measured", False)


def _from_table(
    choices: dict[str, list[Any]], rows: Sequence[tuple[int, ...]], values: np.ndarray, why: str, ordered: bool
) -> Task:
    """Make a problem of a table; points that are not in it are not allowed, and points without a finite value fail."""
    table = dict(zip(rows, values.tolist(), strict=True))
    codes = {name: {value: k for k, value in enumerate(values)} for name, values in choices.items()}

    def row(point: Point) -> tuple[int, ...]:
        return tuple(codes[name][point[name]] for name in choices)

    def is_measured(point: Point) -> bool:
        return row(point) in table

    def value(point: Point) -> float:
        found = table.get(row(point), math.nan)  # peers without constraints may suggest missing points
        if not math.isfinite(found):
            raise bo.Infeasible(why)
        return found

    whole = len(table) == np.prod([len(own) for own in choices.values()])
    variables = {name: bo.Ordinal(own) if ordered and len(own) > 2 else own for name, own in choices.items()}
    return Task(bo.Space(variables, () if whole else (is_measured,)), value)


def nasbench201(seed: int, data: Path) -> Task:
    """Make the choice of a cell of NAS-Bench-201 as six choices: its validation error on ImageNet-16-120, in percent.

    seed: chooses which of the trainings is used.
    data: the folder of the tables.

    Raises OSError if the file is missing, ValueError if it is damaged.
    """
    file = data / "nasbench201" / "nasbench201.npz"
    with open_arrays(file) as stored:
        edges, accuracies = stored["edges"], stored["in16_val_200ep"]
        training = np.where(np.isnan(accuracies[:, seed % QUERIES]), accuracies[:, 0], accuracies[:, seed % QUERIES])
        choices = {f"edge {i}": ["none", "skip", "conv1", "conv3", "pool"] for i in range(edges.shape[1])}
        return _from_table(choices, [tuple(row) for row in edges.tolist()], 100.0 - training, "no value", False)


def maxsat(name: str, seed: int, data: Path) -> Task:
    """Make a weighted MaxSAT problem from a file, with relabeled values.

    name: of the file.
    seed: of the labels.
    data: the folder of the tables.

    Raises OSError if the file is missing, ValueError if it is damaged.
    """
    problem = problems.load(f"maxsat:file={data / 'maxsat' / name},relabel={seed}")
    assert isinstance(problem.space, bo.Space)
    return Task(problem.space, problem.noise_free)


MEASURED = {
    **{f"kernel {name}": partial(kernel_tuning, name) for name in DEVICES},
    **{f"reaction {name.partition('_')[0]}": partial(reaction, name) for name in REACTIONS},
    "nas-bench-201": nasbench201,
    "maxsat 43": partial(maxsat, "maxcut-hamming8-2.clq.wcnf"),
    "maxsat 60": partial(maxsat, "frb-frb10-6-4.wcnf"),
}
