"""Random search: the searcher laws, and that it is uniform over what is left."""

import random
from collections import Counter

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods import searcher
from bostruct.searchers.baselines import RandomSearch
from bostruct.study.history import History
from bostruct.testing.common import no_global_randomness
from bostruct.testing.searcher_laws import check_searcher
from tests.exhausting import check_exhausts


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def count_true(point: dict) -> float:
    return sum(point.values())


def test_laws(rng):
    check_searcher(RandomSearch, bo.Space({f"x{i}": bool for i in range(10)}), count_true, rng)


def test_visits_all_of_a_small_space_then_says_so(rng):
    check_exhausts(RandomSearch, bo.Space({"a": bool, "b": [1, 2, 3]}), count_true, rng)


def test_every_unseen_point_is_equally_likely(rng):
    space = bo.Space({"a": [0, 1, 2], "b": bool})
    history = History.of(space, space.enumerate()[:2], [0.0, 0.0])
    search = RandomSearch(space)
    drawn = Counter(search.suggest(history, None, rng).point.tobytes() for _ in range(4000))
    assert len(drawn) == 4
    assert sum((count - 1000) ** 2 / 1000 for count in drawn.values()) < 16.3  # chi square, 3 degrees, p = 0.001


def test_is_a_method_by_name():
    space = bo.Space({"a": bool})
    assert searcher("random", space) == RandomSearch(space)
    with pytest.raises(ValueError, match=r"method: expected one of .*random.*; got 'rondom'. Did you mean 'random'\?"):
        searcher("rondom", space)


@pytest.mark.parametrize(
    "draw",
    [lambda: np.random.rand(), lambda: np.random.default_rng(), lambda: random.random()],  # noqa: NPY002
)
def test_the_law_against_global_randomness_can_fail(draw):
    with pytest.raises(AssertionError, match="global random state"), no_global_randomness():
        draw()
