"""Mutants of a package: small faults, drawn with a fixed seed, each behind a switch in one copy of the source.

A mutated expression is spliced into the text as ``(mutated if is_on(k) else original)``, so that line numbers do not
change, one copy contains all mutants, and a process that has imported the package can turn on a mutant without an
import. Only bodies of functions are mutated, because code at import runs before a switch is turned on. Functions
compiled by Numba are omitted, because Numba would compile the switch.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

IS_ON = '__import__("bostruct_mutants").is_on'
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OTHERS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
TEXTS = (ast.JoinedStr, ast.Constant)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """A small fault.

    path: path of the file, relative to the parent folder of the package.
    line: line of the expression or the statement, from 1.
    function: qualified name of the enclosing function.
    original, mutated: original and mutated text, each in one line.
    start, end: range of the original in the bytes of the file.
    drops: True if the statement is removed.
    """

    path: str
    line: int
    function: str
    original: str
    mutated: str
    start: int
    end: int
    drops: bool = False

    @property
    def key(self) -> str:
        """An identifier that does not change if lines move."""
        return f"{self.path} {self.function}: {self.original} -> {self.mutated}"


def draw_mutants(package: Path, n: int, seed: int) -> list[Mutant]:
    """Draw n mutants uniformly from all mutants of a package, without overlaps.

    The mutants are sorted by a hash of their keys, so that most drawn mutants stay the same after a change elsewhere.
    """
    every = [mutant for path in sorted(package.rglob("*.py")) for mutant in list_mutants(path, package.parent)]
    every.sort(key=lambda mutant: (sha256(f"{seed} {mutant.key}".encode()).digest(), mutant.start))
    drawn: list[Mutant] = []
    for mutant in every:
        if not any(m.path == mutant.path and m.start < mutant.end and mutant.start < m.end for m in drawn):
            drawn.append(mutant)
        if len(drawn) == n:
            break
    return drawn


def write_mutated(package: Path, mutants: list[Mutant]) -> None:
    """Splice all mutants into the files of a package, each behind the switch of its position."""
    by_path: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in enumerate(mutants):
        by_path.setdefault(mutant.path, []).append((number, mutant))
    for path, found in by_path.items():
        file = package.parent / path
        text = file.read_bytes()
        for number, mutant in sorted(found, key=lambda pair: -pair[1].start):
            original = text[mutant.start : mutant.end].decode()
            if mutant.drops:
                spliced = f"if not {IS_ON}({number}): {original}"
            else:
                spliced = f"(({mutant.mutated}) if {IS_ON}({number}) else ({original}))"
            text = text[: mutant.start] + spliced.encode() + text[mutant.end :]
        compile(text, path, "exec")
        file.write_bytes(text)


def list_mutants(path: Path, root: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    source = path.read_bytes()
    ends = [0]
    for line in source.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    found: list[Mutant] = []
    for function, name in _list_functions(ast.parse(source), ""):
        for node, mutated in _walk_body(function):
            drops = isinstance(node, ast.stmt)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            place = ends[node.lineno - 1] + node.col_offset, ends[node.end_lineno - 1] + node.end_col_offset
            texts = ast.unparse(node), "pass" if mutated is None else ast.unparse(mutated)
            found.append(Mutant(path.relative_to(root).as_posix(), node.lineno, name, *texts, *place, drops))
    return found


def _list_functions(tree: ast.AST, prefix: str) -> Iterator[tuple[Function, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            if not any("jit" in ast.unparse(decorator) for decorator in node.decorator_list):
                yield node, prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _list_functions(node, f"{prefix}{node.name}.")


def _walk_body(function: Function) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | None]]:
    """Yield each expression or statement to mutate, with the mutated expression, or None for a removed statement."""
    for statement in function.body:
        yield from _walk(statement)


def _walk(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | None]]:
    if isinstance(node, ast.Raise):
        yield node, None
        return  # texts of messages are not mutated
    if isinstance(node, ast.JoinedStr | ast.pattern) or (isinstance(node, ast.Expr) and isinstance(node.value, TEXTS)):
        return
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield node, None
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield node.value, ast.Constant(None)
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.expr) and (mutated := _mutate(node)) is not None:
        yield node, mutated
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue  # types and defaults
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cast", "isinstance"):
            value = node.args[1] if node.func.id == "cast" and name == "args" else []
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _mutate(node: ast.expr) -> ast.expr | None:
    """Return a mutated copy of an expression, or None if it is not mutated."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare):
        new.ops[0] = OPPOSITES[type(new.ops[0])]()
        return new
    if isinstance(new, ast.BinOp) and type(new.op) in OTHERS and not _has_text(new):
        new.op = OTHERS[type(new.op)]()
        return new
    if isinstance(new, ast.BoolOp):
        new.op = ast.And() if isinstance(new.op, ast.Or) else ast.Or()
        return new
    if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not | ast.USub):
        return new.operand
    if isinstance(new, ast.Constant) and isinstance(new.value, bool | int | float):
        new.value = not new.value if isinstance(new.value, bool) else new.value + 1
        return new
    return None


def _has_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (node.left, node.right))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
