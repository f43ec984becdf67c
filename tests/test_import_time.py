"""Importing the package, and what everyone does with it first, costs little."""

import importlib.util
import json
import subprocess
import sys

import pytest

HEAVY = {"torch", "gpytorch", "sklearn", "ot", "scipy.stats", "matplotlib", "pandas", "networkx"}
MOST_SECONDS = 0.3

SPACE = 'import bostruct as bo; bo.Space({"a": bool, "b": [1, 2], "c": range(3), "d": bo.Integer(0, 3)})'

ERRORS = "import bostruct as bo; bo.MissingExtra, bo.StudyLocked"  # what an `except` names


def run(code: str) -> tuple[set[str], float]:
    """Modules loaded, and CPU seconds taken, by a statement in a new process."""
    script = (
        "import json, sys, time\nbefore = time.process_time()\n"
        f"{code}\nprint(json.dumps([sorted(sys.modules), time.process_time() - before]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules, seconds = json.loads(done.stdout)
    return set(modules), seconds


STUDY = 'import bostruct as bo; bo.Study({"a": bool, "x": bo.Real(0.0, 1.0), "order": bo.Permutation(range(4))})'
SCIPY = {f"scipy.{part}" for part in ("special", "linalg", "sparse", "optimize", "interpolate")}


@pytest.mark.parametrize("code", [STUDY, 'import bostruct as bo; bo.Study(bo.cnn_domain(), method="nasbot")'])
def test_a_study_is_made_without_compiled_loops_and_the_parts_of_scipy(code):
    """A first suggestion needs them: Study() takes .3 s and 50 MB in place of .6 s and 90 MB."""
    assert run(code)[0] & (SCIPY | HEAVY | {"numba"}) == set()


@pytest.mark.parametrize("code", ["import bostruct", SPACE, ERRORS, "import bostruct.cli"])
def test_loads_nothing_heavy(code):
    if code.endswith(".cli") and importlib.util.find_spec("bostruct.cli") is None:
        pytest.skip("there is no command line in this build")
    modules, _ = run(code)
    assert "bostruct" in modules
    assert modules & HEAVY == set()


def test_takes_less_than_a_third_of_a_second():
    """The best of five: CPU time, which a busy machine stretches less than it does the clock."""
    assert min(run("import bostruct")[1] for _ in range(5)) < MOST_SECONDS


def test_a_heavy_module_would_be_seen():
    modules, seconds = run("import scipy.stats")
    assert "scipy.stats" in modules
    assert seconds > 0
