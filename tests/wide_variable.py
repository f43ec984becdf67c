"""A kind of variable with three columns, an order of three items, and its factor: what a new kind needs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bostruct.contracts import Array, IntArray, PointError
from bostruct.domains.space.variable import Variable
from bostruct.kernels.space.diffusion import FactorSettings
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.kernels.space.registry import VariableKernels

ORDERS = np.array(list(itertools.permutations(range(3))))
PAIRS = ((0, 1), (0, 2), (1, 2))


class Order(Variable):
    """An order of three items: column k is the item in place k. A swap of two places is one change."""

    width = 3

    def __init__(self, items: Sequence[str]) -> None:
        self.items = tuple(items)

    @property
    def size(self) -> int:
        return len(ORDERS)

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        return ORDERS[rng.integers(len(ORDERS), size=m)]

    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        del large_steps
        return np.array([_swap(columns, a, b) for a, b in PAIRS])

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        return _swap(columns, *PAIRS[int(share * len(PAIRS))])

    def check(self, columns: Sequence[int]) -> None:
        if sorted(columns) != [0, 1, 2]:
            raise PointError(f"expected an order of 0, 1, 2, got {list(columns)}")

    def parse(self, value: Any) -> list[int]:
        if not isinstance(value, list | tuple) or sorted(value) != sorted(self.items):
            raise PointError(f"expected an order of {self.items}, got {value!r}")
        return [self.items.index(item) for item in value]

    def present(self, columns: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.items[item] for item in columns)

    def encode(self, columns: Sequence[int]) -> list[int]:
        return [int(item) for item in columns]

    def decode(self, data: Any) -> list[int]:
        if not isinstance(data, list) or any(type(one) is not int for one in data) or sorted(data) != [0, 1, 2]:
            raise PointError(f"expected an order of 0, 1, 2, got {data!r}")
        return data

    def enumerate(self) -> IntArray:
        return ORDERS.copy()

    def describe(self) -> dict[str, Any]:
        return {"items": list(self.items)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Order:
        return cls(data["items"])


def _swap(columns: Sequence[int], a: int, b: int) -> list[int]:
    found = list(columns)
    found[a], found[b] = found[b], found[a]
    return found


class OrderFactor(Factor):
    """exp(-exp(theta) times the discordant pairs): Mallows kernels (Jiao and Vert 2015), one for each of c orders."""

    has_unit_diagonal = True

    def __init__(self, n_variables: int) -> None:
        self.n_variables = n_variables

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        """The discordant pairs of each variable (c, n, m)."""
        others = xs if ys is None else ys
        return np.array([_discordant(xs[:, own][:, None], others[:, own][None]) for own in self._slices()])

    def log_gram(self, theta: Array, prepared: Array, without: int | None = None) -> Array:
        rates = np.exp(theta)
        if without is not None:
            rates[without] = 0.0
        return -np.tensordot(rates, prepared, 1)

    def gradient(self, theta: Array, prepared: Array, weighted: Array) -> Array:
        return -np.exp(theta) * np.tensordot(prepared, weighted, 2)

    def line(self, i: int, theta: Array, prepared: Array, gram: Array, *, carried: bool) -> Callable[[float], Array]:
        now = np.exp(theta[i]) if carried else 0.0
        return lambda t: gram * np.exp((now - np.exp(t)) * prepared[i])

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[IntArray, Array]:
        theirs = ys.reshape(len(ys), -1, 3)[:, changes.which].swapaxes(0, 1)
        after, before = (_discordant(own[:, None, :3], theirs) for own in (changes.after, changes.before))
        return changes.which, after - before

    def log_change(self, theta: Array, prepared: tuple[IntArray, Array]) -> Array:
        which, change = prepared
        return -np.exp(theta)[which][:, None] * change

    def _slices(self) -> list[slice]:
        return [slice(3 * i, 3 * i + 3) for i in range(self.n_variables)]


def _discordant(xs: IntArray, ys: IntArray) -> Array:
    """Count the pairs of items that two orders rank differently, over the last axis."""
    mine, other = np.argsort(xs, axis=-1), np.argsort(ys, axis=-1)
    return sum((mine[..., a] < mine[..., b]) != (other[..., a] < other[..., b]) for a, b in PAIRS).astype(np.float64)


def order_factors(variables: Sequence[Variable], settings: FactorSettings) -> list[tuple[Factor, tuple[int, ...]]]:
    del settings
    return [(OrderFactor(len(variables)), tuple(range(len(variables))))]


ORDER_KERNELS = VariableKernels(order_factors)
