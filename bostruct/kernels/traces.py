"""A kernel on programs of a search-space language, on their choices.

k(x, y) = exp(-sum_g rate_g D_g(x, y)), where D_g sums over the choices of kind g the distance between two values: 0
where equal, 1 if not, |i - j| / (count - 1) of positions where values are ordered, the share of pairs in another
order where values are orders of things, and 1 if only one of the two programs has the choice. Choices at one place
are one if they also agree in how many values there are, or how many things they order, and whether these are
ordered; else each program has one that the other lacks. An order that several choices tell together counts once.

Each choice has so a metric of negative type on its values and "absent": a line of length 1 with a point at distance 1
from all of it (for weights c that sum to s over the line, the quadratic form is 2 integral F (s - F) - 2 s^2 <=
-3 s^2 / 2, F their cumulated sum). Between orders it is the squared distance of vectors of norm 1/2, the signs of the
pairs over 2 sqrt(pairs), and "absent" is a point at height sqrt(3) / 2 above their center: 1/4 + 3/4 = 1 from each.
Hence every factor exp(-rate d) is positive semi-definite, and so is their product, over however many choices: absent
from both, a choice contributes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, Batch, Choice, IntArray, Parameter, Point, Prior
from bostruct.kernels.distance import ExponentialKernel, compare_precedence

INACTIVE = -1.0


ChoiceFunction = Callable[[Point], Sequence[Choice]]


class ChoiceKey(NamedTuple):
    """The key under which choices of two programs are the same one.

    size: number of values, infinite if the choice is continuous; of an order the number of things.
    ordered: whether the values are ordered.
    is_order: whether the values are orders of things.
    """

    path: str
    size: float
    ordered: bool
    is_order: bool


KeyedChoice = tuple[ChoiceKey, Choice]
Places = dict[ChoiceKey, int]  # the choices of one kind that some points have -> their column


class Columns(NamedTuple):
    """Values of n points in the choices of one kind, INACTIVE if a point has no such choice.

    unordered: (n, c), positions in choices without an order.
    ordered: (n, c), positions over (count - 1), or shares of a continuous range, in [0, 1].
    orders: of each choice whose values are orders, the things in order (n, things).
    """

    unordered: Array
    ordered: Array
    orders: list[IntArray]


@dataclass(frozen=True)
class TraceKernel(ExponentialKernel):
    """A kernel on programs of a search-space language, exp(-sum_g rate_g D_g), where D_g sums over choices of kind g.

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
        """Return the distances by kind (g, n, m), the shared kind last."""
        own = [_key_choices(self.choices(x)) for x in xs]
        others = own if ys is None else [_key_choices(self.choices(y)) for y in ys]
        distances = np.zeros((len(self.kinds) + 1, len(own), len(others)))
        known = {kind: g for g, kind in enumerate(self.kinds)}
        places: list[Places] = [{} for _ in distances]
        for point in (*own, *(() if ys is None else others)):
            for key, one in point:
                met = places[known.get(one.kind, -1)]
                met.setdefault(key, len(met))
        rows = _read_columns(own, places, known)
        columns = rows if ys is None else _read_columns(others, places, known)
        for g, (mine, theirs) in enumerate(zip(rows, columns, strict=True)):
            distances[g] = _distance(mine, theirs)
        return distances


def is_compared(one: Choice) -> bool:
    """Return whether the kernel compares a choice: each but the later steps of an order, which the first one tells."""
    return one.order is None or len(one.order) > 0


def _key_choices(point: Sequence[Choice]) -> list[KeyedChoice]:
    return [
        (
            ChoiceKey(one.path, one.count if one.order is None else len(one.order), one.ordered, one.order is not None),
            one,
        )
        for one in point
        if is_compared(one)
    ]


def _read_columns(points: list[list[KeyedChoice]], places: list[Places], known: dict[str, int]) -> list[Columns]:
    """Return the values of the points in the choices of each kind."""
    tables = [np.full((len(points), len(met)), INACTIVE) for met in places]
    orders = [
        {key: np.full((len(points), int(key.size)), int(INACTIVE)) for key in met if key.is_order} for met in places
    ]
    for row, point in enumerate(points):
        for key, one in point:
            g = known.get(one.kind, -1)
            if key.is_order:
                orders[g][key][row] = one.order
            else:
                share = one.value / max(one.count - 1, 1) if one.ordered and one.count < math.inf else one.value
                tables[g][row, places[g][key]] = share
    found = []
    for table, met, own in zip(tables, places, orders, strict=True):
        ordered = np.array([key.ordered for key in met], dtype=bool)
        is_order = np.array([key.is_order for key in met], dtype=bool)
        found.append(Columns(table[:, ~ordered & ~is_order], table[:, ordered & ~is_order], list(own.values())))
    return found


def _distance(xs: Columns, ys: Columns) -> Array:
    """Return the distances summed over columns (n, m)."""
    total = np.zeros((len(xs.unordered), len(ys.unordered)))
    for a, b in zip(xs.unordered.T, ys.unordered.T, strict=True):
        total += a[:, None] != b
    for a, b in zip(xs.ordered.T, ys.ordered.T, strict=True):
        one_absent = (a[:, None] < 0.0) != (b < 0.0)
        total += np.where(one_absent, 1.0, np.abs(a[:, None] - b))
    for one, other in zip(xs.orders, ys.orders, strict=True):
        here, there = one[:, 0] >= 0, other[:, 0] >= 0
        found = (here[:, None] != there).astype(np.float64)
        if here.any() and there.any():
            found[np.ix_(here, there)] = compare_precedence(one[here], other[there])
        total += found
    return total
