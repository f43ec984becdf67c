"""The neighbors of the points of a space: single changes of one variable, mutations, and crossovers of two points."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, IntArray, LocalDomain
from bostruct.domains.space.call_limit import call_limit
from bostruct.domains.space.constraints import ConstrainedProduct, valid_mask
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.points import refuse_dict
from bostruct.domains.space.sampling import random_walk
from bostruct.domains.space.single_changes import Layout, SingleChanges, SpaceBatch, pad_columns
from bostruct.domains.space.variable import INACTIVE, Variable

CROSSOVER_TRIES = 100  # children that a crossover tries
MUTATION_WALK_STEPS = (16, 2_000)  # steps of a mutation if no single change is valid
CHANGES_CHECKED = 2_000  # the least number of changes of multi-column variables, as constraints may exclude most
MUTATION_DRAWS = 64  # points drawn if no walk finds another point
QUICK = 4  # changes that are quick to draw, for each other change


class NeighborSampler(ConstrainedProduct, LocalDomain):
    """A product that finds valid points near its points: single changes, mutations and crossovers."""

    @cached_property
    def adjacency(self) -> Adjacency:
        """The single changes of its points."""
        return Adjacency(list(self.variables.values()), self.layout)

    @cached_property
    def _is_parent(self) -> npt.NDArray[np.bool_]:
        """True for each variable on which others depend (d,)."""
        return np.isin(np.arange(self.d), list(self.conditions.parents))

    @cached_property
    def _crossing(self) -> list[tuple[int, Variable]]:
        """The variables that can cross, and their positions, except those in equalities, which children would miss."""
        rng, rules = np.random.default_rng(0), () if self.linear is None else self.linear.rules
        axes = self.linear.axes if self.linear is not None and any(rule.relation == "==" for rule in rules) else ()
        summed = {axis.i for axis in axes}
        values = ((i, one, one.fallback()) for i, one in enumerate(self.variables.values()) if i not in summed)
        return [(i, one) for i, one, value in values if one.cross(value, value, rng) is not None]

    @cached_property
    def _variable_of(self) -> IntArray:
        """The variable of each column."""
        return np.repeat(np.arange(self.d), self.layout.widths)

    def neighbors(self, x: IntArray) -> IntArray:
        """List the valid points that differ from x by one change of one variable.

        Variables that the change activates get the middle choice of an order, otherwise the first choice.
        """
        refuse_dict(x)
        rows = self._apply(x, *self.adjacency.single_changes(np.asarray(x)))
        return self.join(rows[valid_mask(self, rows)], self._linear_moves(x)) if self.constraints else rows

    def _linear_moves(self, x: IntArray) -> IntArray:
        """Return the valid results of steps that change several numbers in linear constraints (q, columns)."""
        if self.linear is None:
            return np.empty((0, self.n_columns), dtype=np.int64)
        rows = self.linear.moves(np.asarray(x, dtype=np.int64))
        kept = (self.conditions.apply_with_fallbacks(rows.copy()) == rows).all(axis=1)
        return rows[kept][valid_mask(self, rows[kept])]

    def sample_neighbors(self, x: IntArray, m: int, rng: np.random.Generator) -> IntArray:
        """Return `neighbors`, or m of them drawn without replacement if there are more."""
        refuse_dict(x)
        return self.join(self.sample_neighborhoods(np.asarray(x)[None], m, rng)[0])

    def sample_neighborhoods(
        self, xs: IntArray, m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> tuple[SingleChanges, IntArray]:
        # a change that activates or deactivates other variables has the resulting point as its base
        if not len(xs):
            none = np.empty(0, dtype=np.int64)
            return SingleChanges(self.join(), none, none, none[:, None], self.layout), none
        found = [self._sample_changes(x, m, rng, large_steps) for x in xs]
        of = np.repeat(np.arange(len(found)), [len(which) for which, _ in found])
        which = np.concatenate([own for own, _ in found])
        base = np.array(xs, dtype=np.int64)  # a copy, which never changes
        changes = SingleChanges(base, of, which, pad_columns([values for _, values in found]), self.layout)
        changes = self._apply_conditions(changes)
        return (changes, of) if self.linear is None else self._add_linear_moves(xs, changes, of, m, rng)

    def _add_linear_moves(
        self, xs: IntArray, changes: SingleChanges, of: IntArray, m: int, rng: np.random.Generator
    ) -> tuple[SingleChanges, IntArray]:
        """Add steps of several numbers to single changes; keep at most m changes of each point.

        The base of such a step is a new point, in which all these numbers except the last are changed.
        """
        moves = [self._linear_moves(x) for x in xs]
        rows, every = self.join(*moves), np.repeat(np.arange(len(moves)), [len(one) for one in moves])
        starts = np.asarray(xs)[every]
        column = rows.shape[1] - 1 - np.argmax((rows != starts)[:, ::-1], axis=1) if len(rows) else every
        which, at = self._variable_of[column], np.arange(len(rows))
        width = max([changes.values.shape[1], *(self.layout.widths[i] for i in which.tolist())])
        cells = at[:, None], self.layout.columns_of(which, width)
        bases = rows.copy()
        bases[cells] = starts[cells]
        joined = SingleChanges(
            np.concatenate([changes.base, bases]),
            np.concatenate([changes.of, len(changes.base) + at]),
            np.concatenate([changes.which, which]),
            pad_columns([changes.values, rows[cells]]),
            self.layout,
        )
        of = np.concatenate([of, every])
        order = np.argsort(of, kind="stable")
        kept = []
        for i in range(len(xs)):
            own = order[of[order] == i]
            kept.append(own if len(own) <= m else own[np.sort(rng.choice(len(own), size=m, replace=False))])
        taken = np.concatenate(kept)
        return joined[taken], of[taken]

    def change_each(self, xs: IntArray, m: int, rng: np.random.Generator) -> tuple[SpaceBatch, IntArray]:
        # under constraints, the valid ones among m changes, or m neighbors if none is valid
        if not len(xs) or not any(one.has_quick_changes for one in self.variables.values()):
            return self.sample_neighborhoods(xs, m, rng, False)
        base = np.array(xs, dtype=np.int64)
        of, which, values = self.adjacency.change_each(base, m, rng)
        changes = SingleChanges(base, of, which, values, self.layout)
        kept = (values != changes.before).any(axis=1)
        changes, of = self._apply_conditions(changes[kept]), of[kept]
        return self._keep_valid(base, changes, of, m, rng) if self.constraints else (changes, of)

    def _keep_valid(
        self, xs: IntArray, changes: SingleChanges, of: IntArray, m: int, rng: np.random.Generator
    ) -> tuple[SpaceBatch, IntArray]:
        """Return the valid changes, and neighbors of the points without a valid change."""
        kept = valid_mask(self, changes.rows())
        changes, of = changes[kept], of[kept]
        bare = np.setdiff1d(np.arange(len(xs)), of)
        if not len(bare):
            return changes, of
        others, of_others = self.sample_neighborhoods(xs[bare], m, rng, False)
        every = np.concatenate([of, bare[of_others]])
        order = np.argsort(every, kind="stable")
        return self.join(changes, others)[order], every[order]

    def combine(self, x: IntArray, neighbors: SingleChanges, counts: Sequence[int]) -> IntArray:
        first = np.sort(np.unique(neighbors.which, return_index=True)[1])
        rows = np.repeat(np.asarray(x, dtype=np.int64)[None], len(counts), axis=0)
        for row, count in zip(rows, counts, strict=True):
            made = neighbors[first[:count]]
            for changed in made.rows() if self.linear is not None else ():  # whose bases may also differ
                row[changed != x] = changed[changed != x]
            columns = self.layout.columns_of(made.which, made.values.shape[1])
            row[columns] = made.values
        rows = self.conditions.apply_with_fallbacks(rows)
        return rows[valid_mask(self, rows)] if self.constraints else rows

    def mutate(self, x: IntArray, rng: np.random.Generator) -> IntArray:
        """Return a random valid neighbor of x (d,), each with the same probability; with numbers, each variable.

        Variables that the change activates are drawn. If constraints leave no neighbor, the result is a few changes
        away.
        """
        if self.linear is not None and len(near := self.neighbors(x)):
            return near[rng.integers(len(near))]
        has_numbers = self.n_continuous > 0
        which, values = self._draw_change(x, rng) if has_numbers else self._sample_changes(np.asarray(x), 1, rng, False)
        if len(which):
            # Variables that the change activates are drawn, or have fallback values if the draw is invalid.
            row = self.conditions.apply_randomly(self._change_rows(x, which, values), rng)[0]
            return row if not self.conditions or self._is_valid(row) else self._apply(x, which, values)[0]
        for steps in MUTATION_WALK_STEPS:
            other, moved = random_walk(self, np.asarray(x, dtype=np.int64), steps, rng, max_moves=1)
            if moved:
                return other
        for other in self.sample(MUTATION_DRAWS, rng):
            if not np.array_equal(other, x):
                return other
        raise DomainError(f"no valid point other than {short_repr(self.present(x), 200)} was found")

    def crossover(self, x: IntArray, y: IntArray, rng: np.random.Generator) -> IntArray:
        """Take each variable from x or y with equal probability; return x if 100 tries find no valid child.

        A variable that is inactive in the chosen parent is taken from the other one, or drawn.
        """
        for _ in range(CROSSOVER_TRIES):
            first = (rng.random(self.d) < 0.5)[self._variable_of]
            if self.linear is not None:  # a sum comes from one parent
                first[self.linear.columns] = first[self.linear.columns[0]]
            child = np.where(first, x, y)
            for i, variable in self._crossing:
                own = self.layout.columns(i)
                if x[own.start] != INACTIVE and y[own.start] != INACTIVE:
                    child[own] = variable.cross(x[own].tolist(), y[own].tolist(), rng)
            if self.conditions:
                child = np.where(child == INACTIVE, np.where(first, y, x), child)
                self.conditions.apply_randomly(child[None], rng)
            if self._is_valid(child):
                return child
        return np.array(x, dtype=np.int64)

    def _apply_conditions(self, changes: SingleChanges) -> SingleChanges:
        """Return the changes together with their consequences for conditional variables, if any."""
        if not self.conditions:
            return changes
        at_parents = np.flatnonzero(self._is_parent[changes.which])
        rows = changes[at_parents].rows()
        applied = self.conditions.apply_with_fallbacks(rows.copy())
        switches = (applied != rows).any(axis=1)
        of = changes.of.copy()
        of[at_parents[switches]] = len(changes.base) + np.arange(np.count_nonzero(switches))
        base = np.concatenate([changes.base, applied[switches]])
        return SingleChanges(base, of, changes.which, changes.values, changes.layout)

    def _is_valid(self, row: IntArray) -> bool:
        return not self.constraints or bool(valid_mask(self, row[None])[0])

    def _apply(self, x: IntArray, which: IntArray, values: IntArray) -> IntArray:
        """Return copies of x, each with one variable at another value and with the conditions applied."""
        return self.conditions.apply_with_fallbacks(self._change_rows(x, which, values))

    def _change_rows(self, x: IntArray, which: IntArray, values: IntArray) -> IntArray:
        base = np.asarray(x, dtype=np.int64)[None]
        return SingleChanges(base, np.zeros(len(which), dtype=np.int64), which, values, self.layout).rows()

    def _sample_changes(
        self, x: IntArray, m: int, rng: np.random.Generator, large_steps: bool
    ) -> tuple[IntArray, IntArray]:
        """Return all valid changes of x, or m of them, in order."""
        if self.layout.is_simple:
            which, values = self.adjacency.single_changes(np.asarray(x), large_steps)
        else:
            drawn = max(8 * m, CHANGES_CHECKED) if self.constraints else m
            which, values = self.adjacency.sample_changes(np.asarray(x), drawn, rng, large_steps)
        chosen = self._choose(x, which, values, m, rng)
        return which[chosen], values[chosen]

    def _draw_change(self, x: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw one valid change of x, each variable with equal probability, because numbers have the most neighbors."""
        which, values = self.adjacency.single_changes(np.asarray(x))
        for variable in rng.permutation(np.unique(which)):
            own = np.flatnonzero(which == variable)
            chosen = own[self._choose(x, which[own], values[own], 1, rng)]
            if len(chosen):
                return which[chosen], values[chosen]
        return which[:0], values[:0]

    def _choose(
        self, x: IntArray, which: IntArray, values: IntArray, m: int, rng: np.random.Generator
    ) -> IntArray | slice:
        if not self.constraints:
            if len(which) <= m:
                return slice(None)
            return np.sort(rng.choice(len(which), size=m, replace=False, shuffle=False))
        if len(which) <= m:
            return np.flatnonzero(valid_mask(self, self._apply(x, which, values)))
        order = rng.permutation(len(which))
        kept, n_kept, step = [order[:0]], 0, max(m, 8)
        for first in range(0, len(order), step):
            if n_kept >= m or call_limit().is_reached:
                break
            chunk = order[first : first + step]
            kept.append(chunk[valid_mask(self, self._apply(x, which[chunk], values[chunk]))])
            n_kept += len(kept[-1])
        return np.sort(np.concatenate(kept)[:m])


