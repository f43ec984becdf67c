"""A space: the Cartesian product of its variables, whose points are rows of integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_draw, short_repr
from bostruct.contracts import (
    INFINITE,
    Array,
    AtLeast,
    Choice,
    ChoiceDomain,
    Count,
    DomainError,
    DomainTraits,
    Exact,
    Infeasible,
    IntArray,
    Json,
    ParsedJson,
    Polytope,
    Presented,
    TreeDomain,
    token,
)
from bostruct.display import html_table, show_all_parts, show_count, show_parts, show_rules
from bostruct.domains.space.call_limit import release_calls
from bostruct.domains.space.choices import coordinate
from bostruct.domains.space.clauses import Clause, clause_from_json
from bostruct.domains.space.conditions import check_constraints, name_levels, read_lists, refuse_contradictions
from bostruct.domains.space.constraints import Constraint, Survey, count_within_limit, valid_mask
from bostruct.domains.space.fixed import fix_constraints, fix_variables
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.linear import Linear
from bostruct.domains.space.moves import NeighborSampler
from bostruct.domains.space.points import check_names, check_row, encode_row, migrate_row, read_row
from bostruct.domains.space.registry import is_part, variable, variable_from_json
from bostruct.domains.space.sampling import find_survey, sample_distinct, sample_satisfying, sample_unseen
from bostruct.domains.space.single_changes import SingleChanges, SpaceBatch
from bostruct.domains.space.variable import INACTIVE, Variable

MAX_VARIABLES = 10_000
RESAMPLING_DRAWS = 1_000
DRAWS_OF_ONE = 64  # draws of a variable that must change; one of its two values may have a probability of 2/3


class Space(NeighborSampler, ChoiceDomain, TreeDomain):
    """A search space of named variables, with conditions and known constraints.

    A variable with `when=` is active only if all its conditions hold: a dict from names of other variables to the
    required value, to a list of allowed values, or to a predicate of the value. A condition on an inactive variable
    does not hold. A point is a dict without its inactive variables.

    If a value is another domain, such as `cnn_domain()`, or a dict, which represents a `Space`, the result is a
    `bostruct.domains.mixed.MixedSpace`. Conditions may also name these parts.

    Internally a point is a row of integers. Each variable has one column, the position of its choice, or several (see
    `layout`). Columns of inactive variables are `INACTIVE`.

    Parameters
    ----------
    variables : dict
        1 to 10,000 variables by name: `Binary`, `Categorical`, `Ordinal`, `Integer`, `Real`, `Fidelity`, `Graph`,
        `Permutation`, `Subset`, `Sequence`, `Candidates`, `Mixture`, `Allocation`, or a shorthand: `bool`, a list
        (categorical), a `range` or an array of ascending numbers (ordinal).
    constraints : sequence, default ()
        Predicates of a point, or `Linear` constraints. Only points that satisfy all of them are suggested or accepted.
    when : object, optional
        Not supported, because all points have the space; a TypeError is raised.

    Raises
    ------
    DomainError
        If a variable, a condition or a constraint is invalid, or the constraints contradict each other.
    """

    lists_many = True
    reads_earlier_forms = True
    build_mixed: ClassVar[Callable[..., object] | None] = None  # set by `bostruct.domains.mixed`

    def __new__(
        cls,
        variables: Mapping[str, object] | None = None,
        constraints: Sequence[Constraint] = (),
        *,
        when: object = None,
    ) -> Self:
        if when is not None:
            raise TypeError(
                "Space: when: a space, or a dict inside one, takes no conditions, because all points have it; give "
                f"when= to the variables in it, got {short_repr(when)}"
            )
        if cls.build_mixed and isinstance(variables, Mapping) and any(is_part(given) for given in variables.values()):
            return cls.build_mixed(variables, _check_arguments(variables, constraints))  # type: ignore[return-value]  # of a like type
        return super().__new__(cls)

    def __init__(self, variables: Mapping[str, object], constraints: Sequence[Constraint] = ()) -> None:
        rules = _check_arguments(variables, constraints)
        given = {name: variable(name, one) for name, one in variables.items()}
        kinds = {name: read_lists(one, given) for name, one in given.items()}
        names = [*kinds, *(f"{name}.{part}" for name, one in kinds.items() for part in one.parts)]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise DomainError(f"variables: expected distinct names, also of parts, got {twice!r} twice; rename one")
        check_constraints(rules, kinds, kinds)
        super().__init__(kinds, tuple(name_levels(rule, kinds) for rule in rules))
        refuse_contradictions(self.constraints, kinds)
        if self.linear is not None:
            self.linear.refuse_infeasible()

    def __repr__(self) -> str:
        return show_parts(self.variables, show_rules(len(self.constraints)))

    def __str__(self) -> str:
        return show_all_parts(self.variables, show_rules(len(self.constraints)))

    def _repr_html_(self) -> str:
        rules = show_rules(len(self.constraints)).replace(",", " before", 1)
        most = "at most " if self.conditions and not self.conditions.is_exact else ""
        return html_table(
            self.variables.items(),
            caption=f"Space of {self.d} variables, {most}{show_count(self.n_points)} points{rules}",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return False
        mine, others = list(self.variables.items()), list(other.variables.items())  # in order: points are rows
        return mine == others and self.constraints == other.constraints

    def __hash__(self) -> int:
        return hash(tuple(self.variables))

    def fix(self, /, **values: Presented) -> Space:
        """Return the space with variables fixed at one value, which models ignore.

        Stored studies can switch between the two spaces: trials with the fixed values are data of both. Variables that
        the fixed values make inactive are removed, and so are conditions and constraints that then always hold. Other
        constraints are kept; a `Linear` loses the weights of removed variables, which count as 0.

        Parameters
        ----------
        **values : object
            The value of each variable to fix, by name.

        Returns
        -------
        Space
            The space.

        Raises
        ------
        DomainError
            If a name is unknown, a value is impossible, a fixed variable is inactive, or a constraint cannot hold.

        Examples
        --------
        >>> space = bo.Space({"model": ["svm", "tree"], "c": bo.Real(0.1, 10.0, when={"model": "svm"})})
        >>> list(space.fix(model="tree").variables)
        ['model']
        """
        names = list(self.variables)
        order = [names[i] for i in self.conditions.order]
        fixed = fix_variables(self.variables, order, values)
        return Space(fixed, fix_constraints(self.constraints, self.variables.keys(), fixed))

    def count(self) -> Count:
        """Count the valid points."""
        if any(v.is_real for v in self.variables.values()):
            return INFINITE
        if self.enumerable:
            return Exact(len(self._all))
        if self.linear is not None and (known := self._count_linear()) is not None:
            return Exact(known)
        is_exact = all(v.is_countable for v in self.variables.values())
        is_exact = is_exact and (not self.conditions or self.conditions.is_exact)
        if self.constraints or not is_exact:
            return AtLeast(min(1, len(self.survey.points)) if self.constraints else 1)
        return Exact(self.n_points)

    def _count_linear(self) -> int | None:
        """Return the number of points of a space whose constraints are all linear; None if it is unknown."""
        if self.linear is None or self.conditions or not all(isinstance(rule, Linear) for rule in self.constraints):
            return None
        used = {axis.i for axis in self.linear.axes}
        if any(axis.is_optional for axis in self.linear.axes):
            return None
        others = [one for i, one in enumerate(self.variables.values()) if i not in used]
        found = self.linear.whole.n_points
        is_known = found is not None and all(one.is_countable for one in others)
        return found * math.prod(one.size for one in others) if found is not None and is_known else None

    @property
    def size(self) -> int:
        """The number of points, or an upper bound.

        It is exact unless constraints or predicates concern more than 100,000 values (see `count`).
        """
        return len(self._all) if self.constraints and self.enumerable else self.n_points

    def count_at_most(self) -> int:
        return self.n_points

    @property
    def traits(self) -> DomainTraits:
        """The abilities of the space; no single choices if a variable has several columns."""
        traits = super().traits
        return traits._replace(choices=None, tree=None) if self._multi_column else traits

    def list_few(self, most: int) -> IntArray | None:
        return self.enumerate() if self.n_points <= most and self.enumerable else None

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw valid points independently.

        Each variable is uniform on its scale, given its parents. Under tight constraints, points are drawn from a list
        of all points, or by random walks; see `bostruct.domains.space.sampling.sample_satisfying`.
        """
        check_draw(m, rng)
        return sample_satisfying(self, m, rng) if self.constraints else self.sample_freely(m, rng)

    def sample_candidates(self, m: int, starts: SpaceBatch, rng: np.random.Generator) -> IntArray:
        """Draw at most m valid points to choose from, at least one if m > 0.

        Points are drawn as by `sample`. If constraints are so tight that it uses random walks, the points are distinct
        and may be fewer than m.
        """
        return sample_distinct(self, m, np.asarray(starts), rng) if self.constraints else self.sample_freely(m, rng)

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> IntArray:
        """Draw a valid point of shape (d,) whose key is not in `seen`."""
        with release_calls():
            return sample_unseen(self, self.sample, seen, rng)

    def count_satisfied_constraints(self, xs: IntArray) -> IntArray:
        """Count the constraints that hold at each point (m,).

        Once the limit of calls is reached, constraints are not called and count as violated.

        Parameters
        ----------
        xs : array of shape (m, d)
            The points.

        Raises
        ------
        DomainError
            If a constraint raises an error.
        """
        return count_within_limit(self, xs)

    def check(self, x: IntArray) -> None:
        """Check that a point is valid."""
        check_row(self, x)

    def parse(self, point: object) -> IntArray:
        """Return the point (d,) of a dict of the user's values."""
        row = read_row(self, check_names(self, point), lambda variable, value: variable.parse(value))
        self.check(row)
        return row

    def present(self, x: IntArray) -> dict[str, Presented]:
        try:
            return super().present(x)
        except (IndexError, TypeError, ValueError):
            check_row(self, x)
            raise

    def encode(self, x: IntArray) -> Json:
        """Return a point as JSON: a dict from names to choices."""
        known = self._known_values.write(x)
        return encode_row(self, x) if known is None else known

    def decode(self, data: ParsedJson) -> IntArray:
        """Rebuild a point from the result of `encode`, without checking constraints."""
        known = self._known_values.read(data)
        if known is not None:
            return known
        return read_row(self, check_names(self, data), lambda variable, value: variable.decode(value))

    def decode_values(self, points: Sequence[Sequence[Json]]) -> IntArray | None:
        """Rebuild many points at once from the values that `encode` gave them, without checking constraints.

        Parameters
        ----------
        points : sequence of sequence
            The values of each point, of all variables in their order.

        Returns
        -------
        array of shape (m, d) or None
            The points; None if a point must be read by `decode`.
        """
        return self._known_values.read_values(points)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> IntArray:
        """Rebuild a point that a space with another description encoded, without checking constraints.

        A variable that the point lacks gets its default. A value that this space cannot represent must be the default.
        """
        return migrate_row(self, data, description)

    def key(self, x: IntArray) -> Hashable:
        return self._row_keys.write(np.asarray(x)[None])[0]

    def take(self, batch: SpaceBatch, positions: Sequence[int] | IntArray) -> SpaceBatch:
        points = batch if isinstance(batch, np.ndarray | SingleChanges) else self.join(batch)
        return points[np.asarray(positions, dtype=np.intp)]

    def tokens(self, xs: IntArray) -> list[IntArray]:
        if not self.conditions and self.layout.is_simple and int(self.n_choices.max()) <= MAX_CHOICES:
            return list(self._tokens[np.arange(self.d), np.asarray(xs)])
        split = [self.layout.split(x) for x in np.asarray(xs)]
        named = [[(n, own) for n, own in zip(self.variables, x, strict=True) if own[0] != INACTIVE] for x in split]
        return [np.array([token(f"{n} = {own}") for n, own in pairs]) for pairs in named]

    def coordinates(self, x: IntArray) -> list[Choice]:
        vertices = zip(self.variables.items(), x, strict=True)
        return [coordinate(name, variable, int(vertex)) for (name, variable), vertex in vertices if vertex != INACTIVE]

    def names(self, x: IntArray) -> tuple[str, ...]:
        if not self.conditions:
            return self._names
        exists = self.conditions.has(np.asarray(x)[None])[0].tolist()
        return tuple(name for name, own in zip(self._names, exists, strict=True) if own)

    def coordinate_values(self, xs: IntArray) -> Array:
        values = np.array(xs, dtype=np.float64)
        for i, grid in self.grids.items():
            values[:, i] = grid.shares(np.asarray(xs)[:, i])
        return values[:, np.all(np.asarray(xs) != INACTIVE, axis=0)] if self.conditions else values

    def resample(self, x: IntArray, names: Sequence[str], rng: np.random.Generator) -> IntArray:
        """Return a valid point with some variables drawn again; a single variable gets another value."""
        changed = [self.positions[name] for name in names]
        linear = None if self.linear is None or self.linear.is_often_met else self.linear
        if linear is not None and {axis.i for axis in linear.axes} & set(changed):
            drawn = linear.redraw(np.array(x, dtype=np.int64)[None], rng)
            return drawn[0] if valid_mask(self, drawn)[0] else np.array(x, dtype=np.int64)
        is_plain = self.layout.is_simple and all(self.variables[name].is_even for name in names)
        for _ in range(RESAMPLING_DRAWS if self.constraints else 1):
            row = np.array(x, dtype=np.int64)
            if self.conditions or not is_plain:
                for i in changed:
                    own = self.layout.columns(i)
                    if row[own.start] != INACTIVE:
                        drawn = self.variables[self._names[i]].sample(DRAWS_OF_ONE if len(changed) == 1 else 1, rng)
                        row[own] = drawn[int(np.argmax((drawn != row[own]).any(axis=1)))]
                self.conditions.apply_randomly(row[None], rng)
            elif len(changed) == 1:
                n = int(self.n_choices[changed[0]])
                row[changed] = (int(row[changed[0]]) + int(rng.integers(1, max(n, 2)))) % n
            else:
                row[changed] = rng.integers(0, self.n_choices[changed])
            if not self.constraints or valid_mask(self, row[None])[0]:
                return row
        return np.array(x, dtype=np.int64)

    def decisions(self, x: IntArray) -> tuple[int, ...]:
        """Return the choice of each active variable, parents first."""
        return tuple(int(x[i]) for i in self.conditions.order if x[i] != INACTIVE)

    def options(self, made: Sequence[int]) -> int:
        if self.conditions:
            following = self.choice_after(made)
            return 0 if following is None else self.variables[following.path].size
        return int(self.n_choices[len(made)]) if len(made) < self.d else 0

    def choice_after(self, made: Sequence[int]) -> Choice | None:
        """Return the variable to decide next, as a coordinate at its first choice; None after the last."""
        i = self._replay(made)[1]
        return None if i is None else coordinate(*list(self.variables.items())[i], 0)

    def decide(self, name: str, value: float) -> int:
        """Return the position of the choice nearest to the value of a coordinate."""
        grid = self.variables[name].grid
        return round(value) if grid is None else int(grid.nearest(np.array(value)))

    def _replay(self, made: Sequence[int]) -> tuple[IntArray, int | None]:
        """Return the row with these decisions, other variables inactive, and the position of the next variable."""
        row = np.full(self.d, INACTIVE, dtype=np.int64)
        left = list(made)
        for i in self.conditions.order:
            if self.conditions.holds(i, row[None])[0]:
                if not left:
                    return row, i
                row[i] = left.pop(0)
        return row, None

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> IntArray:
        """Draw a valid point that begins with given choices."""
        draws = RESAMPLING_DRAWS if self.constraints else 1
        known = self._replay(made)[0] if self.conditions else np.array(made, dtype=np.int64)
        given = np.flatnonzero(known != INACTIVE)
        for first in range(0, draws, 50):
            rows = self.sample_freely(min(50, draws - first), rng)
            rows[:, given] = known[given]
            valid = valid_mask(self, self.conditions.apply_randomly(rows, rng))
            if valid.any():
                return rows[int(np.argmax(valid))]
        raise Infeasible(f"no valid point with the choices {tuple(made)} was found in up to {draws} draws")

    def to_json(self) -> Json:
        """Describe the space as JSON. Unless all constraints are clauses, only their number is stored."""
        variables = {name: v.to_json() for name, v in self.variables.items()}
        clauses = [rule.to_json() for rule in self.constraints if isinstance(rule, Clause)]
        n_rules = len(self.constraints)
        rules: Json = clauses if clauses and len(clauses) == n_rules else n_rules
        return {"domain": "space", "variables": variables, "constraints": rules}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Space:
        """Rebuild a space from the result of `to_json`.

        Parameters
        ----------
        data : dict
            Parsed JSON.

        Raises
        ------
        DomainError
            If the space needs code or objects that JSON cannot represent.
        ValueError
            If a member is missing.
        """
        missing = [name for name in ("variables", "constraints") if not isinstance(data, dict) or name not in data]
        if missing:
            without = f"{short_repr(data)} without {' and '.join(missing)}"
            raise ValueError(f"space: expected what to_json of a Space returned, got {without}")
        rules = data["constraints"]
        if rules and not isinstance(rules, list):
            raise DomainError("the space has constraints, whose code cannot be stored")
        variables = {name: variable_from_json(name, v) for name, v in data["variables"].items()}
        return cls(variables, [clause_from_json(rule) for rule in rules or ()])

    def shares(self, xs: IntArray) -> Array:
        rows = np.asarray(xs)
        shares = np.full((len(rows), self.n_continuous), np.nan)
        for own, columns, one in self._continuous:
            has = rows[:, columns.start] != INACTIVE
            shares[has, own] = one.shares(rows[has, columns])
        return shares

    def with_shares(self, xs: IntArray, shares: Array) -> IntArray:
        rows = np.array(xs, dtype=np.int64)
        for own, columns, one in self._continuous:
            has = rows[:, columns.start] != INACTIVE
            rows[has, columns] = one.with_shares(rows[has, columns], shares[has, own])
        return rows

    @cached_property
    def _continuous(self) -> list[tuple[slice, slice, Variable]]:
        """The places of the continuous coordinates of each variable that has some, its columns, and the variable."""
        found, first = [], 0
        for i, one in enumerate(self.variables.values()):
            if one.n_continuous:
                found.append((slice(first, first + one.n_continuous), self.layout.columns(i), one))
                first += one.n_continuous
        return found

    def polytopes(self, xs: IntArray) -> list[Polytope] | None:
        rows, c = np.asarray(xs), self.n_continuous
        bounded = [(own, columns, one.share_bounds(rows[:, columns])) for own, columns, one in self._continuous]
        sums = [(own, columns, bounds) for own, columns, bounds in bounded if bounds is not None]
        if not sums and self.linear is None:
            return None
        low, high = np.zeros((len(rows), c)), np.ones((len(rows), c))
        matrix = np.zeros((len(sums), c))
        for k, (own, _, bounds) in enumerate(sums):
            matrix[k, own] = 1.0
            low[:, own], high[:, own] = bounds
        has = np.array([rows[:, columns.start] != INACTIVE for _, columns, _ in sums], dtype=bool)
        has = has.reshape(len(sums), len(rows)).T
        found = [
            Polytope(low[i], high[i], matrix[has[i]], np.ones(has[i].sum()), matrix[:0], np.zeros(0))
            for i in range(len(rows))
        ]
        if self.linear is None:
            return found
        positions = [i for i, one in enumerate(self.variables.values()) if one.n_continuous]
        places = {i: own.start for i, (own, *_) in zip(positions, self._continuous, strict=True)}
        limits = self.linear.limit_shares(rows, places, self.shares(rows))
        return [one.join(other) for one, other in zip(found, limits, strict=True)]

    def sample_discrete_neighborhoods(
        self, xs: IntArray, m: int, rng: np.random.Generator
    ) -> tuple[SpaceBatch, IntArray]:
        none_differ = self._is_fine.all() and not self.conditions
        batch, of = super().sample_neighborhoods(xs[:0] if none_differ else xs, m, rng, large_steps=True)
        switches = batch.of != of  # changes that activate or deactivate other variables
        kept = switches | ~self._is_fine[batch.which]
        for i, wide in self._multi_column:
            own = np.flatnonzero(batch.which == i)
            if wide.n_continuous and len(own):
                width = wide.width
                is_other = wide.find_discrete_changes(batch[own].before[:, :width], batch[own].values[:, :width])
                kept[own] = switches[own] | is_other
        kept = np.flatnonzero(kept)
        return batch[kept], of[kept]

    @property
    def survey(self) -> Survey:
        """The survey of a constrained space, made once. Each suggestion is charged for its calls of constraints."""
        return find_survey(self)

    @cached_property
    def _tokens(self) -> IntArray:
        """A token for each variable and vertex (d, most choices)."""
        table = np.zeros((self.d, int(self.n_choices.max())), dtype=np.int64)
        for i, (name, count) in enumerate(zip(self.variables, self.n_choices.tolist(), strict=True)):
            table[i, :count] = [token(f"{name} = {vertex}") for vertex in range(count)]
        return table

    @cached_property
    def _is_fine(self) -> npt.NDArray[np.bool_]:
        """The variables whose steps are so small that no single step matters (d,)."""
        return np.array([v.is_fine for v in self.variables.values()])


def _check_arguments(variables: object, constraints: object) -> tuple[Constraint, ...]:
    """Return the constraints; raise DomainError if names or constraints are invalid."""
    if not isinstance(variables, Mapping):
        raise DomainError(f"variables: expected a mapping from name to variable, got {short_repr(variables)}")
    if not 1 <= len(variables) <= MAX_VARIABLES:
        raise DomainError(f"variables: expected 1 to {MAX_VARIABLES}, got {len(variables)}")
    for name in variables:
        if not isinstance(name, str) or not name:
            raise DomainError(f"variables: expected names that are non-empty strings, got {short_repr(name)}")
    rules = tuple(constraints) if isinstance(constraints, Iterable) else ()
    if not isinstance(constraints, Iterable) or not all(callable(rule) for rule in rules):
        raise DomainError(f"constraints: expected a sequence of predicates of a point, got {short_repr(constraints)}")
    return rules
