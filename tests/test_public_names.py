"""Public names: pages import nothing else, packages load them when first used, and old names say what to use."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from bostruct.public_names import OLD_NAMES, attach

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), ROOT / "examples" / "README.md"]
PROGRAMS = [*sorted(ROOT.glob("docs/*.py")), *sorted(ROOT.glob("examples/**/*.py"))]
FOR_CONTRIBUTORS = {"architecture.md"}  # its text names files of the package
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"`(bostruct(?:\.[A-Za-z_]\w*)+)")


def find_file(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split("."))
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.exists()), None)


def read_promised() -> set[str]:
    """Return the modules that docs/promises.md lists; NAME stands for each file of a folder."""
    section = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8").partition("## Public names")[2]
    modules = set(re.findall(r"`(bostruct(?:\.\w+)*)`", section.partition("\n## ")[0]))
    for folder in [module.removesuffix(".NAME") for module in modules if module.endswith(".NAME")]:
        modules.remove(f"{folder}.NAME")
        modules |= {f"{folder}.{path.stem}" for path in ROOT.joinpath(*folder.split(".")).glob("[a-z]*.py")}
    return modules


def list_loaded(tree: ast.Module) -> dict[str, str] | None:
    """Return name -> module of what a package loads when first used; None if it is no such package."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "attach"]
    homes = [ast.literal_eval(call.args[1]) for call in calls]
    return {name: module for one in homes for module, names in one.items() for name in names.split()} or None


def list_typed(tree: ast.Module) -> dict[str, str]:
    """Return name -> module of what type checkers see of a package."""
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names if alias.asname == alias.name}


def list_public(module: str) -> set[str]:
    """Return the public names of a module, read from its source: some need a library that is not installed."""
    file = find_file(module)
    assert file is not None, f"docs/promises.md lists {module}, which is not there"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: set[str] = set(list_loaded(tree) or ())
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if alias.asname == alias.name}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            if names == {"__all__"}:
                return set(ast.literal_eval(node.value or ast.List([])))
            found |= names
    return {name for name in found if not name.startswith("_")} | ({"__version__"} if module == "bostruct" else set())


class Checker:
    """Find what programs use of bostruct beyond its public names."""

    def __init__(self) -> None:
        self.modules = read_promised()
        self.names = {module: list_public(module) for module in self.modules}

    def is_public(self, dotted: str) -> bool:
        """Tell whether a dotted name is a public module, a folder of them, or begins with a public name of one."""
        if any(f"{module}.".startswith(f"{dotted}.") for module in self.modules):
            return True
        parts = dotted.split(".")
        homes = [".".join(parts[:i]) for i in range(len(parts), 0, -1) if ".".join(parts[:i]) in self.modules]
        return bool(homes) and parts[homes[0].count(".") + 1] in self.names[homes[0]]

    def find_private(self, source: str) -> list[str]:
        """Return the names of bostruct that a program imports, or takes of a module that it imported, unpromised."""
        tree, bound, used = ast.parse(source), dict[str, str](), list[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    used.append(alias.name)
                    bound[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    used.append(f"{node.module}.{alias.name}")
                    bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and re.fullmatch(r"\w+(\.\w+)+", text := ast.unparse(node)):
                first, _, rest = text.partition(".")
                if bound.get(first) in self.modules:
                    used.append(f"{bound[first]}.{rest}")
        ours = [name for name in used if name.partition(".")[0] == "bostruct"]
        return [name for name in dict.fromkeys(ours) if not self.is_public(name)]


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker()


def read_blocks(text: str) -> Iterator[str]:
    return (textwrap.dedent(code) for _, code in BLOCK.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_page_uses_public_names_alone(page, checker):
    text = page.read_text(encoding="utf-8")
    assert checker.find_private("\n".join(read_blocks(text))) == []
    if page.name not in FOR_CONTRIBUTORS:
        quoted = {name.removesuffix(".NAME") for name in QUOTED.findall(FENCE.sub("", text))}
        assert {name for name in quoted if not checker.is_public(name)} == set()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_uses_public_names_alone(program, checker):
    assert checker.find_private(program.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("from bostruct.study.stopping import Patience", ["bostruct.study.stopping.Patience"]),
        ("from bostruct.study import stopping", ["bostruct.study.stopping"]),
        ("from bostruct.kernels import Nothing, Factor", ["bostruct.kernels.Nothing"]),
        ("import bostruct.outcome", ["bostruct.outcome"]),
        ("import bostruct as bo\nbo.Nothing(3)\nbo.Space({}).sample", ["bostruct.Nothing"]),
        ("from bostruct import storage as s\ns.protocol.Storage", ["bostruct.storage.protocol.Storage"]),
        ("from bostruct import methods\nmethods.combo(space).surrogate", []),
        ("from bostruct.contracts import TYPE_CHECKING, attach, Domain", ["bostruct.contracts.TYPE_CHECKING"]),
        ("from bostruct.nas.spaces.darts import darts\nfrom bostruct.integrations import ray", []),
        ("from bostruct.integrations import optuna_spaces", ["bostruct.integrations.optuna_spaces"]),
        ("import numpy as np\nnp.nothing", []),
    ],
)
def test_a_private_name_is_found(source, private, checker):
    found = checker.find_private(source)
    assert found[: len(private)] == private
    assert bool(found) == bool(private)


def test_blocks_inside_lists_are_read():
    assert list(read_blocks("- a\n\n  ```python\n  x = 1\n  ```\n\n```python\ny = 2\n```\n")) == ["x = 1\n", "y = 2\n"]


def list_packages() -> dict[str, ast.Module]:
    """Return the packages that load their names when first used."""
    trees = {
        ".".join(path.parent.relative_to(ROOT).parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "bostruct").rglob("__init__.py"))
    }
    return {package: tree for package, tree in trees.items() if list_loaded(tree)}


PACKAGES = list_packages()


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_and_dir_list_the_names_that_are_loaded(package, checker):
    loaded, module = list_loaded(PACKAGES[package]), importlib.import_module(package)
    assert list_typed(PACKAGES[package]) == loaded
    assert module.__all__ == sorted(loaded)
    assert set(module.__all__) <= set(dir(module))
    assert {name for name in dir(module) if not name.startswith("__")} <= {*loaded, *submodules(package)}
    assert package in checker.modules


def submodules(package: str) -> set[str]:
    return {path.stem for path in ROOT.joinpath(*package.split(".")).iterdir()}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_is_loaded_and_kept(package):
    if package == "bostruct.nas":
        pytest.importorskip("torch")
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]
        assert name not in submodules(package)  # a file of this name would take its place


