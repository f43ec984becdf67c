"""A tuning space of Kernel Tuner, a T1 file, and a study that is stored and loaded with its conditions.

The kernel is a formula that stands in for a run on a GPU.
"""

import json
import tempfile
from pathlib import Path

import bostruct as bo
from bostruct.integrations.kernel_tuner import read_constants, read_space

VALUES = {"block_x": "[16 * i for i in range(1, 17)]", "block_y": "[2**i for i in range(6)]", "tile": "[1, 2, 4]"}
SPACE = {
    "TuningParameters": [{"Name": name, "Type": "int", "Values": text} for name, text in VALUES.items()]
    + [{"Name": "width", "Type": "int", "Values": "[15]"}],
    "Conditions": [
        {"Expression": "32 <= block_x * block_y <= 1024", "Parameters": ["block_x", "block_y"]},
        {"Expression": "(block_x * tile + width - 1) * block_y < 12 * 1024", "Parameters": ["block_x", "tile"]},
    ],
}


def run_kernel(point):
    """Return milliseconds."""
    threads = point["block_x"] * point["block_y"]
    return 1.0 + abs(threads - 256) / 256 + abs(point["tile"] - 2) / 4 + point["width"] / point["block_x"]


with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "T1.json").write_text(json.dumps({"ConfigurationSpace": SPACE}))
    space, constants = read_space(Path(folder) / "T1.json"), read_constants(Path(folder) / "T1.json")
    storage = Path(folder) / "tuning.db"
    bo.minimize(lambda point: run_kernel(constants | point), space, 20, seed=0, storage=storage, name="kernel")
    with bo.Study.load(storage, "kernel") as study:  # the conditions are in the file
        print(f"{space.count().count} of {space.n_points} configurations, conditions: {study.domain.constraints}")
        print(f"best of 20: {study.best_value:.3f} ms at {constants | study.best_point}")
