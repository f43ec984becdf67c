"""Who may import whom: the imports of every file are read, none is run.

A module-level import counts for layers, cycles and weight; one inside a function for layers only; one under
`TYPE_CHECKING` for layers only.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.house.imports import Import, cycles, module_name, read_imports

ROOT = Path(__file__).resolve().parents[1] / "bostruct"

BASE = {"contracts", "checks", "display", "history"}
CORE = {"domains", "kernels", "surrogates", "acquisition", "searchers"}
PARTS = BASE | CORE | {"methods"}
EVERYTHING = PARTS | {"shell", "problems", "nas", "language", "plots", "integrations"}

ALLOWED: dict[str, set[str]] = {
    "contracts": set(),
    "checks": {"contracts"},
    "display": {"contracts", "checks"},
    "history": {"contracts", "checks", "display"},
    "domains": BASE,
    "kernels": BASE | {"domains"},
    "surrogates": BASE,
    "acquisition": BASE,
    "searchers": BASE,
    "methods": BASE | CORE,
    "language": BASE | {"domains"},
    "shell": BASE | {"methods"},  # and the doors to domains below
    "problems": BASE | {"domains"},
    "nas": BASE | {"domains"},
    "integrations": PARTS | {"shell"},
    "plots": EVERYTHING | {"door"},
    "cli": EVERYTHING | {"door"},
    "door": EVERYTHING | {"cli"},  # bostruct/__init__.py, bostruct/__main__.py
}
PACKAGES = {*CORE, "methods", "problems", "nas", "integrations", "cli", "plots"}
# The study reads a domain from its file, and takes a dict of variables for a space; a result can draw itself.
EXCEPTIONS = {
    ("shell", "bostruct.domains.registry"),
    ("shell", "bostruct.domains.space.space"),
    ("bostruct.study.result", "bostruct.analysis.plots"),
    ("bostruct.analysis.importances", "bostruct.surrogates.fanova"),
}
HEAVY = {"torch", "gpytorch", "botorch", "sklearn", "ot", "matplotlib", "pandas", "networkx", "optuna", "scipy.stats"}
VERSION = "bostruct.__version__"  # which anybody may know
OUTSIDE = {"benchmarks", "tests"}


def layer(module: str) -> str:
    """The row of the table that a module belongs to; a top-level module of no row of its own is part of the shell."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] == "__main__":
        return "door"
    return parts[1] if parts[1] in ALLOWED else "shell"


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
            if (
                top != "bostruct"
                or mine == layer(edge.target)
                or (edge.target == "bostruct" and mine in ("cli", "door"))
            ):
                continue
            excused = {(mine, edge.target), (module, edge.target)} & EXCEPTIONS
            if layer(edge.target) not in ALLOWED[mine] and not excused:
                wrong.append(f"{module}:{edge.line} ({mine}) imports {edge.target} ({layer(edge.target)})")
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
    return [
        f"{parents[target]} imports {target}"
        for target in parents
        if any(target == heavy or target.startswith(heavy + ".") for heavy in HEAVY)
    ]


@pytest.fixture(scope="module")
def found() -> dict[str, list[Import]]:
    sources = {module_name(path, ROOT): path for path in sorted(ROOT.rglob("*.py"))}
    return {
        module: imports(path.read_text(), f"{module}.__init__" if path.stem == "__init__" else module, set(sources))
        for module, path in sources.items()
    }


def test_only_edges_that_the_table_allows(found):
    assert violations(found) == []


def test_every_package_has_a_row():
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} <= PACKAGES


def test_the_first_row_needs_numpy_alone(found):
    for module in ("bostruct.contracts", "bostruct.checks", "bostruct.display", "bostruct.study.history"):
        tops = {edge.target.split(".")[0] for edge in found[module]}
        assert tops & {"scipy", "torch", "networkx", "sklearn", "pandas", "matplotlib", "click", "tqdm"} == set()


def test_no_import_cycles(found):
    assert cycles(running(found)) == []


def test_subpackages_hold_a_docstring_and_nothing_else(found):
    for module in found:
        path = ROOT.parent.joinpath(*module.split(".")) / "__init__.py"
        if module != "bostruct" and path.exists() and layer(module) in CORE and module.count(".") == 1:
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
    modules = frozenset(
        {"bostruct", "bostruct.kernels.space.diffusion", "bostruct.searchers.random", "bostruct.analysis.plots"}
    )

    def edges(self, source: str, module: str) -> dict[str, list[Import]]:
        return {module: imports(source, module, set(self.modules))}

    @pytest.mark.parametrize(
        ("source", "module"),
        [
            ("from bostruct.kernels.space.diffusion import DiffusionKernel", "bostruct.searchers.random"),
            ("from bostruct.kernels import diffusion", "bostruct.searchers.random"),
            ("from ..kernels import diffusion", "bostruct.searchers.random"),
            ("def f():\n    import bostruct.methods", "bostruct.surrogates.map_gp"),
            (
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bostruct.study.study",
                "bostruct.contracts",
            ),
            ("import bostruct.cli", "bostruct.study.study"),
            ("from bostruct.analysis.plots import draw", "bostruct.storage.sqlite"),
            ("import bostruct", "bostruct.searchers.random"),
            ("from benchmarks import report", "bostruct.cli"),
        ],
    )
    def test_forbidden_edges_are_found(self, source, module):
        assert len(violations(self.edges(source, module))) == 1

    @pytest.mark.parametrize(
        ("source", "module"),
        [
            ("from bostruct.domains.space.graphs import IntArray", "bostruct.kernels.space.diffusion"),
            ("from bostruct.domains.registry import domain_from_json", "bostruct.study.records"),
            ("from bostruct.searchers.scores import Score", "bostruct.searchers.bayesian"),
            ("def f():\n    from bostruct.analysis.plots import draw", "bostruct.study.result"),
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
        sources = {
            "bostruct": "",
            "bostruct.analysis.plots": "import bostruct.heart",
            "bostruct.heart": "from torch import nn",
        }
        found = {module: imports(source, module, set(sources)) for module, source in sources.items()}
        assert weights("bostruct.analysis.plots", running(found)) == ["bostruct.heart imports torch"]
        sources["bostruct.heart"] = "def f():\n    import torch"
        found = {module: imports(source, module, set(sources)) for module, source in sources.items()}
        assert weights("bostruct.analysis.plots", running(found)) == []
