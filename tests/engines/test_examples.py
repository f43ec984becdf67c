"""The examples of engines are short, start their engine, and find something."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "engines"
PACKAGES = {
    "on_dask": "distributed",
    "on_ray": "ray",
    "in_ray_tune": "ray",
    "on_mpi": "mpi4py",
    "on_loky": "loky",
    "with_joblib": "joblib",
    "on_slurm": "submitit",
}
MOST_LINES = 30


def test_each_engine_has_a_short_example():
    found = {path.stem: path.read_text().count("\n") for path in FOLDER.glob("*.py")}
    assert found.keys() == PACKAGES.keys()
    assert {name: lines for name, lines in found.items() if lines > MOST_LINES} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_an_example_runs(name, tmp_path):
    package = PACKAGES[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    if name == "on_mpi":
        beside = Path(sys.executable).parent / "mpiexec"  # of the wheel mpich
        mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
        if mpiexec is None:
            pytest.skip("no MPI library is installed")
        command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", command[1]]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("best "), done.stdout
