"""Figures of the form, which may only fall: files, lines, helpers, protocols, questions, names."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath

from benchmarks.house.figures import Figure
from benchmarks.house.source import File

QUESTIONS = ("has_capability", "hasattr")


def measure_form(files: list[File]) -> list[Figure]:
    """Return the figures of the form.

    files: files of the package.
    """
    n_code = sum(file.code_lines for file in files)
    n_imports = sum(file.import_lines for file in files)
    functions = [node for file in files for node in file.functions]
    once = list_helpers_named_once(files)
    return [
        Figure("files", len(files)),
        Figure.count("files under 100 lines", [file.name for file in files if file.source.count("\n") < 100]),
        Figure.count("files over 700 lines", [file.name for file in files if file.source.count("\n") > 700]),
        Figure.count("files that one file of their own folder imports", list_single_imports(files)),
        Figure("code lines", n_code),
        Figure("docstring lines", sum(file.docstring_lines for file in files)),
        Figure("imports, % of code lines", round(100 * n_imports / max(n_code, 1), 1)),
        Figure("private helpers named once, % of functions", round(100 * len(once) / max(len(functions), 1), 1)),
        Figure.count("protocols", list_protocols(files)),
        Figure.count("questions for a capability, outside testing", list_questions(files)),
        Figure.count("top-level names with several meanings", list_shared_names(files)),
    ]


def list_helpers_named_once(files: list[File]) -> list[str]:
    """Return the private functions whose name occurs only at their definition and at one other place.

    files: files of the package.
    """
    words = Counter(word for file in files for word in re.findall(r"\w+", file.source))
    private = [
        (file, node) for file in files for node in file.functions if node.name[0] == "_" and node.name[:2] != "__"
    ]
    return [f"{file.place(node.lineno)} {node.name}" for file, node in private if words[node.name] == 2]


def list_single_imports(files: list[File]) -> list[str]:
    """Return the files that only one file imports, which is in the same folder.

    files: files of the package.
    """
    users: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for edge in file.imports:
            if edge.target != file.module:
                users[edge.target].add(file.name)
    found = []
    for file in files:
        folders = {str(PurePosixPath(name).parent) for name in users[file.module]}
        if len(users[file.module]) == 1 and folders == {str(PurePosixPath(file.name).parent)}:
            found.append(f"{file.name} by {next(iter(users[file.module]))}")
    return found


def list_protocols(files: list[File]) -> list[str]:
    """Return the classes that are protocols.

    files: files of the package.
    """
    classes = [(file, node) for file in files for node in ast.walk(file.tree) if isinstance(node, ast.ClassDef)]
    return [
        f"{file.place(node.lineno)} {node.name}" for file, node in classes if "Protocol" in map(_name_of, node.bases)
    ]


def list_questions(files: list[File]) -> list[str]:
    """Return the places outside `testing` that query the capabilities of an object.

    files: files of the package.
    """
    calls = [(file, node) for file in files for node in ast.walk(file.tree) if isinstance(node, ast.Call)]
    return [
        file.place(node.lineno)
        for file, node in calls
        if _name_of(node.func) in QUESTIONS and ".testing" not in file.module
    ]


def list_shared_names(files: list[File]) -> list[str]:
    """Return the names of functions and classes that several files define at top level, with these files.

    files: files of the package.
    """
    homes: dict[str, list[str]] = defaultdict(list)
    for file in files:
        names = {node.name for node in file.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for name in names:
            homes[name].append(file.name)
    return [f"{name}: {', '.join(names)}" for name, names in sorted(homes.items()) if len(names) > 1]


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _name_of(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
