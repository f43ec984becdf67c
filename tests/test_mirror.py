"""The tests mirror the rooms: a folder of the package has a test folder, and a module a test there or next to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.house.imports import module_name, read_imports

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_TESTS = {"__init__.py", "__main__.py"}  # packages, and the door of the command line
# Only these lines of a test are parsed, which takes a tenth of the time of whole files.
IMPORT = re.compile(r"^ *((?:from [\w.]+ )?import (?:\([^)]*\)|[\w., ]+))", re.MULTILINE)
TYPING = re.compile(r"^( *)if TYPE_CHECKING:\n(?:\1 .*\n|\n)+", re.MULTILINE)


def read_tested(path: Path, modules: set[str]) -> set[str]:
    """Return what a test file imports when it runs."""
    statements = IMPORT.findall(TYPING.sub("", path.read_text(encoding="utf-8") + "\n"))
    return {edge.target for edge in read_imports("\n".join(statements), "tests", modules)}


def list_untested(package: Path, tests: Path) -> dict[str, list[str]]:
    """Return the rooms without tests and the modules that no test imports, by the folder that should hold the tests.

    A module may be imported by a test of its own folder, of the one above or of one right below.
    """
    files = {module_name(path, package): path.relative_to(package) for path in sorted(package.rglob("*.py"))}
    tested: dict[Path, set[str]] = {}
    for path in tests.rglob("test_*.py"):
        tested.setdefault(path.parent.relative_to(tests), set()).update(read_tested(path, set(files)))
    missing: dict[str, list[str]] = {}
    for module, path in files.items():
        if path.name in WITHOUT_TESTS:
            continue
        room = path.parent
        near = [found for folder, found in tested.items() if room in (folder, folder.parent) or folder == room.parent]
        if room not in tested or not any(module in found for found in near):
            missing.setdefault((Path(tests.name) / room).as_posix(), []).append(module)
    return missing


def test_every_room_has_tests_and_every_module_is_imported_by_one():
    missing = list_untested(ROOT / "bostruct", ROOT / "tests")
    shown = [f"{folder} lacks a test of {', '.join(modules)}" for folder, modules in missing.items()]
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
            "from bostruct.a.b import (\n    x,\n    y,\n)",
            "def test_it():\n    from bostruct.a.b import x",
        ],
    )
    @pytest.mark.parametrize("folder", ["", "a", "a/c"])
    def test_an_import_in_or_next_to_its_folder_is_enough(self, tmp_path, folder, source):
        assert self.untested(tmp_path, {"tests/a/test_it.py": "", f"tests/{folder}/test_anything.py": source}) == {}

    @pytest.mark.parametrize(
        "files",
        [
            {},
            {"tests/test_b.py": "from bostruct.a.b import x"},  # and no tests/a
            {"tests/a/helpers.py": "from bostruct.a.b import x"},
            {"tests/a/test_it.py": "", "tests/d/test_b.py": "from bostruct.a.b import x"},
            {"tests/a/test_it.py": "", "tests/a/c/d/test_b.py": "from bostruct.a.b import x"},
            {"tests/a/test_b.py": "from bostruct.a import x\nfrom bostruct import a"},
            {
                "tests/a/test_b.py": "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from bostruct.a.b import x"
            },
        ],
    )
    def test_a_module_that_no_test_near_it_imports_is_listed(self, tmp_path, files):
        assert self.untested(tmp_path, files) == {"tests/a": ["bostruct.a.b"]}

    def test_modules_are_listed_by_folder(self, tmp_path):
        files = {"bostruct/d.py": "def f(): ...", "bostruct/a/e.py": "class A: ...", "bostruct/__main__.py": "print(1)"}
        assert self.untested(tmp_path, files) == {"tests/a": ["bostruct.a.b", "bostruct.a.e"], "tests": ["bostruct.d"]}
