"""Random weightings of several objectives."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.contracts import Searcher
from bostruct.goals.pareto import find_nondominated
from bostruct.methods import evolution
from bostruct.searchers.outputs import Scalarized, scalarize
from bostruct.study.history import History
from tests.laws.maxsat import bits

SPACE = bits(6)
NONE = np.zeros((5, 0))
FRONT = np.array([[0.0, 8.0], [1.0, 3.0], [4.0, 2.0], [8.0, 0.0], [9.0, 9.0]])


def test_it_is_the_augmented_chebyshev_norm():
    found = scalarize(np.array([[0.0, 8.0], [4.0, 0.0], [2.0, 4.0]]), np.zeros((3, 0)), np.array([0.25, 0.75]))
    assert found.tolist() == pytest.approx([0.75 * 1.05, 0.25 * 1.05, 0.375 + 0.05 * (0.125 + 0.375)])


@given(st.floats(0.0, 1.0), st.integers(-40, 40), st.floats(-1e3, 1e3))
def test_units_do_not_count_and_the_best_point_is_non_dominated(weight, power, shift):
    weights, scale = np.array([weight, 1.0 - weight]), 2.0**power
    found = scalarize(FRONT, NONE, weights)
    np.testing.assert_allclose(scalarize(scale * FRONT + [0.0, scale * shift], NONE, weights), found, atol=1e-9)
    assert int(np.argmin(found)) in find_nondominated(FRONT)


def test_each_point_of_a_front_is_best_for_some_weights():
    generator = np.random.default_rng(0)
    best = {int(np.argmin(scalarize(FRONT, NONE, weights))) for weights in generator.dirichlet([1.0, 1.0], size=200)}
    assert best == set(find_nondominated(FRONT).tolist())


def test_what_breaks_a_limit_comes_last_and_sets_no_scale():
    violations = np.array([[0.0], [0.0], [-1.0], [2.0], [1.0]])
    weights = np.array([0.5, 0.5])
    wild = FRONT.copy()
    wild[3:] = -1e9
    found = scalarize(wild, violations, weights)
    assert found[:3].max() < found[4] < found[3]
    assert found[:3].tolist() == scalarize(wild[:3], violations[:3], weights).tolist()


def test_the_largest_numbers_are_no_trouble():
    found = scalarize(np.array([[-1.7e308, 1.0], [1.7e308, 0.0]]), np.zeros((2, 0)), np.array([0.9, 0.1]))
    assert found.tolist() == pytest.approx([0.1 * 1.05, 0.9 * 1.05])


def test_the_searcher_sees_another_weighting_each_time():
    seen = []

    class Recorded(Searcher):
        domain = SPACE

        def suggest(self, history, state, rng):
            seen.append(history)
            return evolution(SPACE).suggest(history, state, rng)

    points = SPACE.sample(5, np.random.default_rng(0))
    history = dataclasses.replace(History.of(SPACE, points, np.zeros(5)), objectives=FRONT)
    for seed in (0, 0, 1):
        Scalarized(Recorded()).suggest(history, None, np.random.default_rng(seed))
    assert seen[0].values.tolist() == seen[1].values.tolist() != seen[2].values.tolist()
    assert seen[0].objectives.shape == (5, 1)


def test_it_is_the_searcher_in_all_else():
    searcher = evolution(SPACE)
    both = Scalarized(searcher)
    assert (both.domain, both.settings(), both.initial_state()) == (SPACE, searcher.settings(), None)
    empty = dataclasses.replace(History.of(SPACE, SPACE.join(), []), objectives=np.zeros((0, 2)))
    assert both.suggest(empty, None, np.random.default_rng(0)).info == {"origin": "initial"}
