"""Whatever draws from another source than its generator breaks a law, and so does a chance that is not what it says."""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.testing import check_domain
from bostruct.testing.chance_laws import are_plausible, check_chance
from tests.permutations import Distant

OTHER = np.random.default_rng


class Crossed(Distant):
    """Permutations that can be crossed."""

    def crossover(self, x, y, rng):
        return x if rng.random() < 0.5 else y


class OwnGenerator(Crossed):
    def mutate(self, x, rng):
        del rng
        return super().mutate(x, OTHER())


class GlobalCrossover(Crossed):
    def crossover(self, x, y, rng):
        if x != y:
            rng = np.random.default_rng(np.random.randint(9))  # noqa: NPY002
        return super().crossover(x, y, rng)


class OtherNeighbors(Crossed):
    def sample_neighbors(self, x, m, rng):
        del rng
        return super().sample_neighbors(x, m, OTHER())


class Lazy(Crossed):
    def sample_neighbors(self, x, m, rng):
        del rng
        return self.neighbors(x)[:m]


class OneWay(Crossed):
    """The last place is swapped with the one before it only where that brings the larger thing to the end."""

    def neighbors(self, x):
        near = super().neighbors(x)
        return near if x[-2] > x[-1] else near[:-1]


@pytest.mark.parametrize(
    ("faulty", "says"),
    [
        (OwnGenerator, "mutate draws only from the given generator: two equal generators"),
        (GlobalCrossover, "crossover draws only from the given generator: global random state"),
        (OtherNeighbors, "mutate draws only from the given generator: "),
        (Lazy, "sample_neighbors draws neighbors uniformly: of"),
    ],
)
def test_a_domain_with_another_source_of_chance_fails(faulty, says):
    for seed in range(5):
        with pytest.raises(AssertionError, match=rf"^{faulty.__name__} breaks the law: {says}"):
            check_domain(faulty(10), np.random.default_rng(seed), rebuildable=False)


def test_all_points_of_a_small_domain_have_symmetric_neighbors():
    for seed in range(10):
        with pytest.raises(
            AssertionError, match=r"^OneWay breaks the law: (neighbors are symmetric|x has a neighbor y, but)"
        ):
            check_domain(OneWay(4), np.random.default_rng(seed), rebuildable=False)


def test_the_faultless_pass():
    check_domain(Crossed(5), np.random.default_rng(0), rebuildable=False)


def test_a_function_of_its_generator_passes():
    check_chance(lambda rng: rng.integers(100), "it")
    with pytest.raises(AssertionError, match="it draws only from the given generator: two equal generators"):
        check_chance(lambda _: OTHER().integers(100), "it")


def test_counts_are_told_from_chances():
    assert are_plausible([50, 48, 61], 100, 0.5)
    assert not are_plausible([50, 99], 100, 0.5)
    assert not are_plausible([0], 100, 0.5)
