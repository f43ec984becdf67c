"""Messages advise what there is: each `name=` of an error, a warning or a command is taken by its owner."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bostruct"
OF_OTHERS = {"keep_default_na", "skiprows", "header", "decimal", "thousands", "columns", "loc", "parameter"}
ARGUMENT = re.compile(r"(?<![\w.\-'\"?&/{:])([a-z][a-z_]+)=(?![=>])")
CALLEE = re.compile(r"([A-Za-z_][\w.]*)\([^()]*$")  # before a name in its brackets
ADVICE = re.compile(r"\b(pass|give|declare|lower|raise|widen|rescales|use|with|set|lists)\b|[A-Z]\w*\(")
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Class:
    """A class: what it takes, its bases, and the functions that it calls, by name."""

    takes: set[str] = field(default_factory=set)
    bases: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)


class Reader:
    """All classes and functions of some sources, by name; a name that several have takes what any of them takes."""

    def __init__(self, trees: list[ast.Module]) -> None:
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, set[str]] = {}
        self.public: set[str] = set()  # parameters of what users call
        self.exported = exported = {text for tree in trees for text in list_exported(tree)}
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self._read_class(node)
                if isinstance(node, Function):
                    self.functions.setdefault(node.name, set()).update(list_parameters(node))
            for node in tree.body:
                if isinstance(node, ast.ClassDef | Function) and node.name in exported:
                    parts = [node] if isinstance(node, Function) else node.body
                    for one in parts:
                        if isinstance(one, Function) and (one.name == "__init__" or not one.name.startswith("_")):
                            self.public.update(list_parameters(one))
                        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                            self.public.add(one.target.id)

    def _read_class(self, node: ast.ClassDef) -> None:
        found = self.classes.setdefault(node.name, Class())
        found.bases |= {base.id for base in node.bases if isinstance(base, ast.Name)}
        found.calls |= list_calls(node)
        for one in node.body:
            if isinstance(one, Function):
                found.takes.update(list_parameters(one))
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                found.takes.add(one.target.id)
        if "TypedDict" in found.bases:  # of arguments
            self.public |= found.takes

    def list_takers(self, name: str) -> set[str]:
        """Return what a class takes, with its bases."""
        own = self.classes.get(name, Class())
        return own.takes.union(*(self.list_takers(base) for base in own.bases - {name}))

    def find_wrong(self, tree: ast.Module) -> set[tuple[str, str]]:
        """Return the pairs of an owner and a name that it does not take."""
        local = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        wrong = set[tuple[str, str]]()
        for owner, function, name, text in find_advised(tree):
            callee = CALLEE.search(text)
            if name in OF_OTHERS:
                continue
            if callee is not None and (last := callee[1].rpartition(".")[2]) in self.functions.keys() | self.classes:
                if name not in self.functions.get(last, set()) | self.list_takers(last):
                    wrong.add((last, name))
                continue
            if owner is not None:  # each class that inherits the method, or the class itself
                heirs = [one for one, node in local.items() if any(getattr(b, "id", "") == owner for b in node.bases)]
                roots = heirs or [owner]
            else:
                is_private = function is not None and function.name.startswith("_")
                roots = self._find_roots(tree, function.name) if function is not None and is_private else []
            own = set() if function is None else set(list_parameters(function))
            takers = {root: self.list_takers(root) | self._list_public(local, root, roots) for root in roots}
            wrong |= {(root, name) for root, taken in takers.items() if name not in taken | own}
            if not roots and name not in self.public | own:
                wrong.add(("public", name))
        return wrong

    def _list_public(self, local: dict[str, ast.ClassDef], root: str, roots: list[str]) -> set[str]:
        """Return what users may pass to others than the classes beside a public one."""
        beside = (one for one in local if one not in roots or len(roots) > 1)
        return self.public.difference(*map(self.list_takers, beside)) if root in self.exported else self.public

    def _find_roots(self, tree: ast.Module, name: str) -> list[str]:
        """Return the classes of a module that call a private function of it, also through others."""
        functions = {node.name: list_calls(node) for node in tree.body if isinstance(node, Function)}
        callers = {name}
        while more := {one for one, calls in functions.items() if calls & callers} - callers:
            callers |= more
        return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and list_calls(node) & callers]


def list_exported(tree: ast.Module) -> Iterator[str]:
    """Yield public names: of `__all__`, of tables of names, and those that a package imports as themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (one.name for one in node.names if one.asname == one.name)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            names = {
                getattr(one, "id", "") for one in (node.targets if isinstance(node, ast.Assign) else [node.target])
            }
            if names & {"__all__", "_HOME", "KINDS"}:
                yield from (one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant))  # type: ignore[misc]


