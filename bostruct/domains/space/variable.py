"""The contract of a variable: one class for each kind, which defines the values and which of them are near."""

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
MAX_ENUMERATED = 100_000  # the most values of a variable, or points of a space, that are listed
MAX_FAILED_DRAWS = 1_000  # consecutive draws without a new value after which the search for values ends
NOT_VALUES = ("when", "default", "resources")  # the members of a variable's JSON that do not describe its values


class NoDefault:
    """The `default=` of a variable without a default, because None may be one of its values."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = NoDefault()


class PartNumbers(dict[str, float]):
    """A value that is a dict of numbers, each with its own column in tables."""


class Variable(ABC):
    """A variable of a `Space`. It is immutable, and its kernel is in `bostruct.kernels.space.registry`.

    A value is stored as `width` integers, the variable's columns of a point. A new kind derives from this class and is
    registered in `bostruct.domains.space.registry`.
    """

    width: int = 1  # columns of a value
    degrees: int = 1  # the number of single choices that a value is equivalent to, for the scale of a kernel's prior
    n_codes: int = 0  # the number of entries, 0 and up, of each column if the entries are choices; otherwise 0
    ordered: bool = False  # True if the values have a meaningful order
    has_sure_order: bool = False  # True if values near in the order certainly have similar outcomes
    when: When = MappingProxyType({})  # the conditions under which a point has the variable; empty for always
    is_even: bool = True  # False if `sample` draws some values more often than others
    choices: Any = None  # its values in order, if a value is one position among them; otherwise None
    graph: VariableGraph | None = None  # in which choices that are one change apart are adjacent
    grid: NumberGrid | None = None  # its choices if they are too many numbers to list; models see a number
    # True if `present` and `encode` return the choice at a position, and `parse` and `decode` find the position; for a
    # choice that JSON cannot represent, `encode` returns the position
    values_are_choices: bool = False
    has_mutable_choices: bool = False  # True if a user who receives a choice could change it
    likeness: Any = None  # a `Likeness` of its choices, if any
    is_order: bool = False  # True if the columns of a value are the positions of some items, first place first
    parts: tuple[str, ...] = ()  # the names in a value that is a dict of numbers; tables have a column for each
    compositions: Any = None  # the `Compositions` of its columns, if its values are parts that sum to a total
    total: float = 0.0  # the sum of the parts, above 0; 0 if there are no parts
    resources: tuple[str | int, ...] | None = None  # the resource of each item of an order that is a schedule
    is_real: bool = False  # True if each number of its range is a value, or is moved to the nearest value
    costs: tuple[float, ...] = ()  # the cost of an evaluation at each value, ascending, if the variable is a fidelity
    default_columns: tuple[int, ...] | None = None  # of the value that trials had before the variable existed

    @property
    def kind(self) -> str:
        """The name of its class, which files store."""
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

        when: the conditions, see `bostruct.Space`.
        """
        found = copy.copy(self)
        found.when = dict(when)
        return found

    @property
    def n_continuous(self) -> int:
        """The number of its continuous coordinates, c: by default 1 for numbers on a grid, otherwise 0."""
        return int(self.grid is not None)

    @property
    def is_fine(self) -> bool:
        """True if its steps are so small that no single step matters to a search by gradients."""
        return self.grid is not None and self.size > GRID_STEPS

    def find_discrete_changes(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """Return which changes a search by gradients does not make (k,): all, by default, unless steps are fine.

        before, after: columns of the values (k, width).
        """
        del after
        return np.full(len(before), not self.is_fine)

    @property
    def is_countable(self) -> bool:
        """False if `size` is an upper bound."""
        return True

    def shares(self, values: IntArray) -> Array:
        """Return the continuous coordinates of values (m, c), in [0, 1]; NaN for coordinates that the value fixes.

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
        """Return the bounds of continuous coordinates that sum to 1 (m, c); None, by default, if no sum is fixed.

        values: columns of m values (m, width).
        """
        del values
        return None

    @abstractmethod
    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m values independently, with equal probabilities or with those of `chances` (m, width).

        m: int >= 0.
        rng: random number generator.

        A kind whose values have a scale draws uniformly on the scale. Examples are a number on a logarithmic scale, and
        a sequence of varying length: nearly all sequences are nearly as long as possible.
        """

    def chances(self, values: IntArray) -> Array:
        """Return the probability with which `sample` draws each value (m,), by default the same for all values.

        values: columns of m values (m, width).

        A kind that is not even should override it.
        """
        return np.full(len(values), 1.0 / self.size)

    @abstractmethod
    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        """List the values one change away, in a fixed order, without repeats (k, width). The relation is symmetric.

        columns: width integers, the columns of a value.
        large_steps: True for values that are several such steps in one direction away, if the kind has directions.

        A kind whose values have very many neighbors may list only some of them, by a relation that is also symmetric.
        Then `count_neighbors` returns how many there are, and `sample_neighbors` draws among all.
        """

    def count_neighbors(self, columns: Sequence[int], large_steps: bool = False) -> int:
        """Return how many values `sample_neighbors` draws from.

        columns: columns of a value.
        large_steps: see `neighbors`.

        A kind with many neighbors counts them without listing all.
        """
        return len(self.neighbors(columns, large_steps))

    def sample_neighbors(
        self, columns: Sequence[int], m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> IntArray:
        """Draw m of all neighbors, or all if there are at most m, in a fixed order (k, width).

        columns: columns of a value.
        m: int >= 0.
        rng: random number generator.
        large_steps: see `neighbors`.

        A kind with many neighbors draws them without listing all.
        """
        found = self.neighbors(columns, large_steps)
        return found if len(found) <= m else found[np.sort(rng.choice(len(found), size=m, replace=False))]

    @property
    def has_quick_changes(self) -> bool:
        """True if `change_each` is quicker than `sample_neighbors` for one value after another."""
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
        """Return another value, so that walks of moves draw values as `sample` does, or with equal probabilities.

        Moves satisfy detailed balance: the probability of the start, in `chances` or 1, times that of the move is the
        same for the move back. A kind whose values have unequal numbers of neighbors may return the value itself.

        columns: columns of a value.
        share: a uniform number in [0, 1), which decides.
        """

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> Sequence[int] | None:
        """Return a child of two values; None, for all values, if the kind has no crossover: a child then gets either.

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
        """Return the columns of a user's value; raise PointError if it is not a value of the variable.

        value: in the form of `present`.
        """

    @abstractmethod
    def present(self, columns: Sequence[int]) -> Presented:
        """Return a value for the user to keep: a copy if it is mutable, so that the space never changes.

        columns: columns of a value.
        """

    @abstractmethod
    def encode(self, columns: Sequence[int]) -> Json:
        """Return a value as JSON.

        columns: columns of a value.
        """

    @abstractmethod
    def decode(self, data: ParsedJson) -> Sequence[int]:
        """Rebuild the columns of a value from the result of `encode`; raise PointError for anything else.

        data: JSON of any form.
        """

    def decode_column(self, values: Sequence[Json]) -> IntArray:
        """Rebuild the only column of m values, as `decode` does one by one (m,); raise PointError if one is invalid.

        values: results of `encode` for a variable with one column.
        """
        return np.array([self.decode(value)[0] for value in values], dtype=np.int64)

    @abstractmethod
    def describe(self) -> dict[str, Json]:
        """Return the JSON from which `from_json` builds an equal variable, without its kind."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: ParsedJson) -> Variable:
        """Rebuild a variable from the result of `describe`; raise DomainError if that is impossible.

        data: dict; the kind that `to_json` adds is ignored.
        """

    def read_default(self, default: object) -> tuple[int, ...] | None:
        """Return the columns of a user's `default=`, None if there is none; raise DomainError if it is invalid.

        default: in the form of `present`, or `NO_DEFAULT`.
        """
        if isinstance(default, NoDefault):
            return None
        try:
            return tuple(self.parse(default))
        except PointError as error:
            raise DomainError(f"{self.kind}: default: {error}") from None

    def has_values_of(self, description: ParsedJson) -> bool:
        """Return whether a variable, as JSON, has the same values, regardless of its conditions and its default.

        description: the result of `to_json` of a variable.
        """
        own, other = (
            {name: part for name, part in one.items() if name not in NOT_VALUES}
            for one in (self.to_json(), description)
        )
        return hide_addresses(json.dumps(own)) == hide_addresses(json.dumps(other))

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the columns of a value that another variable encoded; raise PointError if this variable lacks it.

        data: the result of `encode` of the other variable.
        description: the result of `to_json` of the other variable.

        By default, only values of variables with the same values can be read.
        """
        if not self.has_values_of(description):
            raise PointError(f"its values changed, and {self.kind} cannot read the earlier values")
        return self.decode(data)

    def fallback(self) -> Sequence[int]:
        """Return the columns of the value that the variable takes if a change of another variable activates it."""
        return self.sample(1, np.random.default_rng(0))[0].tolist()

    def enumerate(self) -> IntArray:
        """List all values (size, width), each once, in a fixed order; raise DomainError for more than 100,000.

        By default, values are drawn, and further values are reached from the drawn ones by single changes.
        """
        if self.size > MAX_ENUMERATED:
            raise DomainError(f"{self.kind}: its values are not listed")
        rng, found, n_failed = np.random.default_rng(0), set[tuple[int, ...]](), 0
        while len(found) < self.size:
            known, reached = len(found), [tuple(self.sample(1, rng)[0].tolist())]
            while reached:
                if (value := reached.pop()) not in found:
                    found.add(value)
                    reached += map(tuple, self.neighbors(value).tolist())
            n_failed = 0 if len(found) > known else n_failed + 1
            if n_failed == MAX_FAILED_DRAWS:
                raise DomainError(f"{self.kind}: expected {self.size} values, found {len(found)}")
        return np.array(sorted(found), dtype=np.int64)

    def to_json(self) -> dict[str, Json]:
        """Return the variable as JSON: its kind, the result of `describe`, and conditions and default if any."""
        more: dict[str, Json] = {"when": when_to_json(self.when)} if self.when else {}
        if self.default_columns is not None:
            more["default"] = self.encode(self.default_columns)
        return {"kind": self.kind, **self.describe(), **more}

    @property
    def arguments(self) -> str:
        """The values, shortened, as arguments of a call."""
        return ", ".join(f"{name}={short_repr(part)}" for name, part in self.describe().items())

    def __repr__(self) -> str:
        return f"{self.kind}({self.arguments}{f', when={show_when(self.when)}' if self.when else ''})"

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable) or self.when != other.when:
            return False
        return json.dumps(self.to_json()) == json.dumps(other.to_json())  # as strings, because True == 1

    def __hash__(self) -> int:
        return hash((self.kind, self.size))


def refuse_list_of_another_kind(variable: Variable, data: ParsedJson, description: ParsedJson) -> None:
    """Raise PointError for a list that a variable of another kind encoded: its order may have another meaning."""
    if isinstance(data, list) and description["kind"] != variable.kind:
        raise PointError(
            f"expected a value of a {variable.kind}, got one of a {description['kind']}, {short_repr(data)}"
        )


def find_owner(name: str, variables: Mapping[str, Variable]) -> str | None:
    """Return the name of the variable that has a name, or has a part of that name; None if there is none."""
    owners = (own for own, one in variables.items() if any(name == f"{own}.{part}" for part in one.parts))
    return name if name in variables else next(owners, None)


def pick(share: float, count: int) -> int:
    """Return the index, in 0..count - 1, that the share of a `move` chooses, each with the same probability.

    share: a uniform number in [0, 1), up to rounding.
    count: number of options, at least 1.
    """
    return min(int(share * count), count - 1)
