"""Orders of things as positions among all orders: which order stands at one, and which are one change away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.language.graph import Discrete
from bostruct.domains.language.values import Value
from bostruct.domains.space.permutation import count_rearrangements, list_rearrangements


def order_at(position: int, k: int) -> tuple[int, ...]:
    """Return the order of 0 to k - 1 at a position of all their orders, sorted.

    position: in 0..k! - 1.
    k: number of things, at least 0.
    """
    left = list(range(k))
    order = []
    for i in range(k - 1, -1, -1):
        place, position = divmod(position, math.factorial(i))
        order.append(left.pop(place))
    return tuple(order)


def read_order(h: Discrete, values: Mapping[str, Value]) -> tuple[int, ...] | None:
    """Return the order that the value of a choice tells, or tells first; None where it tells none.

    h: the hyperparameter that is chosen.
    values: place -> value of it and of those chosen with it.

    An order that is chosen in steps belongs to the first step, and is None until all are chosen; that of the others is
    empty.
    """
    if h.steps and h is not h.steps[0]:
        return ()
    if not h.steps or any(step.path not in values for step in h.steps):
        return None
    return _order_of_steps(tuple(values[step.path] for step in h.steps), h.things)


@lru_cache(maxsize=10_000)
def _order_of_steps(values: tuple[int, ...], k: int) -> tuple[int, ...]:
    return order_at(values[0] if len(values) == 1 else position_of_steps(values), k)


def position_of_steps(values: tuple[int, ...]) -> int:
    """Return the position of an order among all, sorted.

    values: for each place but the last, which of the things left stands there.
    """
    k = len(values) + 1
    return sum(value * math.factorial(k - 1 - i) for i, value in enumerate(values))


def other_values(h: Discrete, value: Value) -> tuple[Value, ...]:
    """Return the values that one change of a choice leads to.

    h: the hyperparameter.
    value: the one it has.

    They are all others; of an order that is one choice those a swap, a move of one thing or a reversal away.
    """
    if _is_whole_order(h):
        return _nearby_positions(value, h.things)
    return tuple(other for other in h.values if other != value)


def count_other_values(h: Discrete) -> int:
    """Return how many values one change of a choice leads to.

    h: the hyperparameter.
    """
    return count_rearrangements(h.things) if _is_whole_order(h) else len(h.values) - 1


def _is_whole_order(h: Discrete) -> bool:
    return h.steps == (h,)


@lru_cache(maxsize=2_000)
def _nearby_positions(position: int, k: int) -> tuple[int, ...]:
    near = np.array(order_at(position, k))[list_rearrangements(k)]
    return tuple(_positions_of(near).tolist())


def _positions_of(orders: IntArray) -> IntArray:
    """Return the positions of some orders of few things (m,)."""
    k = orders.shape[1]
    smaller_after = [(orders[:, i : i + 1] > orders[:, i + 1 :]).sum(axis=1) for i in range(k)]
    return np.array([math.factorial(k - 1 - i) for i in range(k)]) @ smaller_after