def list_parameters(node: Function) -> Iterator[str]:
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            yield part.arg


def list_calls(node: ast.AST) -> set[str]:
    calls = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
    return {getattr(func, "id", None) or getattr(func, "attr", "") for func in calls}


def find_advised(tree: ast.Module) -> Iterator[tuple[str | None, Function | None, str, str]]:
    """Yield class, function, name and the text before each `name=` that is said, or returned as a text."""

    def visit(node: ast.AST, owner: str | None, function: Function | None, is_said: bool) -> Iterator[Advised]:
        if isinstance(node, ast.ClassDef):
            owner = node.name
        if isinstance(node, Function):
            function, is_said = node, False
        is_call = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("warn", "echo")
        is_said = is_said or is_call or isinstance(node, ast.Raise)
        is_text = function is not None and "str" in ast.unparse(function.returns or ast.Constant(None)).split(" | ")
        if isinstance(node, ast.JoinedStr | ast.Constant) and (is_said or is_text):
            text = read_text(node)
            for found in ARGUMENT.finditer(text):
                if is_said or ADVICE.search(text[: found.start()]):
                    yield owner, function, found[1], text[: found.start()]
            return
        for one in ast.iter_child_nodes(node):
            if not (isinstance(node, Function | ast.ClassDef) and isinstance(one, ast.Expr)):  # a docstring
                yield from visit(one, owner, function, is_said)

    yield from visit(tree, None, None, False)


Advised = tuple[str | None, Function | None, str, str]


def read_text(node: ast.AST) -> str:
    """Return a text, with a mark in place of what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(read_text(one) if isinstance(one, ast.Constant) else "@" for one in getattr(node, "values", ()))


TREES = {path: ast.parse(source) for path, source in SOURCES.items()}
READER = Reader(list(TREES.values()))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_messages_name_arguments_that_their_owner_takes(path: Path) -> None:
    assert READER.find_wrong(TREES[path]) == set()


BESIDE = """
__all__ = ["Blend", "Units"]
class Blend:
    def __init__(self, parts, min_part=None, total=1.0): _check(parts)
class Units:
    def __init__(self, parts, total): _check(parts)
    def _hint(self) -> str: return {hint}
def _check(parts): raise ValueError("sum too large; lower " + {said})
def _find() -> str | None: return "min_part=1 is no advice, but pass min_prt=2 is"
"""


@pytest.mark.parametrize(
    ("said", "hint", "wrong"),
    [
        ("'total='", "''", set()),
        ("'min_part='", "''", {("Units", "min_part")}),  # which only the class beside it takes
        ("f'famly={parts} or seed=1; a == b, https://a.b/?c=d'", "''", {("Blend", "famly"), ("Units", "famly")}),
        ("'total='", "'; pass min_part=1'", {("Units", "min_part")}),  # a helper that returns a text
        ("'Blend(..., min_part=2)'", "''", set()),  # the callee is named
        ("'Units(..., min_part=2)'", "''", {("Units", "min_part")}),
        ("'bo.minimize(f, space, trials=3)'", "''", {("minimize", "trials")}),
    ],
)
def test_an_argument_that_the_owner_does_not_take_is_found(said: str, hint: str, wrong: set[tuple[str, str]]) -> None:
    tree = ast.parse(BESIDE.replace("{said}", said).replace("{hint}", hint))
    reader = Reader([*TREES.values(), tree])
    assert reader.find_wrong(tree) - {("public", "min_prt"), ("_find", "min_prt")} == wrong
    assert any(name == "min_prt" for _, name in reader.find_wrong(tree))
