"""A kernel on programs of a search-space language, on their choices.

k(x, y) = exp(-sum_g rate_g D_g(x, y)), where D_g sums over the choices of kind g the distance between two values: 0
where equal, 1 where not, |i - j| / (count - 1) of positions where values are ordered, and 1 where only one of the two
programs has the choice. Choices at one place are one where they also agree in how many values there are and whether
these are ordered; else each program has one that the other lacks.

Each choice has so a metric of negative type on its values and "absent": a line of length 1 with a point at distance 1
from all of it (for weights c that sum to s over the line, the quadratic form is 2 integral F (s - F) - 2 s^2 <=
-3 s^2 / 2, F their cumulated sum). Hence every factor exp(-rate d) is positive semi-definite, and so is their product,
over however many choices: absent from both, a choice contributes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, Batch, Choice, Parameter, Point, Prior
from bostruct.kernels.distance import ExponentialKernel

ABSENT = -1.0


ChoiceFunction = Callable[[Point], Sequence[Choice]]


class ChoiceKey(NamedTuple):
    """The key under which choices of two programs are the same one.

    path: name of the choice.
    size: number of values; infinite where the choice is continuous.
    ordered: whether the values are ordered.
    """

    path: str
    size: float
    ordered: bool


class Columns(NamedTuple):
    """Values of n points in the choices of one kind, ABSENT where a point has no such choice.

    unordered: (n, c), positions in choices without an order.
    ordered: (n, c), positions over (count - 1), or shares of a continuous range, in [0, 1].
    """

    unordered: Array
    ordered: Array


@dataclass(frozen=True)
class TraceKernel(ExponentialKernel):
    """A kernel on programs of a search-space language, exp(-sum_g rate_g D_g), where D_g sums over choices of kind g.

    choices: point -> its choices.
    kinds: the kinds with a rate of their own; all others share one.
    prior: of each log rate.
    initial: log rate at first.
    """

    choices: ChoiceFunction
    kinds: tuple[str, ...]
    prior: Prior
    initial: float

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("log_rate", len(self.kinds) + 1, self.prior, self.initial),)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Array:
        """Return the distances by kind (g, n, m), the shared kind last.

        xs: n points.
        ys: m points; None for xs with themselves.
        """
        own = [self.choices(x) for x in xs]
        others = own if ys is None else [self.choices(y) for y in ys]
        distances = np.zeros((len(self.kinds) + 1, len(own), len(others)))
        known = {kind: g for g, kind in enumerate(self.kinds)}
        places: list[dict[ChoiceKey, int]] = [{} for _ in distances]
        for point in (*own, *(() if ys is None else others)):
            for one in point:
                met = places[known.get(one.kind, -1)]
                met.setdefault(_choice_key(one), len(met))
        rows = _fill_tables(own, places, known)
        columns = rows if ys is None else _fill_tables(others, places, known)
        for g, met in enumerate(places):
            ordered = np.array([place.ordered for place in met], dtype=bool)
            distances[g] = _distance(_split_columns(rows[g], ordered), _split_columns(columns[g], ordered))
        return distances


def _choice_key(one: Choice) -> ChoiceKey:
    return ChoiceKey(one.path, one.count, one.ordered)


def _fill_tables(
    points: list[Sequence[Choice]], places: list[dict[ChoiceKey, int]], known: dict[str, int]
) -> list[Array]:
    """Return one table for each kind, of points by places."""
    tables = [np.full((len(points), len(met)), ABSENT) for met in places]
    for row, point in enumerate(points):
        for one in point:
            g = known.get(one.kind, -1)
            share = one.value / max(one.count - 1, 1) if one.ordered and one.count < math.inf else one.value
            tables[g][row, places[g][_choice_key(one)]] = share
    return tables


def _split_columns(table: Array, ordered: npt.NDArray[np.bool_]) -> Columns:
    return Columns(table[:, ~ordered], table[:, ordered])


def _distance(xs: Columns, ys: Columns) -> Array:
    """Return the distances summed over columns (n, m)."""
    total = np.zeros((len(xs.unordered), len(ys.unordered)))
    for a, b in zip(xs.unordered.T, ys.unordered.T, strict=True):
        total += a[:, None] != b
    for a, b in zip(xs.ordered.T, ys.ordered.T, strict=True):
        one_absent = (a[:, None] < 0.0) != (b < 0.0)
        total += np.where(one_absent, 1.0, np.abs(a[:, None] - b))
    return total
