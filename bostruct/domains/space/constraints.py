"""Variables with conditions and known constraints, without a search for valid points.

The product of the variables reads and writes rows, and keys of rows. Constraints are opaque predicates, whose calls are
counted.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from operator import getitem
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_answer, short_repr
from bostruct.contracts import DomainError, IntArray, Json, ParsedJson, PointError, PredicateError, Presented
from bostruct.domains.space.call_limit import call_limit, limit_calls
from bostruct.domains.space.choice_json import is_json_scalar
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.clauses import describe_when, predicate_name
from bostruct.domains.space.conditions import Conditions
from bostruct.domains.space.linear import Linear, SpaceLinear
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.single_changes import Layout, SpaceBatch
from bostruct.domains.space.variable import INACTIVE, MAX_ENUMERATED, Variable

MAX_CHOICES = 10_000  # the most choices of a variable that are tabulated
BYTE = 256  # the number of values of a byte


class _DecodedColumns:
    """The columns of values that are not listed, with the interface of a dict."""

    def __init__(self, variable: Variable) -> None:
        self._variable = variable
        self._decode = variable.decode

    def __getitem__(self, value: Json, /) -> int:
        return self._decode(value)[0]

    def read(self, values: Sequence[Json]) -> IntArray:
        """Return the columns of m values (m,); raise PointError if the variable lacks one of them."""
        return self._variable.decode_column(values)


class _Columns(dict):
    """The columns of listed values: a dict that can read many values at once."""

    def __init__(self, choices: Sequence[Presented]) -> None:
        super().__init__(zip(choices, range(len(choices)), strict=True))
        self._are_values = len(self) <= BYTE and list(self) == list(range(len(self)))  # such as bits, or 0, 1, 2

    def read(self, values: Sequence[Json]) -> IntArray:
        """Return the columns of m values (m,); raise KeyError or TypeError if one is not listed."""
        if self._are_values:
            with suppress(TypeError, ValueError):  # floats, and values that do not fit into a byte, are looked up
                columns = np.frombuffer(bytes(values), dtype=np.uint8)  # type: ignore[arg-type]  # an eighth of the time
                if columns.max(initial=0) < len(self):
                    return columns.astype(np.int64)
        return np.fromiter(map(self.__getitem__, values), dtype=np.int64, count=len(values))


class KnownValues:
    """The columns of the values of each variable, a faster way than one call of `decode` for each value."""

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self._names = tuple(variables)
        self._columns: list[_Columns | _DecodedColumns] | None = None
        if all(one.width == 1 and not one.when for one in variables.values()):
            self._columns = [_tabulate(one) for one in variables.values()]
        pairs = list(zip(variables.values(), self._columns or (), strict=False))
        are_own = len(pairs) == len(variables) and all(one.values_are_choices for one, _ in pairs)
        self._choices: list[Sequence[Presented]] | None = None
        if are_own and all(isinstance(known, _Columns) or one.grid is not None for one, known in pairs):
            self._choices = [list(known) if isinstance(known, _Columns) else one.choices for one, known in pairs]
            self._sizes = np.array([one.size for one, _ in pairs], dtype=np.uint64)

    def write(self, x: IntArray) -> dict[str, Presented] | None:
        """Return a point by names, if `present` and `encode` of all variables agree; otherwise None.

        x: integer row (d,).

        Raises IndexError, TypeError or ValueError for most invalid rows.
        """
        if self._choices is None:
            return None
        columns = np.asarray(x, dtype=np.int64)
        if (columns.view(np.uint64) >= self._sizes).any():  # a negative number is a huge one
            raise IndexError(columns)
        return dict(zip(self._names, map(getitem, self._choices, columns.tolist()), strict=True))

    def write_all(self, rows: IntArray) -> list[Presented] | None:
        """Return points as `write` does one by one; None if they must be written one by one.

        rows: integer rows (m, d).
        """
        if self._choices is None or (rows.view(np.uint64) >= self._sizes).any():
            return None
        columns = [
            choices.take(column) if isinstance(choices, NumberGrid) else list(map(choices.__getitem__, column.tolist()))
            for choices, column in zip(self._choices, rows.T, strict=True)
        ]
        return [dict(zip(self._names, values, strict=True)) for values in zip(*columns, strict=True)]

    def read(self, data: ParsedJson) -> IntArray | None:
        """Return the row of a point (d,); None if the variables must read it, or raise the error.

        data: JSON of any form.
        """
        if self._columns is None or not isinstance(data, dict) or tuple(data) != self._names:
            return None
        try:
            return np.array(list(map(getitem, self._columns, data.values())), dtype=np.int64)
        except (KeyError, TypeError, PointError):  # not a value of the variable, or unhashable
            return None

    def read_values(self, points: Sequence[Sequence[Json]]) -> IntArray | None:
        """Return the rows of points (m, d); None if the variables must read one of them."""
        if self._columns is None or any(len(values) != len(self._columns) for values in points):
            return None
        rows = np.empty((len(points), len(self._columns)), dtype=np.int64)
        try:
            for position, (known, values) in enumerate(zip(self._columns, zip(*points, strict=True), strict=True)):
                rows[:, position] = known.read(values)
        except (KeyError, TypeError, PointError):
            return None
        return rows


def _tabulate(variable: Variable) -> _Columns | _DecodedColumns:
    """Return the columns of a variable, listed if its values are its choices, few and distinct scalars."""
    if not variable.values_are_choices or variable.grid is not None or variable.size > MAX_CHOICES:
        return _DecodedColumns(variable)
    choices = variable.choices
    is_plain = all(map(is_json_scalar, choices)) and len(set(choices)) == len(choices)  # a file may repeat a choice
    return _Columns(choices) if is_plain else _DecodedColumns(variable)


TYPES = (np.int64, np.uint32, np.uint16, np.uint8)  # of the entries of a key; the first holds any column


class RowKeys:
    """An encoding of rows as keys, in which each column takes as few bytes as its values need.

    variables: the variables of a space, in order. A column of a variable without codes takes eight bytes.
    """

    def __init__(self, variables: Iterable[Variable]) -> None:
        owners = [one for one in variables for _ in range(one.width)]
        self._n_columns = len(owners)
        self._absent = np.array(
            [one.n_codes if one.when and one.n_codes else INACTIVE for one in owners], dtype=np.int64
        )
        self._has_conditions = any(one.when for one in owners)
        types = [_smallest_type(one) for one in owners]
        found = ((own, np.flatnonzero([one is own for one in types])) for own in TYPES)
        self._groups = [(own, columns) for own, columns in found if len(columns)]
        self._width = sum(np.dtype(own).itemsize * len(columns) for own, columns in self._groups)  # of a key

    def write(self, rows: IntArray) -> list[Hashable]:
        """Return the keys of m points.

        rows: valid integer rows (m, columns).
        """
        if self._has_conditions:
            rows = np.where(rows == INACTIVE, self._absent, rows)
        if len(self._groups) == 1:
            packed = np.ascontiguousarray(rows, dtype=self._groups[0][0]).view(np.uint8)
        else:
            parts = [np.ascontiguousarray(rows[:, columns], dtype=own).view(np.uint8) for own, columns in self._groups]
            packed = np.concatenate(parts, axis=1)
        data = packed.tobytes()
        return [data[start : start + self._width] for start in range(0, len(data), self._width)]

    def read(self, keys: Collection[Hashable]) -> IntArray:
        """Return the integer rows of m points (m, columns)."""
        rows = np.empty((len(keys), self._n_columns), dtype=np.int64)
        packed = np.frombuffer(b"".join(cast(Collection[bytes], keys)), dtype=np.uint8).reshape(-1, self._width)
        if len(self._groups) == 1:  # no column has to be moved
            rows[:] = packed.view(self._groups[0][0])
        else:
            start = 0
            for own, columns in self._groups:
                end = start + len(columns) * np.dtype(own).itemsize
                rows[:, columns] = np.ascontiguousarray(packed[:, start:end]).view(own)
                start = end
        if self._has_conditions:
            rows[rows == self._absent] = INACTIVE
        return rows


def _smallest_type(variable: Variable) -> type[np.integer]:
    """Return the smallest type of TYPES for the codes of a variable, including the code of its absence."""
    if not variable.n_codes:
        return TYPES[0]
    largest = variable.n_codes - 1 + bool(variable.when)
    return next(own for own in reversed(TYPES) if largest <= np.iinfo(own).max)


Constraint = Callable[[dict[str, Any]], bool]
Point = TypeVar("Point")
Sample: TypeAlias = Callable[[int, np.random.Generator], IntArray]  # draws a number of points


COUNTED_CALLS = 10_000  # calls outside of any limit, to report how many draws satisfy each constraint
WORK = 5_000_000  # the most variables that one kind of search examines


class Survey(NamedTuple):
    """The results of a search from a fixed seed in a constrained space, which depend only on the space.

    points: the valid points found, a few integer rows (k, columns).
    uniform_hits: True if one of the uniform draws was valid.
    """

    points: IntArray
    uniform_hits: bool
    calls: int
    refusal: str


class ConstrainedProduct:
    """Named variables, the conditions between them and known constraints: a space without a search for valid points."""

    surveyed: Survey | None = None  # set by the first search for valid points

    def __init__(self, variables: Mapping[str, Variable], constraints: tuple[Constraint, ...]) -> None:
        self.variables: Mapping[str, Variable] = variables
        self.constraints = constraints
        self.positions: dict[str, int] = {name: i for i, name in enumerate(self.variables)}
        self.layout = Layout(tuple(v.width for v in self.variables.values()))
        self.conditions = Conditions(self.variables, self.layout)
        self.n_points: int = (
            self.conditions.n_points
        )  # before constraints; an upper bound if predicates of many values are conditions
        self.mutable_names: tuple[str, ...] = tuple(  # variables whose choices a predicate could change
            n for n, v in self.variables.items() if v.has_mutable_choices
        )

    @property
    def d(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.layout.n_columns

    @property
    def n_choices(self) -> IntArray:
        """The number of choices of each variable (d,).

        Raises
        ------
        DomainError
            If a variable has several columns and is not a single choice.
        """
        if self._multi_column:
            i, wide = self._multi_column[0]
            raise DomainError(f"{self._names[i]}: expected variables that are one choice each, got a {wide.kind}")
        return self._bounds

    @property
    def enumerable(self) -> bool:
        """True if `enumerate` is allowed: there are at most 100,000 points before constraints."""
        return self.n_points <= MAX_ENUMERATED

    def enumerate(self) -> IntArray:
        """List all valid points (m, d), the last variable fastest.

        Raises
        ------
        DomainError
            If the space is not `enumerable`.
        """
        if not self.enumerable:
            raise DomainError(f"only spaces of up to {MAX_ENUMERATED} points before constraints are enumerated")
        return self._all.copy()

    def sample_freely(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw points independently, each variable uniform on its scale, ignoring constraints.

        Parameters
        ----------
        m : int
            Number of points, at least 0.
        rng : numpy.random.Generator
            Source of randomness.
        """
        rows = rng.integers(0, self._bounds_for_draws, size=(m, self.n_columns))
        for i, v in self._own_drawing:
            rows[:, self.layout.columns(i)] = v.sample(m, rng)
        rows = self.conditions.apply_randomly(rows, rng)
        return rows if self.linear is None else self.linear.redraw(rows, rng)

    @cached_property
    def linear(self) -> SpaceLinear | None:
        """The constraints that are linear in numbers; None if there are none."""
        rules = [rule for rule in self.constraints if isinstance(rule, Linear)]
        if not rules:
            return None
        draw = ConstrainedProduct(self.variables, ()).sample_freely
        return SpaceLinear(self.variables, rules, self.layout.starts, self.conditions.apply_randomly, draw)

    def present(self, x: IntArray) -> dict[str, Any]:
        """Return a point as a dict of the user's values.

        Parameters
        ----------
        x : Point
            The row of the point.

        Raises
        ------
        PointError
            For columns without a value.
        """
        if (known := self._known_values.write(x)) is not None:
            return known
        if len(x) != (width := self.layout.n_columns):
            raise PointError(f"expected a row of {width} columns, got {len(x)}")
        pairs = zip(self.variables.items(), self.layout.split(x), strict=True)
        both = [((name, v), own) for (name, v), own in pairs if own[0] != INACTIVE or not v.when]
        for (name, v), own in both:
            check_value(name, v, own)
        return {name: v.present(own) for (name, v), own in both}

    def present_all(self, xs: IntArray) -> list[Presented]:
        known = self._known_values.write_all(xs)
        return [self.present(x) for x in xs] if known is None else known

    def keys(self, batch: IntArray) -> list[Hashable]:
        """Return the keys of points, equal for equal points.

        Parameters
        ----------
        batch : array of shape (m, d)
            The points.
        """
        return self._row_keys.write(self.join(batch))

    def from_keys(self, keys: Collection[Hashable]) -> IntArray:
        """Return the points (m, d) of keys.

        Parameters
        ----------
        keys : collection of hashable
            The m keys.
        """
        return self._row_keys.read(keys)

    def join(self, *batches: SpaceBatch) -> IntArray:
        """Join batches of points into one array (m, d).

        Parameters
        ----------
        batches : sequence of arrays
            At least one batch of points.
        """
        rows = [np.asarray(b, dtype=np.int64).reshape(-1, self.n_columns) for b in batches]
        return np.concatenate(rows) if rows else np.empty((0, self.n_columns), dtype=np.int64)

    @cached_property
    def grids(self) -> dict[int, NumberGrid]:
        """The grids of the variables with too many numbers to list, by the variable's position."""
        return {i: v.grid for i, v in enumerate(self.variables.values()) if v.grid is not None}

    @property
    def n_continuous(self) -> int:
        """The number of continuous coordinates."""
        return sum(one.n_continuous for one in self.variables.values())

    @cached_property
    def _row_keys(self) -> RowKeys:
        return RowKeys(self.variables.values())

    @cached_property
    def _known_values(self) -> KnownValues:
        return KnownValues(self.variables)

    @cached_property
    def _all(self) -> IntArray:
        rows = self.conditions.enumerate()
        with limit_calls(math.inf):  # computed once; a suggestion must not depend on whether it computed it
            return rows[valid_mask(self, rows)] if self.constraints else rows

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.variables)

    @cached_property
    def _multi_column(self) -> list[tuple[int, Variable]]:
        """The variables with several columns, and their positions."""
        return [(i, v) for i, v in enumerate(self.variables.values()) if v.width > 1]

    @cached_property
    def is_single_choices(self) -> bool:
        """True if each variable is one position among choices, of which those from 0 to below `n_choices` are valid."""
        return all(type(v).check is ChoiceVariable.check for v in self.variables.values())

    @cached_property
    def _own_drawing(self) -> list[tuple[int, Variable]]:
        """The variables that draw their own values, and their positions: with several columns, or on a scale."""
        return [(i, v) for i, v in enumerate(self.variables.values()) if v.width > 1 or not v.is_even]

    @cached_property
    def _bounds(self) -> IntArray:
        """The number of choices of each column; 1 if the variable draws its own values (columns,)."""
        counts = [[v.size] if v.width == 1 else [1] * v.width for v in self.variables.values()]
        bounds = np.array([count for own in counts for count in own], dtype=np.int64)
        bounds.flags.writeable = False
        return bounds

    @cached_property
    def _bounds_for_draws(self) -> IntArray | int:
        """`_bounds`, as one number if all are equal: NumPy draws the same numbers in a quarter of the time."""
        different = set(self._bounds.tolist())
        return different.pop() if len(different) == 1 else self._bounds


