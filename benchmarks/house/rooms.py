"""Figures of the rooms: files, functions, imports, types."""

from __future__ import annotations

import ast

from benchmarks.house.figures import Figure
from benchmarks.house.imports import cycles
from benchmarks.house.source import File, leave_out_bridges

LONG_FUNCTION = 60  # lines


def root_files(files: list[File]) -> Figure:
    """Count the files outside subpackages."""
    return Figure.count("files at the root", [file.name for file in files if file.name.count("/") == 1])


def long_functions(files: list[File]) -> Figure:
    """Count the functions of more than 60 lines, without docstrings and decorators."""
    found = []
    for file in files:
        for node in file.functions:
            length = _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) is not None else 0)
            if length > LONG_FUNCTION:
                found.append(f"{file.place(node.lineno)} {node.name} {length}")
    return Figure.count(f"functions over {LONG_FUNCTION} lines", found)


def import_cycles(files: list[File]) -> Figure:
    """Count the groups of modules that import each other, including imports in functions and for types."""
    graph = {file.module: {edge.target for edge in file.imports} - {file.module} for file in files}
    return Figure.count("import cycles", [" <> ".join(group) for group in cycles(graph)])


def any_share(files: list[File]) -> Figure:
    """Count `Any` per 1,000 code lines, including imports; bridges to often untyped libraries are omitted."""
    files = leave_out_bridges(files)
    nodes = [node for file in files for node in ast.walk(file.tree)]
    uses = sum("Any" in (getattr(node, "id", None), getattr(node, "attr", None)) for node in nodes)
    uses += sum(isinstance(node, ast.alias) and node.name == "Any" for node in nodes)
    return Figure("Any per 1,000 code lines", round(1000 * uses / max(sum(f.code_lines for f in files), 1), 1))


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