class Adjacency:
    """The single changes of points of a space.

    variables: the variables of the space, in order.

    Equal graphs of one kind of variable are treated as one graph. Adjacent vertices are cached by the positions of the
    graphs, because large graphs are slow to hash.
    """

    def __init__(self, variables: Sequence[Variable], layout: Layout) -> None:
        self.variables, self.layout = variables, layout
        shared: dict[Hashable, int] = {}
        self.positions = [
            shared.setdefault(i if one.graph is None else (type(one), one.graph), len(shared))
            for i, one in enumerate(variables)
        ]
        self.known: dict[tuple[int, int, bool], IntArray] = {}

    def single_changes(self, x: IntArray, large_steps: bool = False) -> tuple[IntArray, IntArray]:
        """Return (which, values) of all changes from x: variable 0 first, each in the order of its neighbors.

        large_steps: bool, True to add steps of half the choices, a quarter and so on in ordered variables.
        """
        row = x.tolist()
        if self.layout.is_simple:  # the neighbors of most values are cached
            found = [self.known.get((at, own, large_steps)) for at, own in zip(self.positions, row, strict=True)]
            near = [self._neighbors(i, [row[i]], large_steps) if one is None else one for i, one in enumerate(found)]
        else:
            near = [self._neighbors(i, own, large_steps) for i, own in enumerate(self.layout.split(x))]
        return np.repeat(np.arange(len(near)), [len(one) for one in near]), pad_columns(near)

    def sample_changes(
        self, x: IntArray, m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Draw m changes from x with equal probabilities, or list all if they are at most m: (which, values), in order.

        m: int >= 0.
        rng: random number generator.
        """
        counts = [self._count(i, own, large_steps) for i, own in enumerate(self.layout.split(x))]
        if sum(counts) <= m:
            which, values = self.single_changes(x, large_steps)
            if len(which) == sum(counts):  # otherwise a variable lists only some, and draws all of them
                return which, values
            shares = counts
        else:
            shares = rng.multivariate_hypergeometric(counts, m).tolist()  # of each variable
        near = [
            self._draw(i, own, share, rng, large_steps)
            for i, (own, share) in enumerate(zip(self.layout.split(x), shares, strict=True))
        ]
        return np.repeat(np.arange(len(near)), [len(one) for one in near]), pad_columns(near)

    def change_each(self, xs: IntArray, m: int, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
        """Draw m changes of each point, which may repeat or lead back to the point: (of, which, values).

        m: int >= 0; fewer if a point has fewer changes.
        rng: random number generator.

        The share of a variable is proportional to its number of changes, counted up to m, or up to 4 m if they are
        quick to draw. So a variable with very many changes leaves some to a binary variable. Returns the point, the
        variable and the new columns of each change, sorted by point.
        """
        shares = np.array([self._share(x, m, rng) for x in xs]).reshape(len(xs), len(self.variables))
        found = [self._change_variable(i, xs, shares[:, i], rng) for i in range(len(self.variables))]
        of = np.concatenate([np.repeat(np.arange(len(found_of)), found_of) for found_of, _ in found])
        which = np.repeat(np.arange(len(found)), [len(values) for _, values in found])
        order = np.argsort(of, kind="stable")
        return of[order], which[order], pad_columns([values for _, values in found])[order]

    def _share(self, x: IntArray, m: int, rng: np.random.Generator) -> list[int]:
        """Return how many changes of each variable are drawn."""
        counts = [
            QUICK * m * (own[0] != INACTIVE) if variable.has_quick_changes else min(m, self._count(i, own, False))
            for i, (variable, own) in enumerate(zip(self.variables, self.layout.split(x), strict=True))
        ]
        has_choice = sum(counts) > m and sum(count > 0 for count in counts) > 1
        return rng.multivariate_hypergeometric(counts, m).tolist() if has_choice else [min(m, n) for n in counts]

    def _change_variable(
        self, i: int, xs: IntArray, shares: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Return how many changes of one variable each point has, and their columns."""
        columns = xs[:, self.layout.columns(i)]
        if self.variables[i].has_quick_changes:
            return shares, self.variables[i].change_each(np.repeat(columns, shares, axis=0), rng)
        drawn = [self._draw(i, own, m, rng, False) for own, m in zip(columns.tolist(), shares.tolist(), strict=True)]
        return np.array([len(one) for one in drawn]), np.concatenate(drawn)

    def _count(self, i: int, columns: list[int], large_steps: bool) -> int:
        is_wide = len(columns) > 1 and columns[0] != INACTIVE
        return (
            self.variables[i].count_neighbors(columns, large_steps)
            if is_wide
            else len(self._neighbors(i, columns, large_steps))
        )

    def _draw(self, i: int, columns: list[int], m: int, rng: np.random.Generator, large_steps: bool) -> IntArray:
        if len(columns) > 1 and m:
            return self.variables[i].sample_neighbors(columns, m, rng, large_steps)
        found = self._neighbors(i, columns, large_steps) if m else np.empty((0, len(columns)), dtype=np.int64)
        return found if len(found) <= m else found[np.sort(rng.choice(len(found), size=m, replace=False))]

    def _neighbors(self, i: int, columns: list[int], large_steps: bool) -> IntArray:
        variable = self.variables[i]
        if columns[0] == INACTIVE:
            return np.empty((0, variable.width), dtype=np.int64)
        if len(columns) > 1 or variable.size > MAX_CHOICES:
            return variable.neighbors(columns, large_steps)
        key = self.positions[i], columns[0], large_steps
        if key not in self.known:
            self.known[key] = variable.neighbors(columns, large_steps)
        return self.known[key]
