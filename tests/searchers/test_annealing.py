"""Simulated annealing: the searcher laws, its Metropolis rule, and that it is worth running."""

import math

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods import searcher
from bostruct.searchers.baselines import Annealing, RandomSearch, interquartile_range, metropolis_accepts
from bostruct.study.history import History
from bostruct.testing.searcher_laws import Schedule, check_searcher, play
from tests.exhausting import check_exhausts
from tests.laws.maxsat import best_so_far, bits, max3sat


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def eager(domain) -> Annealing:
    return Annealing(domain, n_initial=4)


def mixed_space() -> bo.Space:
    return bo.Space({"a": bool, "b": ["p", "q", "r"], "c": range(5), "d": bo.Integer(-3, 3)})


def mixed_objective(point: dict) -> float:
    return point["a"] + {"p": 0.0, "q": 2.0, "r": -1.0}[point["b"]] + abs(point["c"] - 2) - 0.1 * point["d"]


@pytest.mark.parametrize("make", [Annealing, eager])
def test_laws(make, rng):
    check_searcher(make, mixed_space(), mixed_objective, rng)


def test_visits_all_of_a_small_space_then_says_so(rng):
    small = bo.Space({"a": bool, "b": ["p", "q", "r"], "c": range(5)})
    check_exhausts(eager, small, lambda point: mixed_objective({**point, "d": 0}), rng)


def test_serves_constraints_that_no_single_change_respects(rng):
    names = [f"x{i}" for i in range(6)]
    space = bo.Space(dict.fromkeys(names, bool), [lambda p: sum(p.values()) == 2])
    check_exhausts(eager, space, lambda p: sum(i * p[name] for i, name in enumerate(names)), rng)


def test_metropolis_accepts_as_often_as_its_formula_says(rng):
    assert all(metropolis_accepts(rise, 0.0, rng) for rise in (-1.0, 0.0))
    assert not metropolis_accepts(1e-300, 0.0, rng)
    share = np.mean([metropolis_accepts(1.0, 2.0, rng) for _ in range(20_000)])
    assert abs(share - math.exp(-0.5)) < 4 * math.sqrt(0.24 / 20_000)


@pytest.mark.parametrize("scale", [1e-9, 2.0**20, 1e12])
def test_scale_of_the_objective_does_not_matter(scale):
    objective = max3sat(0)
    plain = play(Annealing, bits(60), objective, Schedule(80, seed=5))
    scaled = play(Annealing, bits(60), lambda point: scale * objective(point), Schedule(80, seed=5))
    assert [step.key for step in scaled] == [step.key for step in plain]


@pytest.mark.parametrize("values", [[1e308, -1e308, 0.0, 5.0], [3.0] * 4, [1e-320, 0.0, 1e-310, 0.0]])
def test_extreme_values_do_not_break_it(values, rng):
    space = bits(6)
    history = History.of(space, space.enumerate()[:4], values)
    search = Annealing(space, n_initial=2)
    suggestion = search.suggest(history, search.initial_state(), rng)
    assert suggestion.info["origin"] == "model"
    assert interquartile_range(history.values) >= 0
    assert math.isfinite(suggestion.info["temperature"])


def test_walks_over_known_points_for_nothing(rng):
    """On a path whose first half is known and slopes down, the walk from any start ends beyond it."""
    space = bo.Space({"a": range(10)})
    history = History.of(space, np.arange(5)[:, None], [5.0, 4.0, 3.0, 2.0, 1.0])
    state = {"current": {"a": 0}, "told": 5, "steps": 0}
    suggestion = Annealing(space, n_initial=1).suggest(history, state, rng)
    assert space.present(suggestion.point) == {"a": 5}
    assert suggestion.state["current"] == {"a": 4}


def test_beats_random_search_on_max3sat():
    """A sign test over 8 instances: 8 wins have probability 0.004 between equals."""
    pairs = [(best_so_far(Annealing, s, 80)[-1], best_so_far(RandomSearch, s, 80)[-1]) for s in range(8)]
    assert all(annealed < random for annealed, random in pairs)
    assert np.mean([random - annealed for annealed, random in pairs]) > 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_initial": 0}, "n_initial: expected at least 1, got 0"),
        ({"temperature": -1.0}, "temperature: expected a finite number of at least 0"),
        ({"cooling": 0.0}, "cooling: expected a finite number in"),
        ({"cooling": 1.1}, "cooling: expected a finite number in"),
        ({"free_steps": 0}, "free_steps: expected at least 1, got 0"),
    ],
)
def test_refuses_settings_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        Annealing(bits(2), **settings)


def test_is_a_method_by_name():
    space = bits(3)
    assert searcher("annealing", space) == Annealing(space)
