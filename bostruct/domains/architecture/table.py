"""A finite domain of architectures: the codes of a benchmark, those that compute the same taken together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import (
    DomainError,
    Json,
    LocalDomain,
    ParsedJson,
    Point,
    PointError,
    SpaceExhausted,
    draw_unseen,
)
from bostruct.domains.architecture.cells import CELL_SPACES, CellSpace, Code
from bostruct.domains.architecture.layers import Family, Layer
from bostruct.domains.architecture.validity import AdjacencyLists, adjacency
from bostruct.domains.architecture.value import Architecture, check_architecture

CHANGE_TRIES = 100  # at a change or a child, if a table does not hold every code

SubtreeKey = tuple[int, ...]
Number = Callable[[Hashable], int]


class CodeTable(NamedTuple):
    """The points of a table, found by code and by architecture."""

    index_of: dict[Code, int]
    position: dict[SubtreeKey, int]
    met: dict[Hashable, int]


@dataclass(frozen=True)
class TableDomain(LocalDomain):
    """The architectures of a table of codes; isomorphic ones are one point.

    codes: tuple of codes, the rows of the table; None for every code of the space.

    One change is another choice at one position of any of a point's codes. Raises DomainError.
    """

    space: str
    codes: tuple[Code, ...] | None = None

    def __post_init__(self) -> None:
        if self.space not in CELL_SPACES:
            raise DomainError(f"space: expected one of {', '.join(CELL_SPACES)}; got {short_repr(self.space)}")
        counts = [len(names) for names in self.cells.choices]
        for row, code in enumerate(self.codes or ()):
            if len(code) != len(counts) or not all(0 <= c < k for c, k in zip(code, counts, strict=True)):
                raise DomainError(f"codes[{row}]: expected choices below {counts}, got {short_repr(code)}")
        if self.codes is not None and len(set(self.codes)) < max(len(self.codes), 1):
            raise DomainError("codes: expected at least one, and none twice")

    def __reduce__(self) -> tuple[object, ...]:
        return shared_table, (self.space, self.codes)  # without what is derived from them

    @property
    def cells(self) -> CellSpace:
        """The codes of the benchmark and what they stand for."""
        return CELL_SPACES[self.space]

    @property
    def family(self) -> Family:
        """The family of the architectures."""
        return self.cells.family

    @property
    def size(self) -> int:
        """The number of points, isomorphic architectures counted once."""
        return len(self.members)

    @cached_property
    def rows(self) -> tuple[Code, ...]:
        """The codes of the table; every code of the space where none were given, the first position slowest."""
        if self.codes is not None:
            return self.codes
        return tuple(product(*(range(len(names)) for names in self.cells.choices)))

    @cached_property
    def members(self) -> tuple[tuple[Code, ...], ...]:
        """The codes of each point, in the order of `rows`; points in the order of their first."""
        found: list[list[Code]] = [[] for _ in self._codes.position]
        for code, place in self._codes.index_of.items():
            found[place].append(code)
        return tuple(map(tuple, found))

    def at(self, place: int) -> Architecture:
        """Return the point at a place.

        place: int, 0 to size - 1.
        """
        known = self._architectures
        if place not in known:
            known[place] = self.cells.architecture(self.members[place][0])
        return known[place]

    def index_of(self, x: Point) -> int:
        """Return the place of a point, the inverse of `at`.

        Raises PointError for what the table does not hold.
        """
        check_architecture(x, self.family)
        try:
            return self._codes.position[_subtree_key(x.layers, x.parents, x.children, self._codes.met.__getitem__)]
        except KeyError:  # also of what no architecture of the table has: looking up must not make it known
            raise PointError(f"{x!r} is not in the table of {self.space}") from None

    def index_of_code(self, code: Iterable[int]) -> int:
        """Return the place of the point that a code stands for.

        code: choices, one per position.

        Raises PointError for a code that is not in the table.
        """
        given = tuple(code)
        try:
            return self._codes.index_of[given]
        except (KeyError, TypeError):
            raise PointError(f"the code {short_repr(given)} is not in the table of {self.space}") from None

    def sample(self, m: int, rng: np.random.Generator) -> list[Architecture]:
        """Draw m points, independent and each equally likely."""
        return [self.at(int(place)) for place in rng.integers(self.size, size=m)]

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Architecture:
        """Draw a point whose key is not in `seen`; raises SpaceExhausted when none is left."""
        if (x := draw_unseen(self.sample, self.keys, seen, rng)) is not None:
            return x
        left = [x for x in map(self.at, range(self.size)) if x.fingerprint not in seen]
        if not left:
            raise SpaceExhausted(f"all {self.size} architectures of the table have been seen")
        return left[int(rng.integers(len(left)))]

    def check(self, x: object) -> None:
        """Raise PointError unless x is in the table."""
        self.index_of(x)

    def parse(self, point: object) -> Architecture:
        """Read a point from what a user writes.

        Raises PointError.
        """
        if isinstance(point, str):
            return self.decode(point)
        if isinstance(point, Mapping):
            point = Architecture.from_json(point, self.family)
        elif isinstance(point, list | tuple | np.ndarray):
            return self.at(self.index_of_code(point))
        return self.at(self.index_of(point))

    def encode(self, x: Architecture) -> Json:
        """Return the first of the point's codes, as the benchmark writes it."""
        return self.cells.to_string(self.members[self.index_of(x)][0])

    def decode(self, data: ParsedJson) -> Architecture:
        """Read a code as the benchmark writes it; raises PointError for one that is not in the table."""
        if data not in self._index_by_string:
            raise PointError(
                f"{short_repr(data)} is not in the table of {self.space}; it has "
                f"{short_repr(next(iter(self._index_by_string)))}"
            )
        return self.at(self._index_by_string[data])

    def key(self, x: Architecture) -> Hashable:
        return x.fingerprint

    def architectures(self, xs: Sequence[Architecture]) -> Sequence[Architecture]:
        return xs

    def neighbors(self, x: Architecture) -> list[Architecture]:
        """List all points one change away, in the order of the table."""
        return list(map(self.at, self._neighbor_indices(self.index_of(x))))

    def sample_neighbors(self, x: Architecture, m: int, rng: np.random.Generator) -> list[Architecture]:
        """Return all of `neighbors` where they are at most m; else m of them, drawn uniformly, in their order."""
        near = self._neighbor_indices(self.index_of(x))
        if len(near) > m:
            near = [near[i] for i in np.sort(rng.choice(len(near), size=m, replace=False))]
        return list(map(self.at, near))

    def mutate(self, x: Architecture, rng: np.random.Generator) -> Architecture:
        """Change one random choice in a random one of x's codes.

        Returns any other point where the table has none so near. Raises DomainError if it has no other point.
        """
        place = self.index_of(x)
        members = self.members[place]
        for _ in range(CHANGE_TRIES):
            code = list(members[int(rng.integers(len(members)))])
            position = int(rng.integers(len(code)))
            k = len(self.cells.choices[position])
            code[position] = (code[position] + 1 + int(rng.integers(k - 1))) % k
            changed = self._codes.index_of.get(tuple(code), place)
            if changed != place:
                return self.at(changed)
        if self.size == 1:
            raise DomainError(f"the table of {self.space} has no other architecture than {x!r}")
        return self.at((place + 1 + int(rng.integers(self.size - 1))) % self.size)

    def crossover(self, x: Architecture, y: Architecture, rng: np.random.Generator) -> Architecture:
        """Take each choice from the first code of x or of y with equal chance.

        Returns x if the table holds no such child.
        """
        first, second = (self.members[self.index_of(parent)][0] for parent in (x, y))
        for _ in range(CHANGE_TRIES):
            child = tuple(a if rng.random() < 0.5 else b for a, b in zip(first, second, strict=True))
            if child in self._codes.index_of:
                return self.at(self._codes.index_of[child])
        return x

    def to_json(self) -> Json:
        """Describe the domain as JSON."""
        codes = None if self.codes is None else [list(code) for code in self.codes]
        return {"domain": "table", "space": self.space, "codes": codes}

    @classmethod
    def from_json(cls, data: ParsedJson) -> TableDomain:
        """Rebuild a domain from its description."""
        codes = data["codes"]
        return cls(data["space"], None if codes is None else tuple(map(tuple, codes)))

    def _neighbor_indices(self, place: int) -> list[int]:
        found = set()
        for code in self.members[place]:
            for position, names in enumerate(self.cells.choices):
                for choice in range(len(names)):
                    changed = (*code[:position], choice, *code[position + 1 :])
                    found.add(self._codes.index_of.get(changed, place))
        return sorted(found - {place})

    @cached_property
    def _codes(self) -> CodeTable:
        index = CodeTable({}, {}, {})

        def number(told_apart: Hashable) -> int:
            return index.met.setdefault(told_apart, len(index.met))

        for code in self.rows:
            layers, edges = self.cells.build(code)
            key = _subtree_key(layers, *adjacency(edges, len(layers)), number)
            index.index_of[code] = index.position.setdefault(key, len(index.position))
        return index

    @cached_property
    def _index_by_string(self) -> dict[str, int]:
        return {self.cells.to_string(code): place for code, place in self._codes.index_of.items()}

    @cached_property
    def _architectures(self) -> dict[int, Architecture]:
        return {}


@lru_cache(maxsize=8)
def shared_table(space: str, codes: tuple[Code, ...] | None = None) -> TableDomain:
    """Return the same domain for the same arguments: to index a table takes a second."""
    return TableDomain(space, codes)


def _subtree_key(
    layers: Sequence[Layer], parents: AdjacencyLists, children: AdjacencyLists, number: Number
) -> SubtreeKey:
    """Return a key that is equal for isomorphic architectures, and in the tables here for no others.

    It costs a fraction of a fingerprint. Each layer is told apart by all that precedes it, then by all that follows.
    number: see `CodeTable.met`.
    """
    down = [0] * len(layers)
    for u, layer in enumerate(layers):
        down[u] = number((layer, *sorted([down[p] for p in parents[u]])))
    up = [0] * len(layers)
    for u in range(len(layers) - 1, -1, -1):
        up[u] = number((down[u], *sorted([up[v] for v in children[u]])))
    return tuple(sorted(up))
