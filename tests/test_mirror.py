"""The tests mirror the package: a module has a test file in the folder of the same name, which imports the module."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from benchmarks.house.imports import module_name, read_imports

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_TESTS = {"__init__.py", "__main__.py"}  # packages, and the door of the command line


def has_code(source: str) -> bool:
    """Tell whether a file does more than to document, to import and to list its names."""
    return not all(
        isinstance(statement, ast.Import | ast.ImportFrom)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__")
        for statement in ast.parse(source).body
    )


def read_tested(folder: Path, modules: set[str]) -> set[str]:
    """Return the modules that the test files of one folder import when they run."""
    edges = [edge for path in folder.glob("test_*.py") for edge in read_imports(path.read_text(), "tests", modules)]
    return {edge.target for edge in edges if edge.when != "typing"}


def list_untested(package: Path, tests: Path) -> dict[str, list[str]]:
    """Return the modules without a test of their own, by the folder that should hold it."""
    files = {module_name(path, package): path for path in sorted(package.rglob("*.py"))}
    read_once = cache(lambda folder: read_tested(folder, set(files)))
    missing: dict[str, list[str]] = {}
    for module, path in files.items():
        if path.name in WITHOUT_TESTS or not has_code(path.read_text()):
            continue
        inside = path.parent.relative_to(package)
        if module not in read_once(tests / inside):
            missing.setdefault((Path(tests.name) / inside).as_posix(), []).append(module)
    return missing


def test_every_module_has_a_test_in_its_mirror_folder():
    missing = list_untested(ROOT / "bostruct", ROOT / "tests")
    shown = [f"{folder} imports none of {', '.join(modules)}" for folder, modules in missing.items()]
    assert not missing, "\n".join(shown)


class TestTheCheckCanFail:
    def untested(self, tmp_path: Path, files: dict[str, str]) -> dict[str, list[str]]:
        package = {"bostruct/__init__.py": "", "bostruct/a/__init__.py": "x = 1", "bostruct/a/b.py": "x = 1"}
        for name, text in (package | files).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list_untested(tmp_path / "bostruct", tmp_path / "tests")

    @pytest.mark.parametrize(
        "source",
        [
            "import bostruct.a.b",
            "from bostruct.a import b",
            "from bostruct.a.b import x",
            "def test_it():\n    from bostruct.a.b import x",
        ],
    )
    def test_an_import_by_name_is_enough(self, tmp_path, source):
        assert self.untested(tmp_path, {"tests/a/test_anything.py": source}) == {}

    @pytest.mark.parametrize(
        "files",
        [
            {},
            {"tests/test_b.py": "from bostruct.a.b import x"},
            {"tests/a/c/test_b.py": "from bostruct.a.b import x"},
            {"tests/a/helpers.py": "from bostruct.a.b import x"},
            {"tests/a/test_b.py": "from bostruct.a import x\nfrom bostruct import a"},
            {
                "tests/a/test_b.py": "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from bostruct.a.b import x"
            },
        ],
    )
    def test_a_module_that_no_test_of_its_folder_imports_is_listed(self, tmp_path, files):
        assert self.untested(tmp_path, files) == {"tests/a": ["bostruct.a.b"]}

    def test_modules_are_listed_by_folder(self, tmp_path):
        files = {"bostruct/d.py": "def f(): ...", "bostruct/a/e.py": "class A: ...", "bostruct/a/f.py": "x: int = 1"}
        assert self.untested(tmp_path, files) == {
            "tests/a": ["bostruct.a.b", "bostruct.a.e", "bostruct.a.f"],
            "tests": ["bostruct.d"],
        }

    def test_files_without_code_need_no_test(self, tmp_path):
        files = {
            "bostruct/names.py": '"""Names."""\n\nfrom bostruct.a.b import x\n\n__all__ = ["x"]\n',
            "bostruct/__main__.py": "print(1)",
            "tests/a/test_b.py": "import bostruct.a.b",
        }
        assert self.untested(tmp_path, files) == {}
