"""What a declaration accepts of the numbers at the edge of float64 can be searched; the rest is refused by name."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.graphs import MAX_WEIGHT, MIN_WEIGHT
from bostruct.domains.space.numeric import SMALLEST_RANGE
from bostruct.domains.space.scale import GRID_STEPS
from bostruct.testing.domain_laws import check_domain

LARGEST, NORMAL, TINIEST = sys.float_info.max, sys.float_info.min, 5e-324
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e-305, 1e-305),
    st.floats(1e300, LARGEST),
    st.sampled_from([0.0, TINIEST, 2 * TINIEST, -TINIEST, NORMAL, LARGEST, -LARGEST, 1.0]),
)
EDGES = {0, 1, 2, GRID_STEPS // 2, GRID_STEPS - 1, GRID_STEPS}


def make_path(weights: list[Any]) -> nx.Graph:
    graph = nx.Graph()
    for place, weight in enumerate(weights):
        graph.add_edge(place, place + 1, weight=weight)
    return graph


def declare(low: float, high: float, log: bool) -> bo.Real | None:
    """Return a variable, None for a range that is refused by the name of the class and with what was given."""
    try:
        return bo.Real(low, high, log=log)
    except DomainError as error:
        if not str(error).startswith("Real: expected ") or not str(error).endswith(
            f"got low={low + 0.0}, high={high + 0.0}"
        ):
            raise
        return None


@given(numbers, numbers, st.booleans(), st.sets(st.integers(0, GRID_STEPS), max_size=20))
@example(0.0, TINIEST, False, set())
@example(TINIEST, 2 * TINIEST, False, set())
@example(-LARGEST / 2, LARGEST / 2, False, set())
@example(1.79e308, LARGEST, False, {GRID_STEPS - 9})
@example(NORMAL, LARGEST, True, set())
def test_a_range_that_is_accepted_can_be_searched(low: float, high: float, log: bool, inside: set[int]) -> None:
    assume(low < high)
    variable = declare(low, high, log)
    if variable is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for vertex in EDGES | inside:
            value = variable.present([vertex])
            assert low <= value <= high
            assert variable.parse(value) == [vertex]
            assert variable.decode(variable.encode([vertex])) == [vertex]
        values = [variable.present([vertex]) for vertex in sorted(EDGES)]
        assert variable.choices.vertices(values).tolist() == sorted(EDGES)


REFUSED_RANGES = [
    (0.0, TINIEST, False),
    (TINIEST, 2 * TINIEST, False),
    (-TINIEST, TINIEST, False),
    (0.0, SMALLEST_RANGE / 100, False),
    (-LARGEST, LARGEST, False),
    (-1.7e308, 1.7e308, False),
    (1.0, math.nextafter(1.0, 2.0), False),
    (1.0, math.nextafter(1.0, 2.0), True),
    (LARGEST * (1 - 1e-9), LARGEST, True),
    (TINIEST, 1.0, True),
]


@pytest.mark.parametrize(("low", "high", "log"), REFUSED_RANGES)
def test_a_range_that_cannot_be_searched_is_refused(low: float, high: float, log: bool) -> None:
    assert declare(low, high, log) is None


def run(variable: Any) -> None:
    """Check the laws of a space, and search it until a model is fitted; no number overflows."""
    beside = {"x": bo.Real(0.0, 1.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        space = bo.Space({"v": variable, **beside})
        check_domain(space, np.random.default_rng(0))
        study = bo.Study(space, seed=0)
        while sum(trial.origin == "model" for trial in study.trials) < 2:
            trial = study.ask()
            study.tell(trial, trial.point["x"])
        assert study.result.recommended
    assert not any(trial.info.get("model") == "failed" for trial in study.trials)


ACCEPTED: dict[str, Callable[[], Any]] = {
    "Real: the narrowest": lambda: bo.Real(0.0, SMALLEST_RANGE),
    "Real: the widest": lambda: bo.Real(-8.9e307, 8.9e307),
    "Real: the largest numbers": lambda: bo.Real(1.79e308, LARGEST),
    "Real: all magnitudes": lambda: bo.Real(NORMAL, LARGEST, log=True),
    "Real: narrow logarithms": lambda: bo.Real(NORMAL, NORMAL * 1.01, log=True),
    "Integer: the widest": lambda: bo.Integer(-(2**52), 2**52 - 1),
    "Integer: all magnitudes": lambda: bo.Integer(1, 2**53, log=True),
    "Integer: narrow logarithms": lambda: bo.Integer(2**53 - 1, 2**53, log=True),
    "Ordinal: the largest levels": lambda: bo.Ordinal([-LARGEST, 0.0, LARGEST, math.inf]),
    "Ordinal: the smallest levels": lambda: bo.Ordinal([0.0, TINIEST, 2 * TINIEST]),
    "Ordinal: integers beyond floats": lambda: bo.Ordinal([1, 10**400, 10**401]),
    "Ordinal: the largest weight": lambda: bo.Ordinal(range(50), weight=MAX_WEIGHT),
    "Ordinal: the smallest weight": lambda: bo.Ordinal(range(50), weight=MIN_WEIGHT),
    "Graph: all weights": lambda: bo.Graph(make_path([MIN_WEIGHT, MAX_WEIGHT, 1.0])),
    "Candidates: all magnitudes": lambda: bo.Candidates({"a": [TINIEST, 0.0, LARGEST, -LARGEST], "b": [1, 2, 3, 4]}),
    "Candidates: the smallest numbers": lambda: bo.Candidates({"a": [0.0, TINIEST, 2 * TINIEST, 1e-322]}),
    "Categorical: the smallest distances": lambda: bo.Categorical([1, 2], distances=[[0, TINIEST], [TINIEST, 0]]),
    "Categorical: the largest distances": lambda: bo.Categorical([1, 2], distances=[[0, LARGEST], [LARGEST, 0]]),
    "Categorical: the smallest kernel": lambda: bo.Categorical([1, 2], kernel=np.eye(2) * TINIEST),
    "Categorical: a wide kernel": lambda: bo.Categorical([1, 2], kernel=np.diag([TINIEST, LARGEST])),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_accepted_can_be_searched(name: str) -> None:
    run(ACCEPTED[name]())


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: bo.Real(0, 10**400), "high: expected a finite number"),
    (lambda: bo.Integer(0, 10**400), "high: expected between"),
    (lambda: bo.Fidelity([1, 10**400]), "Fidelity: expected positive numbers in ascending order"),
    (lambda: bo.Fidelity([1, math.inf]), "Fidelity: expected positive numbers in ascending order"),
    (lambda: bo.Ordinal([1, 2, 3], weight=LARGEST), "weight: expected a finite number in"),
    (lambda: bo.Graph(make_path([LARGEST, 1.0])), "Graph: expected edge weights from 1e-300 to"),
    (lambda: bo.Graph(make_path([10**400, 1.0])), "Graph: expected edge weights from 1e-300 to"),
    (lambda: bo.Subset(list("abcd"), 2, graph=[("a", "b", LARGEST)]), "Subset: graph: expected edge weights"),
    (lambda: bo.Candidates({"a": [1, 2, 10**400]}), "Candidates: column 'a': expected finite numbers"),
    (lambda: bo.Categorical([1, 2], distances=[[0, 10**400], [10**400, 0]]), "distances: expected finite numbers"),
    (lambda: bo.Study({"a": [1, 2]}, constraints={"c": ("<=", 10**400)}), "constraints.*expected a finite number"),
    (lambda: bo.Study({"a": [1, 2]}, seed=10**3999), "seed: expected fewer than 4,000 digits"),
    (lambda: bo.Study({"a": [1, 2]}, seed=10**5000), "seed: expected fewer than 4,000 digits"),
]


@pytest.mark.parametrize(("declare_one", "message"), REFUSED)
def test_what_cannot_be_searched_is_refused_by_name(declare_one: Callable[[], Any], message: str) -> None:
    with pytest.raises((DomainError, ValueError), match=message):
        declare_one()


@pytest.mark.parametrize("method", ["hyperband", "successive-halving", "model-based-hyperband", "successive-narrowing"])
@pytest.mark.parametrize("costs", [[TINIEST, 1.0, LARGEST], [TINIEST, 2 * TINIEST], [1e308, LARGEST], [1, 10**300]])
def test_costs_of_any_size_can_be_searched(method: str, costs: list[float]) -> None:
    study = bo.Study({"x": bo.Real(0.0, 1.0), "e": bo.Fidelity(costs)}, method=method, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, trial.point["x"])
        assert study.result.recommended


BOUNDS = [LARGEST, -LARGEST, TINIEST, 0.0]


@pytest.mark.parametrize(("bound", "sense"), list(itertools.product(BOUNDS, ["<=", ">="])))
@pytest.mark.parametrize("scale", [1.0, LARGEST, TINIEST])
def test_limits_of_any_size_can_be_searched(bound: float, sense: str, scale: float) -> None:
    study = bo.Study({"x": bo.Real(0.0, 1.0)}, seed=0, constraints={"c": (sense, bound)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        while sum(trial.origin == "model" for trial in study.trials) < 2:
            trial = study.ask()
            measured = scale * (trial.point["x"] - 0.5)
            told = study.tell(trial, trial.point["x"], constraints={"c": measured})
            assert told.is_feasible == (measured <= bound if sense == "<=" else measured >= bound)
        assert len(study.trials) < 20
        assert "c" in str(study.result)


def test_a_long_seed_is_kept(tmp_path: Any) -> None:
    seed = 10**3999 - 1
    bo.Study({"a": [1, 2]}, seed=seed, storage=tmp_path / "a.db").close()
    assert bo.Study.load(tmp_path / "a.db").seed == seed
