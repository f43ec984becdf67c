"""Compiled loops: when they are imported, and where their machine code is kept."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bostruct
from bostruct.kernels.loops import load_loops
from bostruct.outcome import WORKER_NUMBER

LOAD = """
import logging, sys
from bostruct.kernels import loops
if sys.argv[1:]: logging.basicConfig(level=sys.argv[1], stream=sys.stdout)
for room in ("space", "otmann"): loops.load_loops(f"bostruct.kernels.{room}.compiled")
"""
RUN = """
import sys, bostruct as bo
from bostruct.cli.doctor import compile_loops
from bostruct.kernels.otmann.distance import otmann_distances
print(compile_loops() if sys.argv[1:] else otmann_distances(bo.cnn_domain().pool[:2]))
"""


@pytest.mark.usefixtures("default_sigint")
def test_signals_wait_for_the_import_of_numba(monkeypatch):
    imported = []

    def import_module(name):
        signal.raise_signal(signal.SIGINT)
        imported.append(name)
        return sys

    monkeypatch.setattr("importlib.import_module", import_module)
    with pytest.raises(KeyboardInterrupt):
        load_loops.__wrapped__("any")
    assert imported == ["any"]


def test_bostruct_imports_without_numba():
    code = "import sys, bostruct as bo; bo.Space({'x': bo.Real(0, 1)}); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def read_only(tmp_path_factory) -> Path:
    """A copy of the package in which nobody, root included, can make the folders of the cache."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(Path(bostruct.__file__).parent, folder / "bostruct", ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("space", "otmann"):
        (folder / "bostruct" / "kernels" / room / "__pycache__").write_text("")
    return folder


def list_code(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.nbc")}


@pytest.mark.parametrize(
    ("level", "worker", "shown", "logged"), [([], {}, 1, 0), (["INFO"], {}, 0, 2), ([], {WORKER_NUMBER: "0"}, 0, 0)]
)
def test_a_first_compilation_is_announced_once_on_a_terminal(tmp_path, level, worker, shown, logged):
    ours, theirs = pty.openpty()
    around = {**os.environ, **worker, "NUMBA_CACHE_DIR": str(tmp_path)}
    try:
        line = [sys.executable, "-c", LOAD, *level]
        done = subprocess.run(line, env=around, stdout=subprocess.PIPE, stderr=theirs, check=True)
        os.write(theirs, b"end")
        text = ""
        while not text.endswith("end"):  # a read may return a part
            text += os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    said = "compiling, once for this installation; it takes some seconds"
    assert text == f"bostruct: {said}\r\n" * shown + "end"
    assert done.stdout.decode().count(said) == logged


def test_a_compilation_is_not_announced_if_code_is_kept_or_stderr_is_a_file(tmp_path):
    around = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    line = [sys.executable, "-c", LOAD, "INFO"]
    first = subprocess.run(line, env=around, capture_output=True, text=True, check=True)
    assert (first.stdout.count("compiling"), first.stderr) == (2, "")
    for folder in tmp_path.iterdir():
        (folder / "compiled.any-1.py311.nbi").touch()
    again = subprocess.run(line, env=around, capture_output=True, text=True, check=True)
    assert "compiling" not in again.stdout


ALL = pytest.param(["all"], marks=pytest.mark.slow)


@pytest.mark.parametrize("loops", [[], ALL], ids=["OTMANN", "all"])
@pytest.mark.parametrize("place", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_the_code_of_a_read_only_installation_is_in_the_cache_of_the_user_or_where_numba_is_told(
    read_only, tmp_path, place, loops
):
    around = {name: text for name, text in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    around |= {"PYTHONPATH": str(read_only), "PYTHONDONTWRITEBYTECODE": "1", place: str(tmp_path)}
    line = [sys.executable, "-c", RUN, *loops]
    subprocess.run(line, env=around, cwd=tmp_path, check=True)
    made = list_code(tmp_path)
    assert {name.partition("-")[0].partition(".")[0] for name in made} >= {"compiled", "network_simplex"}
    again = subprocess.run(line, env=around, cwd=tmp_path, check=True, stdout=subprocess.PIPE)
    assert list_code(tmp_path) == made  # nothing is compiled again
    assert not loops or Path(again.stdout.decode().strip()).is_relative_to(tmp_path)


@pytest.mark.slow
def test_without_any_folder_loops_are_compiled_for_the_process(read_only, tmp_path):
    around = {name: text for name, text in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    around |= {"PYTHONPATH": str(read_only), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(nowhere)}
    around |= {"XDG_CACHE_HOME": str(nowhere), "TMPDIR": str(tmp_path)}
    line = [sys.executable, "-c", RUN, "all"]
    assert subprocess.run(line, env=around, cwd=tmp_path, check=True, capture_output=True).stdout == b"None\n"
    assert list(tmp_path.iterdir()) == [nowhere]
