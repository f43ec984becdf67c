"""Who may import whom: the imports of every file are read, none is run.

All imports count for rooms and cycles, those inside functions and under `TYPE_CHECKING` too; for weight, those that
happen when a module is loaded.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.house.imports import Import, cycles, module_name, read_imports

ROOT = Path(__file__).resolve().parents[1] / "bostruct"
pytestmark = pytest.mark.xdist_group("layers")

BASE = {"contracts", "checks", "display", "outcome", "output_files", "goals", "plugins"}
DOMAINS = {"domains", "domains.space", "domains.architecture", "domains.language"}
KERNELS = {"kernels", "kernels.space", "kernels.otmann"}
PARTS = BASE | DOMAINS | KERNELS | {"surrogates", "acquisition", "searchers", "methods"}
ROOMS = PARTS | {"study", "storage", "execution", "analysis", "problems", "nas", "integrations", "language", "optimize"}
ROOMS |= {"testing", "comparison", "serving"}

ALLOWED: dict[str, set[str]] = {
    "public_names": set(),
    "contracts": {"public_names"},
    "checks": {"contracts"},
    "display": {"contracts", "checks"},
    "outcome": {"contracts", "checks"},
    "output_files": set(),
    "goals": {"contracts", "checks", "outcome"},
    "plugins": {"contracts", "checks"},
    "domains.space": BASE,
    "domains.architecture": BASE | {"domains.space"},
    "domains.language": BASE | {"domains.space", "domains.architecture"},
    "domains": BASE | DOMAINS,
    "kernels": BASE | {"bostruct.execution.interrupts"},  # signals wait for the import of Numba
    "kernels.space": BASE | {"kernels", "domains.space"},
    "kernels.otmann": BASE | {"kernels", "domains.architecture"},
    "surrogates": BASE,
    "acquisition": BASE
    | {"bostruct.surrogates.horseshoe", "bostruct.domains.space.space"},  # BOCS minimizes polynomials
    "searchers": BASE | {"bostruct.domains.fidelity"},  # Hyperband moves points between fidelities
    "methods": PARTS,
    # Steps on disk are cut by signals, and by forks of other threads; times on disk are possible ones.
    "storage": BASE | {"bostruct.execution.interrupts", "bostruct.execution.clock"},
    "execution": BASE,
    # A study reads its domain from its file and its method by name, and takes a dict of variables for a space.
    # It also limits the calls of predicates that a suggestion may make, and guesses the variables of a table.
    "study": BASE
    | {"storage", "execution", "methods", "bostruct.domains.registry"}
    | {"bostruct.domains.space.space", "bostruct.domains.space.points", "bostruct.domains.space.call_limit"}
    | {"bostruct.domains.space.levels", "bostruct.domains.space.variable", "bostruct.domains.space.clauses"}
    | {"bostruct.domains.space.registry", "bostruct.problems.paths"},  # a table is a data file
    "analysis": BASE
    | {"study", "bostruct.surrogates.fanova", "bostruct.domains.part_choices"}
    | {"bostruct.domains.space.variable", "bostruct.domains.architecture.value"},  # which reports draw
    "problems": BASE | DOMAINS,
    "nas": BASE | DOMAINS | {"public_names", "bostruct.problems.paths"},
    "language": BASE | {"domains.language", "public_names"},
    "optimize": BASE | {"study"},
    # A comparison runs studies, over processes, and draws and judges what they found.
    "comparison": BASE | {"methods", "problems", "study", "storage", "execution", "analysis", "domains"},
    # A bridge shows a study's trials to another library, that library's trials to our searchers, makes its problems
    # ours, and keeps a study in its files.
    "integrations": PARTS
    | {"study", "storage", "bostruct.problems.own", "bostruct.problems.paths", "bostruct.execution.clock"},
    # The laws rebuild a domain from its description, and show a searcher a history.
    "testing": BASE
    | {"storage", "execution", "bostruct.domains.registry", "bostruct.study.history"}
    | {"bostruct.domains.space.variable", "bostruct.domains.architecture.value", "bostruct.kernels.space.factor"},
    # Studies for other programs; a description in JSON becomes a space of variables.
    "serving": BASE
    | {"study", "storage", "methods", "bostruct.domains.space.space"}
    | {"bostruct.domains.space.registry", "bostruct.domains.space.clauses"},
    "cli": ROOMS | {"door"},
    "door": ROOMS | {"cli", "public_names"},  # bostruct/__init__.py, bostruct/__main__.py
    "facades": ROOMS | {"public_names"},
}
# Rooms whose `__init__` holds their public names, which are for users: the package itself imports the files.
FACADES = {"acquisition", "domains", "execution", "kernels", "kernels.otmann", "searchers", "storage", "study"}
FACADES = {f"bostruct.{room}" for room in FACADES | {"surrogates"}}
HEAVY = {"torch", "gpytorch", "botorch", "sklearn", "ot", "matplotlib", "pandas", "networkx", "optuna", "scipy.stats"}
VERSION = "bostruct.__version__"  # which anybody may know
ROOMS_WITH_CODE = ("contracts", "methods", "problems", "nas", "cli", "testing")
WITH_CODE = {"bostruct", *(f"bostruct.{room}" for room in ROOMS_WITH_CODE), *FACADES}  # packages
OUTSIDE = {"benchmarks", "tests"}


def layer(module: str) -> str:
    """The row of the table that a module belongs to: the room that it lies in, the innermost one that has a row."""
    if module in FACADES:
        return "facades"
    parts = module.split(".")[1:]
    if not parts or parts[0] == "__main__":
        return "door"
    inner = ".".join(parts[:2])
    return inner if inner in ALLOWED else parts[0]


def imports(source: str, module: str, modules: set[str]) -> list[Import]:
    """All imports in a file; `from a import b` means a.b where that is a module."""
    return read_imports(source, module, {*modules, *HEAVY, VERSION})


def violations(found: dict[str, list[Import]]) -> list[str]:
    """Edges that the table does not allow, in words."""
    wrong = []
    for module, edges in found.items():
        mine = layer(module)
        for edge in edges:
            top = edge.target.split(".")[0]
            if top in OUTSIDE:
                wrong.append(f"{module}:{edge.line} imports {edge.target}, which is not installed")
            theirs = layer(edge.target)
            if top != "bostruct" or mine == theirs or edge.target == VERSION:
                continue
            if {theirs, edge.target} & ALLOWED.get(mine, set()):
                continue
            wrong.append(f"{module}:{edge.line} ({mine}) imports {edge.target} ({theirs})")
    return wrong


def running(found: dict[str, list[Import]]) -> dict[str, set[str]]:
    """module -> what importing it imports, itself and parent packages left out."""
    return {module: {e.target for e in edges if e.when == "load"} - {module} for module, edges in found.items()}


def reachable(start: str, graph: dict[str, set[str]]) -> dict[str, str]:
    """Everything imported with `start` -> who imports it."""
    parent: dict[str, str] = {start: ""}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        packages = {module.rsplit(".", i)[0] for i in range(1, module.count(".") + 1)}
        for target in graph.get(module, set()) | packages:
            if target not in parent:
                parent[target] = module
                waiting.append(target)
    return parent


def weights(start: str, graph: dict[str, set[str]]) -> list[str]:
    """Heavy packages imported with `start`, and by whom."""
    parents = reachable(start, graph)
    heavy = tuple(f"{package}." for package in HEAVY)
    return [f"{parents[target]} imports {target}" for target in parents if f"{target}.".startswith(heavy)]


@pytest.fixture(scope="module")
def found() -> dict[str, list[Import]]:
    sources = {module_name(path, ROOT): path for path in sorted(ROOT.rglob("*.py"))}
    return {
        module: imports(path.read_text(), f"{module}.__init__" if path.stem == "__init__" else module, set(sources))
        for module, path in sources.items()
    }


def test_only_edges_that_the_table_allows(found):
    assert violations(found) == []


def test_every_room_has_a_row(found):
    assert {layer(module) for module in found} <= ALLOWED.keys()
    assert {room.partition(".")[0] for room in ALLOWED} - {"door", "facades"} == {
        path.stem if path.suffix else path.name
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    } - {"__init__", "__main__"}


def test_the_first_row_needs_numpy_alone(found):
    for module in ("public_names", "contracts", "checks", "display", "outcome", "output_files"):
        tops = {edge.target.split(".")[0] for edge in found[f"bostruct.{module}"]}
        assert tops & {"scipy", "torch", "networkx", "sklearn", "pandas", "matplotlib", "click", "tqdm"} == set()


def test_no_import_cycles(found):
    assert cycles({module: {edge.target for edge in edges} - {module} for module, edges in found.items()}) == []


def test_subpackages_hold_a_docstring_and_nothing_else(found):
    for module in found:
        path = ROOT.parent.joinpath(*module.split(".")) / "__init__.py"
        if path.exists() and module not in WITH_CODE:
            body = ast.parse(path.read_text()).body
            assert len(body) == 1, f"{path} holds more than a docstring"
            assert isinstance(body[0], ast.Expr)


@pytest.mark.parametrize(
    "start", ["bostruct", "bostruct.domains.space.space", "bostruct.domains.registry", "bostruct.cli"]
)
def test_nothing_heavy_comes_with(start, found):
    if start not in found:
        pytest.skip(f"{start} is not there")
    assert weights(start, running(found)) == []


class TestTheChecksCanFail:
    modules = (
        "bostruct",
        "bostruct.kernels.space.diffusion",
        "bostruct.searchers.baselines",
        "bostruct.analysis.plots",
    )

    def edges(self, source: str, module: str) -> dict[str, list[Import]]:
        return {module: imports(source, module, set(self.modules))}

    @pytest.mark.parametrize(
        ("source", "module"),
        [
            ("from bostruct.kernels.space.diffusion import ard_diffusion", "bostruct.searchers.baselines"),
            ("from bostruct.kernels.space import diffusion", "bostruct.searchers.baselines"),
            ("from ..kernels.space import diffusion", "bostruct.searchers.baselines"),
            ("def f():\n    import bostruct.methods", "bostruct.surrogates.map_gp"),
            ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bostruct.study.study", "bostruct.checks"),
            ("import bostruct.cli", "bostruct.study.study"),
            ("from bostruct.analysis.plots import draw", "bostruct.storage.sqlite"),
            ("def f():\n    from bostruct.analysis.plots import draw", "bostruct.study.result"),
            ("from bostruct.domains.language.walk import Walk", "bostruct.domains.space.space"),
            ("from bostruct.storage.sqlite import SqliteStorage", "bostruct.execution.pools"),
            ("import bostruct", "bostruct.searchers.baselines"),
            ("from benchmarks import report", "bostruct.cli"),
            ("from bostruct.domains import AllOf", "bostruct.serving.service"),
        ],
    )
    def test_forbidden_edges_are_found(self, source, module):
        assert len(violations(self.edges(source, module))) == 1

    @pytest.mark.parametrize(
        ("source", "module"),
        [
            ("from bostruct.domains.space.graphs import PathGraph", "bostruct.kernels.space.diffusion"),
            ("from bostruct.domains.registry import domain_from_json", "bostruct.study.records"),
            ("from bostruct.searchers.scores import Score", "bostruct.searchers.bayesian"),
            ("def f():\n    from bostruct.analysis.plots import draw", "bostruct.cli.studies"),
            ("from bostruct import __version__", "bostruct.study.study"),
            ("import bostruct as bo", "bostruct.cli"),
        ],
    )
    def test_allowed_edges_are_not(self, source, module):
        assert violations(self.edges(source, module)) == []

    def test_cycles_are_found(self):
        assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
        assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []

    def test_weight_is_found_behind_another_module_unless_deferred(self):
        sources = {"bostruct": "", "bostruct.analysis.plots": "import bostruct.heart"}
        for heart, told in (
            ("from torch import nn", ["bostruct.heart imports torch"]),
            ("def f():\n    import torch", []),
        ):
            sources["bostruct.heart"] = heart
            found = {module: imports(source, module, set(sources)) for module, source in sources.items()}
            assert weights("bostruct.analysis.plots", running(found)) == told
