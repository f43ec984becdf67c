"""Figures of the sentences: how docstrings open, what they list, lines of code in Markdown."""

from __future__ import annotations

import ast
import re

from benchmarks.house.figures import Figure
from benchmarks.house.source import Definition, File, Function

OPENINGS = ("Of", "That", "What", "Where", "Whether", "Which")
MARKDOWN_WIDTH = 100  # characters
_OPENS = re.compile(rf"(?:{'|'.join(OPENINGS)})\b")
_FENCE = re.compile(r"^( *)```.*?\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def openings(files: list[File]) -> list[Figure]:
    """Count the docstrings that go on with the name before them, all of them and those of public things."""
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
    """Count the public functions, methods, classes and modules with a docstring, in percent; dunder methods apart."""
    public = [ast.get_docstring(file.tree) for file in files]
    public += [
        ast.get_docstring(item.node)
        for file in files
        for item in file.items
        if item.public and not item.node.name.startswith("__")
    ]
    return Figure("public docstring coverage, %", round(100 * sum(map(bool, public)) / max(len(public), 1), 1))


def unlisted(files: list[File]) -> Figure:
    """Count the docstrings of public functions with parameters of which no line begins with one and a colon."""
    found = []
    for file in files:
        for item in file.items:
            node = item.node
            if item.public and not isinstance(node, ast.ClassDef) and not node.name.startswith("__"):
                text, names = ast.get_docstring(node), _parameters(node)
                if text and names and not any(_lists(text, name) for name in names):
                    found.append(f"{file.place(node.lineno)} {node.name}")
    return Figure.count("public docstrings that list no parameter", found)


def wide_markdown(texts: dict[str, str]) -> Figure:
    """Count the lines of code blocks over 100 characters. texts: Markdown, by the name of its file."""
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


def _parameters(node: Function) -> list[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def _lists(text: str, name: str) -> bool:
    """Tell whether a line begins with the parameter and a colon, alone or among others that share the line."""
    others = r"(?:[`*]*\w+[`*]*, )*"
    pattern = rf"^[ \-*`]*{others}[`*]*{re.escape(name)}[`*]*(?:, [`*]*\w+[`*]*)*(?: \([^)]*\))?:"
    return re.search(pattern, text, re.MULTILINE) is not None
