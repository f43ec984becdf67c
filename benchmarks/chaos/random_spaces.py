"""Random spaces with variables of every kind, under constraints from loose to one point in 100,000."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

import bostruct as bo

Plain = dict[str, Any]
SHARES = (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5)


@dataclass(eq=False)
class Rule:
    """A predicate that counts its calls; a planted point always satisfies it.

    holds: the predicate.
    planted: the planted point.
    """

    holds: Callable[[Plain], bool]
    planted: Plain
    calls: int = 0

    def __call__(self, point: Plain) -> bool:
        self.calls += 1
        return self.holds(point) or point == self.planted


def key_of(point: Plain) -> str:
    """Return the point as text that is the same in every process."""
    return json.dumps(point, sort_keys=True, default=list)


def draw_space(rng: np.random.Generator, most: int = 60) -> tuple[bo.Space, list[Rule]]:
    """Draw a space, and return it with the rules that are its constraints.

    rng: the random generator.
    most: largest number of variables.
    """
    d = int(min(most, 1 + rng.geometric(0.08)))
    variables = {f"v{i}": _draw_variable(rng) for i in range(d)}
    if rng.random() < 0.1:
        variables["epochs"] = bo.Fidelity([1, 3, 9])
    free = bo.Space(variables)
    planted = free.present(free.sample(1, rng)[0])
    rules = [Rule(_draw_rule(free, planted, rng), planted) for _ in range(int(rng.choice([0, 1, 1, 2, 3])))]
    return (bo.Space(variables, constraints=rules) if rules else free), rules


def _draw_variable(rng: np.random.Generator) -> Any:
    size = int(rng.choice([2, 3, 4, 6, 12, 100], p=[0.3, 0.3, 0.2, 0.1, 0.07, 0.03]))
    match rng.integers(8):
        case 0 | 1:
            return bo.Binary()
        case 2:
            return bo.Categorical([f"c{i}" for i in range(size)])
        case 3:
            return bo.Categorical([(i, f"{i}") for i in range(size)])
        case 4:
            return bo.Ordinal([2.0**i for i in range(min(size, 12))])
        case 5:
            return bo.Integer(-1, size)
        case 6:
            return bo.Graph(nx.cycle_graph(max(3, min(size, 12))))
        case _:
            return bo.Real(0.001, 1.0, log=bool(rng.random() < 0.5)) if rng.random() < 0.4 else bo.Binary()


def _draw_rule(free: bo.Space, planted: Plain, rng: np.random.Generator) -> Callable[[Plain], bool]:
    names = list(free.variables)
    few = [names[i] for i in rng.permutation(len(names))[: int(rng.integers(1, 9))]]
    weights = {name: float(rng.random()) for name in names}
    match rng.integers(7):
        case 0:
            return _budget(weights, planted, float(rng.choice([0.2, 1.0])))
        case 1:
            return _cardinality(names, planted)
        case 2:
            return _implication(few, planted)
        case 3:
            return _lottery(float(rng.choice(SHARES)), int(rng.integers(2**31)))
        case 4:
            return lambda point: all(point[name] == planted[name] for name in few)
        case 5:
            return lambda point: (_number(point, names) - _number(planted, names)) % 2 == 0
        case _:
            return _lottery(0.0, 0) if rng.random() < 0.2 else _lottery(0.1, int(rng.integers(2**31)))


def _rank(value: Any) -> float:
    """Return a number for any value."""
    return float(value) if isinstance(value, bool | int | float) else zlib.crc32(str(value).encode()) % 7


def _number(point: Plain, names: Sequence[str]) -> int:
    return sum(int(_rank(point[name])) for name in names)


def _budget(weights: dict[str, float], planted: Plain, slack: float) -> Callable[[Plain], bool]:
    spent = lambda point: sum(weight * _rank(point[name]) for name, weight in weights.items())  # noqa: E731
    most = spent(planted) + slack * abs(spent(planted))
    return lambda point: spent(point) <= most


def _cardinality(names: Sequence[str], planted: Plain) -> Callable[[Plain], bool]:
    count = lambda point: sum(_rank(point[name]) > 0.5 for name in names)  # noqa: E731
    return lambda point: count(point) == count(planted)


def _implication(names: Sequence[str], planted: Plain) -> Callable[[Plain], bool]:
    first, *rest = names
    return lambda point: point[first] != planted[first] or all(point[name] == planted[name] for name in rest)


def _lottery(share: float, salt: int) -> Callable[[Plain], bool]:
    return lambda point: zlib.crc32(f"{salt}{list(point.values())}".encode()) < share * 2**32
