"""A linear kernel on the choices themselves: functions that are sums of one effect a variable.

K(x, x') = (1/d) sum_i E_i(x_i, x'_i), where E_i has mean diagonal 1. On graphs E_i is centered, so that effects sum to
zero over the choices: on a complete graph E_i = (k [a = b] - 1) / (k - 1); elsewhere it is centered diffusion for a
fixed time, whose effects are smooth along the graph. Any other kind of variable brings its own effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Parameter
from bostruct.domains.space.graphs import CompleteGraph, VariableGraph
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.single_changes import Layout, SingleChanges, SpaceBatch
from bostruct.kernels.space.factor import Factor, Pullback, VariableChanges
from bostruct.kernels.space.incremental import LastCall, count_disagreements, disagreement_change, look_up
from bostruct.kernels.space.links import LogLengthscale
from bostruct.kernels.space.matern import NumberEffect, change_effects, sum_effects, vary_effects
from bostruct.kernels.space.spectra import diffusion, eigenvalues

MANY_SIGNS = 1_000  # variables of two choices from which products in single precision pay
LENGTHSCALE = 0.5  # of effects along a graph, in units of its length


class Numbers(NamedTuple):
    """The variables of a space whose effects are those of numbers.

    variables: their positions in the space.
    grids: of each.
    columns: of a point, one for each.
    places: of each variable of the space, its position among the numbers, 0 for others (d,).
    """

    variables: list[int]
    grids: tuple[NumberGrid, ...]
    columns: list[int]
    places: IntArray


class EffectKernel(Protocol):
    """The effect kernel of one variable: how alike its values are in what they do."""

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between values (n, m).

        xs: own columns of n points (n, w).
        ys: own columns of m points (m, w).
        """
        ...

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each value with itself (n,).

        xs: own columns of n points (n, w).
        """
        ...


@runtime_checkable
class ChangingEffect(EffectKernel, Protocol):
    """An effect of several columns that knows what a change adds to it."""

    def change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return by how much changes add to `gram` (r, m).

        before: own columns of r points (r, w).
        after: the same after the change (r, w).
        ys: own columns of m points (m, w).
        """
        ...


@dataclass(frozen=True)
class GraphEffect:
    """The centered effect of a variable on a graph.

    graph: of the variable, with k vertices.
    """

    graph: VariableGraph

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between vertices (n, m).

        xs: vertices (n, 1).
        ys: vertices (m, 1).
        """
        if len(self.table) < len(xs):  # rows are quicker to gather than columns
            return self.table[:, ys[:, 0]][xs[:, 0]]
        return self.table[xs[:, 0]][:, ys[:, 0]]

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each vertex with itself (n,).

        xs: vertices (n, 1).
        """
        return self.table.diagonal()[xs[:, 0]]

    @property
    def is_complete(self) -> bool:
        """True on a complete graph."""
        return isinstance(self.graph, CompleteGraph)

    @cached_property
    def table(self) -> Array:
        """The kernel between all vertices (k, k), centered, its mean diagonal 1."""
        k = self.graph.size
        if isinstance(self.graph, CompleteGraph):
            return (k * np.eye(k) - 1.0) / (k - 1.0)
        gap = float(eigenvalues(self.graph)[1])
        beta = float(LogLengthscale().edge_weights(np.array([math.log(LENGTHSCALE)]), gap)[0][0])
        between = diffusion(self.graph, beta, np.arange(k), np.arange(k)).between
        centered = between - between.mean(axis=0) - between.mean(axis=1)[:, None] + between.mean()
        return centered * (k / np.trace(centered))


@dataclass(frozen=True)
class FactorEffect:
    """The effect of a variable of any kind: its own factor, at parameter 0.

    factor: of one variable, with unit diagonal.
    """

    factor: Factor

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between values (n, m).

        xs: own columns of n points (n, w).
        ys: own columns of m points (m, w).
        """
        return np.exp(self.factor.log_gram(self._theta, self.factor.prepare(xs, ys)))

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each value with itself (n,).

        xs: own columns of n points (n, w).
        """
        return np.exp(self.factor.log_diag(self._theta, xs))

    @property
    def _theta(self) -> Array:
        return np.zeros(self.factor.n_parameters)


