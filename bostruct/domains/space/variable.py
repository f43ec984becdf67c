"""The contract of a variable: one class a kind, which says what its values are and which of them are near."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bostruct.checks import hide_addresses, short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.clauses import When, show_when, when_to_json
from bostruct.domains.space.graphs import VariableGraph
from bostruct.domains.space.scale import GRID_STEPS, NumberGrid

INACTIVE = int(np.iinfo(np.int64).min)  # in each column of a variable that a point does not have
MAX_ENUMERATED = 100_000  # values of a variable, and points of a space, that are listed
VAIN_DRAWS = 1_000  # of values in a row that are all known, until the search for others ends
BESIDE_VALUES = ("when", "default", "resources")  # of a variable's JSON, what says nothing of its values


class NoDefault:
    """The `default=` of a variable that has none, as None may be one of its values."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = NoDefault()


class PartNumbers(dict[str, float]):
    """A value that is a dict of numbers, each of which has a column of its own in tables."""


class Variable(ABC):
    """A variable of a `Space`. It is immutable, and its kernel is in `bostruct.kernels.space.registry`.

    A value is stored as `width` integers, the variable's columns of a point. A new kind derives from this class and is
    registered in `bostruct.domains.space.registry`.
    """

    width: int = 1  # columns of a value
    degrees: int = 1  # how many single choices a value amounts to, for the scale of a kernel's prior
    n_codes: int = 0  # how many entries each column may have, 0 and up, where these are choices; 0 if they are not
    ordered: bool = False  # True if the values have an order that means something
    has_sure_order: bool = False  # True if nobody doubts that near values of the order do alike
    when: When = MappingProxyType({})  # the conditions under which a point has the variable; empty for always
    is_even: bool = True  # False if `sample` draws some values more often than others
    choices: Any = None  # its values in order, if a value is one position among them; else None
    graph: VariableGraph | None = None  # says which of its choices are one change apart
    grid: NumberGrid | None = None  # its choices, if they are numbers too many to list, which models see as a number
    # True if `present` and `encode` return the choice at a position, and `parse` and `decode` find it there; `encode`
    # the position of a choice that JSON lacks
    values_are_choices: bool = False
    has_mutable_choices: bool = False  # True if a user who receives a choice could change it
    likeness: Any = None  # a `Likeness` of its choices, if any
    is_order: bool = False  # True if the columns of a value are the positions of some items, first place first
    parts: tuple[str, ...] = ()  # of a value that is a dict of numbers; tables have a column for each
    compositions: Any = None  # the `Compositions` of its columns, if its values are parts that sum to a total
    total: float = 0.0  # of parts, above 0 if it has any
    resources: tuple[str | int, ...] | None = None  # of the items of an order that is a schedule
    is_real: bool = False  # True if each number of its range is a value, or is moved to the nearest one
    costs: tuple[float, ...] = ()  # of an evaluation at each value, ascending, if the variable is a fidelity
    default_columns: tuple[int, ...] | None = None  # of the value that trials had before the variable existed

    @property
    def kind(self) -> str:
        """The name of its class, under which files know it."""
        return type(self).__name__

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of its values."""

    @property
    def is_fixed(self) -> bool:
        """True if it has one value, so that models leave it out."""
        return self.size == 1

    def with_conditions(self, when: When) -> Self:
        """Return the variable with other conditions.

        when: as of `bostruct.Space`.
        """
        found = copy.copy(self)
        found.when = dict(when)
        return found

    @property
    def n_continuous(self) -> int:
        """The number of its continuous coordinates, c: 1 of numbers on a grid, else 0, unless a kind says more."""
        return int(self.grid is not None)

    @property
    def is_fine(self) -> bool:
        """True if its steps are so small that no single step matters to a search by gradients."""
        return self.grid is not None and self.size > GRID_STEPS

    def find_discrete_changes(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which changes a search by gradients does not make (k,): all, by default, unless steps are fine.

        before, after: columns of the values (k, width).
        """
        del after
        return np.full(len(before), not self.is_fine)

    @property
    def is_countable(self) -> bool:
        """False if `size` is an upper bound."""
        return True

    def shares(self, values: IntArray) -> Array:
        """Return the continuous coordinates of values (m, c), in [0, 1]; NaN for one that is fixed in the value.

        values: columns of m values (m, width).
        """
        return np.empty((len(values), 0)) if self.grid is None else self.grid.shares(values[:, :1])

    def with_shares(self, values: IntArray, shares: Array) -> IntArray:
        """Return the nearest values with other continuous coordinates (m, width).

        values: columns of m values (m, width).
        shares: (m, c), in [0, 1].
        """
        return values if self.grid is None else self.grid.nearest(shares)

    def share_bounds(self, values: IntArray) -> tuple[Array, Array] | None:
        """Return the bounds of continuous coordinates that sum to 1 (m, c); None, by default, if they have no sum.

        values: columns of m values (m, width).
        """
        del values
        return None

    @abstractmethod
    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m values independently, by equal chances or as `chances` says (m, width).

        m: int >= 0.
        rng: random number generator.

        A kind whose values have a scale draws evenly on it, such as a logarithmic number, or a sequence of varying
        length, of which nearly all values are nearly as long as may be.
        """

    def chances(self, values: IntArray) -> Array:
        """Return the chance with which `sample` draws each of some values (m,).

        values: columns of m values (m, width).

        A kind that is not even and does not say more counts as one that is.
        """
        return np.full(len(values), 1.0 / self.size)

    @abstractmethod
    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        """List the values one change away, in a fixed order, without repeats (k, width). The relation is symmetric.

        columns: of a value, width integers.
        large_steps: True for values that are several such steps in one direction away, if the kind has directions.

        A kind whose values have very many neighbors may list some of them only, by a relation that is symmetric, too.
        Then `count_neighbors` says how many there are, and `sample_neighbors` draws among all.
        """

    def count_neighbors(self, columns: Sequence[int], large_steps: bool = False) -> int:
        """Return how many values `sample_neighbors` draws from.

        columns: of a value.
        large_steps: as of `neighbors`.

        A kind with many neighbors counts them without listing all.
        """
        return len(self.neighbors(columns, large_steps))

    def sample_neighbors(
        self, columns: Sequence[int], m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> IntArray:
        """Draw values one change away (k, width), in a fixed order, of all neighbors: m, or all if they are no more.

        columns: of a value.
        m: int >= 0.
        rng: random number generator.
        large_steps: as of `neighbors`.

        A kind with many neighbors draws them without listing all.
        """
        found = self.neighbors(columns, large_steps)
        return found if len(found) <= m else found[np.sort(rng.choice(len(found), size=m, replace=False))]

    @property
    def has_quick_changes(self) -> bool:
        """True if `change_each` is quicker than `sample_neighbors` of one value after another."""
        return False

    def change_each(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw a change of each of some values (k, width).

        rows: columns of k values (k, width).
        rng: random number generator.

        A kind may draw changes that lead back to the value, if that is quick.
        """
        changed = [(*self.sample_neighbors(row, 1, rng), row)[0] for row in rows.tolist()]
        return np.array(changed, dtype=np.int64).reshape(rows.shape)

    @abstractmethod
    def move(self, columns: Sequence[int], share: float) -> Sequence[int]:
        """Return another value, so that walks of moves draw values as `sample` does, or by equal chances.

        So a move there and a move back have equal chances, each times the chance of its start: that in `chances`, or 1.
        A kind whose values have different numbers of neighbors may return the value itself, so that they have.

        columns: of a value.
        share: a uniform number in [0, 1), which decides.
        """

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> Sequence[int] | None:
        """Return a child of two values; None, of any two, if the kind cannot cross: then a child has one of the two.

        mine, theirs: columns of the values.
        rng: random number generator.
        """
        return None

    @abstractmethod
    def check(self, columns: Sequence[int]) -> None:
        """Raise PointError unless the columns are those of a value.

        columns: width integers.
        """

    @abstractmethod
    def parse(self, value: object) -> Sequence[int]:
        """Return the columns of what a user writes; raise PointError if it is no value.

        value: in the form of `present`.
        """

    @abstractmethod
    def present(self, columns: Sequence[int]) -> Presented:
        """Return a value for the user to keep: a copy of one that can be changed, so that the space never is.

        columns: of a value.
        """

    @abstractmethod
    def encode(self, columns: Sequence[int]) -> Json:
        """Return a value as JSON.

        columns: of a value.
        """

    @abstractmethod
    def decode(self, data: ParsedJson) -> Sequence[int]:
        """Rebuild the columns of a value from what `encode` returned; raise PointError for anything else.

        data: JSON of any form.
        """

    def decode_column(self, values: Sequence[Json]) -> IntArray:
        """Rebuild the only column of m values, as `decode` does one by one (m,); raise PointError if one is no value.

        values: what `encode` returned, of a variable with one column.
        """
        return np.array([self.decode(value)[0] for value in values], dtype=np.int64)

    @abstractmethod
    def describe(self) -> dict[str, Json]:
        """Return what `from_json` needs to build an equal variable, as JSON without its kind."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: ParsedJson) -> Variable:
        """Rebuild a variable from what `describe` returned; raise DomainError if that is impossible.

        data: dict; `to_json` adds the kind to it, which is not looked at.
        """

    def read_default(self, default: object) -> tuple[int, ...] | None:
        """Return the columns of a user's `default=`, None for none; raise DomainError if it is no value.

        default: in the form of `present`, or `NO_DEFAULT`.
        """
        if isinstance(default, NoDefault):
            return None
        try:
            return tuple(self.parse(default))
        except PointError as error:
            raise DomainError(f"{self.kind}: default: {error}") from None

    def has_values_of(self, description: ParsedJson) -> bool:
        """Return whether a variable, as JSON, has these values, whatever its conditions and its default.

        description: what `to_json` of a variable returned.
        """
        own, other = (
            {name: part for name, part in one.items() if name not in BESIDE_VALUES}
            for one in (self.to_json(), description)
        )
        return hide_addresses(json.dumps(own)) == hide_addresses(json.dumps(other))

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the columns of a value that another variable encoded; raise PointError if this one has it not.

        data: what `encode` of the other returned.
        description: what `to_json` of the other returned.

        A kind that does not say more reads the values of variables that have its own.
        """
        if not self.has_values_of(description):
            raise PointError(f"its values changed, and {self.kind} does not read those of before")
        return self.decode(data)

    def fallback(self) -> Sequence[int]:
        """Return the columns of the value that the variable takes if a change of another makes it exist."""
        return self.sample(1, np.random.default_rng(0))[0].tolist()

    def enumerate(self) -> IntArray:
        """List all values (size, width), each once, in a fixed order; raise DomainError for more than 100,000.

        By default they are drawn, and reached from those drawn by single changes.
        """
        if self.size > MAX_ENUMERATED:
            raise DomainError(f"{self.kind}: its values are not listed")
        rng, found, in_vain = np.random.default_rng(0), set[tuple[int, ...]](), 0
        while len(found) < self.size:
            known, reached = len(found), [tuple(self.sample(1, rng)[0].tolist())]
            while reached:
                if (value := reached.pop()) not in found:
                    found.add(value)
                    reached += map(tuple, self.neighbors(value).tolist())
            in_vain = 0 if len(found) > known else in_vain + 1
            if in_vain == VAIN_DRAWS:
                raise DomainError(f"{self.kind}: expected {self.size} values, found {len(found)}")
        return np.array(sorted(found), dtype=np.int64)

    def to_json(self) -> dict[str, Json]:
        """Return the variable as JSON: its kind, what `describe` says, and conditions and default if it has any."""
        beside: dict[str, Json] = {"when": when_to_json(self.when)} if self.when else {}
        if self.default_columns is not None:
            beside["default"] = self.encode(self.default_columns)
        return {"kind": self.kind, **self.describe(), **beside}

    @property
    def arguments(self) -> str:
        """The values in short, as arguments of a call."""
        return ", ".join(f"{name}={short_repr(part)}" for name, part in self.describe().items())

    def __repr__(self) -> str:
        return f"{self.kind}({self.arguments}{f', when={show_when(self.when)}' if self.when else ''})"

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable) or self.when != other.when:
            return False
        return json.dumps(self.to_json()) == json.dumps(other.to_json())  # as text, for True == 1 are two choices

    def __hash__(self) -> int:
        return hash((self.kind, self.size))


def refuse_list_of_another_kind(variable: Variable, data: ParsedJson, description: ParsedJson) -> None:
    """Raise PointError for a list that a variable of another kind encoded: its order may not mean the same."""
    if isinstance(data, list) and description["kind"] != variable.kind:
        raise PointError(
            f"expected a value of a {variable.kind}, got one of a {description['kind']}, {short_repr(data)}"
        )


def find_owner(name: str, variables: Mapping[str, Variable]) -> str | None:
    """Return the variable that has a name, or a part of it; None if there is none."""
    owners = (own for own, one in variables.items() if any(name == f"{own}.{part}" for part in one.parts))
    return name if name in variables else next(owners, None)


def pick(share: float, count: int) -> int:
    """Return which of some things the share of a `move` chooses, each by the same chance, in 0..count - 1.

    share: a uniform number in [0, 1), up to rounding.
    count: how many things, at least 1.
    """
    return min(int(share * count), count - 1)
