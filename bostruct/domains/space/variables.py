"""Variables of a `Space`: their choices, and the graph that says which choices are one change apart."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.checks import check_integer, check_number, short_repr
from bostruct.contracts import DomainError, Json, PointError
from bostruct.domains.space.graphs import (
    MAX_CHOICES,
    MIN_WEIGHT,
    CompleteGraph,
    DyadicGraph,
    PathGraph,
    VariableGraph,
    WeightedGraph,
    weighted_graph,
    weighted_graph_from_json,
)
from bostruct.domains.space.scale import GRID_STEPS, RealGrid


class Variable:
    """A variable of a `Space`: its choices, in order, and their graph. It never changes.

    kind: str, the name of the function that made it, such as ``Binary``.
    choices: the values; vertex v of the graph is choice v.
    graph: the choices that are one change apart.
    """

    def __init__(self, kind: str, choices: Iterable[Any], graph: VariableGraph) -> None:
        self.kind = kind
        self.choices: Sequence[Any] = choices if isinstance(choices, RealGrid) else tuple(choices)
        self.graph = graph

    def __repr__(self) -> str:
        if isinstance(self.choices, RealGrid):
            return f"Real({self.choices.low}, {self.choices.high}{', log=True' if self.choices.log else ''})"
        return f"{self.kind}({short_repr(list(self.choices))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.kind, len(self.choices)))

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def ordered(self) -> bool:
        """True where the choices have an order that means something."""
        return self.kind in ("Ordinal", "Integer", "Fidelity", "Real")

    def vertex(self, value: Any) -> int:
        """Return the position of a choice; raises PointError where value is none of them.

        value: one of the choices.
        """
        value = to_python(value)
        if isinstance(self.choices, RealGrid):
            return self.choices.vertex(value)
        try:
            return self._positions[value]
        except KeyError:
            pass
        except TypeError:  # an unhashable value can only equal an unhashable choice
            for position, choice in enumerate(self.choices):
                if type(choice) is type(value) and choice == value:
                    return position
        raise PointError(f"expected one of {short_repr(list(self.choices), 200)}, got {short_repr(value)}")

    def value(self, vertex: int) -> Any:
        """Return a choice for the user to keep: a copy of one that can be changed, so that the space never is.

        vertex: int, its position.
        """
        choice = self.choices[vertex]
        if isinstance(self.choices, RealGrid):
            return choice
        return choice if len(self._positions) == len(self.choices) else copy.deepcopy(choice)

    def encode(self, vertex: int) -> Json:
        """Return a choice as JSON: itself, or its position where JSON has no such value.

        vertex: int, its position.
        """
        choice = self.choices[vertex]
        return choice if is_json_scalar(choice) else {"vertex": int(vertex)}

    def decode(self, data: Json) -> int:
        """Rebuild a vertex from its description; raises PointError for what `encode` never writes.

        data: what `encode` returned.
        """
        if not isinstance(data, dict):
            return self.vertex(data)
        vertex = data.get("vertex")
        if type(vertex) is not int or not 0 <= vertex < len(self.choices):
            raise PointError(f"expected a vertex in 0..{len(self.choices) - 1}, got {short_repr(data)}")
        return vertex

    def to_json(self) -> Json:
        """Describe the variable as JSON."""
        data: dict[str, Json] = {"kind": self.kind}
        if isinstance(self.choices, RealGrid):
            return data | {"low": self.choices.low, "high": self.choices.high, "log": self.choices.log}
        if self.kind == "Integer":
            return data | {"low": self.choices[0], "high": self.choices[-1]}
        if self.kind != "Binary":
            data["choices"] = [_choice_to_json(c) for c in self.choices]
        if isinstance(self.graph, PathGraph) and self.graph.weight != 1.0:
            data["weight"] = self.graph.weight
        if isinstance(self.graph, WeightedGraph):
            data["edges"] = [list(edge) for edge in self.graph.edges]
        return data

    @cached_property
    def _positions(self) -> dict[Any, int]:
        positions = {}
        for position, choice in enumerate(self.choices):
            try:
                positions[choice] = position
            except TypeError:  # unhashable: found by comparison
                continue
        return positions


def to_python(value: Any) -> Any:
    """Return NumPy scalars as the Python values that they stand for."""
    return value.item() if isinstance(value, np.generic) else value


def is_json_scalar(value: Any) -> bool:
    """Tell whether a value is one that JSON holds as it is: None, a bool, an int, a text or a finite float."""
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def _choice_to_json(choice: Any) -> Json:
    if is_json_scalar(choice):
        return choice
    return {"infinity": math.copysign(1.0, choice)} if type(choice) is float else {"repr": repr(choice)}


def _choice_from_json(data: Json) -> Any:
    return data["infinity"] * math.inf if isinstance(data, dict) else data


def _check_distinct(kind: str, choices: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(choices, str | bytes | set | frozenset | dict) or not isinstance(choices, Iterable):
        raise DomainError(f"{kind}: expected a sequence of choices, got {short_repr(choices)}")
    values = tuple(to_python(choice) for choice in itertools.islice(choices, MAX_CHOICES + 1))
    if not 2 <= len(values) <= MAX_CHOICES:
        got = f"{len(values)}: {short_repr(list(values))}" if len(values) <= MAX_CHOICES else "more"
        got += "; take a coarser grid" if got == "more" and kind == "Ordinal" else ""
        raise DomainError(f"{kind}: expected 2 to {MAX_CHOICES} choices, got {got}")
    seen: set[Any] = set()
    unhashable: list[Any] = []
    for value in values:
        if not _equals_itself(value):
            raise DomainError(f"{kind}: a choice must equal itself and be comparable, got {short_repr(value)}")
        try:
            repeated = value in seen
            seen.add(value)
        except TypeError:
            repeated = value in unhashable
            unhashable.append(value)
        if repeated:
            raise DomainError(f"{kind}: expected distinct choices, got {short_repr(value)} more than once")
    return values


def _equals_itself(value: Any) -> bool:
    try:
        return not isinstance(value, np.ndarray) and bool(value == value)
    except (TypeError, ValueError):  # what compares elementwise, or refuses to
        return False


def Binary() -> Variable:
    """Return a variable that is False or True (0 and 1 are understood)."""
    return Variable("Binary", (False, True), CompleteGraph(2))


def Categorical(choices: Iterable[Any]) -> Variable:
    """Return a variable of unordered choices: each is one change from each other (complete graph).

    choices: 2 to 1000 distinct values, each equal to itself.

    Raises DomainError.
    """
    values = _check_distinct("Categorical", choices)
    return Variable("Categorical", values, CompleteGraph(len(values)))


def Ordinal(choices: Iterable[Any], weight: float = 1.0) -> Variable:
    """Return a variable of ordered choices: only next ones are one change apart (path graph).

    choices: 2 to 1000 distinct values, in order.
    weight: float > 0, the weight of the graph's edges, which scales diffusion along them.

    Raises DomainError and ValueError.
    """
    values = _check_distinct("Ordinal", choices)
    return Variable("Ordinal", values, _path(len(values), check_number("weight", weight, MIN_WEIGHT)))


def Real(low: float, high: float, *, log: bool = False) -> Variable:
    """Return a variable of all numbers from low to high, both included.

    low, high: finite numbers, low < high.
    log: bool, True to draw and change values on the scale of their logarithms; then low > 0.

    Values lie on a grid of a trillion steps, to the nearest of which your own numbers are moved. Methods that need no
    kernel accept it (`wrs`, `random`, `annealing`, `hill-climbing`, `evolution` and their kin); others refuse it by
    name.
    Raises DomainError and ValueError.
    """
    low, high = check_number("low", low), check_number("high", high)
    if not low < high or (log and low <= 0.0) or not math.isfinite(high - low):
        raise DomainError(f"Real: expected low < high{', low above 0' if log else ''}; got low={low}, high={high}")
    span = math.log(high / low) if log else (high - low) / max(abs(low), abs(high))
    if span < GRID_STEPS * 1e-15:
        raise DomainError(f"Real: expected a range that float64 can divide finely, got low={low}, high={high}")
    return Variable("Real", RealGrid(low, high, log=log), DyadicGraph(GRID_STEPS + 1))


def Fidelity(costs: Iterable[float]) -> Variable:
    """Return a variable for how thoroughly a point is evaluated: epochs, shares of the data, simulations (path graph).

    costs: positive numbers, ascending: what an evaluation costs at each fidelity, in any unit.

    Hyperband and successive halving raise it for points that do well; to all other methods it is an ordered variable.
    Raises DomainError.
    """
    values = _check_distinct("Fidelity", costs)
    numbers = all(type(cost) in (int, float) and math.isfinite(cost) and cost > 0 for cost in values)
    if not numbers or list(values) != sorted(values):
        raise DomainError(f"Fidelity: expected positive numbers in ascending order, got {short_repr(list(values))}")
    return Variable("Fidelity", values, _path(len(values), 1.0))


def _path(size: int, weight: float) -> VariableGraph:
    """Return a path, or for two choices the complete graph, which is the same, in closed form for kernels."""
    return CompleteGraph(2) if size == 2 and weight == 1.0 else PathGraph(size, weight)


def Integer(low: int, high: int) -> Variable:
    """Return a variable of all integers from low to high, both included (path graph).

    low, high: int, low < high, at most 1000 values.

    Raises DomainError, TypeError and ValueError.
    """
    low = check_integer("low", low, -(2**53), 2**53)
    high = check_integer("high", high, -(2**53), 2**53)
    if not 2 <= high - low + 1 <= MAX_CHOICES:
        advice = ""
        if low < high:
            step = math.ceil((high - low) / (MAX_CHOICES - 1))
            advice = (
                f". Give a grid, such as Ordinal(range({low}, {high + 1}, {step})) or one of geometric steps; or "
                f"Real({low}, {high}), rounded in the objective, for a method that takes it"
            )
        raise DomainError(
            f"Integer: expected 2 to {MAX_CHOICES} values, low < high; got low={low}, high={high}{advice}"
        )
    return Variable("Integer", range(low, high + 1), _path(high - low + 1, 1.0))


def Graph(graph: Any) -> Variable:
    """Return a variable whose choices are the nodes of a graph; its edges are one change.

    graph: connected undirected `networkx.Graph` of 2 to 1000 nodes without loops; edges may have the attribute `weight`
        > 0.

    Raises DomainError.
    """
    nodes, weighted = weighted_graph(graph)
    return Variable("Graph", _check_distinct("Graph", nodes), weighted)


def variable(name: str, given: Any) -> Variable:
    """Read a variable as it is, or from its shorthand: bool, a range, an array of numbers, a list or a tuple.

    name: str, what errors call it.
    given: a `Variable` or a shorthand.

    Raises DomainError.
    """
    if isinstance(given, Variable):
        return given
    if given is bool:
        return Binary()
    pair = tuple(given.tolist()) if isinstance(given, np.ndarray) and given.ndim == 1 else given
    if isinstance(pair, tuple) and len(pair) == 2 and all(type(to_python(v)) in (int, float) for v in pair):
        raise DomainError(
            f"{name}: {pair} might be bounds or two choices; expected Integer{pair} for all integers between, or "
            f"the list {list(pair)} for the two"
        )
    try:
        if isinstance(given, range) or (isinstance(given, np.ndarray) and _is_monotone(given)):
            return Ordinal(given)
        if isinstance(given, list | tuple):
            return Categorical(given)
    except DomainError as error:
        raise DomainError(f"{name}: {error}") from None
    raise DomainError(
        f"{name}: expected Binary(), Categorical(...), Ordinal(...), Integer(low, high), Real(low, high), Graph(...), "
        f"or the shorthand bool, a list, a range or an array of ascending numbers; got {short_repr(given)}"
    )


def _is_monotone(values: np.ndarray[Any, Any]) -> bool:
    """Tell whether numbers ascend, or descend, so that their order means something."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        return False
    return bool((values[1:] > values[:-1]).all() or (values[1:] < values[:-1]).all())


def variable_from_json(name: str, data: Json) -> Variable:
    """Rebuild a variable from its description; raises DomainError where the choices were not plain JSON values.

    name: str, what errors call it.
    data: dict that `Variable.to_json` returned.
    """
    kind, choices = data["kind"], data.get("choices", ())
    if any(isinstance(choice, dict) and "repr" in choice for choice in choices):
        raise DomainError(
            f"{name}: its choices are Python objects that no file holds; pass the space itself (space=...)"
        )
    choices = [_choice_from_json(choice) for choice in choices]
    if kind == "Binary":
        return Binary()
    if kind == "Real":
        return Real(data["low"], data["high"], log=data["log"])
    if kind == "Integer":
        return Integer(data["low"], data["high"])
    if kind == "Ordinal":
        return Ordinal(choices, data.get("weight", 1.0))
    if kind == "Fidelity":
        return Fidelity(choices)
    if kind == "Graph":
        return Variable("Graph", choices, weighted_graph_from_json(len(choices), data["edges"]))
    return Categorical(choices)