def test_a_package_loads_nothing_before_a_name_is_used():
    packages = [package for package in PACKAGES if package != "bostruct.nas"]  # which needs to know what is installed
    code = f"import json, sys, {', '.join(packages)}\nprint(json.dumps(sorted(sys.modules)))"
    found = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert {"numpy", "scipy", "torch"} & set(found) == set()
    assert {name for name in found if name.startswith("bostruct")} == {*packages, "bostruct.public_names"}


@pytest.mark.parametrize(
    ("package", "name", "use"),
    [
        ("bostruct.contracts", "HasNeighbors", "bostruct.contracts.LocalDomain"),
        ("bostruct.contracts", "has_capability", "Domain.traits, which says what a domain can do"),
        ("bostruct.storage", "SharedWriter", "bostruct.storage.StudyWriter"),
        ("bostruct", "HasLine", "bostruct.contracts.Kernel"),
        ("bostruct", "Float", "bostruct.Real"),
    ],
)
def test_an_old_name_says_what_to_use(package, name, use):
    module = importlib.import_module(package)
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value) == f"module {package!r} has no attribute {name!r}; use {use}"
    with pytest.raises(ImportError) as refused:
        exec(f"from {package} import {name}")
    assert str(refused.value) == f"cannot import name {name!r} from {package!r}; use {use}"
    assert not hasattr(module, name)


def test_another_name_is_refused_as_python_does():
    kernels = importlib.import_module("bostruct.kernels")
    with pytest.raises(AttributeError, match=r"^module 'bostruct.kernels' has no attribute 'Nothing'$"):
        _ = kernels.Nothing
    with pytest.raises(ImportError, match=r"^cannot import name 'Nothing' from 'bostruct.kernels' \("):
        exec("from bostruct.kernels import Nothing")


def test_no_old_name_is_a_public_one_and_what_to_use_is_there(checker):
    assert {name for names in checker.names.values() for name in names} & OLD_NAMES.keys() == set()
    used = {name for use in OLD_NAMES.values() for name in re.findall(r"bostruct[\w.]*", use)}
    assert {name for name in used if not checker.is_public(name)} == set()


def test_the_module_that_misses_a_library_says_so():
    def load(_: str) -> object:
        raise ImportError("torch is not installed")

    get, _, names = attach("bostruct", {"bostruct.nowhere": "A B"}, load)  # type: ignore[arg-type]
    assert names == ["A", "B"]
    with pytest.raises(ImportError, match="torch is not installed"):
        get("A")
