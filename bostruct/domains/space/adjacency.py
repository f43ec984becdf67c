"""Find the values of its variables that a point of a space is one change away from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.single_changes import Layout, pad_columns
from bostruct.domains.space.variable import ABSENT, Variable

QUICK = 4  # changes that are quick to draw, for each of others


class Adjacency:
    """The single changes of points of a space.

    variables: of the space, in order.
    layout: the columns of each.

    Equal graphs of one kind of variable are one; what is adjacent is kept by their positions, for large graphs are slow
    to hash.
    """

    def __init__(self, variables: Sequence[Variable], layout: Layout) -> None:
        self.variables, self.layout = variables, layout
        shared: dict[Hashable, int] = {}
        self.positions = [
            shared.setdefault((type(one), one.graph) if isinstance(one, ChoiceVariable) else i, len(shared))
            for i, one in enumerate(variables)
        ]
        self.known: dict[tuple[int, int, bool], IntArray] = {}

    def single_changes(self, x: IntArray, leaps: bool = False) -> tuple[IntArray, IntArray]:
        """Return (which, values) of all changes from x: variable 0 first, each in the order of its neighbors.

        x: integer row (columns,).
        leaps: bool, True for steps of half their choices, a quarter and so on in ordered variables too.
        """
        row = x.tolist()
        if self.layout.is_simple:  # most values have been asked about before
            found = [self.known.get((at, own, leaps)) for at, own in zip(self.positions, row, strict=True)]
            near = [self._neighbors(i, [row[i]], leaps) if one is None else one for i, one in enumerate(found)]
        else:
            near = [self._neighbors(i, own, leaps) for i, own in enumerate(self.layout.split(x))]
        return np.repeat(np.arange(len(near)), [len(one) for one in near]), pad_columns(near)

    def sample_changes(
        self, x: IntArray, m: int, rng: np.random.Generator, leaps: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Draw m changes from x, all by the same chance, or list all where they are no more: (which, values), in order.

        x: integer row (columns,).
        m: int >= 0.
        rng: the only source of chance.
        leaps: bool, as of `single_changes`.
        """
        counts = [self._count(i, own, leaps) for i, own in enumerate(self.layout.split(x))]
        if sum(counts) <= m:
            which, values = self.single_changes(x, leaps)
            if len(which) == sum(counts):  # else a variable lists only some, of which all are drawn
                return which, values
            shares = counts
        else:
            shares = rng.multivariate_hypergeometric(counts, m).tolist()  # of each variable
        near = [
            self._draw(i, own, share, rng, leaps)
            for i, (own, share) in enumerate(zip(self.layout.split(x), shares, strict=True))
        ]
        return np.repeat(np.arange(len(near)), [len(one) for one in near]), pad_columns(near)

    def change_each(self, xs: IntArray, m: int, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
        """Draw m changes of each of some points, where some may repeat, or lead back: (of, which, values).

        xs: integer rows (b, columns).
        m: int >= 0; fewer where a point has fewer.
        rng: the only source of chance.

        A variable has a share by how many changes it has, of which m count at most, and four times m where they are
        quick to draw: what has very many leaves some to a switch beside it. Returns the point, the variable and its
        columns of each change, by the point.
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
            QUICK * m * (own[0] != ABSENT) if variable.has_quick_changes else min(m, self._count(i, own, False))
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

    def _count(self, i: int, columns: list[int], leaps: bool) -> int:
        is_wide = len(columns) > 1 and columns[0] != ABSENT
        return self.variables[i].count_neighbors(columns, leaps) if is_wide else len(self._neighbors(i, columns, leaps))

    def _draw(self, i: int, columns: list[int], m: int, rng: np.random.Generator, leaps: bool) -> IntArray:
        if len(columns) > 1 and m:
            return self.variables[i].sample_neighbors(columns, m, rng, leaps)
        found = self._neighbors(i, columns, leaps) if m else np.empty((0, len(columns)), dtype=np.int64)
        return found if len(found) <= m else found[np.sort(rng.choice(len(found), size=m, replace=False))]

    def _neighbors(self, i: int, columns: list[int], leaps: bool) -> IntArray:
        variable = self.variables[i]
        if columns[0] == ABSENT:
            return np.empty((0, variable.width), dtype=np.int64)
        if len(columns) > 1 or variable.size > MAX_CHOICES:
            return variable.neighbors(columns, leaps)
        key = self.positions[i], columns[0], leaps
        if key not in self.known:
            self.known[key] = variable.neighbors(columns, leaps)
        return self.known[key]
