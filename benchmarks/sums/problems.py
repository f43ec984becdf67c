"""Six problems whose numbers sum to a total: for bostruct, for BoTorch, and written by hand without sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo

Array = np.ndarray


class Problem(NamedTuple):
    """A minimization problem over numbers that sum to a total.

    space: space of bostruct. to_array: point -> numbers (k,). to_point: numbers -> point. value: numbers -> value.
    equal, upper: weights (k,) and limit of each equality and inequality. scale: divisor of the numbers for BoTorch.
    most: largest count above 0, None for all. whole: True for integers. by_hand: space without sums, point -> numbers.
    """

    space: bo.Space
    to_array: Callable[[Any], Array]
    to_point: Callable[[Array], Any]
    value: Callable[[Array], float]
    equal: list[tuple[Array, float]]
    upper: list[tuple[Array, float]]
    scale: float
    most: int | None
    whole: bool
    by_hand: tuple[Any, Callable[[Any], Array]] | None


def break_stick(k: int) -> tuple[Any, Callable[[Any], Array]]:
    """Return the space of k - 1 uniform breaks, and the shares of a point, which are uniform on the simplex."""

    def read(point: Any) -> Array:
        left, found = 1.0, []
        for i in range(k - 1):
            found.append(left * (1.0 - point[f"u{i}"] ** (1.0 / (k - 1 - i))))
            left -= found[-1]
        return np.array([*found, left])

    return {f"u{i}": bo.Real(0, 1) for i in range(k - 1)}, read


def mixture_fields(space: bo.Space, names: list[str]) -> dict[str, Any]:
    """Return the fields of a problem whose numbers are the parts of one mixture."""
    return {
        "space": space,
        "to_array": lambda point: np.array([point["m"][name] for name in names], dtype=np.float64),
        "to_point": lambda x: {"m": dict(zip(names, x.tolist(), strict=True))},
    }


def number_fields(space: bo.Space, kind: Callable[[float], float]) -> dict[str, Any]:
    """Return the fields of a problem in which each number is a variable."""
    names = list(space.variables)
    return {
        "space": space,
        "to_array": lambda point: np.array([point[name] for name in names], dtype=np.float64),
        "to_point": lambda x: {name: kind(one) for name, one in zip(names, x.tolist(), strict=True)},
    }


def smooth_mixture(seed: int) -> Problem:
    """Six parts with a response of second order (Scheffe 1958) and an interior optimum."""
    rng, names = np.random.default_rng(seed), list("abcdef")
    linear, pairs = rng.normal(size=6), np.triu(rng.normal(0.0, 4.0, (6, 6)), 1)
    space = bo.Space({"m": bo.Mixture(names)})
    return Problem(
        **mixture_fields(space, names),
        value=lambda x: float(-(linear @ x) - x @ pairs @ x - np.sin(8.0 * x[0] * x[1]) / 2),
        equal=[(np.ones(6), 1.0)], upper=[], scale=1.0, most=None, whole=False, by_hand=break_stick(6),
    )  # fmt: skip


def formulation(seed: int) -> Problem:
    """At most three of ten ingredients with linear effects and interactions of pairs."""
    rng, names = np.random.default_rng(seed), [f"p{i}" for i in range(10)]
    linear, pairs = rng.normal(size=10), np.triu(rng.normal(0.0, 3.0, (10, 10)), 1)
    space = bo.Space({"m": bo.Mixture(names, max_parts=3)})
    sticks, read = break_stick(3)

    def scatter(point: Any) -> Array:
        x = np.zeros(10)
        x[list(point["chosen"])] = read(point)
        return x

    return Problem(
        **mixture_fields(space, names), value=lambda x: float(-(linear @ x) - x @ pairs @ x),
        equal=[(np.ones(10), 1.0)], upper=[], scale=1.0, most=3, whole=False,
        by_hand=({"chosen": bo.Subset(range(10), 3), **sticks}, scatter),
    )  # fmt: skip


def log_ratios(seed: int) -> Problem:
    """Ten shares; the value is a quadratic form of the logarithms of their ratios."""
    rng, names = np.random.default_rng(seed), [f"p{i}" for i in range(10)]
    center = np.log(rng.dirichlet(np.full(10, 4.0)))

    def value(x: Array) -> float:
        logs = np.log(np.maximum(x, 1e-9)) - center
        return float(np.square(logs - logs.mean()).mean())

    space = bo.Space({"m": bo.Mixture(names)})
    return Problem(
        **mixture_fields(space, names), value=value, equal=[(np.ones(10), 1.0)], upper=[], scale=1.0, most=None,
        whole=False, by_hand=break_stick(10),
    )  # fmt: skip


def allocation(seed: int) -> Problem:
    """Twenty units for eight items, with diminishing returns and interactions of pairs."""
    rng, names = np.random.default_rng(seed), [f"i{i}" for i in range(8)]
    gain, rate = rng.uniform(0.5, 2.0, 8), rng.uniform(0.1, 0.8, 8)
    pairs = np.triu(rng.normal(0.0, 0.02, (8, 8)), 1)
    space = bo.Space({"m": bo.Allocation(names, 20)})
    sticks, read = break_stick(8)

    def value(x: Array) -> float:
        return float(-(gain @ (1.0 - np.exp(-rate * x))) - x @ pairs @ x)

    return Problem(
        **mixture_fields(space, names), value=value, equal=[(np.ones(8), 20.0)], upper=[], scale=20.0, most=None,
        whole=True, by_hand=(sticks, lambda point: round_sum(20.0 * read(point), 20)),
    )._replace(to_point=lambda x: {"m": {name: int(one) for name, one in zip(names, x, strict=True)}})  # fmt: skip


def portfolio(seed: int) -> Problem:
    """Six weights that sum to 1 with a given mean rating; the value is the variance plus the costs of trading."""
    rng, names = np.random.default_rng(seed), [f"x{i}" for i in range(6)]
    loads, rating, held = rng.normal(size=(6, 6)), np.array([3.0, 5.0, 2.0, 8.0, 4.0, 6.0]), rng.dirichlet(np.ones(6))
    risk = loads @ loads.T / 6.0
    rules = [bo.Linear(dict.fromkeys(names, 1), "==", 1), bo.Linear(dict(zip(names, rating, strict=True)), "==", 4.5)]
    space = bo.Space({name: bo.Real(0, 0.6) for name in names}, rules)

    def value(x: Array) -> float:
        return float(x @ risk @ x + 0.2 * np.sqrt(np.square(x - held) + 1e-4).sum())

    def complete(point: Any) -> Array:
        """Append the last two weights, which solve the equations; a predicate keeps them in bounds."""
        first = np.array([point[name] for name in names[:4]])
        last = np.linalg.solve([[1.0, 1.0], rating[4:]], [1.0 - first.sum(), 4.5 - rating[:4] @ first])
        return np.append(first, last)

    def is_inside(point: Any) -> bool:
        return bool((complete(point)[4:] >= 0.0).all() and (complete(point)[4:] <= 0.6).all())

    by_hand = bo.Space({name: bo.Real(0, 0.6) for name in names[:4]}, [is_inside])
    return Problem(
        **number_fields(space, float), value=value, equal=[(np.ones(6), 1.0), (rating, 4.5)], upper=[], scale=1.0,
        most=None, whole=False, by_hand=(by_hand, complete),
    )  # fmt: skip


def narrow_band(seed: int) -> Problem:
    """Seven integers that sum to 12, with a weighted sum within .002 of a number."""
    rng, names = np.random.default_rng(seed), [f"n{i}" for i in range(7)]
    weights = np.array([0.1, 0.13, 0.21, 0.07, 0.3, 0.11, 0.17])
    rules = [bo.Linear(dict.fromkeys(names, 1), "==", 12)]
    rules += [bo.Linear(dict(zip(names, weights, strict=True)), *limit) for limit in (("<=", 2.002), (">=", 1.998))]
    space = bo.Space({name: bo.Integer(0, 12) for name in names}, rules)
    every = np.array([list(space.present(x).values()) for x in space.linear.whole._to_positions(list_all(space))])
    target = every[rng.integers(len(every))]
    return Problem(
        **number_fields(space, int), value=lambda x: float((np.abs(x - target) ** 1.5).sum()),
        equal=[(np.ones(7), 12.0)], upper=[(weights, 2.002), (-weights, -1.998)], scale=12.0, most=None, whole=True,
        by_hand=None,
    )  # fmt: skip


def list_all(space: bo.Space) -> Array:
    """Return all points of a space of integers that sum to 12 (n, 7)."""
    cuts = np.array(list(itertools.combinations(range(18), 6)))
    bars = np.column_stack([np.full(len(cuts), -1), cuts, np.full(len(cuts), 18)])
    rows = np.diff(bars, axis=1) - 1
    return rows[space.linear.holds(rows)].astype(np.float64)


def round_sum(x: Array, total: int) -> Array:
    """Return the nearest integers with a sum, the largest remainders rounded up."""
    found = np.floor(x + 1e-9)
    for i in np.argsort(found - x)[: round(total - found.sum())]:
        found[i] += 1
    return found


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "six parts": smooth_mixture,
    "three of ten": formulation,
    "log-ratios": log_ratios,
    "twenty units": allocation,
    "portfolio": portfolio,
    "narrow band": narrow_band,
}
