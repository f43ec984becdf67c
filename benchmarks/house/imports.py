"""Read the imports of a file without running it, and determine when each import runs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

When: TypeAlias = Literal["load", "call", "typing"]


class Import(NamedTuple):
    """One imported module: its dotted name, when the import runs, and its line.

    target: a dotted module name. when: "load" with the file, "call" inside a function, "typing" under TYPE_CHECKING.
    """

    target: str
    when: When
    line: int


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a file of the package in the folder `root`, without `__init__` for a package."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_imports(source: str, module: str, known: Collection[str]) -> list[Import]:
    """Return all imports of a file; `from a import b` means a.b if that is among the known modules.

    module: dotted name, which ends in `__init__` for the file of a package, so that relative imports are right.
    known: dotted names of modules. Raises SyntaxError if the source is not valid Python.
    """
    found = []
    for node, when in _statements(ast.parse(source), "load"):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, when, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                parent = module.split(".")[: -node.level]
                home = ".".join([*parent, home] if home else parent)
            for alias in node.names:
                full = f"{home}.{alias.name}"
                found.append(Import(full if full in known else home, when, node.lineno))
    return found


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or indirectly, each in sorted order.

    graph: module -> modules that it imports; modules that are not keys are ignored.
    """
    reached = {module: _reach(module, graph) for module in graph}
    groups = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in graph if a in reached[a]}
    return [list(group) for group in sorted(groups)]


def _reach(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] & graph.keys() - seen
        seen |= new
        waiting.extend(new)
    return seen


def _statements(node: ast.AST, when: When) -> Iterator[tuple[ast.AST, When]]:
    for child in ast.iter_child_nodes(node):
        yield child, when
        inside: When = when
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inside = "typing"
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and when == "load":
            inside = "call"
        yield from _statements(child, inside)
