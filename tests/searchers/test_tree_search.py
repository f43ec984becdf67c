"""Tree search on predicted values: it finds the best end more often than random walks, and repeats none."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.language import D, Infeasible, SearchSpace, siso_module, substitution_module
from bostruct.searchers.mcts import TreeSearch

SPACE = bo.Space({f"x{i}": range(4) for i in range(5)})
WEIGHTS = np.array([3.0, 1.0, 2.0, 1.5, 2.5])


def predict(xs):
    return (np.asarray(xs) @ WEIGHTS - 15.0) / 5.0


def test_walks_end_at_smaller_values_than_random_points_do():
    best, drawn = [], []
    for seed in range(20):
        found, values = TreeSearch(0.2)(SPACE, 200, predict, np.random.default_rng(seed))
        assert 150 < len(found) == len(values) == len(set(SPACE.keys(found)))
        assert values == pytest.approx(predict(found))
        best.append(values[100:].mean())
        drawn.append(predict(SPACE.sample(100, np.random.default_rng(seed))).mean())
    assert np.mean(best) < np.mean(drawn) - 0.2


def test_every_end_is_visited_once_then_the_search_stops():
    small = bo.Space({"a": range(3), "b": bool})
    found, _ = TreeSearch()(small, 100, lambda xs: np.zeros(len(xs)), np.random.default_rng(0))
    assert len(found) == 6
    assert set(small.keys(found)) == set(small.keys(small.enumerate()))


def test_dead_ends_are_left_alone():
    def build(dh):
        if dh["n"] % 2:
            raise Infeasible("odd")
        return siso_module("M", {"units": D([1, 2]), "n": dh["n"]})

    space = SearchSpace(lambda: substitution_module("S", build, {"n": D(range(6))}, ["in"], ["out"]))
    found, _ = TreeSearch()(space, 60, lambda xs: np.zeros(len(xs)), np.random.default_rng(0))
    assert len(set(found)) == len(found) == 6


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="exploration"):
        TreeSearch(-1.0)
