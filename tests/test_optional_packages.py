"""The core and the command line run where torch and gpytorch are missing, and say in a sentence what needs them."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from bostruct.checks import optional_import
from bostruct.contracts import MissingExtra
from tests.without_modules import ROOT, python_without

METHODS = """
import bostruct as bo

space = {"a": bool, "b": [1, 2, 3], "c": range(4)}
for method in ("auto", "combo", "bocs", "smac", "wrs"):
    bo.minimize(lambda point: point["b"] + point["c"], space, method=method, n_trials=12, seed=0)
    print(method)
bo.minimize(len, bo.cnn_domain(), method="nasbot", n_trials=12, seed=0)
print("nasbot")
"""
PROGRAM = """
import bostruct as bo
from bostruct.language import SearchSpace
from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn

found = bo.minimize(len, SearchSpace(reduced_wrs_cnn()), method="random", n_trials=3, seed=0)
found.best_point.to_torch((1, 3, 32, 32))
"""
NEEDS_TORCH = "torch is not installed, and this part of bostruct needs it: pip install torch"


def test_the_page_installs_all_but_torch_and_what_needs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[><=!]", one)[0] for one in project["dependencies"]} - {"torch", "gpytorch"}
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    lines = re.search(r"((?:^ *pip install \w.*\n)+) *pip install --no-deps \.$", page, re.MULTILINE)
    assert lines is not None
    words = lines[1].replace("pip install", "").split()
    assert {re.split(r"[><=!]", one.strip("'"))[0] for one in words} == needed


@pytest.fixture
def python(tmp_path):
    """Run Python without torch and its kin: arguments -> the finished process."""
    return python_without(("torch", "gpytorch", "linear_operator", "botorch"), tmp_path)


@pytest.mark.parametrize("package", ["torch", "gpytorch"])
def test_the_packages_are_hidden(python, package):
    assert f"No module named '{package}'" in python("-c", f"import {package}").stderr


def test_methods_run(python):
    done = python("-c", METHODS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["auto", "combo", "bocs", "smac", "wrs", "nasbot"]


def test_commands_run(python):
    lines = {
        "problems": "contamination",
        "methods": "nasbot",
        "run contamination:stages=8 --trials 22 --workers 2": "22 completed, 0 failed",
        "compare branin --methods auto,random --seeds 1 --trials 6 --processes 1 --out out": "6 trials a run",
    }
    calls = [f"print({line!r})\nmain({line.split()}, standalone_mode=False)" for line in lines]
    done = python("-c", "\n".join(["from bostruct.cli import main", *calls]))
    assert done.returncode == 0, done.stderr
    for line, printed in lines.items():
        assert printed in done.stdout.partition(line + "\n")[2]


def test_doctor_finds_no_problem_and_says_what_is_lost(python):
    done = python("-m", "bostruct", "doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert (found["versions"]["torch"], found["versions"]["gpytorch"]) == (None, None)
    assert [note.partition(" is not installed: ")[0] for note in found["notes"]][:2] == ["torch", "gpytorch"]
    assert found["notes"][0].endswith("; pip install torch")
    assert found["self_test"]["ok"]


@pytest.mark.slow
def test_doctor_in_words(python):
    lines = python("-m", "bostruct", "doctor", "--all").stdout.splitlines()
    assert any(line.startswith("note") and "torch is not installed: no network can be built" in line for line in lines)
    assert any(line.startswith("packages") and "torch absent" in line for line in lines)


def test_nas_answers_in_a_sentence(python):
    done = python("-m", "bostruct", "nas", "digits")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {NEEDS_TORCH}\n")


def test_what_needs_torch_says_so(python):
    statements = ["from bostruct.nas import to_torch", "import bostruct.integrations.gpytorch", PROGRAM]
    tried = "try:\n    exec({!r}, {{}})\nexcept MissingExtra as error:\n    print(error)\n"
    done = python("-c", "\n".join(["from bostruct.contracts import MissingExtra", *map(tried.format, statements)]))
    assert (done.returncode, done.stdout) == (0, f"{NEEDS_TORCH}\n" * 3)


def test_a_missing_extra_is_asked_of_a_checkout():
    with pytest.raises(MissingExtra) as caught:
        optional_import("bostruct_has_no_such_module", "plot")
    assert str(caught.value) == (
        "bostruct_has_no_such_module is not installed; it comes with the extra 'plot': pip install '.[plot]' in a "
        "checkout of bostruct"
    )
