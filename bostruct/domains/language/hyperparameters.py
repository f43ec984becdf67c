"""What is chosen, and what follows from it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from bostruct.checks import check_integer, check_number, shown
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.fragments import Fragment, building

Value: TypeAlias = Any  # None, bool, int, float, str, or tuples of them
NAME = re.compile(r"[A-Za-z_][\w+-]*")
MOST_INTEGERS = 1_000_000  # of an IntRange
DIGITS = (12, 15, 17)
LARGE = 1e307  # the difference of larger numbers may be beyond what a float can hold


class Discrete:
    """An independent hyperparameter: one of finitely many values.

    values: at least one, none twice; each None, a bool, a number, a string, or a tuple of these. name: its key in
    traces; by default the first module that it is given to and its local name there, as in ``Conv2D-0.filters``.
    ordered: whether neighbouring values are alike. To share a hyperparameter, pass the same object to several modules.
    Raises LanguageError.
    """

    __slots__ = ("fragment", "name", "ordered", "path", "positions", "values")

    def __init__(self, values: Iterable[Value], name: str | None = None, *, ordered: bool = False) -> None:
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise LanguageError(f"values: expected a sequence of values, got {shown(values)}")
        self.values = tuple(as_value("values", value) for value in values)
        self.name = as_name(name)
        self.ordered = ordered
        self.positions = {value: position for position, value in enumerate(self.values)}
        if not self.values:
            raise LanguageError("values: expected at least one, got none")
        if len(self.positions) < len(self.values):
            raise LanguageError(f"values: expected no two that are equal, got {shown(self.values)}")
        self.path = ""  # known once the function around it has returned
        self.fragment: Fragment = building("a hyperparameter")
        self.fragment.hyperparameters.append(self)

    def __repr__(self) -> str:
        return f"D({shown(list(self.values))}){' at ' + self.path if self.path else ''}"


D = Discrete


def Bool(name: str | None = None) -> Discrete:
    """0 or 1."""
    return Discrete((0, 1), name)


def OneOfK(k: int, name: str | None = None) -> Discrete:
    """0 to k - 1, as for `siso_or` of k functions; raises TypeError, ValueError."""
    return Discrete(range(check_integer("k", k, 1)), name)


def OneOfKFactorial(k: int, name: str | None = None) -> Discrete:
    """0 to k! - 1, the positions of all orders of k things, as for `siso_permutation`; k at most 8."""
    return Discrete(range(math.factorial(check_integer("k", k, 1, 8))), name)


def IntRange(low: int, high: int, steps: int | None = None, *, log: bool = False, name: str | None = None) -> Discrete:
    """Integers from low to high, both included: all, or about `steps` of them at even distances (of logarithms: log).

    Raises TypeError, ValueError.
    """
    low, high = check_integer("low", low, 1 if log else -(2**53)), check_integer("high", high, low, 2**53)
    if steps is None and not log:
        if high - low >= MOST_INTEGERS:
            raise ValueError(
                f"steps: expected a number for {low} to {high}, more than {MOST_INTEGERS} integers; got None"
            )
        return Discrete(range(low, high + 1), name, ordered=True)
    steps = check_integer("steps", min(8, high - low + 1) if steps is None else steps, 1, MOST_INTEGERS)
    last = max(steps - 1, 1)
    if log:
        inner = {min(max(round(x), low), high) for x in _grid(low, high, steps, log)[:-1]}
    else:
        inner = {round(low + Fraction((high - low) * i, last)) for i in range(1, last)}
    return Discrete(sorted({low, *inner, *((high,) if steps > 1 else ())}), name, ordered=True)


def FloatRange(low: float, high: float, steps: int, *, log: bool = False, name: str | None = None) -> Discrete:
    """`steps` numbers from low to high, both included, at even distances (of logarithms: log).

    Those between have 12 digits, or as many more as they need to differ; fewer than `steps` where there are no more
    floats. Raises TypeError, ValueError.
    """
    low = check_number("low", low, math.nextafter(0.0, 1.0) if log else -math.inf)
    high = check_number("high", high, low)
    return Discrete(list(dict.fromkeys(_grid(low, high, check_integer("steps", steps, 1), log))), name, ordered=True)


def _grid(low: float, high: float, steps: int, log: bool) -> list[float]:
    """The ends and what lies between, ascending."""
    if steps == 1:
        return [float(low)]
    scale = 1.0 if max(abs(low), abs(high)) < LARGE else 0.5
    ends = low * scale, high * scale
    grid = np.geomspace(low, high, steps) if log else np.clip(np.linspace(*ends, steps), *ends) / scale
    raw = np.clip(grid[1:-1], low, high).tolist()
    for digits in DIGITS:
        inner = [float(f"{x:.{digits}g}") for x in raw]  # the same digits on every machine
        whole = [float(low), *inner, float(high)]
        if all(a < b for a, b in pairwise(whole)):
            return whole
    return sorted([float(low), *raw, float(high)])


class DependentHyperparameter:
    """A value that follows from others: fn of a dict from local names to values.

    hyperps: local name -> hyperparameter, dependent or not; at least one. Raises LanguageError.
    """

    __slots__ = ("fn", "fragment", "name", "parents", "path")

    def __init__(
        self, fn: Callable[[dict[str, Value]], Value], hyperps: Mapping[str, Hyperparameter], name: str | None = None
    ) -> None:
        if not callable(fn):
            raise LanguageError(f"fn: expected a function of a dict, got {shown(fn)}")
        named = as_properties("hyperps", hyperps)
        if not named or not all(is_hyperparameter(h) for h in named.values()):
            raise LanguageError(f"hyperps: expected a dict from names to hyperparameters, got {shown(hyperps)}")
        self.fn = fn
        self.parents = {local: named[local] for local in sorted(named)}
        self.name = as_name(name)
        self.path = ""
        self.fragment: Fragment = building("a hyperparameter")
        self.fragment.hyperparameters.append(self)

    def __repr__(self) -> str:
        return f"DependentHyperparameter of {', '.join(self.parents)}{' at ' + self.path if self.path else ''}"


Hyperparameter: TypeAlias = Discrete | DependentHyperparameter


def independent(h: Hyperparameter) -> tuple[Discrete, ...]:
    """The independent hyperparameters whose values give its own, breadth-first, by local name: h where it is one."""
    if isinstance(h, Discrete):
        return (h,)
    queue: list[Hyperparameter] = [h]
    known: set[Hyperparameter] = {h}
    for one in queue:  # grows as it goes
        if isinstance(one, DependentHyperparameter):
            queue += [parent for parent in dict.fromkeys(one.parents.values()) if parent not in known]
            known.update(one.parents.values())
    return tuple(one for one in queue if isinstance(one, Discrete))


def is_hyperparameter(value: Any) -> bool:
    return isinstance(value, Discrete | DependentHyperparameter)


def as_name(name: str | None) -> str | None:
    """A key that may stand in a path; raises LanguageError."""
    if name is not None and (not isinstance(name, str) or not NAME.fullmatch(name)):
        raise LanguageError(
            f"name: expected letters, digits, '_', '+' and '-', not beginning with a digit; got {name!r}"
        )
    return name


def as_properties(what: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """By local names, none where nothing is given; raises LanguageError."""
    if given is not None and not isinstance(given, Mapping):
        raise LanguageError(f"{what}: expected a dict from local names, got {shown(given)}")
    for name in given or ():
        if not isinstance(name, str):
            raise LanguageError(f"{what}: expected local names that are text, got {shown(name)}")
    return given or {}


def as_value(what: str, value: Any) -> Value:
    """A value that JSON can hold and a dict can be keyed by; lists become tuples. Raises LanguageError."""
    if type(value) in (int, str, float, bool) or value is None:
        if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
            raise LanguageError(f"{what}: expected finite numbers, got {value}")
        return value
    if isinstance(value, np.generic):
        return as_value(what, value.item())
    if isinstance(value, list | tuple):
        return tuple(as_value(what, part) for part in value)
    raise LanguageError(
        f"{what}: expected None, bools, numbers, strings or tuples of these, got {shown(value)}; to choose between "
        "functions use siso_or"
    )
