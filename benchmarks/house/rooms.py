"""Figures of the rooms: files, functions, imports, types."""

from __future__ import annotations

import ast
from collections import defaultdict

from benchmarks.house.figures import Figure
from benchmarks.house.imports import cycles
from benchmarks.house.source import File, leave_out_bridges

LONG_FUNCTION = 40  # lines


def root_files(files: list[File]) -> Figure:
    """Count the files that lie in no subpackage."""
    return Figure.count("files at the root", [file.name for file in files if file.name.count("/") == 1])


def long_files(files: list[File], most: int) -> Figure:
    """Count the files of more than `most` lines."""
    lengths = {file.name: len(file.source.splitlines()) for file in files}
    return Figure.count(f"files over {most} lines", [f"{name} {n}" for name, n in lengths.items() if n > most])


def long_functions(files: list[File]) -> Figure:
    """Count the functions of more than 40 lines, docstring and decorators left out."""
    found = []
    for file in files:
        for node in file.functions:
            length = _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) is not None else 0)
            if length > LONG_FUNCTION:
                found.append(f"{file.place(node.lineno)} {node.name} {length}")
    return Figure.count(f"functions over {LONG_FUNCTION} lines", found)


def import_cycles(files: list[File]) -> Figure:
    """Count the groups of modules that import each other, in functions and for types too."""
    graph = {file.module: {edge.target for edge in file.imports} - {file.module} for file in files}
    return Figure.count("import cycles", [" <> ".join(group) for group in cycles(graph)])


def any_share(files: list[File]) -> Figure:
    """Count `Any` in 1,000 lines of code, its imports included, but for bridges: the other side often has no types."""
    files = leave_out_bridges(files)
    nodes = [node for file in files for node in ast.walk(file.tree)]
    uses = sum("Any" in (getattr(node, "id", None), getattr(node, "attr", None)) for node in nodes)
    uses += sum(isinstance(node, ast.alias) and node.name == "Any" for node in nodes)
    return Figure("Any per 1,000 code lines", round(1000 * uses / max(sum(f.code_lines for f in files), 1), 1))


def shared_names(files: list[File]) -> Figure:
    """Count the functions, classes and constants whose name several files define at their top, private ones too."""
    homes: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for name in sorted(set(_top_names(file.tree))):
            homes[name].append(file.name)
    return Figure.count(
        "names with several meanings",
        [f"{name}: {', '.join(where)}" for name, where in sorted(homes.items()) if len(where) > 1],
    )


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _top_names(tree: ast.Module) -> list[str]:
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return [name for name in found if not (name.startswith("__") and name.endswith("__"))]
