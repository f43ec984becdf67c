"""Where the system is not POSIX, everything that needs it refuses in words, and the rest runs: `fcntl` is hidden."""

from __future__ import annotations

import json

import pytest

from tests.without_modules import python_without

INACTIVE = ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog")
LACKING = """
import os

for name in ("fork", "killpg", "memfd_create", "pread", "fchmod", "O_CLOEXEC", "O_NOFOLLOW"):
    delattr(os, name)
"""
REFUSALS = """
import os
import bostruct as bo

space = {"a": bool, "b": [1, 2, 3]}
for setting in ({"storage": "runs.db"}, {"workers": 2}, {"trial_timeout": 3.0}):
    try:
        bo.minimize(lambda point: point["b"], space, n_trials=5, seed=0, **setting)
    except bo.BostructError as error:
        print(error)
print(os.listdir())
"""
RUNS = """
from concurrent.futures import ThreadPoolExecutor
import bostruct as bo

space = {"a": bool, "b": [1, 2, 3], "c": range(4)}
for method in ("auto", "random"):
    print(bo.minimize(lambda point: point["b"] + point["c"], space, method=method, n_trials=14, seed=0).best_value)
with ThreadPoolExecutor(2) as executor:
    result = bo.minimize(lambda point: point["b"], space, n_trials=12, seed=0, executor=executor, workers=2)
bo.write_report(result, "report.html")
"""


@pytest.fixture
def python(tmp_path):
    """Run Python as on a system without the modules of POSIX: arguments -> the finished process."""
    return python_without(INACTIVE, tmp_path, LACKING)


def test_files_and_worker_processes_refuse_in_words_and_leave_nothing(python):
    done = python("-c", REFUSALS)
    assert (done.returncode, done.stderr) == (0, "")
    refusal = "worker processes need a POSIX system; use workers=1 with trial_timeout=None, or an executor"
    assert done.stdout.splitlines() == [
        "storage='runs.db': study files need a POSIX system (flock); use storage=None",
        f"workers=2: {refusal}",
        f"workers=1: {refusal}",
        "[]",
    ]


def test_studies_in_memory_executors_and_reports_work(python, tmp_path):
    done = python("-c", RUNS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["1.0"] * 2
    assert (tmp_path / "work" / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(("option", "code"), [("--storage runs.db", 3), ("--workers 2", 1)])
def test_a_command_refuses_in_a_sentence(python, option, code):
    done = python("-m", "bostruct", "run", "branin", "--trials", "5", *option.split())
    assert done.returncode == code
    assert "POSIX" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_doctor_tries_a_study_in_memory_and_says_what_is_lost(python):
    done = python("-m", "bostruct", "doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["self_test"]["ok"]
    assert "this system is not POSIX: no study files (storage=) and no worker processes (workers=)" in found["notes"]
