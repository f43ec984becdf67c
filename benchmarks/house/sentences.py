"""Figures of docstrings, their first words and their lists of parameters, and of code lines in Markdown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from benchmarks.house.figures import Figure
from benchmarks.house.source import Definition, File, Function, Item, list_promised

OPENINGS = ("Of", "That", "What", "Where", "Whether", "Which")
MARKDOWN_WIDTH = 100  # characters
_OPENS = re.compile(rf"(?:{'|'.join(OPENINGS)})\b")
_FENCE = re.compile(r"^( *)```.*?\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def openings(files: list[File]) -> list[Figure]:
    """Count the docstrings that open with a relative word or "Of": all docstrings, and the public ones."""
    every, public = [], []
    for file in files:
        for node, name, seen in _documented(file):
            first = (ast.get_docstring(node) or "").split("\n", 1)[0]
            if _OPENS.match(first):
                every.append(f"{file.place(getattr(node, 'lineno', 1))} {name}: {first[:60]}")
                public += every[-1:] if seen else []
    total = max(sum(1 for file in files for _ in _documented(file)), 1)
    return [
        Figure.count("docstrings opening with Of, That, What, ...", every),
        Figure("the same, % of docstrings", round(100 * len(every) / total, 1)),
        Figure.count("the same, public ones", public),
    ]


def coverage(files: list[File]) -> Figure:
    """Return the percentage of public functions, methods, classes and modules with a docstring, except dunders."""
    public = [ast.get_docstring(file.tree) for file in files]
    public += [
        ast.get_docstring(item.node)
        for file in files
        for item in file.items
        if item.public and not item.node.name.startswith("__")
    ]
    return Figure("public docstring coverage, %", round(100 * sum(map(bool, public)) / max(len(public), 1), 1))


def unlisted(files: list[File]) -> list[Figure]:
    """Count the public docstrings that list none of a function's parameters, and those that omit a parameter.

    Public names are those that users import from packages. Dunder methods are omitted, and so are commands, whose
    options have their own help.
    """
    none, some = [], []
    promised = list_promised(files)
    inherited = _list_methods(files)
    for file in files:
        for item in file.items:
            if promised is not None and item.outermost not in promised and ".integrations." not in file.module:
                continue
            place = f"{file.place(item.node.lineno)} {item.node.name}"
            missing = _unlisted_parameters(item, inherited.get(item.node.name, ()))
            if missing:
                some.append(f"{place}: {', '.join(missing)}")
            if missing and missing == _parameters(item.node) and not isinstance(item.node, ast.ClassDef):
                none.append(place)
    return [
        Figure.count("public docstrings that list no parameter", none),
        Figure.count("public docstrings that leave a parameter out", some),
    ]


def wide_markdown(texts: dict[str, str]) -> Figure:
    """Count the lines of code blocks over 100 characters. texts: Markdown texts by file name."""
    found = []
    for name, text in texts.items():
        for block in _FENCE.finditer(text):
            first = text.count("\n", 0, block.start(2)) + 1
            lines = block.group(2).splitlines()
            found += [f"{name}:{first + i} {len(s)}" for i, s in enumerate(lines) if len(s) > MARKDOWN_WIDTH]
    return Figure.count(f"code lines in Markdown over {MARKDOWN_WIDTH} characters", found)


def _documented(file: File) -> list[tuple[ast.Module | Definition, str, bool]]:
    things: list[tuple[ast.Module | Definition, str, bool]] = [(file.tree, file.module, True)]
    things += [(item.node, item.node.name, item.public) for item in file.items]
    return [thing for thing in things if ast.get_docstring(thing[0])]


def _list_methods(files: list[File]) -> dict[str, list[str]]:
    """Return the docstrings of methods by name: an override without parameters inherits the list of its base."""
    found: dict[str, list[str]] = {}
    for item in (item for file in files for item in file.items if item.node.name != item.outermost):
        found.setdefault(item.node.name, []).append(ast.get_docstring(item.node) or "")
    return found


def _unlisted_parameters(item: Item, inherited: Iterable[str]) -> list[str]:
    """Return the parameters that a public docstring omits; none if there is no docstring.

    inherited: docstrings of methods of the same name.
    """
    text = ast.get_docstring(item.node)
    if not item.public or not text:
        return []
    lists = _lists_in_class if isinstance(item.node, ast.ClassDef) else _lists
    left = [name for name in _parameters(item.node) if not lists(text, name)]
    return [name for name in left if not any(_lists(one, name) for one in inherited)]


def _parameters(node: Definition) -> list[str]:
    """Return the names that callers pass: arguments of a function or of `__init__`, or fields of a record."""
    if isinstance(node, ast.ClassDef):
        return _fields(node) if _is_record(node) else _arguments_of_init(node)
    if node.name.startswith("__") or any(ast.unparse(one).startswith("click.command") for one in node.decorator_list):
        return []
    return _arguments(node)


def _arguments(node: Function) -> list[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    every = [one for one in every if one.annotation is None or not ast.unparse(one.annotation).startswith("Unpack")]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def _is_record(node: ast.ClassDef) -> bool:
    marks = [ast.unparse(one) for one in (*node.decorator_list, *node.bases)]
    return any(mark.startswith("dataclass") or mark == "NamedTuple" for mark in marks)


def _fields(node: ast.ClassDef) -> list[str]:
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    names = [ast.unparse(one.target) for one in fields if not ast.unparse(one.annotation).startswith("ClassVar")]
    return [name for name in names if not name.startswith("_")]


def _arguments_of_init(node: ast.ClassDef) -> list[str]:
    makers = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    return next((_arguments(one) for one in makers), [])


def _lists(text: str, name: str) -> bool:
    """Return whether a line begins with the parameter and a colon, or lists it as an entry of a section."""
    return re.search(rf"^[ \-*`]*{_listing(name)}|^{_names(name)}(?: : |$)", text, re.MULTILINE) is not None


def _lists_in_class(text: str, name: str) -> bool:
    """Return whether a line or a sentence begins with the parameter and a colon."""
    return _lists(text, name) or re.search(rf"[.:;]\s+{_listing(name)}", text) is not None


def _listing(name: str) -> str:
    return rf"{_names(name)}(?: \([^)]*\))?:"


def _names(name: str) -> str:
    return rf"(?:[`*]*\w+[`*]*, )*[`*]*{re.escape(name)}[`*]*(?:, [`*]*\w+[`*]*)*"
