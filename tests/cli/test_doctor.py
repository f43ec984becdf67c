"""`bostruct doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.cli import doctor
from tests.cli.invoke import as_json, call


def test_passes_here():
    found = as_json("doctor")
    assert found["problems"] == []
    assert found["bostruct"] == bo.__version__  # of the code that runs, whatever was installed before
    assert found["self_test"]["from_model"] > 0
    assert {pool["library"] for pool in found["threads"]} >= {"torch"}
    assert {"numpy", "torch", "POT", "click"} <= set(found["versions"])
    assert {"plot", "sat"} <= set(found["extras"])


def test_says_in_words_how_to_get_an_extra(monkeypatch):
    known = doctor.installed_version
    monkeypatch.setattr(doctor, "installed_version", lambda name: None if name == "pandas" else known(name))
    shown = call("doctor", "--all").stdout
    assert "not installed: pandas" in call("doctor").stdout
    assert "no data frames (to_dataframe); pip install '.[pandas]' in a checkout of bostruct" in shown
    assert "passed" in shown


def test_compiling_is_announced(monkeypatch):
    monkeypatch.setattr(doctor, "compile_loops", lambda: "/cache/loops")
    monkeypatch.setattr(doctor, "thread_pools", lambda _: [{"library": "openmp", "version": None, "threads": 1}])
    done = call("doctor", "--compile")
    assert done.stderr == "compiling the loops of all models, which takes up to a minute\n"
    assert "openmp: 1" in done.stdout
    assert "code in /cache/loops\n" in done.stdout
    assert "compiled" not in call("doctor").stdout


def test_code_that_cannot_be_kept_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "compile_loops", lambda: None)
    failed = call("doctor", "--compile", code=1)
    assert "compiled code cannot be kept: set NUMBA_CACHE_DIR to a writable folder" in failed.stdout


@pytest.mark.parametrize("found", [None, "/usr/bin/dot"])
def test_says_where_the_program_that_draws_is_missing(monkeypatch, found):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: found if name == "dot" else None)
    assert any("Graphviz program dot" in note for note in as_json("doctor")["notes"]) == (found is None)


def test_knows_what_every_optional_package_is_for():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(doctor.EXTRAS) == set(project["optional-dependencies"]) - {"all", *doctor.FOR_A_CHECKOUT}
    assert set(doctor.OPTIONAL) < set(doctor.requirements(project["dependencies"])[""])


def test_a_torch_that_cannot_be_imported_is_a_problem(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    torch, problems = doctor.load_torch()
    assert torch is None
    assert len(problems) == 1
    assert problems[0].startswith("torch is installed, but cannot be imported: ")


@pytest.mark.parametrize("error", [RuntimeError("built for another numpy"), AttributeError("_ARRAY_API")])
def test_whatever_a_broken_package_raises_is_a_problem_and_no_traceback(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("bostruct.problems.registry.load", fail)
    found = doctor.examine()
    assert found["problems"] == [f"the self-test failed: {type(error).__name__}: {error}"]
    assert found["threads"] == []


def test_reads_what_is_needed_from_the_package():
    lines = ["numpy>=1.26", "POT!=0.9.7.*,>=0.9.4", "bostruct[plot]; extra == 'all'", 'pandas>=2; extra == "pandas"']
    assert doctor.requirements([*lines, "ruff; extra == 'dev'"]) == {"": ["numpy", "POT"], "pandas": ["pandas"]}


def test_a_missing_package_is_a_failure(monkeypatch):
    known = doctor.installed_version
    monkeypatch.setattr(doctor, "installed_version", lambda name: None if name == "POT" else known(name))
    assert "POT is not installed" in call("doctor", code=1).stdout
