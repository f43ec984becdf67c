"""Simulated annealing of a score: the laws, worse neighbors taken, and settings refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.annealed_search import AnnealedSearch
from bostruct.contracts import Score
from bostruct.testing import check_maximizer

ORDERS = bo.Space({"p": bo.Permutation({"a": 3, "b": 3}, resources={"a": [0, 1, 0], "b": [1, 0, 1]})})
SMALL = AnnealedSearch(raw_samples=20, num_spray_points=5, walks=4, steps=5, neighbors=6)


@pytest.mark.parametrize("space", [ORDERS, bo.Space({"b": bool, "c": list("abc"), "i": range(9)})])
def test_laws(space):
    check_maximizer(SMALL, space, np.random.default_rng(0))


SEED = 6  # of which the candidate drawn is on the low side


class Valley(Score):
    """A score of integers: 0 at its ends, and lower the nearer to the middle."""

    def __call__(self, xs):
        return np.abs(np.asarray(xs)[:, 0] - 50.0) / 50.0 + (np.asarray(xs)[:, 0] > 95)

    def upper_bounds(self, xs):
        return self(xs)


@pytest.mark.parametrize(("temperature", "crosses"), [(0.0, False), (50.0, True)])
def test_a_warm_walk_crosses_a_valley(temperature, crosses):
    space = bo.Space({"i": range(100)})
    search = AnnealedSearch(
        raw_samples=1, num_spray_points=0, walks=2, steps=3_000, neighbors=1, temperature=temperature
    )
    ends, info = search(Valley(), space, space.join(*[space.parse({"i": 10})[None]] * 4), np.random.default_rng(SEED))
    assert (info["best_score"] > 1.5) == crosses
    assert len({x.tobytes() for x in np.asarray(ends)}) == len(ends)


class Cliff(Score):
    """A score of -inf everywhere but at one point, as of points that surely fail."""

    def __call__(self, xs):
        return np.where(np.asarray(xs)[:, 0] == 50, 0.0, -np.inf)

    def upper_bounds(self, xs):
        return self(xs)


@pytest.mark.filterwarnings("error")
def test_walks_where_the_score_has_no_number():
    space = bo.Space({"i": range(100)})
    starts = space.join(space.parse({"i": 50})[None])
    ends, info = AnnealedSearch(raw_samples=5, num_spray_points=0, walks=4, steps=9, neighbors=2)(
        Cliff(), space, starts, np.random.default_rng(0)
    )
    assert info["best_score"] == 0.0
    assert space.present(ends[0]) == {"i": 50}


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"walks": 1}, "walks"), ({"temperature": -1.0}, "temperature"), ({"steps": 0}, "steps")],
)
def test_settings_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        AnnealedSearch(**settings)
