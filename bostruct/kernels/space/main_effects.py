"""A linear kernel on choices: functions that are sums of one effect per variable.

K(x, x') = (1/d) sum_i E_i(x_i, x'_i), over the d variables with several values. Each effect E_i has mean diagonal 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, cast

import numpy as np

from bostruct.contracts import Array, IntArray, Kernel, Pullback
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.single_changes import Layout, SingleChanges, SpaceBatch
from bostruct.kernels.space.effects import EffectKernel, GraphEffect
from bostruct.kernels.space.factor import LastCall, VariableChanges, count_disagreements, disagreement_change, look_up
from bostruct.kernels.space.matern import NumberEffect, change_effects, sum_effects, vary_effects

MANY_SIGNS = 1_000  # variables with two choices; with more, products in single precision are faster
MOST_COORDINATES = 15  # of a choice; with more, looking up each pair is faster than their product
LARGEST_TABLE = 64  # choices of an incomplete graph, whose coordinates are computed from its table
MOST_COORDINATES_OF_POINT = 2_048  # for 1,000 points they take 16 MB


class Numbers(NamedTuple):
    """The variables of a space whose effects are effects of numbers.

    places: position of each variable of the space among the numbers, 0 for other variables (d,).
    lengthscale: lengthscale of the effects, as a share of the ranges.
    """

    variables: list[int]
    grids: tuple[NumberGrid, ...]
    columns: list[int]
    places: IntArray
    lengthscale: float


@dataclass(frozen=True)
class MainEffects(Kernel):
    """A linear kernel on choices: functions that are sums of one effect per variable.

    It has no parameters: `prepare` computes the Gram matrix once.

    numbers: the variable of each continuous coordinate of the space, ascending.
    """

    effects: tuple[EffectKernel, ...]
    layout: Layout
    numbers: tuple[int, ...] = ()

    def prepare(self, xs: SpaceBatch, ys: IntArray | None = None) -> Array:
        """Return the Gram matrix itself (n, m)."""
        if isinstance(xs, SingleChanges):
            return self._prepare_changes(xs, xs.rows() if ys is None else np.asarray(ys))
        ys = xs if ys is None else np.asarray(ys)
        if not self._with_coordinates:
            return self._sum_others(xs, ys)
        theirs = self._last_coordinates(ys)
        gram = (theirs if ys is xs else self._locate(xs)) @ theirs.T
        if len(self._with_coordinates) < self._n_effects:
            gram += self._sum_others(xs, ys)
        return gram

    def _locate(self, xs: IntArray) -> Array:
        """Return coordinates of points (n, f), whose inner products are the part of variables with coordinates."""
        return np.hstack([table[xs[:, columns]].reshape(len(xs), -1) for table, columns in self._coordinates])

    def _sum_others(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the part of the variables without coordinates (n, m)."""
        signs = self._signs
        if len(signs) <= MANY_SIGNS:
            gram = (2.0 * xs.take(signs, axis=1) - 1.0) @ (2.0 * ys.take(signs, axis=1) - 1.0).T
        else:
            all_signs = len(signs) == self.layout.n_columns
            mine, theirs = (xs, ys) if all_signs else (xs.take(signs, axis=1), ys.take(signs, axis=1))
            gram = len(signs) - 2.0 * count_disagreements(mine, theirs, 2)  # integers, so the result is the same
        if (numbers := self._numbers) is not None:
            gram += sum_effects(numbers.grids, xs[:, numbers.columns], ys[:, numbers.columns], numbers.lengthscale)
        for i in self._others:
            own = self.layout.columns(i)
            gram += self.effects[i].gram(xs[:, own], ys[:, own])
        gram /= self._n_effects
        return gram

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        d, fixed, own, smooth = self._n_effects, self.prepare(xs, ys), self._numbers, []
        if own is not None:
            at, mine, theirs = [self.numbers.index(i) for i in own.variables], xs[:, own.columns], ys[:, own.columns]
            fixed -= sum_effects(own.grids, mine, theirs, own.lengthscale) / d
            smooth.append((at, vary_effects(own.grids, mine, theirs, own.lengthscale)))
        for i in [i for i in self._others if i in self.numbers]:
            columns = self.layout.columns(i)
            if (vary := self.effects[i].input_vjp(xs[:, columns], ys[:, columns])) is not None:
                fixed -= self.effects[i].gram(xs[:, columns], ys[:, columns]) / d
                smooth.append(([k for k, one in enumerate(self.numbers) if one == i], vary))

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            found = [(at, *vary(shares[:, at])) for at, vary in smooth]
            gram = sum((own / d for _, own, _ in found), start=fixed)

            def pullback(cotangent: Array) -> Array:
                gradient = np.zeros(shares.shape)
                for at, _, pull in found:
                    gradient[:, at] = pull(cotangent) / d
                return gradient

            return gram.copy() if gram is fixed else gram, pullback

        return at_shares

    def _prepare_changes(self, changes: SingleChanges, ys: IntArray) -> Array:
        """Return the Gram matrix of single changes: the base's Gram matrix, with one effect changed in each row."""
        before, after = changes.before, changes.values
        steps = self._step[changes.which]
        change = np.empty((len(changes), len(ys)))
        if (steps < 0.0).all():
            moved = VariableChanges(self.layout.starts[changes.which], before, after)
            change = disagreement_change(moved, ys) * steps[:, None]
        else:
            number = self._effect_numbers[changes.which]
            for k in np.unique(number).tolist():
                rows = slice(None) if (number == k).all() else np.flatnonzero(number == k)
                own = changes.which[rows]
                change[rows] = self._change_effect(own, before[rows], after[rows], ys)
        change /= self._n_effects
        change += self._bases(changes.base, ys)[changes.of]
        return change

    def _change_effect(self, which: IntArray, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return the change of an effect by changes of the variables that share it (r, m)."""
        first = int(which[0])
        effect = self.effects[first]
        if (on_graph := self._graph_effects[first]) is not None:
            steps = on_graph.table[after[:, 0]] - on_graph.table[before[:, 0]]
            return look_up(steps, ys.T[self.layout.starts[which]])
        if (numbers := self._numbers) is not None and self._grids[first] is not None:
            moved = VariableChanges(numbers.places[which], before, after)
            return change_effects(numbers.grids, moved, ys[:, numbers.columns], numbers.lengthscale)
        change = np.empty((len(which), len(ys)))
        for i in np.unique(which).tolist():
            rows, width, theirs = np.flatnonzero(which == i), self.layout.widths[i], ys[:, self.layout.columns(i)]
            change[rows] = effect.change(before[rows, :width], after[rows, :width], theirs)
        return change

    def gram(self, theta: Array, prepared: Array) -> Array:
        return prepared.copy()

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        graphs, others = self._uneven
        n_uneven = sum(len(columns) for _, columns in graphs) + len(others)
        total = np.full(len(xs), float(self._n_effects - n_uneven))  # effects of complete graphs and numbers are 1
        rows = xs.rows() if n_uneven and isinstance(xs, SingleChanges) else xs
        for effect, columns in graphs:
            total += effect.table.diagonal()[rows[:, columns]].sum(axis=1)
        for i in others:
            total += self.effects[i].diag(rows[:, self.layout.columns(i)])
        return total / self._n_effects

    @cached_property
    def _bases(self) -> LastCall[Array]:
        return LastCall(self.prepare)

    @cached_property
    def _last_coordinates(self) -> LastCall[Array]:
        return LastCall(self._locate)

    @cached_property
    def _graph_effects(self) -> list[GraphEffect | None]:
        """The effect of each variable on a graph, computed together by tables; None for other variables."""
        return [one.on_graph for one in self.effects]

    @cached_property
    def _grids(self) -> list[NumberGrid | None]:
        """The grid of each variable that is a number, computed together; None for other variables."""
        return [one.grid for one in self.effects]

    @cached_property
    def _step(self) -> Array:
        """The change of a complete graph's effect when two choices no longer agree (d,); 0 for other effects."""
        complete = [one.graph.size if one is not None and one.graph.is_complete else 0 for one in self._graph_effects]
        return np.array([-max(size, 2) / (max(size, 2) - 1.0) if size else 0.0 for size in complete])

    @cached_property
    def _effect_numbers(self) -> IntArray:
        """A number for each variable (d,), equal for variables that share an effect, and for all numeric variables."""
        numbers: dict[int, int] = {}
        shared = [id(one) if grid is None else -1 for one, grid in zip(self.effects, self._grids, strict=True)]
        return np.array([numbers.setdefault(effect, len(numbers)) for effect in shared])

    @cached_property
    def _uneven(self) -> tuple[list[tuple[GraphEffect, IntArray]], list[int]]:
        """The graph effects without a unit diagonal, each with its columns, and the other such variables."""
        uneven = [i for i, one in enumerate(self.effects) if not one.has_unit_diagonal]
        return self._list_effects([i for i in uneven if self._sizes[i]]), [i for i in uneven if not self._sizes[i]]

    @cached_property
    def _signs(self) -> IntArray:
        """The columns of variables with two choices."""
        return self.layout.starts[[i for i, size in enumerate(self._sizes) if size == 2]]

    @cached_property
    def _with_coordinates(self) -> list[int]:
        """The variables on graphs that have coordinates: few for each choice, and few in total for each point."""
        few = dict[int, int]()
        for i, one in enumerate(self._graph_effects):
            if one is None or one.graph.size <= 2 or not (one.graph.is_complete or one.graph.size <= LARGEST_TABLE):
                continue
            n = one.graph.size - 1 if one.graph.is_complete else one.coordinates.shape[1]
            if n <= MOST_COORDINATES:
                few[i] = n
        return [i for i, n in zip(few, accumulate(few.values()), strict=True) if n <= MOST_COORDINATES_OF_POINT]

    @cached_property
    def _coordinates(self) -> list[tuple[Array, IntArray]]:
        """Coordinates of the choices (k, r), and the columns of the variables that have them.

        They are scaled so that the sum of their inner products is the kernel.
        """
        share = 1.0 / math.sqrt(self._n_effects)
        return [(share * effect.coordinates, columns) for effect, columns in self._list_effects(self._with_coordinates)]

    def _list_effects(self, variables: list[int]) -> list[tuple[GraphEffect, IntArray]]:
        """Return each effect of variables on graphs once, with the columns of all variables that share it."""
        shared: dict[int, list[int]] = {}
        for i in variables:
            shared.setdefault(int(self._effect_numbers[i]), []).append(i)
        return [(cast(GraphEffect, self.effects[own[0]]), self.layout.starts[own]) for own in shared.values()]

    @cached_property
    def _others(self) -> list[int]:
        """The variables whose effects are computed one by one."""
        together = set(self._with_coordinates) | {i for i, size in enumerate(self._sizes) if size in (1, 2)}
        return [i for i, grid in enumerate(self._grids) if grid is None and i not in together]

    @cached_property
    def _n_effects(self) -> int:
        """The number of variables with several values, at least 1."""
        return max(len(self.effects) - self._sizes.count(1), 1)

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of choices of each variable on a graph, 0 for others."""
        return [0 if one is None else one.graph.size for one in self._graph_effects]

    @cached_property
    def _numbers(self) -> Numbers | None:
        """The variables that are numbers; None if no variable is."""
        own = [i for i, grid in enumerate(self._grids) if grid is not None]
        if not own:
            return None
        places = np.zeros(len(self.effects), dtype=np.int64)
        places[own] = np.arange(len(own))
        numbers = [one for one in self.effects if isinstance(one, NumberEffect)]
        grids = tuple(one.grid for one in numbers)
        return Numbers(own, grids, self.layout.starts[own].tolist(), places, numbers[0].lengthscale)
