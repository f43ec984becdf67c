"""A space: the Cartesian product of its variables, held as integer arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented, SpaceExhausted
from bostruct.display import html_table
from bostruct.domains.space.adjacency import Adjacency
from bostruct.domains.space.call_limit import call_limit, charge_once, limit_calls, release_calls
from bostruct.domains.space.choices import ChoiceVariable, number_grid
from bostruct.domains.space.constrained_sampling import sample_distinct, sample_satisfying
from bostruct.domains.space.constraints import Constraint, Survey, count_satisfied_rules, rule_name, valid_mask
from bostruct.domains.space.decisions import Coordinate, coordinate, resample, roll_out, token, token_table
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.registry import variable, variable_from_json
from bostruct.domains.space.scale import GRID_STEPS, NumberGrid
from bostruct.domains.space.single_changes import Layout, SingleChanges, SpaceBatch, pad_columns
from bostruct.domains.space.survey import survey_space
from bostruct.domains.space.variable import Variable
from bostruct.domains.space.walks import find_unseen_nearby, random_walk
from bostruct.domains.unseen import DRAWS_UNSEEN, draw_unseen

MAX_VARIABLES = 1000
MAX_ENUMERATED = 100_000
CROSSOVER_TRIES = 100  # tried of a crossover
MUTATION_WALK_STEPS = (16, 2_000)  # steps of a mutation where no single change is valid


class Space:
    """Named variables and known constraints.

    variables: name -> `Binary`, `Categorical`, `Ordinal`, `Integer`, `Real`, `Fidelity` or `Graph`, or a shorthand:
        `bool`, a list (categorical), a `range` or an array of ascending numbers (ordinal). 1 to 1000 of them.
    constraints: predicates of a point, which is a dict of the user's own values; only points for which all are true are
        ever suggested or accepted.

    A point is an integer row. Each variable owns some columns, `layout` says which: one with the position of its value
    among its choices, or several. Raises DomainError.
    """

    def __init__(self, variables: Mapping[str, object], constraints: Sequence[Constraint] = ()) -> None:
        if not isinstance(variables, Mapping):
            raise DomainError(f"variables: expected a mapping from name to variable, got {short_repr(variables)}")
        if not 1 <= len(variables) <= MAX_VARIABLES:
            raise DomainError(f"variables: expected 1 to {MAX_VARIABLES}, got {len(variables)}")
        for name in variables:
            if not isinstance(name, str) or not name:
                raise DomainError(f"variables: expected names that are non-empty strings, got {short_repr(name)}")
        rules = tuple(constraints) if isinstance(constraints, Iterable) else ()
        if not isinstance(constraints, Iterable) or not all(callable(rule) for rule in rules):
            raise DomainError(
                f"constraints: expected a sequence of predicates of a point, got {short_repr(constraints)}"
            )
        self.variables: dict[str, Variable] = {name: variable(name, given) for name, given in variables.items()}
        self.constraints: tuple[Constraint, ...] = rules
        self.n_points: int = math.prod(v.size for v in self.variables.values())  # before constraints
        self.positions: dict[str, int] = {name: i for i, name in enumerate(self.variables)}
        self.layout = Layout(tuple(v.width for v in self.variables.values()))
        self.mutable_names: tuple[str, ...] = tuple(  # of choices that a predicate could change
            n for n, v in self.variables.items() if isinstance(v, ChoiceVariable) and v.has_mutable_choices
        )

    def __repr__(self) -> str:
        rules = f", {len(self.constraints)} constraints" if self.constraints else ""
        return f"Space({short_repr(self.variables, 200)}{rules})"

    def _repr_html_(self) -> str:
        n = f"{self.n_points:,}" if self.n_points < 10**9 else f"about 10^{math.log10(self.n_points):.0f}"
        rules = f" before {len(self.constraints)} constraints" if self.constraints else ""
        return html_table(self.variables.items(), caption=f"Space of {self.d} variables, {n} points{rules}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return False
        mine, others = list(self.variables.items()), list(other.variables.items())  # in order: points are rows
        return mine == others and self.constraints == other.constraints

    def __hash__(self) -> int:
        return hash(tuple(self.variables))

    @property
    def d(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @property
    def n_choices(self) -> IntArray:
        """The number of choices of each variable (d,).

        Raises DomainError where a variable has several columns and is no single choice.
        """
        if self._wide:
            i, wide = self._wide[0]
            raise DomainError(f"{self._names[i]}: expected variables that are one choice each, got a {wide.kind}")
        return self._bounds

    @property
    def size(self) -> int:
        """The number of points; with constraints an upper bound, unless the space is `enumerable`."""
        return len(self._all) if self.constraints and self.enumerable else self.n_points

    @property
    def enumerable(self) -> bool:
        """True where `enumerate` is allowed: at most 100,000 points before constraints."""
        return self.n_points <= MAX_ENUMERATED

    def enumerate(self) -> IntArray:
        """List all valid points (m, d), the last variable fastest.

        Raises DomainError where the space is not `enumerable`.
        """
        if not self.enumerable:
            raise DomainError(f"only spaces of up to {MAX_ENUMERATED} points before constraints are enumerated")
        return self._all.copy()

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m valid points -> (m, d).

        m: int >= 0.
        rng: `numpy.random.Generator`.

        Uniform and independent, but for spaces with tight constraints that are too large for `enumerate`: see
        `bostruct.domains.space.constrained_sampling.sample_satisfying`. Raises DomainError where no valid point can be
        found.
        """
        return sample_satisfying(self, m, rng) if self.constraints else self.sample_freely(m, rng)

    def sample_candidates(self, m: int, starts: SpaceBatch, rng: np.random.Generator) -> IntArray:
        """Draw valid points to choose among -> (at most m, d), at least one where m is: `HasCandidates`.

        As `sample` draws; but where constraints are so tight that it walks, the points are distinct, and fewer than m.

        m: int >= 0.
        starts: valid points to walk from, integer rows (k, d); may be none.
        rng: `numpy.random.Generator`.

        Raises DomainError where no valid point is given or found.
        """
        return sample_distinct(self, m, np.asarray(starts), rng) if self.constraints else self.sample_freely(m, rng)

    def sample_freely(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m points uniformly and independently, whatever the constraints.

        m: int >= 0.
        rng: `numpy.random.Generator`.
        """
        rows = rng.integers(0, self._bounds, size=(m, self.layout.n_columns))
        for i, v in self._sampled:
            rows[:, self.layout.columns(i)] = v.sample(m, rng)
        return rows

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> IntArray:
        """Draw a valid point (d,) whose key is not in `seen`; raises SpaceExhausted when none is left, or found.

        seen: frozenset of keys (`keys`).
        rng: the only source of chance.
        """
        with release_calls():
            return self._sample_unseen(seen, rng)

    def count_satisfied_constraints(self, xs: IntArray) -> IntArray:
        """Count the constraints that hold at each point -> (m,); raises DomainError where one itself fails.

        xs: integer rows (m, d).
        """
        return count_satisfied_rules(self, xs, self.constraints)

    def check(self, x: IntArray) -> None:
        """Raise PointError for a wrong shape, a vertex out of range, or a constraint that does not hold.

        x: what should be an integer row (d,).
        """
        n_columns = self.layout.n_columns
        if np.shape(x) != (n_columns,) or not np.issubdtype(np.asarray(x).dtype, np.integer):
            raise PointError(f"point: expected {n_columns} integers, got {short_repr(x)}")
        for (name, v), columns in zip(self.variables.items(), self.layout.split(x), strict=True):
            try:
                v.check(columns)
            except PointError as error:
                raise PointError(f"{name}: {error}") from None
        row = np.asarray(x, dtype=np.int64)[None]
        if broken := [rule_name(c) for c in self.constraints if not count_satisfied_rules(self, row, [c])[0]]:
            raise PointError(f"point: {short_repr(self.present(x), 200)} breaks the constraint {', '.join(broken)}")

    def parse(self, point: object) -> IntArray:
        """Read a point (d,) from a dict of the user's values.

        point: dict from every variable's name to one of its choices.

        Raises PointError, naming the variable that is wrong.
        """
        if not isinstance(point, Mapping):
            raise PointError(
                f"point: expected a dict with the keys {short_repr(list(self.variables), 200)}, got {short_repr(point)}"
            )
        if unknown := [name for name in point if name not in self.variables]:
            hint = did_you_mean(unknown[0], self.variables)
            raise PointError(
                f"point: unknown name {short_repr(unknown[0])}; expected {short_repr(list(self.variables), 200)}{hint}"
            )
        if missing := [name for name in self.variables if name not in point]:
            raise PointError(
                f"point: missing {', '.join(missing[:5])}; expected {short_repr(list(self.variables), 200)}"
            )
        row = self._row(point, lambda variable, value: variable.parse(value))
        self.check(row)
        return row

    def present(self, x: IntArray) -> dict[str, Presented]:
        """Return a point as a dict of the user's values.

        x: integer row (d,).
        """
        split = self.layout.split(x)
        return {name: v.present(own) for (name, v), own in zip(self.variables.items(), split, strict=True)}

    def encode(self, x: IntArray) -> Json:
        """Return a point as JSON: a dict from names to choices.

        x: integer row (d,).
        """
        split = self.layout.split(x)
        return {name: v.encode(own) for (name, v), own in zip(self.variables.items(), split, strict=True)}

    def decode(self, data: ParsedJson) -> IntArray:
        """Rebuild a point from the result of `encode`; raises PointError for what it never writes.

        data: JSON of any form.

        Constraints are not checked.
        """
        if not isinstance(data, Mapping) or data.keys() != self.variables.keys():
            raise PointError(
                f"point: expected the keys {short_repr(list(self.variables), 200)}, got {short_repr(data, 200)}"
            )
        return self._row(data, lambda variable, value: variable.decode(value))

    def key(self, x: IntArray) -> Hashable:
        """Return the key of a point.

        x: integer row (d,).
        """
        return np.asarray(x, dtype=np.int64).tobytes()

    def take(self, batch: SpaceBatch, positions: Sequence[int] | IntArray) -> SpaceBatch:
        """Return the points at some positions of a batch, single changes as such.

        batch: m points, as rows or as single changes.
        positions: in 0..m - 1, in the order wanted, repeats allowed.
        """
        return batch[np.asarray(positions, dtype=np.intp)]

    def keys(self, batch: IntArray) -> list[Hashable]:
        """Return the keys of m points, equal for equal points.

        batch: integer rows (m, d).
        """
        return [row.tobytes() for row in np.ascontiguousarray(batch, dtype=np.int64)]

    def join(self, *batches: IntArray) -> IntArray:
        """Join batches into one, as integer rows (m, d).

        batches: any number, as rows or as single changes; none give the empty batch.
        """
        n_columns = self.layout.n_columns
        rows = [np.asarray(b, dtype=np.int64).reshape(-1, n_columns) for b in batches]
        return np.concatenate(rows) if rows else np.empty((0, n_columns), dtype=np.int64)

    def neighbors(self, x: IntArray) -> IntArray:
        """List the valid points that differ from x in one variable by one change.

        x: integer row (d,).

        Returns rows (m, d): variable 0 first, its vertices ascending.
        """
        rows = self._apply_changes(x, *self._adjacency.single_changes(x))
        return rows[self._valid_mask(rows)]

    def sample_neighbors(self, x: IntArray, m: int, rng: np.random.Generator) -> IntArray:
        """Return `neighbors`, or m of them drawn without replacement where there are more.

        x: integer row (d,).
        m: int >= 0.
        rng: the only source of chance.
        """
        return self.sample_neighborhoods(np.asarray(x)[None], m, rng)[0].rows()

    def sample_neighborhoods(
        self, xs: IntArray, m: int, rng: np.random.Generator, leaps: bool = False
    ) -> tuple[SingleChanges, IntArray]:
        """Draw `sample_neighbors` of each point as one batch, and tell which point each of them belongs to.

        xs: integer rows (b, d).
        m: int, neighbors of one point at most.
        rng: the only source of chance.
        leaps: bool, True for steps of half their choices, a quarter and so on in ordered variables too.

        Returns the batch and the positions of its points in xs, ascending.
        """
        if not len(xs):
            none = np.empty(0, dtype=np.int64)
            return SingleChanges(self.join(), none, none, none[:, None], self.layout), none
        found = [self._sample_changes(x, m, rng, leaps) for x in xs]
        of = np.repeat(np.arange(len(found)), [len(which) for which, _ in found])
        which = np.concatenate([own for own, _ in found])
        base = np.array(xs, dtype=np.int64)  # of its own, which never changes
        return SingleChanges(base, of, which, pad_columns([values for _, values in found]), self.layout), of

    def mutate(self, x: IntArray, rng: np.random.Generator) -> IntArray:
        """Return a valid neighbor of x (d,), each equally likely.

        x: integer row (d,).
        rng: the only source of chance.

        Where constraints leave no neighbor, the result is a valid point a few changes away. Raises DomainError where
        none other than x is found.
        """
        if len(near := self.sample_neighbors(x, 1, rng)):
            return near[0]
        for steps in MUTATION_WALK_STEPS:
            other, moved = random_walk(self, np.asarray(x, dtype=np.int64), steps, rng, max_moves=1)
            if moved:
                return other
        for other in self.sample(64, rng):
            if not np.array_equal(other, x):
                return other
        raise DomainError(f"no valid point other than {short_repr(self.present(x), 200)} was found")

    def crossover(self, x: IntArray, y: IntArray, rng: np.random.Generator) -> IntArray:
        """Take each variable from x or y with equal chance; return x where 100 tries find no valid child.

        x, y: integer rows (d,).
        rng: the only source of chance.
        """
        for _ in range(CROSSOVER_TRIES):
            child = np.where((rng.random(self.d) < 0.5)[self._variable_of], x, y)
            if self._valid_mask(child[None])[0]:
                return child
        return np.array(x, dtype=np.int64)

    def tokens(self, xs: IntArray) -> list[IntArray]:
        """Return for each point a hash of each variable with its value (d,): `HasTokens`.

        xs: integer rows (m, d).
        """
        if self.layout.is_simple and int(self.n_choices.max()) <= MAX_CHOICES:
            return list(self._tokens[np.arange(self.d), np.asarray(xs)])
        split = [self.layout.split(x) for x in np.asarray(xs)]
        return [np.array([token(f"{n} = {own}") for n, own in zip(self.variables, x, strict=True)]) for x in split]

    def coordinates(self, x: IntArray) -> list[Coordinate]:
        """Return each variable of a point as a choice: `HasChoices`.

        x: integer row (d,).

        Raises DomainError where a variable has several columns.
        """
        vertices = zip(self.variables.items(), x, self.n_choices, strict=True)  # refuses what is no single choice
        return [coordinate(name, variable, int(vertex)) for (name, variable), vertex, _ in vertices]

    def names(self, x: IntArray) -> tuple[str, ...]:
        """Return the names of all variables, whatever the point.

        x: integer row (d,).
        """
        del x
        return self._names

    def resample(self, x: IntArray, names: Sequence[str], rng: np.random.Generator) -> IntArray:
        """Return a valid point with these variables drawn anew; x where none is found.

        x: integer row (d,).
        names: names of variables; a single one is drawn among its other choices.
        rng: the only source of chance.
        """
        return resample(self, x, names, rng)

    def decisions(self, x: IntArray) -> tuple[int, ...]:
        """Return one decision per variable, in their order: `HasDecisions`.

        x: integer row (d,).

        Raises DomainError where a variable has several columns.
        """
        return tuple(int(vertex) for vertex, _ in zip(x, self.n_choices, strict=True))

    def options(self, made: Sequence[int]) -> int:
        """Count the choices of the next variable after the vertices made; 0 after the last.

        made: the vertices of the first variables.
        """
        return int(self.n_choices[len(made)]) if len(made) < self.d else 0

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> IntArray:
        """Draw a valid point with these first vertices; raises Infeasible where 1,000 draws find none.

        made: the vertices of the first variables.
        rng: the only source of chance.
        """
        return roll_out(self, made, rng)

    def to_json(self) -> Json:
        """Describe the space as JSON; of constraints it holds the number only."""
        variables = {name: v.to_json() for name, v in self.variables.items()}
        return {"domain": "space", "variables": variables, "constraints": len(self.constraints)}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Space:
        """Rebuild a space from the result of `to_json`.

        data: dict, as `to_json` returned it.

        Raises DomainError where that needs code or objects that no file holds.
        """
        if data["constraints"]:
            raise DomainError("the space has constraints, whose code no file holds; pass the space itself (space=...)")
        return cls({name: variable_from_json(name, v) for name, v in data["variables"].items()})

    @property
    def n_continuous(self) -> int:
        """The number of variables that are numbers on a grid too fine or too long to list: `HasContinuous`."""
        return len(self._grids)

    def shares(self, xs: IntArray) -> Array:
        """Return the numbers of m points as shares of their ranges, each on its scale (m, c): `HasContinuous`.

        xs: integer rows (m, d).
        """
        rows = np.asarray(xs)
        shares = np.empty((len(rows), len(self._grids)))
        for k, (column, grid) in enumerate(self._grids):
            shares[:, k] = grid.shares(rows[:, column])
        return shares

    def with_shares(self, xs: IntArray, shares: Array) -> IntArray:
        """Return points with other numbers, the nearest of their grids (m, d); constraints are not looked at.

        xs: integer rows (m, d).
        shares: of the ranges, in [0, 1] (m, c).
        """
        rows = np.array(xs, dtype=np.int64)
        for k, (column, grid) in enumerate(self._grids):
            rows[:, column] = grid.nearest(shares[:, k])
        return rows

    def sample_discrete_neighborhoods(
        self, xs: IntArray, m: int, rng: np.random.Generator
    ) -> tuple[SingleChanges, IntArray]:
        """Draw neighbors as `sample_neighborhoods` does, in all variables but those on a grid as fine as a `Real`'s.

        xs: integer rows (b, d).
        m: int, neighbors of one point at most, those in fine grids among them.
        rng: the only source of chance.

        Returns the batch and the positions of its points in xs, ascending: `HasContinuous`.
        """
        batch, of = self.sample_neighborhoods(xs[:0] if self._is_fine.all() else xs, m, rng, leaps=True)
        kept = np.flatnonzero(~self._is_fine[batch.which])
        return batch[kept], of[kept]

    def _row(self, data: Mapping[str, object], read: Callable[[Variable, object], Sequence[int]]) -> IntArray:
        row = np.empty(self.layout.n_columns, dtype=np.int64)
        for i, (name, var) in enumerate(self.variables.items()):
            try:
                row[self.layout.columns(i)] = read(var, data[name])
            except PointError as error:
                raise PointError(f"{name}: {error}") from None
        return row

    def _valid_mask(self, rows: IntArray) -> npt.NDArray[np.bool_]:
        return valid_mask(self, rows) if self.constraints else np.ones(len(rows), dtype=bool)

    def _sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> IntArray:
        if self._knows_none_but(seen):
            known = np.frombuffer(sorted(seen)[rng.integers(len(seen))], dtype=np.int64)  # type: ignore[type-var,arg-type]
            x = find_unseen_nearby(self, known, seen)
        elif (x := draw_unseen(self, seen, rng)) is None and self.enumerable:
            left = [row for row, key in enumerate(self.keys(self._all)) if key not in seen]
            if not left:
                raise SpaceExhausted(f"all {len(self._all)} points of the space have been seen")
            return self._all[left[rng.integers(len(left))]].copy()
        elif x is None:
            nearby = self.constraints or not self.layout.is_simple
            x = find_unseen_nearby(self, self.sample(1, rng)[0], seen) if nearby else self._first_unseen(seen, rng)
        if x is None:
            raise SpaceExhausted(
                f"no unseen valid point was found in {DRAWS_UNSEEN} draws, nor by changing a variable or swapping two "
                f"from there on; {len(seen)} were seen; more may exist"
            )
        return x

    def _knows_none_but(self, seen: AbstractSet[Hashable]) -> bool:
        """Tell whether seen points are the only valid ones known."""
        return bool(seen and self.constraints) and not self.enumerable and not len(self.survey.points)

    def _first_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> IntArray | None:
        """Return the first unseen point from a random one on: of one more point than were seen, one is unseen."""
        x = self.sample(1, rng)[0]
        for _ in range(min(len(seen) + 1, self.n_points)):
            if self.keys(x[None])[0] not in seen:
                return x
            for i in reversed(range(self.d)):  # the next point, the last variable fastest
                x[i] = (x[i] + 1) % self.n_choices[i]
                if x[i]:
                    break
        return None

    def _apply_changes(self, x: IntArray, which: IntArray, values: IntArray) -> IntArray:
        """Return copies of x, each with one variable at another value."""
        base = np.asarray(x, dtype=np.int64)[None]
        return SingleChanges(base, np.zeros(len(which), dtype=np.int64), which, values, self.layout).rows()

    def _sample_changes(self, x: IntArray, m: int, rng: np.random.Generator, leaps: bool) -> tuple[IntArray, IntArray]:
        """Return all valid moves from x, or m of them, in their order."""
        which, values = self._adjacency.single_changes(np.asarray(x), leaps)
        if len(which) <= m:
            chosen = (
                np.flatnonzero(self._valid_mask(self._apply_changes(x, which, values)))
                if self.constraints
                else slice(None)
            )
        elif not self.constraints:
            chosen = np.sort(rng.choice(len(which), size=m, replace=False, shuffle=False))
        else:
            order = rng.permutation(len(which))
            kept, n_kept, step = [order[:0]], 0, max(m, 8)
            for first in range(0, len(order), step):
                if n_kept >= m or call_limit().is_reached:
                    break
                chunk = order[first : first + step]
                kept.append(chunk[self._valid_mask(self._apply_changes(x, which[chunk], values[chunk]))])
                n_kept += len(kept[-1])
            chosen = np.sort(np.concatenate(kept)[:m])
        return which[chosen], values[chosen]

    @cached_property
    def _all(self) -> IntArray:
        grid = np.indices(tuple(v.size for v in self.variables.values())).reshape(self.d, -1).T
        tables = [v.enumerate() for v in self.variables.values()]
        rows = np.concatenate([table[own] for table, own in zip(tables, grid.T, strict=True)], axis=1, dtype=np.int64)
        with limit_calls(math.inf):  # made once, so that no suggestion may depend on whether it was the one to do so
            return rows[self._valid_mask(rows)]

    @property
    def survey(self) -> Survey:
        """The survey of a constrained space, made once; each suggestion is charged the calls that it took."""
        charge_once(self, self._survey.calls)
        return self._survey

    @cached_property
    def _survey(self) -> Survey:
        return survey_space(self)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.variables)

    @cached_property
    def _tokens(self) -> IntArray:
        """The table of tokens (d, most choices)."""
        return token_table(tuple(self.variables), self.n_choices)

    @cached_property
    def _adjacency(self) -> Adjacency:
        return Adjacency(list(self.variables.values()), self.layout)

    @cached_property
    def _wide(self) -> list[tuple[int, Variable]]:
        """The variables with several columns, and their positions."""
        return [(i, v) for i, v in enumerate(self.variables.values()) if v.width > 1]

    @cached_property
    def _grids(self) -> list[tuple[int, NumberGrid]]:
        """The columns of the numbers that are not listed, and their grids."""
        grids = [number_grid(v) for v in self.variables.values()]
        return [(int(self.layout.starts[i]), grid) for i, grid in enumerate(grids) if grid is not None]

    @cached_property
    def _is_fine(self) -> npt.NDArray[np.bool_]:
        """The variables whose steps are so small that no single step matters (d,)."""
        return np.array([v.size > GRID_STEPS and number_grid(v) is not None for v in self.variables.values()])

    @cached_property
    def _sampled(self) -> list[tuple[int, Variable]]:
        """The variables that draw their own values, and their positions: with several columns, or on a scale."""
        return [(i, v) for i, v in enumerate(self.variables.values()) if v.width > 1 or not v.is_even]

    @cached_property
    def _bounds(self) -> IntArray:
        """The number of choices of each column; 1 where the variable draws its own values (columns,)."""
        counts = [[v.size] if v.width == 1 else [1] * v.width for v in self.variables.values()]
        bounds = np.array([count for own in counts for count in own], dtype=np.int64)
        bounds.flags.writeable = False
        return bounds

    @cached_property
    def _variable_of(self) -> IntArray:
        """The variable that each column belongs to (columns,)."""
        return np.repeat(np.arange(self.d), self.layout.widths)
