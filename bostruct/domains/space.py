"""A space: the graph Cartesian product of its variables, held as integer arrays of vertices."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.checks import shown
from bostruct.contracts import DomainError, Json, PointError, SpaceExhausted
from bostruct.domains.constraints import sample_satisfying, satisfied
from bostruct.domains.graphs import IntArray
from bostruct.domains.unseen import DRAWS_UNSEEN, draw_unseen
from bostruct.domains.variables import Variable, variable, variable_from_json

MOST_VARIABLES = 1000
ENUMERABLE = 100_000
Constraint = Callable[[dict[str, Any]], bool]


class Space:
    """Named variables and known constraints.

    variables: name -> `Binary`, `Categorical`, `Ordinal`, `Integer` or `Graph`; or a shorthand: `bool`, a list
    (categorical), a `range` (ordinal). 1 to 1000 of them. constraints: predicates of a point, a dict of the user's own
    values; only points for which all are true are ever suggested or accepted. Raises DomainError.

    A point is held as an integer row (d,): which choice of each variable.
    """

    def __init__(self, variables: Mapping[str, Any], constraints: Sequence[Constraint] = ()) -> None:
        if not isinstance(variables, Mapping):
            raise DomainError(f"variables: expected a mapping from name to variable, got {shown(variables)}")
        if not 1 <= len(variables) <= MOST_VARIABLES:
            raise DomainError(f"variables: expected 1 to {MOST_VARIABLES}, got {len(variables)}")
        for name in variables:
            if not isinstance(name, str) or not name:
                raise DomainError(f"variables: expected names that are non-empty strings, got {shown(name)}")
        if callable(constraints) or not all(callable(c) for c in constraints):
            raise DomainError(f"constraints: expected a sequence of predicates of a point, got {shown(constraints)}")
        self.variables: dict[str, Variable] = {name: variable(name, given) for name, given in variables.items()}
        self.constraints: tuple[Constraint, ...] = tuple(constraints)
        self.n_choices: IntArray = np.array([len(v) for v in self.variables.values()], dtype=np.int64)

    def __repr__(self) -> str:
        rules = f", {len(self.constraints)} constraints" if self.constraints else ""
        return f"Space({shown(self.variables, 200)}{rules})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.to_json() == other.to_json() and self.constraints == other.constraints

    def __hash__(self) -> int:
        return hash(tuple(self.variables))

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def size(self) -> int:
        """Number of points; with constraints an upper bound, unless the space is `enumerable`."""
        return self._size

    @property
    def enumerable(self) -> bool:
        """Whether `enumerate` is allowed: at most 100,000 points before constraints."""
        return math.prod(int(k) for k in self.n_choices) <= ENUMERABLE

    def enumerate(self) -> IntArray:
        """All points, the last variable fastest; raises DomainError where the space is not `enumerable`."""
        if not self.enumerable:
            raise DomainError(f"only spaces of up to {ENUMERABLE} points before constraints are enumerated")
        grid = np.indices(tuple(self.n_choices)).reshape(self.d, -1).T
        return self._valid(np.ascontiguousarray(grid, dtype=np.int64))

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m valid points -> (m, d). Raises DomainError where none can be found."""
        if not self.constraints:
            return rng.integers(0, self.n_choices, size=(m, self.d))
        return sample_satisfying(self, m, rng)

    def sample_unseen(self, seen: frozenset[Hashable], rng: np.random.Generator) -> IntArray:
        """Draw a valid point that is not in `seen`; raises SpaceExhausted when none is left, or none is found."""
        if (x := draw_unseen(self, seen, rng)) is not None:
            return x
        if not self.enumerable:
            raise SpaceExhausted(f"no unseen valid point was found in {DRAWS_UNSEEN} draws, with {len(seen)} seen")
        points = self.enumerate()
        left = [row for row, key in enumerate(self.keys(points)) if key not in seen]
        if not left:
            raise SpaceExhausted(f"all {len(points)} points of the space have been seen")
        return points[left[rng.integers(len(left))]]

    def satisfied(self, xs: IntArray) -> IntArray:
        """How many of the constraints hold, for each point -> (m,)."""
        return satisfied(self, xs)

    def check(self, x: IntArray) -> None:
        """Raises PointError for a wrong shape, a vertex out of range, or a constraint that does not hold."""
        if np.shape(x) != (self.d,) or not np.issubdtype(np.asarray(x).dtype, np.integer):
            raise PointError(f"point: expected {self.d} integers, got {shown(x)}")
        for name, vertex, k in zip(self.variables, x, self.n_choices, strict=True):
            if not 0 <= vertex < k:
                raise PointError(f"{name}: expected a vertex in 0..{k - 1}, got {vertex}")
        if self.satisfied(x[None])[0] < len(self.constraints):
            broken = [c for c in self.constraints if not c(self.present(x))]
            names = ", ".join(getattr(c, "__name__", repr(c)) for c in broken)
            raise PointError(f"point: {shown(self.present(x), 200)} breaks the constraint {names}")

    def parse(self, point: Any) -> IntArray:
        """A point from a dict of the user's values; raises PointError, naming the variable that is wrong."""
        if not isinstance(point, Mapping):
            raise PointError(
                f"point: expected a dict with the keys {shown(list(self.variables), 200)}, got {shown(point)}"
            )
        if unknown := [name for name in point if name not in self.variables]:
            raise PointError(f"point: unknown name {shown(unknown[0])}; expected {shown(list(self.variables), 200)}")
        if missing := [name for name in self.variables if name not in point]:
            raise PointError(f"point: missing {', '.join(missing[:5])}; expected {shown(list(self.variables), 200)}")
        row = np.empty(self.d, dtype=np.int64)
        for i, (name, var) in enumerate(self.variables.items()):
            try:
                row[i] = var.vertex(point[name])
            except PointError as error:
                raise PointError(f"{name}: {error}") from None
        self.check(row)
        return row

    def present(self, x: IntArray) -> dict[str, Any]:
        """A point as a dict of the user's values."""
        return {name: var.choices[v] for (name, var), v in zip(self.variables.items(), x, strict=True)}

    def encode(self, x: IntArray) -> Json:
        return {name: var.encode(v) for (name, var), v in zip(self.variables.items(), x, strict=True)}

    def decode(self, data: Json) -> IntArray:
        return np.array([var.decode(data[name]) for name, var in self.variables.items()], dtype=np.int64)

    def keys(self, batch: IntArray) -> list[Hashable]:
        return [row.tobytes() for row in np.ascontiguousarray(batch, dtype=np.int64)]

    def join(self, *batches: IntArray) -> IntArray:
        rows = [np.asarray(b, dtype=np.int64).reshape(-1, self.d) for b in batches]
        return np.concatenate(rows) if rows else np.empty((0, self.d), dtype=np.int64)

    def neighbors(self, x: IntArray) -> IntArray:
        """Valid points that differ in one variable by one edge: variable 0 first, its vertices ascending."""
        return self._changed(x, *self._moves(x))

    def some_neighbors(self, x: IntArray, m: int, rng: np.random.Generator) -> IntArray:
        """`neighbors`, or m of them drawn without replacement where there are more."""
        which, vertices = self._moves(x)
        if len(which) > m:
            kept = np.sort(rng.choice(len(which), size=m, replace=False))
            which, vertices = which[kept], vertices[kept]
        return self._changed(x, which, vertices)

    def mutate(self, x: IntArray, rng: np.random.Generator) -> IntArray:
        """A valid neighbour of x, uniformly; raises DomainError where constraints leave none."""
        which, vertices = self._moves(x)
        for move in rng.permutation(len(which)):
            changed = self._changed(x, which[move : move + 1], vertices[move : move + 1])
            if len(changed):
                return changed[0]
        raise DomainError(f"no valid neighbour of {shown(self.present(x), 200)}")

    def crossover(self, x: IntArray, y: IntArray, rng: np.random.Generator) -> IntArray:
        """Each variable from x or y with equal chance; x where no valid child is found in 100 tries."""
        for _ in range(100):
            child = np.where(rng.random(self.d) < 0.5, x, y)
            if len(self._valid(child[None])):
                return child
        return x

    def to_json(self) -> Json:
        variables = {name: v.to_json() for name, v in self.variables.items()}
        return {"domain": "space", "variables": variables, "constraints": len(self.constraints)}

    @classmethod
    def from_json(cls, data: Json) -> Space:
        """Inverse of `to_json`; raises DomainError where code or objects would be needed that no file holds."""
        if data["constraints"]:
            raise DomainError("the space has constraints, whose code no file holds; pass the space itself (space=...)")
        return cls({name: variable_from_json(name, v) for name, v in data["variables"].items()})

    def _valid(self, rows: IntArray) -> IntArray:
        return rows[self.satisfied(rows) == len(self.constraints)] if self.constraints and len(rows) else rows

    def _changed(self, x: IntArray, which: IntArray, vertices: IntArray) -> IntArray:
        rows = np.repeat(np.asarray(x, dtype=np.int64)[None], len(which), axis=0)
        rows[np.arange(len(which)), which] = vertices
        return self._valid(rows)

    def _moves(self, x: IntArray) -> tuple[IntArray, IntArray]:
        adjacent = [self._adjacent(i, int(v)) for i, v in enumerate(x)]
        return np.repeat(np.arange(self.d), [len(a) for a in adjacent]), np.concatenate(adjacent)

    def _adjacent(self, i: int, vertex: int) -> IntArray:
        key = (self._graphs[i], vertex)
        if key not in self._neighbor_cache:
            self._neighbor_cache[key] = self._graphs[i].neighbors(vertex)
        return self._neighbor_cache[key]

    @cached_property
    def _size(self) -> int:
        product = math.prod(int(k) for k in self.n_choices)
        return len(self.enumerate()) if self.constraints and product <= ENUMERABLE else product

    @cached_property
    def _graphs(self) -> list[Any]:
        return [v.graph for v in self.variables.values()]

    @cached_property
    def _neighbor_cache(self) -> dict[Any, IntArray]:
        return {}
