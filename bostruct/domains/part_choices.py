"""Named choices of points with several parts, and of structures such as orders and subsets.

The path of a choice identifies its part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.checks import list_wide
from bostruct.contracts import Array, Choice, Domain, DomainError, Point
from bostruct.domains.language.features import LRUCache
from bostruct.domains.space.choices import coordinate
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.variable import INACTIVE, Variable

MARK = "\0"  # separates the name of a structure from the number of a choice; never part of a user's name
MOST_VALUES = 1_000  # values of a structure; if it has more, this number is drawn
MOST_CODES = 2_000  # codes of all choices of a structure, up to which its choices are unordered


@dataclass(frozen=True)
class StructureChoices:
    """The view of a space in which each column of a structure is a choice."""

    domain: Domain

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the variables whose columns are not choices."""
        return tuple(name for name in list_wide(self.domain) if not _can_be_listed(self.domain.variables[name]))

    @property
    def structures(self) -> dict[str, Variable]:
        """The variables with several choices, by name."""
        return {name: one for name, one in self.domain.variables.items() if one.width > 1 and _can_be_listed(one)}

    def coordinates(self, x: Point) -> list[Choice]:
        """List the choices of a point."""
        variables = self.domain.variables
        columns = Layout(tuple(one.width for one in variables.values())).split(x)
        return [
            one
            for (name, variable), own in zip(variables.items(), columns, strict=True)
            if own[0] != INACTIVE
            for one in (
                [coordinate(name, variable, own[0])] if variable.width == 1 else list_choices(name, variable, own)
            )
        ]


def _can_be_listed(variable: Variable) -> bool:
    return variable.n_codes > 0 or variable.n_continuous > 0


def list_choices(name: str, variable: Variable, columns: Sequence[int]) -> list[Choice]:
    """List the choices that form a value of a structure.

    For an order, they are the position of each item, after all other items if the order lacks it; for a mixture, the
    share of each part, named by a dot and the part; for any other structure, its columns.
    """
    if variable.parts:
        shares = np.nan_to_num(variable.shares(np.array([columns]))[0]).tolist()
        return [
            Choice(f"{name}.{part}", name, one, math.inf, True)
            for part, one in zip(variable.parts, shares, strict=False)
        ]
    codes, n_values = np.asarray(columns), variable.n_codes
    if variable.is_order:
        codes, n_values = np.full(n_values, variable.width), min(variable.width + 1, n_values)
        codes[list(columns)] = np.arange(variable.width)
    is_ordered = variable.is_order or variable.n_codes == 2 or variable.n_codes * variable.width > MOST_CODES
    return [
        Choice(f"{name}{MARK}{i}", name, code, n_values, is_ordered)
        for i, code in enumerate(codes.tolist())
        if variable.n_codes
    ]


def draw_values(name: str, variable: Variable, rng: np.random.Generator) -> tuple[list[list[Choice]], Array]:
    """Return values of a structure as their choices (a), and their weights (a,), which sum to 1.

    If there are few values, all are returned, weighted by their probabilities; otherwise, draws of equal weight.

    rng: random number generator.
    """
    try:
        values = variable.enumerate() if variable.size <= MOST_VALUES else None
    except DomainError:  # a variable whose values cannot be listed
        values = None
    drawn = variable.sample(MOST_VALUES, rng) if values is None else values
    weights = np.ones(MOST_VALUES) if values is None else variable.chances(values)
    return [list_choices(name, variable, columns) for columns in drawn.tolist()], weights / weights.sum()


@dataclass(frozen=True)
class PartChoices:
    """The named choices of several parts; each path is the name of the part, a dot, and the path in the part."""

    names: Sequence[str]
    domains: Sequence[Any]
    own_names: Sequence[str] = ()
    hidden: frozenset[str] = frozenset()

    def coordinates(self, parts: Sequence[Point]) -> list[Choice]:
        """List the choices of a point."""
        pairs = enumerate(zip(self.domains, parts, strict=True))
        found = [(i, one) for i, (domain, part) in pairs for one in domain.coordinates(part)]
        return [self.rename(i, one) for i, one in found if i or one.path not in self.hidden]

    def names_of(self, parts: Sequence[Point]) -> tuple[str, ...]:
        """List the paths of the choices of a point."""
        pairs = enumerate(zip(self.domains, parts, strict=True))
        found = [(i, path) for i, (domain, part) in pairs for path in domain.names(part)]
        return tuple(self.prefixes[i] + path for i, path in found if i or path not in self.hidden)

    def rename(self, i: int, one: Choice) -> Choice:
        """Return a choice with its path and kind in the whole point."""
        prefix = self.prefixes[i]
        return Choice(prefix + one.path, prefix + one.kind, one.value, one.count, one.ordered)

    def sort_by_part(self, paths: Sequence[str]) -> dict[int, list[str]]:
        """Return the paths within each part, by its position; parts without any are left out."""
        found: dict[int, list[str]] = {}
        for path in paths:
            named = (i for i, prefix in enumerate(self.prefixes) if prefix and path.startswith(prefix))
            i = next(named, self.prefixes.index("") if "" in self.prefixes else -1)
            if i < 0:
                raise KeyError(path)
            found.setdefault(i, []).append(path.removeprefix(self.prefixes[i]))
        return found

    @cached_property
    def prefixes(self) -> list[str]:
        """The prefix of the paths of each part: its name, and more dots than any name has in a row.

        So no prefix or name starts with another prefix. A name that ends in a dot is marked first (`_mark_end`).
        """
        runs = [len(run) for name in (*self.names, *self.own_names) for run in re.findall(r"\.+", name)]
        dots = "." * (1 + max(runs, default=0))
        return [_mark_end(name, self.names) + dots if name else "" for name in self.names]


