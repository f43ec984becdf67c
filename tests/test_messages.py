"""Messages advise what there is: each `name=` that an error, a warning or a command names is a parameter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bostruct"
OF_OTHERS = {"keep_default_na", "skiprows", "header", "decimal", "loc"}  # parameters of pandas and SciPy
ARGUMENT = re.compile(r"(?<![\w.\-'\"?&/{:])([a-z][a-z_]+)=(?![=>])")
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def list_parameters(tree: ast.AST) -> Iterator[str]:
    """Yield the parameters of functions, and the fields of classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def find_advised(tree: ast.AST) -> Iterator[str]:
    """Yield each `name=` in the texts of errors, warnings and lines of commands."""
    for node in ast.walk(tree):
        is_said = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("warn", "echo")
        if is_said or isinstance(node, ast.Raise):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from ARGUMENT.findall(part.value)


@pytest.fixture(scope="module")
def known() -> set[str]:
    return OF_OTHERS.union(*(list_parameters(ast.parse(source)) for source in SOURCES.values()))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_messages_name_arguments_that_there_are(path: Path, known: set[str]) -> None:
    assert set(find_advised(ast.parse(SOURCES[path]))) - known == set()


def test_an_argument_that_there_is_not_is_found(known: set[str]) -> None:
    source = 'raise ValueError(f"{x}: pass famly= or seed=1; a == b, https://a.b/?c=d")'
    assert set(find_advised(ast.parse(source))) - known == {"famly"}
