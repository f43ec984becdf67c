"""Pairs of changes lead on from where no single change is better, to valid points, none below the other search's."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings

import bostruct as bo
from bostruct.acquisition.local_search import LocalSearch, PairSearch
from bostruct.contracts import Score
from tests.fakes import TableScore
from tests.strategies import constrained_spaces, rngs

ONE = LocalSearch(raw_samples=1, num_spray_points=0, num_restarts=1)


class Packing(Score):
    """The worth of the items that are packed, less much for each one over three."""

    def __init__(self, worth: np.ndarray) -> None:
        self.worth = worth

    def __call__(self, xs):
        xs = np.asarray(xs)
        return xs @ self.worth - 1_000.0 * np.maximum(xs.sum(axis=1) - 3, 0)

    def upper_bounds(self, xs):
        return self(xs)


def test_one_item_for_another_is_found_where_neither_alone_is_better():
    space, stuck = bo.Space({f"b{i}": bool for i in range(12)}), 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        score, starts = Packing(rng.uniform(1.0, 2.0, size=12)), space.sample(0, rng)
        best = max(score.worth[list(own)].sum() for own in itertools.combinations(range(12), 3))
        singly, _ = ONE(score, space, starts, np.random.default_rng(seed))
        stuck += bool(score(singly)[0] < best - 1e-9)
        found, info = PairSearch(ONE)(score, space, starts, np.random.default_rng(seed))
        assert score(found)[0] == info["best_score"] == pytest.approx(best)
    assert stuck >= 5


def test_no_more_pairs_are_looked_at_than_asked_for():
    space, rng = bo.Space({f"b{i}": bool for i in range(30)}), np.random.default_rng(0)
    for most in (1, 7, 100):
        _, info = PairSearch(ONE, most=most, steps=1)(Packing(np.ones(30)), space, space.sample(0, rng), rng)
        assert 0 < info["pairs"] <= most + 30  # about that many: as many for each change


@given(constrained_spaces(4), rngs())
@settings(deadline=None, max_examples=25)
def test_what_is_found_is_valid_in_order_each_once_and_no_worse(space, rng):
    if np.prod(space.n_choices) > 10_000:
        return
    score = TableScore.draw(space.n_choices, rng)
    seed = int(rng.integers(2**32))
    starts = space.sample(1, rng)
    begun, _ = ONE(score, space, starts, np.random.default_rng(seed))
    found, info = PairSearch(ONE)(score, space, starts, np.random.default_rng(seed))
    for x in found:
        space.check(x)
    scores = score(found)
    assert len(set(space.keys(found))) == len(found)
    assert scores[0] == info["best_score"]
    assert np.all(np.diff(scores) <= 0.0)
    assert set(space.keys(begun)) <= set(space.keys(found))
    json.dumps(info)


@pytest.mark.parametrize("name", ["most", "steps", "kept"])
def test_settings_are_positive_integers(name):
    with pytest.raises(ValueError, match=name):
        PairSearch(ONE, **{name: 0})
