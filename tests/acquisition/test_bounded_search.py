"""Pruning is exact: what it finds is what scoring everything finds, ties by lowest index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bostruct.acquisition.bounded_search import best, best_of_each, best_of_each_unpruned
from tests.fakes import TableScore
from tests.laws.maxsat import bits

ROWS = bits(1)  # takes rows of any batch of numbers


@st.composite
def scored(draw: st.DrawFn):
    """Scores with many ties, and bounds that hold: some exactly, some loosely, some infinite."""
    m = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.integers(1, 6))
    scores = rng.integers(0, levels, m).astype(float)
    if draw(st.booleans()):
        scores[rng.random(m) < 0.2] = -np.inf
    loose = rng.integers(0, draw(st.integers(1, 5)), m)
    slack = np.where(loose > 0, np.maximum(loose, 1) * draw(st.sampled_from([0.0, 0.5, 1.0, np.inf])), 0.0)
    slack[np.isinf(scores)] = 0.0
    bounds = np.where(np.isinf(scores) & (rng.random(m) < 0.5), 2.0, scores + slack)
    return scores, bounds, rng


class Bounded(TableScore):
    """A score of points (m, 1) that are their own indices."""

    def __init__(self, scores, bounds) -> None:
        super().__init__(np.array([len(scores)]), scores, np.zeros(len(scores)))
        self.bounds = bounds

    def upper_bounds(self, xs):
        return self.bounds[np.asarray(xs)[:, 0]]


@given(scored(), st.integers(1, 40))
@settings(deadline=None, max_examples=200)
def test_best_equals_full_scoring(problem, k):
    scores, bounds, _ = problem
    score = Bounded(scores, bounds)
    chosen, found = best(score, ROWS, np.arange(len(scores))[:, None], k)
    expected = np.lexsort((np.arange(len(scores)), -scores))[:k]
    np.testing.assert_array_equal(chosen, expected)
    np.testing.assert_array_equal(found, scores[expected])
    assert len(score.scored) == len(set(score.scored)), "a point was scored twice"


@given(scored(), st.integers(1, 8))
@settings(deadline=None, max_examples=200)
def test_best_of_each_equals_full_scoring(problem, n_groups):
    scores, bounds, rng = problem
    group = rng.integers(0, n_groups, len(scores))  # in any order, some of them empty
    floor = rng.integers(-1, 4, n_groups).astype(float)
    score = Bounded(scores, bounds)
    points = np.arange(len(scores))[:, None]
    winner, top, share = best_of_each(score, ROWS, points, group, n_groups, floor)
    for g in range(n_groups):
        own = np.flatnonzero(group == g)
        highest = scores[own].max(initial=-np.inf)
        if highest > floor[g]:
            assert winner[g] == own[np.argmax(scores[own])]
            assert top[g] == highest
        else:
            assert winner[g] == -1
            assert top[g] == floor[g]
    assert len(score.scored) == len(set(score.scored)), "a point was scored twice"
    assert share == len(score.scored) / len(scores)
    at_once = best_of_each_unpruned(score, points, group, n_groups, floor)
    np.testing.assert_array_equal(at_once[0], winner)
    np.testing.assert_array_equal(at_once[1], top)


def test_level_points_of_lower_index_win_over_those_that_promised_more():
    """The first block of scores goes to points whose bound is loose; all turn out level with points before them."""
    scores, bounds = np.zeros(100), np.zeros(100)
    bounds[60:] = 1.0
    chosen, _ = best(Bounded(scores, bounds), ROWS, np.arange(100)[:, None], 40)
    assert chosen.tolist() == list(range(40))


def test_no_points_at_all():
    none = np.empty((0, 1), dtype=np.int64)
    score = Bounded(np.empty(0), np.empty(0))
    chosen, found = best(score, ROWS, none, 5)
    assert len(chosen) == len(found) == 0
    winner, top, _ = best_of_each(score, ROWS, none, np.empty(0, dtype=np.int64), 2, np.array([0.5, -1.0]))
    assert winner.tolist() == [-1, -1]
    assert top.tolist() == [0.5, -1.0]


@pytest.mark.parametrize("n_loose", [0, 1_000, 3_000, 9_000])
@pytest.mark.parametrize("levels", [4, 1_000_000])
def test_best_of_many_equals_full_scoring(n_loose, levels):
    """Of many points the first bounds alone are sorted, which are not enough where many bounds are loose or equal."""
    rng = np.random.default_rng(n_loose)
    scores = rng.integers(0, levels, 10_000) / levels
    bounds = scores.copy()
    bounds[rng.permutation(10_000)[:n_loose]] += 2.0
    score = Bounded(scores, bounds)
    chosen, _ = best(score, ROWS, np.arange(10_000)[:, None], 20)
    np.testing.assert_array_equal(chosen, np.argsort(-scores, kind="stable")[:20])
    assert len(score.scored) == len(set(score.scored)), "a point was scored twice"


def test_no_point_of_a_block_is_scored_that_cannot_win():
    """After the first block of 32 scores, ten of the next 128 points may still be better than the best."""
    scores, bounds = np.zeros(1_000), np.full(1_000, 0.5)
    scores[0], bounds[:42] = 1.0, 2.0
    score = Bounded(scores, bounds)
    assert best(score, ROWS, np.arange(1_000)[:, None], 1)[0].tolist() == [0]
    assert len(score.scored) == 42


def test_exact_bounds_spare_nearly_all_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    score = Bounded(scores, scores.copy())
    best(score, ROWS, np.arange(20_000)[:, None], 20)
    assert len(score.scored) <= 64


def test_a_large_tie_class_costs_no_more_than_the_points_that_it_yields():
    """Where nearly all points are worth exactly what their bound says, the first of them are enough."""
    scores = np.full(20_000, 0.25)
    scores[::1000] = 0.5
    score = Bounded(scores, scores.copy())
    chosen, _ = best(score, ROWS, np.arange(20_000)[:, None], 25)
    assert chosen.tolist() == [*range(0, 20_000, 1000), 1, 2, 3, 4, 5]
    assert len(score.scored) <= 64