def _mark_end(name: str, names: Sequence[str]) -> str:
    """Return a name; if it ends in a dot, append as many slashes as distinguish it from all other names."""
    if not name.endswith("."):
        return name
    marks = "/"
    while name + marks in names:
        marks += "/"
    return name + marks


@dataclass(frozen=True)
class DescribedParts:
    """The choices of points with several parts, listed by one object per part; they cannot be resampled."""

    domain: Domain
    described: Sequence[Any]

    def coordinates(self, x: Point) -> list[Choice]:
        """List the choices of a point."""
        found = self.choices.coordinates([self.domain.part(name, [x])[0] for name in self.domain.parts])
        if not self.choices.own_names:
            return found
        shown = self.domain.present(x)
        return [one for one in found if one.path in shown or one.path not in self.choices.own_names]

    @cached_property
    def choices(self) -> PartChoices:
        """The choices of the parts."""
        own = self.domain.parts.get("")
        own_names = () if own is None else tuple(own.variables)
        return PartChoices(tuple(self.domain.parts), self.described, own_names)


def no_facts(parts: Sequence[Point]) -> Mapping[str, int]:
    """Return no decisions: a first part that does not depend on other parts has none that follow from them."""
    del parts
    return {}


@dataclass(frozen=True)
class PartDecisions:
    """The decisions of several parts in sequence; the first part comes last, because it may depend on the others."""

    domains: Sequence[Any]
    facts: Callable[[Sequence[Point]], Mapping[str, int]] = field(default=no_facts)

    def of(self, parts: Sequence[Point]) -> tuple[int, ...]:
        """Return the decisions that lead to a point."""
        known = self.facts(parts[1:])
        first = list(self.domains[0].decisions(parts[0]))
        free = [k for k in range(len(first)) if not known or self.domains[0].choice_after(first[:k]).path not in known]
        others = [
            one for domain, part in zip(self.domains[1:], parts[1:], strict=True) for one in domain.decisions(part)
        ]
        return (*others, *(first[k] for k in free))

    def options(self, made: Sequence[int]) -> int:
        """Count the options of the next decision; 0 if no decision is left. Raises Infeasible."""
        i, own = self.split(made)[-1]
        return self._options((i, tuple(own)))

    def split(self, made: Sequence[int]) -> list[tuple[int, list[int]]]:
        """Return the decisions of each started part, with its position; the last part may be incomplete."""
        left, found = list(made), list[tuple[int, list[int]]]()
        for i in range(1, len(self.domains)):
            n = next((n for n in range(len(left) + 1) if not self._options((i, tuple(left[:n])))), None)
            found.append((i, left[:n]))
            if n is None:
                return found
            left = left[n:]
        return [*found, (0, self._with_facts(left, found))]

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> list[Point]:
        """Draw a point of each part that starts with these decisions; values that depend on other parts may be wrong.

        rng: random number generator.
        """
        given = dict(self.split(made))
        return [domain.roll_out(given.get(i, ()), rng) for i, domain in enumerate(self.domains)]

    def _with_facts(self, left: list[int], others: Sequence[tuple[int, list[int]]]) -> list[int]:
        """Return the decisions of the first part: the decisions left and the decisions that follow from other parts."""
        first = self.domains[0]
        known = self.facts([self._point((i, tuple(own))) for i, own in others])
        if not known:
            return left
        left, merged = list(left), list[int]()
        while (following := first.choice_after(merged)) is not None:
            if following.path in known:
                merged.append(known[following.path])
            elif left:
                merged.append(left.pop(0))
            else:
                break
        return merged + left

    @cached_property
    def _options(self) -> LRUCache[tuple[int, tuple[int, ...]], int]:
        return LRUCache(self._count_options)

    @cached_property
    def _point(self) -> LRUCache[tuple[int, tuple[int, ...]], Point]:
        return LRUCache(self._replay)

    def _count_options(self, key: tuple[int, tuple[int, ...]]) -> int:
        i, made = key
        return self.domains[i].options(made)

    def _replay(self, key: tuple[int, tuple[int, ...]]) -> Point:
        """Return the point that the complete decisions of a part lead to."""
        i, made = key
        return self.domains[i].roll_out(made, np.random.default_rng(0))