def work_limit(space: ConstrainedProduct) -> int:
    """Return the most points that one kind of search may examine, so that a failure takes a second or two."""
    return WORK // (space.d + 5 * len(space.constraints))


def count_satisfied_rules(space: ConstrainedProduct, xs: IntArray, rules: Sequence[Constraint]) -> IntArray:
    """Count the rules that hold at each point -> (m,); raises DomainError if a rule raises an error.

    xs: integer rows (m, d).
    """
    broken = [len(find_broken(space, point, rules)) for point in _present_rows(space, xs)]
    return len(rules) - np.array(broken, dtype=np.int64)


def count_within_limit(space: ConstrainedProduct, xs: IntArray) -> IntArray:
    """Count the constraints that hold at each point -> (m,); raises DomainError if a constraint raises an error.

    Once the limit of calls is reached, constraints are not called and count as violated.

    xs: integer rows (m, d).
    """
    counts, limit = np.zeros(len(xs), dtype=np.int64), call_limit()
    for i, point in enumerate(_present_rows(space, xs)):
        if limit.is_reached:
            break
        counts[i] = len(space.constraints) - len(find_broken(space, point, space.constraints))
    return counts


def valid_mask(space: ConstrainedProduct, xs: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether all constraints hold at each point -> (m,) of bool; raises DomainError if one raises an error.

    Once the limit of calls is reached, constraints are not called and points count as invalid.

    xs: integer rows (m, d).
    """
    if space.linear is None:
        return count_until_broken(space, xs) == len(space.constraints)
    valid, others = (
        space.linear.holds(np.asarray(xs)),
        [rule for rule in space.constraints if not isinstance(rule, Linear)],
    )
    if others:
        valid[valid] = count_until_broken(space, np.asarray(xs)[valid], others) == len(others)
    return valid


def count_until_broken(space: ConstrainedProduct, xs: IntArray, rules: Sequence[Constraint] | None = None) -> IntArray:
    """Count the constraints that hold at each point before the first violation, after which none is called -> (m,).

    The count is -1 for points that are not checked because the limit of calls is reached.

    xs: integer rows (m, d).
    rules: the constraints to check; None for all.
    """
    counts, limit = np.full(len(xs), -1, dtype=np.int64), call_limit()
    for i, point in enumerate(_present_rows(space, xs)):
        if limit.is_reached:
            break
        holds = 0
        for rule in space.constraints if rules is None else rules:
            if not _satisfies(space, point, rule):
                break
            holds += 1
        counts[i] = holds
    return counts


def describe_draws(
    rules: Sequence[Constraint], points: Sequence[Point], satisfies: Callable[[Point, Constraint], bool]
) -> str:
    """Return a clause of a message: how many draws satisfied each constraint, independent of the constraints' order.

    points: the draws; fewer are used for many constraints, so that at most 10,000 calls are made, outside of any limit.
    """

    def ask_one(point: Point, rule: Constraint) -> bool:
        with suppress(PredicateError):
            return satisfies(point, rule)
        return False

    taken = points[: max(1, COUNTED_CALLS // len(rules))]
    with limit_calls(math.inf, reserved=0):
        holds = np.array([[ask_one(point, rule) for rule in rules] for point in taken]).reshape(-1, len(rules))
    counts = (f"{np.count_nonzero(column)} satisfied {label_rules(rules, [i])}" for i, column in enumerate(holds.T))
    together = f", {np.count_nonzero(holds.all(axis=1))} all of them" if len(rules) > 1 else ""
    return f"of {len(holds)} draws, {', '.join(counts)}{together}"


def label_rules(rules: Sequence[Constraint], which: Sequence[int]) -> str:
    """Return the number, from 1, and the name of constraints for messages.

    which: positions of at least one constraint.
    """
    names = ", ".join(f"{i + 1} ({predicate_name(rules[i])})" for i in which)
    return f"constraint{'s' if len(which) > 1 else ''} {names}"


def satisfies_all(space: ConstrainedProduct, point: dict[str, Any]) -> bool:
    """Return whether all constraints hold at a point; raises DomainError if one raises an error."""
    return all(_satisfies(space, point, rule) for rule in space.constraints)


def find_broken(space: ConstrainedProduct, point: dict[str, Any], rules: Sequence[Constraint]) -> list[int]:
    """Return the positions of the rules that a point breaks; raises DomainError if one raises an error."""
    return [i for i, rule in enumerate(rules) if not _satisfies(space, point, rule)]


def _satisfies(space: ConstrainedProduct, point: dict[str, Any], rule: Constraint) -> bool:
    """Call a predicate with a copy of the point, so that it cannot change the space or the point of other rules."""
    own = point.copy()
    for name in space.mutable_names:
        if name in own:
            own[name] = copy.deepcopy(own[name])
    return ask(rule, own, space.variables)


def ask(rule: Constraint, point: dict[str, Any], variables: Mapping[str, Variable]) -> bool:
    """Call a predicate, and count the call.

    Raises PredicateError if the predicate raises an error.
    """
    call_limit().left -= 1
    try:
        return check_answer(rule(point))
    except Exception as error:
        raise _failure(rule, point, variables, error) from error


def _failure(
    rule: Constraint, point: dict[str, Any], variables: Mapping[str, Variable], error: Exception
) -> PredicateError:
    """Return the error of a rule that failed; it explains access to an inactive variable."""
    name = error.args[0] if isinstance(error, KeyError) and error.args else None
    if isinstance(name, str) and name in variables and name not in point:
        return PredicateError(
            f"constraint {predicate_name(rule)} reads {name}, which {short_repr(point, 200)} lacks: it exists "
            f"if {describe_when(variables[name].when)}; use point.get({name!r}, VALUE)"
        )
    return PredicateError(f"constraint {predicate_name(rule)} failed on {short_repr(point, 200)}: {error!r}")


def _present_rows(space: ConstrainedProduct, xs: IntArray) -> Iterator[dict[str, Any]]:
    """Yield points as dicts of the space's own choices, which `_satisfies` copies."""
    variables = space.variables
    if not space.conditions and all(v.values_are_choices for v in variables.values()):
        choices = [(name, v.choices) for name, v in variables.items()]
        for row in np.asarray(xs).tolist():
            yield {name: own[vertex] for (name, own), vertex in zip(choices, row, strict=True)}
        return
    for row in np.asarray(xs):
        split = zip(variables.items(), space.layout.split(row), strict=True)
        yield {name: v.present(own) for (name, v), own in split if own[0] != INACTIVE}


def check_value(name: str, variable: Variable, columns: Sequence[int]) -> None:
    """Raise PointError, naming the variable, unless the columns are those of a value."""
    try:
        variable.check(columns)
    except PointError as error:
        raise PointError(f"{name}: {error}") from None
