"""The measured package: its files, functions and definitions, read without being run."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from benchmarks.house.imports import Import, module_name, read_imports

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Item(NamedTuple):
    """A function or class; it is public if it is not local and no name on its path has a leading underscore."""

    node: Definition
    public: bool
    outermost: str  # name of the top-level definition that it is or belongs to


class File:
    """One Python file of the package.

    path: path of the file. root: folder of the package. known: dotted names of all its modules.
    """

    def __init__(self, path: Path, root: Path, known: set[str]) -> None:
        self.source = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)
        self.name = path.relative_to(root.parent).as_posix()
        self.module = module_name(path, root)
        at = f"{self.module}.__init__" if path.stem == "__init__" else self.module
        self.imports: list[Import] = read_imports(self.source, at, known)

    @cached_property
    def items(self) -> list[Item]:
        """All functions and classes, including methods and local definitions."""
        return list(_items(self.tree, not any(_is_private(part) for part in self.module.split("."))))

    @property
    def functions(self) -> list[Function]:
        """All functions, including methods and local functions."""
        return [item.node for item in self.items if not isinstance(item.node, ast.ClassDef)]

    @cached_property
    def docstring_lines(self) -> int:
        """The number of lines of docstrings."""
        return len(self._docstrings)

    @cached_property
    def import_lines(self) -> int:
        """The number of lines of imports."""
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        return len({line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)})

    @cached_property
    def code_lines(self) -> int:
        """The number of code lines, without blank lines, comments and docstrings."""
        layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.source).readline):
            if token.type not in layout:
                lines |= set(range(token.start[0], token.end[0] + 1))
        return len(lines - self._docstrings)

    @cached_property
    def _docstrings(self) -> set[int]:
        lines: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node) is not None:
                lines |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        return lines

    def place(self, line: int) -> str:
        """Return the place of a line as "file:line"."""
        return f"{self.name}:{line}"


def read_package(root: Path) -> list[File]:
    """Return all Python files of the package in the folder `root`, sorted by path."""
    paths = sorted(root.rglob("*.py"))
    known = {module_name(path, root) for path in paths} | {f"{root.name}.__version__"}
    return [File(path, root, known) for path in paths]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _items(node: ast.AST, public: bool, outermost: str | None = None) -> Iterator[Item]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            seen, outer = public and not _is_private(child.name), outermost or child.name
            yield Item(child, seen, outer)
            yield from _items(child, seen and isinstance(child, ast.ClassDef), outer)
        else:
            yield from _items(child, public, outermost)


def list_promised(files: list[File]) -> set[str] | None:
    """Return the names that users import from packages (docs/promises.md); None if there are none.

    files: files of the package.
    """
    rooms = [file for file in files if file.name.endswith(("/__init__.py", "/language.py"))]
    found = (node for file in rooms for node in ast.walk(file.tree) if isinstance(node, ast.ImportFrom))
    names = {alias.asname or alias.name for node in found for alias in node.names}
    return names or None


def leave_out_bridges(files: list[File]) -> list[File]:
    """Return the files that are not bridges to other libraries.

    files: files of the package.
    """
    return [file for file in files if ".integrations." not in file.module]
