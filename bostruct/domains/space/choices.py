"""Variables with one column: a list of choices, and the graph in which choices one change apart are adjacent."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.checks import hide_addresses, memory_size, short_repr
from bostruct.contracts import Choice, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choice_json import choice_to_json, choices_from_json, is_json_scalar
from bostruct.domains.space.clauses import When, check_when
from bostruct.domains.space.graphs import MAX_CHOICES, CompleteGraph, PathGraph, VariableGraph
from bostruct.domains.space.levels import Levels
from bostruct.domains.space.variable import NO_DEFAULT, Variable

MANY_CHOICES = {  # advice for too many choices, by kind
    "Ordinal": "; use a coarser grid, or an Integer or a Real for numbers without gaps",
}
BYTES_PER_CELL = 32  # copies of a number: as given, in the table, in the kernel and in the ranking
BYTES_PER_ROW = 2_000  # a label, its position and its string in a file
SHARE = 0.5  # share of the machine's memory for one table


class ChoiceVariable(Variable):
    """A variable with listed choices, stored as the position of the choice.

    Your own kind defines the graph, and has a kernel on it; register the class with `bostruct.register_variable`. If it
    does not change the form of values, `values_are_choices = True` makes it faster; a subclass that changes a form sets
    it to False.

    Parameters
    ----------
    choices : sequence
        The values, in order.
    graph : VariableGraph
        The graph in which neighboring choices are adjacent; vertex v is choice v.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.
    """

    graph: VariableGraph

    def __init__(
        self, choices: Sequence[Presented], graph: VariableGraph, when: When | None = None, default: object = NO_DEFAULT
    ) -> None:
        self.choices = choices
        self.graph = graph  # pyright: ignore[reportIncompatibleVariableOverride]
        self.n_codes = len(choices)
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    @property
    def arguments(self) -> str:
        return short_repr(list(self.choices))

    @property
    def size(self) -> int:
        return len(self.choices)

    @cached_property
    def has_mutable_choices(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.grid is None and len(self._positions) < len(self.choices)

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        return rng.integers(0, self.size, size=(m, 1))

    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        """List the choices next to one in the graph (k, 1), ascending."""
        graph = self.graph.with_large_steps() if large_steps else self.graph
        return graph.neighbors(int(columns[0]))[:, None]

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        """Return any other choice."""
        return [(columns[0] + 1 + int(share * (self.size - 1))) % self.size]

    def fallback(self) -> list[int]:
        """Return the middle choice if choices are ordered, otherwise the first."""
        return [(self.size - 1) // 2 if self.ordered else 0]

    def check(self, columns: Sequence[int]) -> None:
        """Raise PointError for a vertex out of range."""
        if not 0 <= columns[0] < self.size:
            raise PointError(f"expected a vertex in 0..{self.size - 1}, got {columns[0]}")

    def parse(self, value: object) -> list[int]:
        value = to_python(value)
        try:
            return [self._positions[value]]
        except KeyError:
            return [self._find_level(value)]
        except TypeError:  # an unhashable value can only equal an unhashable choice
            for position, choice in enumerate(self.choices):
                if type(choice) is type(value) and choice == value:
                    return [position]
        raise PointError(f"expected one of {short_repr(list(self.choices), 200)}, got {short_repr(value)}")

    def _find_level(self, value: Any, others: Iterable[object] = ()) -> int:
        """Return the position of the number that a value represents; raise PointError, naming the nearest number."""
        found = self._levels.find(value, others)
        if found is not None:
            return found
        nearest = self._levels.find_nearest(value)
        hint = "" if nearest is None else f"; the nearest is {self.choices[nearest]!r}"
        raise PointError(f"expected one of {short_repr(list(self.choices), 200)}, got {short_repr(value)}{hint}")

    def present(self, columns: Sequence[int]) -> Presented:
        """Return a choice; a copy if choices are mutable."""
        choice = self.choices[columns[0]]
        return copy.deepcopy(choice) if self.has_mutable_choices else choice

    def encode(self, columns: Sequence[int]) -> Json:
        """Return a choice as JSON: itself, or its position if JSON cannot represent it."""
        choice = self.choices[columns[0]]
        return choice if is_json_scalar(choice) else {"vertex": int(columns[0])}

    def decode(self, data: ParsedJson) -> list[int]:
        if not isinstance(data, dict):
            return self.parse(data)
        vertex = data.get("vertex")
        if type(vertex) is not int or not 0 <= vertex < self.size:
            raise PointError(f"expected a vertex in 0..{self.size - 1}, got {short_repr(data)}")
        return [vertex]

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the position of a choice that another variable encoded; PointError if this variable lacks it.

        Python objects, which files do not store, are distinguished by their `repr`.
        """
        if self.has_values_of(description) or not self.values_are_choices:
            return super().decode_from(data, description)
        theirs = description.get("choices")
        if not isinstance(data, dict):
            return self._parse_from(data, theirs)
        vertex = data.get("vertex")
        if not isinstance(theirs, list) or type(vertex) is not int or not 0 <= vertex < len(theirs):
            raise PointError(f"expected a choice of the earlier variable, got {short_repr(data)}")
        names = [hide_addresses(json.dumps(choice)) for choice in theirs]
        own = [choice_to_json(choice) for choice in self.choices] if self.grid is None else []
        found = [i for i, choice in enumerate(own) if hide_addresses(json.dumps(choice)) == names[vertex]]
        if len(found) != 1 or names.count(names[vertex]) != 1:
            raise PointError(f"expected one of {short_repr(list(self.choices), 200)}, got {short_repr(theirs[vertex])}")
        return found

    def read_choices_of(self, choices: ParsedJson) -> Callable[[ParsedJson], Sequence[int]]:
        """Return a function that reads single choices which another variable encoded, as `decode_from` does.

        choices: choices of the other variable, as JSON.
        """
        theirs = self.to_json() | {"choices": choices}
        return lambda data: (
            self.decode_from(data, theirs) if isinstance(data, dict) else self._parse_from(data, choices)
        )

    def _parse_from(self, data: ParsedJson, theirs: ParsedJson) -> Sequence[int]:
        """Return the position of a choice that a variable with other choices wrote; raise PointError."""
        try:
            return self.parse(data)
        except PointError:
            if not isinstance(theirs, list) or self.grid is not None:
                raise
            return [self._find_level(data, theirs)]

    def enumerate(self) -> IntArray:
        return np.arange(self.size)[:, None]

    def describe(self) -> dict[str, Json]:
        """Return the choices as JSON."""
        return {"choices": [choice_to_json(choice) for choice in self.choices]}

    @classmethod
    def from_json(cls, data: ParsedJson) -> ChoiceVariable:
        """Rebuild the variable from the result of `describe`, by default from its choices.

        Raises DomainError if the choices are Python objects, which files do not store.
        """
        make: Callable[[Sequence[Presented]], ChoiceVariable] = cls  # pyright: ignore[reportAssignmentType]
        return make(choices_from_json(data["choices"]))

    @cached_property
    def _levels(self) -> Levels:
        return Levels(self.choices)

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        positions = {}
        for position, choice in enumerate(self.choices):
            try:
                positions[choice] = position
            except TypeError:  # unhashable: found by comparison
                continue
        return positions


