"""Expressions of tuning files, parsed and evaluated with bounds on steps and numbers, and never run as code."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, Presented

MAX_STEPS = 200_000  # the most list elements that one evaluation of an expression creates or iterates over
MAX_BITS = 1024  # of a number in an expression
MAX_CHARACTERS = 10_000  # of an expression
Names: TypeAlias = Mapping[str, Presented]
ARITHMETIC: dict[type, Callable[[Presented, Presented], Presented]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
SIGNS = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
COMPARISONS: dict[type, Callable[[Presented, Presented], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda one, many: is_in(one, many), ast.NotIn: lambda one, many: not is_in(one, many),
}  # fmt: skip
KNOWN = (
    ast.Constant, ast.Name, ast.List, ast.Tuple, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call,
    ast.ListComp, ast.comprehension, ast.expr_context, ast.And, ast.Or, *ARITHMETIC, *SIGNS, *COMPARISONS,
)  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Presented]] = {
    "abs": abs, "bool": bool, "ceil": math.ceil, "float": float, "floor": math.floor, "int": int, "len": len,
    "list": list, "log2": math.log2, "max": max, "min": min, "range": range,
    "round": lambda *given: round_number(*given), "sqrt": math.sqrt, "sum": sum,
}  # fmt: skip


class ExpressionError(DomainError):
    """An expression that is not supported, or that has no value; its message ends with the column."""


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> tuple[Presented, dict[str, int]]:
    """Return the syntax tree of an expression, and the column of each name that it takes from a configuration.

    text: a Python expression with only the elements that `Restriction` lists, and one `for` over a list.

    Raises ExpressionError, which names the column of anything else.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"expected at most {MAX_CHARACTERS} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        column = getattr(error, "offset", 0) or max(1, len(text))
        message = str(getattr(error, "msg", error)).partition(";")[0]
        raise ExpressionError(f"{message} (column {column})") from None
    nodes: list[Presented] = list(ast.walk(tree))
    loops = [node for node in nodes if isinstance(node, ast.ListComp)]
    targets: list[Presented] = [one.target for node in loops for one in node.generators]
    inside = {id(node) for loop in loops for part in (loop.elt, *loop.generators[0].ifs) for node in ast.walk(part)}
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    is_supported: dict[type, Callable[[Presented], bool]] = {
        ast.Constant: lambda node: isinstance(node.value, bool | int | float | str),
        ast.Call: lambda node: not node.keywords and getattr(node.func, "id", None) in FUNCTIONS,
        ast.ListComp: lambda _: len(targets) == 1 and isinstance(targets[0], ast.Name),  # more would multiply
    }
    for node in nodes:
        if not isinstance(node, KNOWN) or not is_supported.get(type(node), lambda _: True)(node):
            raise ExpressionError(
                f"{ast.unparse(node)[:50]!r} is not supported (column {getattr(node, 'col_offset', 0) + 1})"
            )
    bound = {target.id for target in targets}
    names = [node for node in nodes if isinstance(node, ast.Name) and node not in [*functions, *targets]]
    free = [node for node in names if node.id not in bound or id(node) not in inside]
    return tree, {node.id: node.col_offset + 1 for node in free}


class _Budget:
    """The number of list elements that one evaluation may still create or iterate over."""

    left = MAX_STEPS

    def spend(self, value: Presented, times: int = 1) -> Presented:
        """Return a value; raise ExpressionError for a list that is too long to iterate over so many times."""
        if isinstance(value, list | range | str):
            self.left -= len(value) * times
            if self.left < 0:
                raise ExpressionError(f"expected at most {MAX_STEPS:,} steps, got a list of {len(value)} beyond them")
        return value


def evaluate_expression(node: Presented, names: Names, budget: _Budget | None = None) -> Presented:
    """Return the value of an expression.

    node: a node of the tree that `parse_expression` returned.
    names: the value of each name.
    budget: the budget of the enclosing expression; None for a new budget.

    Raises ExpressionError, ArithmeticError, LookupError, TypeError or ValueError if there is no value, or if it takes
    more than 200,000 steps through lists.
    """
    budget = budget or _Budget()

    def value_of(part: Presented, own: Names = names) -> Presented:
        return evaluate_expression(part, own, budget)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [value_of(part) for part in parts]
        case ast.BoolOp(op=op, values=parts):
            return (all if isinstance(op, ast.And) else any)(map(value_of, parts))
        case ast.UnaryOp(op=op, operand=part):
            return SIGNS[type(op)](value_of(part))
        case ast.BinOp(left=left, op=op, right=right):
            return budget.spend(_calculate(type(op), value_of(left), value_of(right)))
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = pairwise(
                value if isinstance(value, range) else budget.spend(value) for value in map(value_of, (left, *others))
            )
            return all(COMPARISONS[type(op)](*pair) for op, pair in zip(ops, sides, strict=True))
        case ast.IfExp(test=test, body=body, orelse=other):
            return value_of(body if value_of(test) else other)
        case ast.Call(func=ast.Name(id=name), args=parts):
            return FUNCTIONS[name](*(budget.spend(value_of(part)) for part in parts))
        case ast.ListComp(elt=part, generators=[ast.comprehension(target=ast.Name(id=name)) as loop]):
            own, found = dict(names), []
            for own[name] in budget.spend(value_of(loop.iter), sum(1 for _ in ast.walk(node))):
                found += [value_of(part, own)] if all(value_of(test, own) for test in loop.ifs) else []
            return found
    raise ExpressionError(f"{node!r} is not supported")


def is_in(one: Presented, many: Presented) -> bool:
    """Return whether a list, a string or a range contains a value, without iterating over a range."""
    if isinstance(many, range):
        return isinstance(one, int | float) and one == one // 1 and int(one) in many
    return one in many


def round_number(number: Presented, digits: Presented = None) -> Presented:
    """Return a rounded number; raise ExpressionError for more digits than a supported number has."""
    if digits is not None and abs(digits) > MAX_BITS:
        raise ExpressionError(f"round: expected at most {MAX_BITS} digits, got {digits}")
    return round(number, digits)


def _calculate(kind: type, left: Presented, right: Presented) -> Presented:
    """Return the result of arithmetic on numbers, or join two lists; raise ExpressionError if it is too large."""
    if kind is ast.Add and isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise ExpressionError(f"arithmetic: expected numbers, got {short_repr(left)} and {short_repr(right)}")
    bits = {ast.Pow: int(left).bit_length() * right, ast.LShift: right}.get(kind, 0)
    result = math.inf if bits > MAX_BITS else ARITHMETIC[kind](left, right)
    if isinstance(result, complex) or abs(result) >= 2**MAX_BITS:
        raise ExpressionError(f"expected real numbers below 2^{MAX_BITS}, got a larger one from {left} and {right}")
    return result
