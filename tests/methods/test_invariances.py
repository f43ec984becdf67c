"""What the user's notation leaves open changes nothing: labels, the order of variables, shift and scale of values."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import Surrogate
from bostruct.domains.space.space import Space
from bostruct.methods import auto
from bostruct.study.history import History

N_TOLD, N_ASKED = 24, 60
CLOSE = 1e-6  # of the spread of scores

VARIABLES = {
    "bit": bool,
    "color": ["red", "green", "blue", "gray"],
    "size": bo.Ordinal([1, 2, 4, 8]),
    "ring": bo.Graph(nx.cycle_graph(["n", "e", "s", "w"])),
    "rate": bo.Real(1e-4, 1.0, log=True),
    "depth": bo.Integer(1, 9, when={"bit": True}),
}
seeds = st.integers(0, 10**6)


def value(point: dict) -> float:
    """Return a value with noise that the point decides: the model that expects noise is used, and augmented EI."""
    noise = np.random.default_rng(sorted(zlib.crc32(f"{item}".encode()) for item in point.items())).normal()
    return smooth(point) + 5.0 * float(noise)


def smooth(point: dict) -> float:
    level = {"red": 0.0, "green": 1.5, "blue": -1.0, "gray": 0.5}[point["color"]]
    turn = {"n": 0.0, "e": 1.0, "s": 0.3, "w": -0.4}[point["ring"]]
    depth = 0.3 * (point["depth"] - 4) ** 2 if point["bit"] else 1.0
    return level * (1.0 + point["bit"]) + turn + np.log(point["size"]) * level + np.log10(point["rate"]) ** 2 + depth


def draw(seed: int, count: int) -> list[dict]:
    rng = np.random.default_rng(seed)
    space = Space(VARIABLES)
    return [dict(space.present(x)) for x in space.sample(count, rng)]


def score(space: Space, told: list[dict], values: np.ndarray, asked: list[dict], make: Callable = auto) -> np.ndarray:
    """Return the score of each point asked about, less their mean."""
    method = make(space)
    xs = space.join([space.parse(point) for point in told])
    history = History.of(space, xs, values)
    rng = np.random.default_rng(0)
    posterior = method.surrogate.condition(history.completed, history.values, None, rng)[0]
    found = method.score(posterior, history, rng)(space.join([space.parse(point) for point in asked]))
    return found - found.mean()


def assert_alike(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() < CLOSE * np.ptp(expected)


def taste(seed: int) -> tuple[list[dict], np.ndarray, list[dict]]:
    points = draw(seed, N_TOLD + N_ASKED)
    told = points[:N_TOLD]
    return told, np.array([value(point) for point in told]), points[N_TOLD:]


@given(seeds, st.floats(-1e3, 1e3), st.integers(-90, 90))
@settings(max_examples=10)
def test_shift_and_scale_of_values_change_nothing(seed, shift, power):
    """A score is the logarithm of an improvement, so that a scale adds a constant."""
    check_values(seed, shift * 10.0**power, 10.0**power)


def test_most_of_these_values_are_taken_for_noisy():
    """The laws would else say nothing of augmented EI."""
    noises = []
    for seed in range(8):
        told, values, _ = taste(seed)
        space = Space(VARIABLES)
        xs = space.join([space.parse(point) for point in told])
        noises.append(auto(space).surrogate.condition(xs, values, None, np.random.default_rng(0))[2]["noise"])
    assert np.median(noises) > 0.1


@given(seeds, st.permutations(list(VARIABLES)))
@settings(max_examples=10)
def test_the_order_of_variables_changes_nothing(seed, order):
    check_variables(seed, {name: VARIABLES[name] for name in order})


@given(seeds, st.permutations(VARIABLES["color"]), st.booleans())
@settings(max_examples=10)
def test_labels_change_nothing(seed, colors, turns):
    """Choices in another order, an order that is reversed, and a ring that is listed from elsewhere."""
    turned = {"size": bo.Ordinal([8, 4, 2, 1]), "ring": bo.Graph(nx.cycle_graph(["s", "e", "n", "w"]))}
    check_variables(seed, VARIABLES | {"color": colors} | (turned if turns else {}))


def check_values(seed: int, shift: float, scale: float, make: Callable = auto) -> None:
    told, values, asked = taste(seed)
    space = Space(VARIABLES)
    assert_alike(score(space, told, shift + scale * values, asked, make), score(space, told, values, asked, make))


def check_variables(seed: int, variables: dict, make: Callable = auto) -> None:
    told, values, asked = taste(seed)
    expected = score(Space(VARIABLES), told, values, asked, make)
    assert_alike(score(Space(variables), told, values, asked, make), expected)


@dataclass(frozen=True)
class Faulty(Surrogate):
    """A surrogate that is told values in other units, or sees the first column of points."""

    surrogate: Any
    fault: str

    def condition(self, xs: Any, values: Any, state: Any, rng: Any) -> Any:
        if self.fault == "units":
            values = np.log1p(np.abs(values))
        if self.fault == "column":
            values = values + 0.1 * np.asarray(xs)[:, 0]
        return self.surrogate.condition(xs, values, state, rng)


def plant(fault: str) -> Callable:
    def make(space: Space) -> Any:
        method = auto(space)
        return replace(method, surrogate=Faulty(method.surrogate, fault))

    return make


def test_faults_are_seen():
    with pytest.raises(AssertionError):
        check_values(0, 3.0, 10.0, plant("units"))
    reordered = {name: VARIABLES[name] for name in ("color", "bit", "size", "ring", "rate", "depth")}
    with pytest.raises(AssertionError):
        check_variables(0, reordered, plant("column"))
    with pytest.raises(AssertionError):
        check_variables(0, reordered | {"color": ["gray", "blue", "green", "red"]}, plant("column"))
    with pytest.raises(AssertionError):
        check_variables(0, VARIABLES | {"size": bo.Ordinal([1, 4, 2, 8])})  # an order is no label
