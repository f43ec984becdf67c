"""Points beside another one are the best that there are, once those before them are believed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Array, Batch, Score
from bostruct.searchers.bayesian import MOST_JOINT, select_batch
from bostruct.searchers.proposals import neighbors_of

SPACE = bo.Space({f"x{i}": bool for i in range(6)})
POINTS = SPACE.enumerate()
RNG = np.random.default_rng(0)


class Hill(Score):
    """A score that falls with the distance to the one maximum, and near points that run."""

    def __init__(self, running: Batch = ()) -> None:
        self.running = running

    def __call__(self, xs: Batch) -> Array:
        xs = np.asarray(xs)
        near = sum((np.sum(xs != one, axis=1) <= 1 for one in self.running), np.zeros(len(xs)))
        return -np.sum(xs, axis=1) - 10.0 * near + 0.01 * xs @ np.arange(6)

    def upper_bounds(self, xs: Batch) -> Array:
        return self(xs)

    def believe(self, xs: Batch) -> Hill:
        return Hill([*self.running, *xs])


def choose(maxima: Batch, seen: Any = frozenset(), score: Any = None) -> Batch:
    around = lambda x: neighbors_of(SPACE, x, RNG)  # noqa: E731
    return list(select_batch(POINTS[0], maxima, score or Hill(), SPACE, seen, around))


def test_each_is_a_maximum_once_those_before_it_run() -> None:
    found = choose(POINTS[:1])
    assert len(found) == MOST_JOINT - 1
    for place, x in enumerate(found):
        score = Hill([POINTS[0], *found[:place]])
        around = neighbors_of(SPACE, x, RNG)
        known = {SPACE.key(one) for one in [POINTS[0], *found[:place]]}
        new = [one for one in around if SPACE.key(one) not in known]
        assert score([x])[0] >= max(score(new))


def test_another_maximum_of_the_search_is_taken_where_it_is_better() -> None:
    far = POINTS[-1]
    assert SPACE.key(choose([POINTS[0], far], score=Hill([POINTS[0]] * 9))[0]) != SPACE.key(POINTS[0])
    found = choose([far], seen={SPACE.key(x) for x in POINTS} - {SPACE.key(far)})
    assert [SPACE.key(x) for x in found] == [SPACE.key(far)]


def test_points_are_new_and_keys_that_come_meanwhile_count() -> None:
    seen = {SPACE.key(x) for x in POINTS[:10]}
    beside = select_batch(POINTS[0], POINTS[:1], Hill(), SPACE, seen, lambda x: neighbors_of(SPACE, x, RNG))
    found = [next(beside)]
    seen |= {SPACE.key(x) for x in POINTS[:40]}
    found += beside
    keys = [SPACE.key(x) for x in found]
    assert len(set(keys)) == len(keys)
    assert not {SPACE.key(x) for x in POINTS[:10]}.intersection(keys)
    assert not {SPACE.key(x) for x in POINTS[:40]}.intersection(keys[1:])


@pytest.mark.parametrize("n", [0, 1])
def test_where_nothing_is_left_there_is_nothing_beside(n: int) -> None:
    seen = {SPACE.key(x) for x in POINTS[n:]}
    assert len(choose(POINTS[:1], seen)) == 0


def test_of_many_points_around_some_of_each_kind_are_looked_at() -> None:
    wide = bo.Space({"a": range(500), "b": range(500)})
    looked: list[int] = []

    class Counted(Hill):
        def __call__(self, xs: Batch) -> Array:
            looked.append(len(xs))
            return -np.sum(np.asarray(xs), axis=1).astype(float)

        def believe(self, xs: Batch) -> Hill:
            del xs
            return self

    score = Counted()
    first = wide.sample(1, RNG)
    found = list(select_batch(first[0], first, score, wide, frozenset(), lambda x: neighbors_of(wide, x, RNG)))
    assert max(looked) <= 200 * MOST_JOINT
    assert np.sum(found[0]) < np.sum(first[0])