@dataclass(frozen=True)
class MainEffects:
    """A linear kernel on choices: functions that are sums of one effect a variable.

    It has no parameters: its Gram matrix is made once, by `prepare`.

    effects: one for each variable, d of them.
    layout: the columns of each variable.
    numbers: positions of the variables that are the continuous coordinates of the space, ascending.
    """

    effects: tuple[EffectKernel, ...]
    layout: Layout
    numbers: tuple[int, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """None."""
        return ()

    def prepare(self, xs: SpaceBatch, ys: IntArray | None = None) -> Array:
        """Return the Gram matrix itself (n, m).

        xs: n points, or single changes of points.
        ys: m points; None for xs with themselves.
        """
        if isinstance(xs, SingleChanges):
            return self._prepare_changes(xs, xs.rows() if ys is None else np.asarray(ys))
        ys = xs if ys is None else np.asarray(ys)
        gram = self._sum_signs(xs, ys)
        if (numbers := self._numbers) is not None:
            gram += sum_effects(numbers.grids, xs[:, numbers.columns], ys[:, numbers.columns])
        for i in self._others:
            own = self.layout.columns(i)
            gram += self.effects[i].gram(xs[:, own], ys[:, own])
        gram /= len(self.effects)
        return gram

    def _sum_signs(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the sum over the variables of two choices (n, m): effects are signs, and one product serves all."""
        signs = self._signs
        if len(signs) <= MANY_SIGNS:
            return (2.0 * xs.take(signs, axis=1) - 1.0) @ (2.0 * ys.take(signs, axis=1) - 1.0).T
        if len(signs) < self.layout.n_columns:
            xs, ys = xs.take(signs, axis=1), ys.take(signs, axis=1)
        return len(signs) - 2.0 * count_disagreements(xs, ys, 2)  # the same numbers, for they are whole

    def vary_shares(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        """Return the Gram matrix of xs and ys as a function of the numbers of xs: `HasInputGradient`.

        theta: (0,), unused.
        xs: m points, as rows.
        ys: n points, as rows.
        """
        del theta  # there is none
        d, fixed, own = len(self.effects), self.prepare(xs, ys), self._numbers
        if own is None:
            return lambda shares: (fixed.copy(), lambda _: np.zeros(shares.shape))
        at, xs, ys = [self.numbers.index(i) for i in own.variables], xs[:, own.columns], ys[:, own.columns]
        fixed -= sum_effects(own.grids, xs, ys) / d
        vary = vary_effects(own.grids, xs, ys)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            gram, pull = vary(shares[:, at])
            gram /= d
            gram += fixed

            def pullback(cotangent: Array) -> Array:
                slopes = np.zeros(shares.shape)
                slopes[:, at] = pull(cotangent) / d
                return slopes

            return gram, pullback

        return at_shares

    def _prepare_changes(self, changes: SingleChanges, ys: IntArray) -> Array:
        """Return the Gram matrix of single changes from that of their base: in each row one effect is another."""
        before, after = changes.before, changes.values
        simple = self._is_complete[changes.which]
        change = np.empty((len(changes), len(ys)))
        if simple.all():
            moved = VariableChanges(self.layout.starts[changes.which], before, after)
            change = disagreement_change(moved, ys) * self._step[changes.which][:, None]
        else:
            number = self._effect_numbers[changes.which]
            for k in np.unique(number).tolist():
                rows = slice(None) if (number == k).all() else np.flatnonzero(number == k)
                own = changes.which[rows]
                change[rows] = self._change_effect(self.effects[own[0]], own, before[rows], after[rows], ys)
        change /= len(self.effects)
        change += self._bases(changes.base, ys)[changes.of]
        return change

    def _change_effect(
        self, effect: EffectKernel, which: IntArray, before: IntArray, after: IntArray, ys: IntArray
    ) -> Array:
        """Return by how much changes of variables that share an effect change it (r, m)."""
        if isinstance(effect, GraphEffect):
            steps = effect.table[after[:, 0]] - effect.table[before[:, 0]]
            return look_up(steps, ys.T[self.layout.starts[which]])
        if (numbers := self._numbers) is not None and isinstance(effect, NumberEffect):
            moved = VariableChanges(numbers.places[which], before, after)
            return change_effects(numbers.grids, moved, ys[:, numbers.columns])
        change = np.empty((len(which), len(ys)))
        for i in np.unique(which).tolist():
            rows, width, theirs = np.flatnonzero(which == i), self.layout.widths[i], ys[:, self.layout.columns(i)]
            old, new = before[rows, :width], after[rows, :width]
            knows = isinstance(effect, ChangingEffect)
            change[rows] = (
                effect.change(old, new, theirs) if knows else effect.gram(new, theirs) - effect.gram(old, theirs)
            )
        return change

    def gram(self, theta: Array, prepared: Array) -> Array:
        """Return the Gram matrix (n, m).

        theta: (0,), unused.
        prepared: of n and m points.
        """
        del theta  # there is none
        return prepared.copy()

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: unused; there are no parameters.
        xs: n points.
        """
        del theta
        uneven = self._uneven
        total = np.full(len(xs), float(len(self.effects) - len(uneven)))  # of complete graphs and numbers each is 1
        rows = xs.rows() if uneven and isinstance(xs, SingleChanges) else xs
        for i in uneven:
            total += self.effects[i].diag(rows[:, self.layout.columns(i)])
        return total / len(self.effects)

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix, and the gradient in no parameters (0,).

        theta: (0,), unused.
        prepared: of n and m points.
        """
        return self.gram(theta, prepared), lambda _: np.zeros(0)

    @cached_property
    def _bases(self) -> LastCall[Array]:
        return LastCall(self.prepare)

    @cached_property
    def _is_complete(self) -> npt.NDArray[np.bool_]:
        return np.array([isinstance(one, GraphEffect) and one.is_complete for one in self.effects])

    @cached_property
    def _step(self) -> Array:
        """The change of a complete graph's effect when two choices that agreed no longer do, (d,)."""
        sizes = [one.graph.size if isinstance(one, GraphEffect) else 2 for one in self.effects]
        return np.array([-size / (size - 1.0) for size in sizes])

    @cached_property
    def _effect_numbers(self) -> IntArray:
        """A number for each variable (d,), the same for variables that share an effect, or are numbers."""
        numbers: dict[int, int] = {}
        shared = [-1 if isinstance(effect, NumberEffect) else id(effect) for effect in self.effects]
        return np.array([numbers.setdefault(effect, len(numbers)) for effect in shared])

    @cached_property
    def _uneven(self) -> list[int]:
        """The variables whose effects have no unit diagonal."""
        return [i for i, one in enumerate(self.effects) if not _has_unit_diagonal(one)]

    @cached_property
    def _signs(self) -> IntArray:
        """The columns of variables with two choices."""
        two = [isinstance(one, GraphEffect) and one.graph.size == 2 for one in self.effects]
        return self.layout.starts[np.flatnonzero(two)]

    @cached_property
    def _others(self) -> list[int]:
        return [
            i
            for i, one in enumerate(self.effects)
            if not isinstance(one, NumberEffect) and not (isinstance(one, GraphEffect) and one.graph.size == 2)
        ]

    @cached_property
    def _numbers(self) -> Numbers | None:
        """The variables that are numbers; None where there are none."""
        own = [i for i, one in enumerate(self.effects) if isinstance(one, NumberEffect)]
        if not own:
            return None
        places = np.zeros(len(self.effects), dtype=np.int64)
        places[own] = np.arange(len(own))
        grids = tuple(one.grid for one in self.effects if isinstance(one, NumberEffect))
        return Numbers(own, grids, self.layout.starts[own].tolist(), places)


def _has_unit_diagonal(effect: EffectKernel) -> bool:
    if isinstance(effect, NumberEffect):
        return not effect.is_conditional
    return isinstance(effect, GraphEffect) and effect.is_complete
