"""A linear kernel on choices: functions that are sums of one effect per variable.

K(x, x') = (1/d) sum_i E_i(x_i, x'_i), over the d variables with several values. Each effect E_i has mean diagonal 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, cast

import numpy as np

from bostruct.contracts import ADDED_LATER, Array, IntArray, Kernel, Parameter, Prior, Pullback
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.single_changes import Layout, SingleChanges, SpaceBatch
from bostruct.kernels.algebra import weight_of
from bostruct.kernels.space.effects import EffectKernel, GraphEffect
from bostruct.kernels.space.factor import LastCall, VariableChanges, count_disagreements, disagreement_change, look_up
from bostruct.kernels.space.matern import EFFECT_LENGTHSCALE, change_effects, sum_effects, vary_effects

MANY_SIGNS = 1_000  # variables with two choices; with more, products in single precision are faster
MOST_COORDINATES = 15  # of a choice; with more, looking up each pair is faster than their product
LARGEST_TABLE = 64  # choices of an incomplete graph, whose coordinates are computed from its table
NUMERIC = -1  # in `MainEffects._effect_ids`
MOST_COORDINATES_OF_POINT = 2_048  # for 1,000 points they take 16 MB


class Numbers(NamedTuple):
    """The variables of a space whose effects are effects of numbers.

    places: position of each variable of the space among the numbers, 0 for other variables (d,).
    """

    variables: list[int]
    grids: tuple[NumberGrid, ...]
    columns: list[int]
    places: IntArray


class EffectSums(NamedTuple):
    """The parts of the Gram matrix of main effects.

    rest: mean over all variables of the effects of those that are not numbers (n, m).
    sums: sum of the effects of numbers with each lengthscale (b, m).
    of: row of `sums` of each row of single changes (n,); None for the same row.
    rows: rows of single changes that change a number (r,).
    changes: what these changes add with each lengthscale (r, m).
    """

    rest: Array
    sums: list[Array]
    of: IntArray | None = None
    rows: IntArray = np.empty(0, dtype=np.int64)
    changes: Sequence[Array] = ()


@dataclass(frozen=True)
class LengthscaleBlend:
    """Weights of three lengthscales of numbers: the whole range, a quarter and a sixteenth of it.

    whole, initial_whole: prior and initial value of the log odds of the first lengthscale against the shorter ones.
    quarter, initial_quarter: the same of the second against the third.
    """

    whole: Prior
    quarter: Prior
    initial_whole: float
    initial_quarter: float


@dataclass(frozen=True)
class MainEffects(Kernel):
    """A linear kernel on choices: functions that are sums of one effect per variable.

    numbers: the variable of each continuous coordinate of the space, ascending.
    blend: weights of the lengthscales of numbers, whose log odds are the parameters; None for one lengthscale.
    """

    effects: tuple[EffectKernel, ...]
    layout: Layout
    numbers: tuple[int, ...] = ()
    blend: LengthscaleBlend | None = field(default=None, metadata=ADDED_LATER)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        if (own := self.blend) is None:
            return ()
        whole = Parameter("log_odds_of_whole_range", 1, own.whole, own.initial_whole)
        return whole, Parameter("log_odds_of_quarter", 1, own.quarter, own.initial_quarter)

    @property
    def lengthscales(self) -> tuple[float, ...]:
        """Lengthscales of numbers, as shares of their ranges."""
        return (EFFECT_LENGTHSCALE,) if self.blend is None else (1.0, EFFECT_LENGTHSCALE, EFFECT_LENGTHSCALE**2)

    def prepare(self, xs: SpaceBatch, ys: IntArray | None = None) -> EffectSums:
        if isinstance(xs, SingleChanges):
            return self._prepare_changes(xs, xs.rows() if ys is None else np.asarray(ys))
        ys = xs if ys is None else np.asarray(ys)
        return EffectSums(self._sum_rest(xs, ys), self._sum_numbers(xs, ys))

    def _sum_rest(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the part of the variables that are not numbers (n, m)."""
        if not self._with_coordinates:
            return self._sum_others(xs, ys)
        theirs = self._last_coordinates(ys)
        gram = (theirs if ys is xs else self._locate(xs)) @ theirs.T
        if len(self._with_coordinates) + len(self._numbers.variables) < self._n_effects:
            gram += self._sum_others(xs, ys)
        return gram

    def _sum_numbers(self, xs: IntArray, ys: IntArray) -> list[Array]:
        """Return the sum of the effects of numbers with each lengthscale (n, m); an empty list without numbers."""
        own = self._numbers
        pair = own.grids, xs[:, own.columns], ys[:, own.columns]
        return [sum_effects(*pair, one) for one in self.lengthscales if own.grids]

    def _locate(self, xs: IntArray) -> Array:
        """Return coordinates of points (n, f), whose inner products are the part of variables with coordinates."""
        found = [(table[xs[:, columns]], len(columns) * table.shape[1]) for table, columns in self._coordinates]
        return np.hstack([own.reshape(len(xs), size) for own, size in found])

    def _sum_others(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the part of the variables without coordinates (n, m)."""
        signs = self._signs
        if not len(signs) and not self._others:
            return np.zeros((len(xs), len(ys)))
        if len(signs) <= MANY_SIGNS:
            gram = (2.0 * xs.take(signs, axis=1) - 1.0) @ (2.0 * ys.take(signs, axis=1) - 1.0).T
        else:
            all_signs = len(signs) == self.layout.n_columns
            mine, theirs = (xs, ys) if all_signs else (xs.take(signs, axis=1), ys.take(signs, axis=1))
            gram = len(signs) - 2.0 * count_disagreements(mine, theirs, 2)  # integers, so the result is the same
        for i in self._others:
            own = self.layout.columns(i)
            gram += self.effects[i].gram(xs[:, own], ys[:, own])
        gram /= self._n_effects
        return gram

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        d, own, weights = self._n_effects, self._numbers, split_odds(theta)[0]
        fixed, at = self._sum_rest(xs, ys), [self.numbers.index(i) for i in own.variables]
        pair = own.grids, xs[:, own.columns], ys[:, own.columns]
        each = zip(weights.tolist(), self.lengthscales, strict=True)
        smooth = [(at, weight, vary_effects(*pair, one)) for weight, one in each if own.grids]
        for i in [i for i in self._others if i in self.numbers]:
            columns = self.layout.columns(i)
            if (vary := self.effects[i].input_vjp(xs[:, columns], ys[:, columns])) is not None:
                fixed -= self.effects[i].gram(xs[:, columns], ys[:, columns]) / d
                smooth.append(([k for k, one in enumerate(self.numbers) if one == i], 1.0, vary))

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            found = [(at, weight / d, *vary(shares[:, at])) for at, weight, vary in smooth]
            gram = sum((share * part for _, share, part, _ in found), start=fixed)

            def pullback(cotangent: Array) -> Array:
                gradient = np.zeros(shares.shape)
                for at, share, _, pull in found:
                    gradient[:, at] += share * pull(cotangent)
                return gradient

            return gram.copy() if gram is fixed else gram, pullback

        return at_shares

    def _prepare_changes(self, changes: SingleChanges, ys: IntArray) -> EffectSums:
        """Return the sums at single changes: the base's sums, with one effect changed in each row."""
        before, after = changes.before, changes.values
        steps, base = self._step[changes.which], self._bases(changes.base, ys)
        number = self._effect_ids[changes.which]
        numeric, own = np.flatnonzero(number == NUMERIC), self._numbers
        if (steps < 0.0).all():
            moved = VariableChanges(self.layout.starts[changes.which], before, after)
            change = disagreement_change(moved, ys) * steps[:, None]
        else:
            change = np.zeros((len(changes), len(ys)))
            for k in np.unique(number[number != NUMERIC]).tolist():
                rows = slice(None) if (number == k).all() else np.flatnonzero(number == k)
                change[rows] = self._change_effect(changes.which[rows], before[rows], after[rows], ys)
        change /= self._n_effects
        change += base.rest[changes.of]
        moved = VariableChanges(own.places[changes.which[numeric]], before[numeric], after[numeric])
        pair = own.grids, moved, ys[:, own.columns]
        moves = [change_effects(*pair, one) for one in self.lengthscales if len(numeric)]
        return EffectSums(change, base.sums, changes.of, numeric, moves)

    def _change_effect(self, which: IntArray, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return the change of an effect by changes of the variables that share it (r, m)."""
        first = int(which[0])
        effect = self.effects[first]
        if (on_graph := self._graph_effects[first]) is not None:
            steps = on_graph.table[after[:, 0]] - on_graph.table[before[:, 0]]
            return look_up(steps, ys.T[self.layout.starts[which]])
        change = np.empty((len(which), len(ys)))
        for i in np.unique(which).tolist():
            rows, width, theirs = np.flatnonzero(which == i), self.layout.widths[i], ys[:, self.layout.columns(i)]
            change[rows] = effect.change(before[rows, :width], after[rows, :width], theirs)
        return change

    def gram(self, theta: Array, prepared: EffectSums) -> Array:
        if not prepared.sums:
            return prepared.rest.copy()
        weights = split_odds(theta)[0] / self._n_effects
        gram = _mix(weights, prepared.sums)
        if prepared.of is not None:
            gram = gram[prepared.of]
        gram += prepared.rest
        if prepared.changes:
            gram[prepared.rows] += _mix(weights, prepared.changes)
        return gram

    def gram_and_pullback(self, theta: Array, prepared: EffectSums) -> tuple[Array, Pullback]:
        def pullback(cotangent: Array) -> Array:
            gradients = split_odds(theta)[1][: len(prepared.sums)] / self._n_effects
            return np.array([np.vdot(cotangent, one) for one in prepared.sums]) @ gradients

        return self.gram(theta, prepared), pullback

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
    def _bases(self) -> LastCall[EffectSums]:
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
    def _effect_ids(self) -> IntArray:
        """An integer for each variable (d,), equal for variables that share an effect; `NUMERIC` for numbers."""
        ids = dict[int, int]()
        shared = [ids.setdefault(id(one), len(ids)) for one in self.effects]
        return np.where([grid is not None for grid in self._grids], NUMERIC, shared)

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
            shared.setdefault(int(self._effect_ids[i]), []).append(i)
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
    def _numbers(self) -> Numbers:
        """The variables that are numbers."""
        own = [i for i, grid in enumerate(self._grids) if grid is not None]
        places = np.zeros(len(self.effects), dtype=np.int64)
        places[own] = np.arange(len(own))
        grids = tuple(grid for grid in self._grids if grid is not None)
        return Numbers(own, grids, self.layout.starts[own].tolist(), places)


def split_odds(log_odds: Array) -> tuple[Array, Array]:
    """Return the stick-breaking weights of k + 1 parts (k + 1,), and their derivatives in k log odds (k + 1, k).

    log_odds: of each part but the last, against all parts after it.
    """
    shares = np.array([*map(weight_of, log_odds), 1.0])
    weights = shares * np.cumprod(np.append(1.0, 1.0 - shares[:-1]), dtype=np.float64)
    return weights, np.tril(weights[:, None] * (np.eye(len(shares)) - shares))[:, :-1]


def _mix(weights: Array, sums: Sequence[Array]) -> Array:
    """Return the weighted sum of matrices."""
    total = weights[0] * sums[0]
    for weight, one in zip(weights[1:], sums[1:], strict=True):
        total += weight * one
    return total
