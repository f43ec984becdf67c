"""A kernel on programs of a search-space language, which compares their choices.

k(x, y) = exp(-sum_g rate_g D_g(x, y)). D_g sums the distances between the two values of each choice of kind g:

- 1 if only one of the two programs has the choice;
- 0 or 1 for unordered values that are equal or different;
- |i - j| / (count - 1) for ordered values at positions i and j;
- the share of pairs in a different order for orders of items; several choices that make one order count once.

Choices at the same place are the same choice if they also agree in the number of values or items, and in whether the
values are ordered. Otherwise each program has a choice that the other lacks.

So each choice has a metric of negative type on its values and "absent". For ordered values it is a line of length 1 and
a point at distance 1 from all of the line: for weights c that sum to s over the line, with cumulated sum F, the
quadratic form is 2 integral F (s - F) - 2 s^2 <= -3 s^2 / 2. For orders it is the squared distance of vectors of norm
1/2, the signs of the pairs over 2 sqrt(pairs), and "absent" is a point at height sqrt(3) / 2 above their center, at
squared distance 1/4 + 3/4 = 1 from each. Hence each factor exp(-rate d) is positive semi-definite, and so is the
product over any number of choices. A choice that is absent from both programs contributes nothing.
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
    """The key that identifies a choice across programs.

    size: number of values, infinite if the choice is continuous; for an order, the number of items.
    ordered: whether the values are ordered.
    is_order: whether the values are orders of items.
    """

    path: str
    size: float
    ordered: bool
    is_order: bool


KeyedChoice = tuple[ChoiceKey, Choice]
Places = dict[ChoiceKey, int]  # the choices of one kind that some points have -> their column


class Columns(NamedTuple):
    """Values of n points in the choices of one kind, INACTIVE if a point lacks the choice.

    unordered: positions among unordered values (n, c).
    ordered: positions over (count - 1), or shares of a continuous range, in [0, 1] (n, c).
    orders: for each choice of an order, the items in order (n, items).
    """

    unordered: Array
    ordered: Array
    orders: list[IntArray]


@dataclass(frozen=True)
class TraceKernel(ExponentialKernel):
    """A kernel on programs of a search-space language, exp(-sum_g rate_g D_g), where D_g sums over choices of kind g.

    prior: prior of each log rate.
    initial: initial log rate.
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
                columns = places[known.get(one.kind, -1)]
                columns.setdefault(key, len(columns))
        first = _read_columns(own, places, known)
        second = first if ys is None else _read_columns(others, places, known)
        for g, (mine, theirs) in enumerate(zip(first, second, strict=True)):
            distances[g] = _distance(mine, theirs)
        return distances


def is_compared(one: Choice) -> bool:
    """Return whether the kernel compares a choice: all except the later steps of an order, which the first includes."""
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
    tables = [np.full((len(points), len(keys)), INACTIVE) for keys in places]
    orders = [{k: np.full((len(points), int(k.size)), int(INACTIVE)) for k in keys if k.is_order} for keys in places]
    for row, point in enumerate(points):
        for key, one in point:
            g = known.get(one.kind, -1)
            if key.is_order:
                orders[g][key][row] = one.order
            else:
                share = one.value / max(one.count - 1, 1) if one.ordered and one.count < math.inf else one.value
                tables[g][row, places[g][key]] = share
    found = []
    for table, keys, own in zip(tables, places, orders, strict=True):
        ordered = np.array([key.ordered for key in keys], dtype=bool)
        is_order = np.array([key.is_order for key in keys], dtype=bool)
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
        x_has, y_has = one[:, 0] >= 0, other[:, 0] >= 0
        found = (x_has[:, None] != y_has).astype(np.float64)
        if x_has.any() and y_has.any():
            found[np.ix_(x_has, y_has)] = compare_precedence(one[x_has], other[y_has])
        total += found
    return total
