"""The kernel of a subset of the variables of a space, and dissimilarities of points in each variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_part
from bostruct.contracts import Array, Domain, IntArray, Kernel, Parameter, Prepared, Pullback, SingleGram
from bostruct.domains.space.single_changes import Layout, SingleChanges, SpaceBatch
from bostruct.kernels.space.effects import NO_EFFECT
from bostruct.kernels.space.factor import LastCall
from bostruct.kernels.space.main_effects import MainEffects

SAMPLES = 256  # random values of a variable, whose mean dissimilarity is the variable's unit


@dataclass(frozen=True)
class SubspaceKernel(Kernel):
    """A kernel on some variables of a space, as a kernel on the space's points.

    kernel: kernel of points that have only these variables.
    layout: layout of the points of the space.
    positions: positions of the variables in the space, ascending; at least one of them has no condition.
    numbers: positions of the continuous variables in the space, ascending.
    anchor: position in `positions` of a variable without a condition.
    """

    kernel: Kernel
    layout: Layout
    positions: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    anchor: int = 0

    def __post_init__(self) -> None:
        check_part("kernel", self.kernel, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.kernel.parameters

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        return tuple(None if i is None else self.positions[i] for i in self.kernel.parameter_variables)

    @property
    def variable_columns(self) -> Mapping[int, Sequence[int]]:
        """The columns of all variables of the space, so that the other variables have no relevance."""
        return {i: range(self.layout.n_columns)[self.layout.columns(i)] for i in range(len(self.layout.widths))}

    def project(self, xs: SpaceBatch) -> SpaceBatch:
        """Return points without the other variables; a change of another variable becomes a change of nothing."""
        if not isinstance(xs, SingleChanges):
            return np.asarray(xs)[:, self._columns]
        own = self._layout
        base, place = np.asarray(self._last_base(xs.base)), self._places[xs.which]
        which = np.where(place < 0, self.anchor, place)
        values = xs.values.copy()
        rows = np.flatnonzero(place < 0)
        values[rows] = base[xs.of[rows, None], own.columns_of(which[rows], values.shape[1])]
        return SingleChanges(base, xs.of, which, values, own)

    def prepare(self, xs: SpaceBatch, ys: SpaceBatch | None = None) -> Prepared:
        return self.kernel.prepare(self.project(xs), None if ys is None else self._last(np.asarray(ys)))

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        return self.kernel.gram(theta, prepared)

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        return self.kernel.diag(theta, self.project(xs))

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        return self.kernel.line(theta, i, prepared, gram)

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Pullback]:
        return self.kernel.gram_and_pullback(theta, prepared)

    def input_vjp(
        self, theta: Array, xs: SpaceBatch, ys: SpaceBatch
    ) -> Callable[[Array], tuple[Array, Pullback]] | None:
        along = self.kernel.input_vjp(theta, self.project(xs), self.project(ys))
        if along is None:
            return None
        own = [k for k, i in enumerate(self.numbers) if i in self.positions]

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            gram, pull = along(shares[:, own])

            def pullback(cotangent: Array) -> Array:
                gradient = np.zeros(shares.shape)
                gradient[:, own] = pull(cotangent)
                return gradient

            return gram, pullback

        return at_shares

    def single_grams(
        self, thetas: Sequence[Array], xs: SpaceBatch
    ) -> Callable[[SpaceBatch], Iterator[SingleGram] | None] | None:
        grams_with = self.kernel.single_grams(thetas, self.project(xs))
        return None if grams_with is None else lambda ys: grams_with(self.project(ys))

    @cached_property
    def _columns(self) -> IntArray:
        return np.concatenate([np.arange(self.layout.n_columns)[self.layout.columns(i)] for i in self.positions])

    @cached_property
    def _layout(self) -> Layout:
        return Layout(tuple(self.layout.widths[i] for i in self.positions))

    @cached_property
    def _places(self) -> IntArray:
        """The position of each variable of the space in the subset, -1 for others (d,)."""
        places = np.full(len(self.layout.widths), -1)
        places[list(self.positions)] = np.arange(len(self.positions))
        return places

    @cached_property
    def _last(self) -> LastCall[SpaceBatch]:
        return LastCall(self.project)

    @cached_property
    def _last_base(self) -> LastCall[SpaceBatch]:
        return LastCall(self.project)


def measure_dissimilarities(domain: Domain, effects: MainEffects) -> Callable[[IntArray], npt.NDArray[np.float32]]:
    """Return a function from n points to their dissimilarities in each of d variables (d, n, n).

    A dissimilarity is half the squared distance in the main effect of the variable, with mean 1 over random values.

    domain: domain with variables.
    effects: main effects of the variables.
    """
    variables = enumerate(domain.variables.values())
    rngs = (np.random.default_rng(0) for _ in domain.variables)  # equal variables have equal units
    units = [
        max(float(_half_squares(effects, i, one.sample(SAMPLES, rng)).mean()), 1e-9)
        for (i, one), rng in zip(variables, rngs, strict=True)
    ]

    def measure(xs: IntArray) -> npt.NDArray[np.float32]:
        found = np.empty((len(units), len(xs), len(xs)), dtype=np.float32)
        for i, unit in enumerate(units):
            found[i] = _half_squares(effects, i, np.asarray(xs)[:, effects.layout.columns(i)]) / unit
        return found

    return measure


def _half_squares(effects: MainEffects, i: int, columns: IntArray) -> Array:
    """Return half the squared distances of a variable's values in its effect (n, n)."""
    if effects.effects[i] is NO_EFFECT:  # its table has no row for points that lack the variable
        return np.zeros((len(columns), len(columns)))
    gram = effects.effects[i].gram(columns, columns)
    diagonal = gram.diagonal()
    return 0.5 * (diagonal[:, None] + diagonal) - gram