def coordinate(name: str, variable: Variable, vertex: int) -> Choice:
    """Return a variable of a point as a coordinate; for a number on a grid, the value is a share of its range."""
    if (grid := variable.grid) is not None:
        return Choice(name, name, float(grid.shares(np.array(vertex))), math.inf, True)
    return Choice(name, name, vertex, len(variable), variable.ordered)


def path_graph(size: int, weight: float = 1.0) -> VariableGraph:
    """Return a path; for two choices, the equal complete graph, which has a closed form in kernels.

    size: number of vertices.
    weight: weight of its edges, > 0.
    """
    is_complete = size == 1 or (size == 2 and weight == 1.0)
    return CompleteGraph(size) if is_complete else PathGraph(size, weight)


def to_python(value: object) -> Any:
    """Return NumPy scalars as Python values; other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def list_entries(value: object) -> Any:
    """Return the entries of an array, a pandas Index or a Series as a list; any other value unchanged."""
    found: Any = value
    try:
        return found.tolist() if found.ndim == 1 else value
    except AttributeError:
        return value


def check_choices(
    kind: str, choices: Iterable[Presented], noun: str = "choice", most: int = MAX_CHOICES, least: int = 2
) -> tuple[Presented, ...]:
    """Return choices as a tuple, with copies of mutable ones.

    Parameters
    ----------
    kind : str
        The name of the variable's kind in messages.
    choices : iterable
        The choices that the user gave.
    noun : str, default "choice"
        The name of a choice in messages.
    most, least : int
        Limits of the number of choices.

    Raises
    ------
    DomainError
        If there are not `least` to `most` distinct values.
    """
    if isinstance(choices, str | bytes | set | frozenset | dict) or not isinstance(choices, Iterable):
        advice = "; a string is one value: list(text) has its letters" if isinstance(choices, str) else ""
        raise DomainError(f"{kind}: expected a sequence of {noun}s, got {short_repr(choices)}{advice}")
    values = tuple(to_python(choice) for choice in itertools.islice(choices, most + 1))
    if not least <= len(values) <= most:
        got = f"{len(values)}: {short_repr(list(values))}" if len(values) <= most else _count_more(choices)
        advice = MANY_CHOICES.get(kind, "") if len(values) > most else ""
        raise DomainError(f"{kind}: expected {least} to {most} {noun}s, got {got}{advice}")
    seen: set[object] = set()
    unhashable: list[object] = []
    for value in values:
        if not _equals_itself(value):
            raise DomainError(f"{kind}: each {noun} must equal itself and be comparable, got {short_repr(value)}")
        try:
            repeated = value in seen
            seen.add(value)
        except TypeError:
            repeated = value in unhashable
            unhashable.append(value)
        if repeated:
            raise DomainError(f"{kind}: expected distinct {noun}s, got {short_repr(value)} more than once")
    return tuple(_copy_mutable(value) for value in values) if unhashable else values


def max_rows(n_cells: int) -> int:
    """Return how many rows fit into half of the machine's memory.

    n_cells: number of stored cells of each row.
    """
    return int(SHARE * memory_size() / (BYTES_PER_ROW + BYTES_PER_CELL * n_cells))


def _copy_mutable(value: Any) -> Any:
    """Return an equal copy of a value without a hash; return a hashable value, or one without copies, unchanged."""
    try:
        hash(value)
    except TypeError:
        try:
            copied = copy.deepcopy(value)
            return copied if type(copied) is type(value) and bool(copied == value) else value
        except Exception:  # such as a lock inside, or a class that cannot be copied
            return value
    return value


def _count_more(choices: Iterable[Presented]) -> str:
    """Return the number of choices, or "more" if it is unknown without listing them."""
    try:
        return str(len(choices)) if isinstance(choices, Sized) else "more"
    except OverflowError:  # a range longer than the largest machine integer
        return "more"


def _equals_itself(value: object) -> bool:
    try:
        return not isinstance(value, np.ndarray) and bool(value == value)
    except (TypeError, ValueError):  # comparison is elementwise or not supported
        return False
