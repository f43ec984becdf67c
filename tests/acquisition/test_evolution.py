"""Evolution on a score: what is scored, what it starts from, and the published numbers of candidates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bostruct.acquisition.evolution import Evolution
from bostruct.contracts import Score
from tests.architectures import GOLDEN, SMALL_CNN
from tests.fakes import StuckDomain


class Counting(Score):
    """A score of architectures that counts: more layers are better, up to a number."""

    def __init__(self, best: int = 14) -> None:
        self.best = best
        self.scored: list[Any] = []

    def __call__(self, xs: Any) -> np.ndarray:
        self.scored += list(xs)
        return -np.abs(np.array([len(x) for x in xs], dtype=np.float64) - self.best)

    def upper_bounds(self, xs: Any) -> np.ndarray:
        del xs
        raise AssertionError("a bound costs as many distances as a score")


def test_every_point_is_scored_once_and_returned_best_first():
    score = Counting()
    starts = [GOLDEN["a"], GOLDEN["s1"], GOLDEN["s1"]]
    found, info = Evolution(SMALL_CNN.pool)(score, SMALL_CNN, starts, np.random.default_rng(0))
    keys = SMALL_CNN.keys(found)
    assert len(set(keys)) == len(keys)
    assert sorted(keys) == sorted(SMALL_CNN.keys(score.scored))
    assert set(SMALL_CNN.keys([*starts, *SMALL_CNN.pool])) <= set(keys)
    best = Counting()(found)
    assert np.all(np.diff(best) <= 0)
    assert info["candidates"] == len(found) <= len(SMALL_CNN.pool) + 50
    assert info["best_score"] == best[0]
    for x in found:
        SMALL_CNN.check(x)


def test_evolution_climbs_and_repeats_exactly():
    score = Counting(16)
    search = Evolution(elite=1, least=100)
    found, _ = search(score, SMALL_CNN, [GOLDEN["a"]], np.random.default_rng(1))
    assert len(found[0]) >= 14 > len(GOLDEN["a"])
    again, _ = search(score, SMALL_CNN, [GOLDEN["a"]], np.random.default_rng(1))
    assert SMALL_CNN.keys(again) == SMALL_CNN.keys(found)


@pytest.mark.parametrize(("t", "children"), [(1, 50), (20, 111), (50, 176), (100, 250), (10_000, 500)])
def test_the_published_number_of_candidates(t, children):
    """clip(25 sqrt(t), 50, 500), in generations of clip(3 sqrt(that), 5, 100)."""
    search = Evolution()
    assert search.children(t) == children
    assert search.generation_size(children) == int(3 * math.sqrt(children))


def test_the_published_search_starts_from_its_pool_alone():
    starts = [GOLDEN["c"]] * 100
    score = Counting()
    Evolution((GOLDEN["a"],), pool_only=True)(score, SMALL_CNN, starts, np.random.default_rng(2))
    assert GOLDEN["c"] not in score.scored
    assert score.scored[0] == GOLDEN["a"]
    assert len(score.scored) > 150  # t is still the number of starts


def test_a_domain_with_no_other_point_ends_the_search():
    found, info = Evolution()(Counting(), StuckDomain(SMALL_CNN), [GOLDEN["a"]], np.random.default_rng(3))
    assert found == [GOLDEN["a"]]
    assert info["candidates"] == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"elite": 0}, "elite"),
        ({"growth": -1.0}, "growth"),
        ({"least": 5, "most": 4}, "most"),
        ({"pool_only": True}, "pool"),
        ({"pool": (GOLDEN["a"],), "pool_only": 1}, "pool_only"),
    ],
)
def test_wrong_settings_of_the_maximizer_are_refused(settings, named):
    with pytest.raises((TypeError, ValueError), match=named):
        Evolution(**settings)


def test_nothing_to_start_from_is_refused():
    with pytest.raises(ValueError, match="starts"):
        Evolution()(Counting(), SMALL_CNN, [], np.random.default_rng(0))
