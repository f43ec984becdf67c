"""Selection of parents: chances, the order of the fitness, and the published rules."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bostruct.acquisition.evolution import Aging, ByRank, by_fitness, uniform

SELECTIONS = [ByRank(), ByRank(0.02), by_fitness, uniform, Aging(), Aging(5, 2), Aging(5, 2, replacement=False)]


FITNESS = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e150, 1e150))


@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda selection: getattr(selection, "__name__", str(selection)))
@given(fitness=FITNESS)
def test_chances_are_chances(selection, fitness):
    fitness.flags.writeable = False
    chances = selection(fitness)
    assert chances.shape == fitness.shape
    assert np.all(chances >= 0.0)
    assert chances.sum() == pytest.approx(1.0)


@given(fitness=FITNESS)
def test_the_fitter_has_the_better_chance(fitness):
    for selection in (ByRank(), by_fitness):
        chances = selection(fitness)
        order = np.argsort(fitness, kind="stable")
        assert np.all(np.diff(chances[order]) >= -1e-15)
    by_rank = ByRank()(fitness)
    for value in set(fitness.tolist()):
        assert np.ptp(by_rank[fitness == value]) <= 1e-15


def test_ranks_forget_all_but_the_order():
    fitness = np.array([3.0, -1.0, 7.0, 0.5])
    np.testing.assert_array_equal(ByRank()(fitness), ByRank()(np.array([5.0, -1e150, 1e150, 4.9])))
    assert ByRank(0.5)(fitness)[[2, 0]] == pytest.approx(
        np.array([1.0, math.exp(-0.5)]) / sum(np.exp(-np.arange(4) / 2))
    )


def test_the_published_chances():
    fitness = np.array([0.0, 1.0, 5.0])
    expected = np.exp((fitness - 2.0) / (2.0 * np.std(fitness)))
    np.testing.assert_allclose(by_fitness(fitness), expected / expected.sum())
    np.testing.assert_array_equal(
        by_fitness(np.full(4, 1e-261)), np.full(4, 0.25)
    )  # where the released code divides by 0


@pytest.mark.parametrize(("population", "tournament"), [(4, 3), (3, 1), (5, 2)])
def test_the_chances_of_a_tournament_are_those_of_all_its_draws(population, tournament):
    fitness = np.array([9.0, 2.0, 5.0, 3.0, 4.0])
    alive = range(5 - population, 5)
    wins = np.zeros(5)
    for drawn in product(alive, repeat=tournament):
        wins[max(drawn, key=lambda i: fitness[i])] += 1
    np.testing.assert_allclose(Aging(population, tournament)(fitness), wins / wins.sum(), atol=1e-15)


@pytest.mark.parametrize(("population", "tournament"), [(5, 2), (4, 3), (3, 1), (3, 9)])
def test_the_chances_of_a_tournament_of_distinct_points_are_those_of_all_its_draws(population, tournament):
    fitness = np.array([9.0, 2.0, 5.0, 3.0, 4.0])
    wins = np.zeros(5)
    for drawn in combinations(range(5 - population, 5), min(tournament, population)):
        wins[max(drawn, key=lambda i: fitness[i])] += 1
    np.testing.assert_allclose(Aging(population, tournament, replacement=False)(fitness), wins / wins.sum(), atol=1e-15)


def test_the_chance_of_the_best_of_100_in_a_tournament_of_25():
    fitness = np.arange(100.0)
    assert Aging()(fitness)[-1] == pytest.approx(0.222, abs=5e-4)  # 1 - 0.99^25
    assert Aging(replacement=False)(fitness)[-1] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("make", "named"),
    [(lambda: ByRank(0.0), "share"), (lambda: Aging(0, 3), "population"), (lambda: Aging(3, 0), "tournament")],
)
def test_wrong_settings_of_a_selection_are_refused(make, named):
    with pytest.raises(ValueError, match=named):
        make()
