"""Parts of other packages: `module:name`, files, and entry points of installed packages."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods, plugins, problems
from bostruct.contracts import BostructError
from bostruct.domains.registry import domain_from_json
from bostruct.storage.protocol import StudyMismatch
from bostruct.testing import check_domain, check_searcher
from tests.cli.invoke import as_json, call

PLUGIN = Path(__file__).parents[2] / "examples" / "extending" / "plugin"
GROUPS = ("bostruct.methods", "bostruct.problems", "bostruct.domains")
MINE = '''
import bostruct as bo
from bostruct import methods

problem = bo.Problem(lambda point: point["a"] + 0.0, {"a": range(9)}, optimum=0.0)
pair = (len, {"a": range(9)})
number = 3

class Both:
    space = {"a": range(9)}
    direction = "maximize"

    def objective(self, point):
        return float(point["a"])

both = Both()

def make():
    return Both()

def fails():
    return 1 / 0

def method(domain):
    """Draw at random."""
    return methods.random(domain)

def fails_to_build(domain):
    raise KeyError("weights")

def builds_nothing(domain):
    return None
'''


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Iterator[Path]:
    """A current directory with a module of the user's own."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("x = 1\nimport no_such_library\n")
    (tmp_path / "raises.py").write_text("x = 1\ny = 1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("mine", "broken", "raises", "rota_plugin"):
        sys.modules.pop(name, None)


def install(folder: Path, entries: dict[str, dict[str, str]], name: str = "rota-plugin") -> None:
    """Write what an installer writes for a package, as far as entry points go."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = ("\n".join([f"[{group}]", *map(" = ".join, own.items()), ""]) for group, own in entries.items())
    (info / "entry_points.txt").write_text("\n".join(groups))
    sys.path.insert(0, str(folder))


@pytest.fixture
def installed(mine) -> Path:
    """The example plug-in as if it were installed, by the entry points of its own pyproject.toml."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    sys.path.insert(0, str(PLUGIN))
    install(mine, project["entry-points"], project["name"])
    return mine


@pytest.mark.parametrize("name", ["problem", "pair", "both", "Both", "make"])
@pytest.mark.parametrize("module", ["mine", "mine.py"])
@pytest.mark.usefixtures("mine")
def test_a_problem_of_a_module_is_loaded(module, name):
    problem = problems.load(f"{module}:{name}")
    assert problem.name == f"{module}:{name}"
    assert problem({"a": 4}) == (1 if name == "pair" else 4.0)
    assert problem.goals.direction == ("minimize" if name in ("problem", "pair") else "maximize")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("mine:number", "problem: mine:number: expected a bostruct.Problem, .* got 3"),
        ("mine:problen", r"the module mine \(.*mine.py\) has no 'problen'; it has .*Did you mean 'problem'"),
        ("mime:problem", "there is no module 'mime', neither in .* nor on Python's path"),
        ("nowhere.py:problem", "nowhere.py: there is no such file"),
        ("mine:fails", r"making the problem failed: ZeroDivisionError: division by zero \(.*mine.py, line \d+\)"),
        ("broken:problem", "importing broken failed: ModuleNotFoundError: No module named 'no_such_library'"),
        ("raises:problem", r"importing raises failed: ZeroDivisionError: division by zero \(.*raises.py, line 2\)"),
        ("brannin", "Did you mean 'branin'. A problem of your own is module:name"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_cannot_be_loaded_is_refused_in_words(spec, words):
    with pytest.raises(ValueError, match=words):
        problems.load(spec)
    assert "Traceback" not in call("run", spec, code=2).output


def test_a_file_that_another_module_hides_is_refused(mine):
    (mine / "json.py").write_text("problem = 1\n")
    with pytest.raises(ValueError, match=r"json.py: the module 'json' is .*; give the file another name"):
        problems.load("json.py:problem")


@pytest.mark.usefixtures("mine")
def test_a_method_of_a_module_goes_by_its_name(tmp_path):
    file = tmp_path / "runs.db"
    problem = problems.load("mine:problem")

    def run(n_trials, method="mine:method"):
        return bo.minimize(problem, problem.space, n_trials, method=method, seed=0, storage=file, progress=False)

    assert run(3).method == "mine:method"
    assert len(run(5).trials) == 5
    with pytest.raises(StudyMismatch, match=r"method\.name is 'mine:method' there and 'evolution' here"):
        run(6, "evolution")
    with pytest.raises(BostructError, match=r"which no file may load; pass method='mine:method'"):
        bo.Study.load(file)  # a file does not decide what is imported
    with bo.Study.load(file, method="mine:method") as study:
        assert len(study.trials) == 5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine:number", "method: mine:number: expected a function from a domain to a searcher, .* got 3"),
        ("mine:fails_to_build", r"building it failed: KeyError: 'weights' \(.*mine.py, line \d+\)"),
        ("mine:builds_nothing", "the result of .*: expected a bostruct.contracts.Searcher .*, got None"),
        ("smca", "Did you mean 'smac'"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_a_method_that_cannot_be_built_is_refused_in_words(name, words):
    with pytest.raises((ValueError, TypeError), match=words):
        methods.searcher(name, bo.Space({"a": bool}))
    assert "Traceback" not in call("run", "branin", "--method", name, code=2).output


@pytest.mark.usefixtures("mine")
def test_the_command_line_runs_and_names_own_parts():
    line = ("run", "mine.py:problem", "--method", "mine:method", "--trials", 9, "--until-optimum", "--storage", "a.db")
    found = as_json(*line)
    assert (found["problem"], found["method"], found["best_value"]) == ("mine.py:problem", "mine:method", 0.0)
    assert found["study"] == "mine.py:problem mine:method seed=0"
    assert as_json("problems", "mine:both")["specification"] == "mine:both"


class TestEntryPoints:
    @pytest.mark.usefixtures("installed")
    def test_the_example_passes_the_laws(self):
        problem = problems.load("rota")
        objective: Any = problem.objective
        check_domain(problem.space, np.random.default_rng(0))
        check_searcher(methods.find_method("swaps"), problem.space, objective, np.random.default_rng(0))

    @pytest.mark.usefixtures("installed")
    def test_its_parts_are_listed_and_run(self):
        assert "rota" in problems.names()
        summary = as_json("methods")["methods"]["swaps"]["summary"]
        assert summary == "Swap two people of the best order told; needs a rota."
        assert "rota" in [one["name"] for one in as_json("problems")["problems"]]
        found = as_json("run", "rota", "--method", "swaps", "--trials", 12)
        assert (found["method"], found["optimum"]) == ("swaps", 0.0)

    @pytest.mark.usefixtures("installed")
    def test_a_study_over_its_domain_loads_from_its_file(self, tmp_path):
        problem, file = problems.load("rota"), tmp_path / "rota.db"
        bo.minimize(problem, problem.space, n_trials=3, method="swaps", storage=file, progress=False)
        with bo.Study.load(file) as study:
            assert type(study.domain).__name__ == "Rota"
            assert study.optimize(problem, 5, progress=False).method == "swaps"

    def test_a_broken_plug_in_is_named_in_lists_and_refused_by_name(self, mine):
        install(mine, {group: {"torn": "no_such_library:part", "random": "mine:method"} for group in GROUPS})
        listed = call("methods").stderr
        assert "left out: torn: method: 'torn' (no_such_library:part, of the group bostruct.methods of the" in listed
        assert "ModuleNotFoundError" in listed
        assert "left out: random: 'random' (mine:method, of the group bostruct.methods of the" in listed
        assert "has a name of bostruct itself; give it another" in listed
        assert "left out: torn" in call("problems").stderr
        assert "rota-plugin 1.0) cannot be loaded: ModuleNotFoundError" in call("run", "torn", code=2).stderr
        assert "cannot be loaded" in call("run", "branin", "--method", "torn", code=2).stderr
        assert methods.find_method("random") is methods.METHODS["random"]  # no name of the package is taken over
        assert list(plugins.list_plugins(plugins.METHODS, methods.METHODS)) == ["torn"]

    @pytest.mark.usefixtures("installed")
    def test_a_name_that_is_misspelled_is_answered_by_names_that_load(self, mine):
        install(mine, {group: {"torn": "no_such_library:part"} for group in GROUPS}, "torn-plugin")
        for find, known in (
            (methods.find_method, "swaps"),
            (problems.load, "rota"),
            (lambda name: domain_from_json({"domain": name}), "rota"),
        ):
            with pytest.raises(ValueError, match="expected one of") as refused:
                find("torm")
            assert f", {known}" in str(refused.value)
            assert "torn" not in str(refused.value)

    @pytest.mark.usefixtures("installed")
    def test_a_plug_in_takes_no_parameters(self):
        with pytest.raises(ValueError, match="from an installed package, takes no parameters; got 'n=3'"):
            problems.load("rota:n=3")


def test_importing_the_package_reads_no_entry_points():
    script = (
        "import importlib.metadata as m, json\ndef refuse(**_): raise AssertionError\nm.entry_points = refuse\n"
        "import bostruct as bo\n"
        "r = bo.minimize(lambda p: p['a'] + 0.0, {'a': range(5)}, 3, method='random', progress=False)\n"
        "print(json.dumps(r.best_value))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) >= 0.0
