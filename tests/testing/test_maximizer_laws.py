"""All maximizers obey their laws on every kind of domain, and each planted fault breaks one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.bounded_search import Sampling
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.local_search import LocalSearch, PairSearch
from bostruct.contracts import Maximizer
from bostruct.testing.acquisition_laws import RandomScore, check_maximizer
from tests.permutations import Distant, Permutations, Swaps

SPACE = bo.Space({"a": bool, "b": list("pqrs"), "c": range(6), "d": bo.Integer(-3, 3)})
OWN = np.random.default_rng(7)
LOCAL = LocalSearch(raw_samples=40, num_spray_points=5, num_restarts=5)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("domain", [SPACE, Swaps(5), Distant(4)], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "maximizer",
    [
        LOCAL,
        LocalSearch(40, 5, 5, large_steps=True, most=100),
        LocalSearch(40, 5, 5, distinct=False),
        PairSearch(LOCAL, most=100),
        Evolution(),
        Sampling(100, 10),
    ],
    ids=str,
)
def test_ours_obey(maximizer, domain, rng):
    check_maximizer(maximizer, domain, rng)


def test_random_points_need_nothing_of_a_domain(rng):
    check_maximizer(Sampling(100, 10), Permutations(5), rng)


def test_evolution_from_a_pool_needs_no_starts(rng):
    check_maximizer(Evolution(SPACE.sample(3, rng)), SPACE, rng)


def test_a_random_score_is_a_score(rng):
    score, xs = RandomScore(SPACE, 1, 3, 2.0), SPACE.sample(200, rng)
    assert set(score(xs)) == {0.0, 1.0, 2.0}
    assert np.all(score.upper_bounds(xs) >= score(xs))
    np.testing.assert_array_equal(score(xs[3:5]), score(xs)[3:5])


@dataclass
class Faulty(Maximizer):
    """Random points, but for one fault."""

    fault: str
    n_calls: int = 0

    def __call__(self, score: Any, domain: Any, starts: Any, rng: np.random.Generator) -> Any:
        self.n_calls += 1
        if self.fault == "needs starts" and not len(starts):
            raise ValueError("expected a point")
        if self.fault == "changes the starts" and len(starts):
            starts[0][:] = 0
        if self.fault == "uses identities" and len(starts):
            rng = np.random.default_rng(id(starts[0]))
        if self.fault == "works on arrays alone":
            np.lexsort(starts.T)
        if self.fault == "remembers":
            rng = np.random.default_rng(self.n_calls)
        if self.fault == "draws from its own generator":
            rng = OWN
        if self.fault == "returns points alone":
            return starts
        if self.fault == "draws globally":
            np.random.random()  # noqa: NPY002
        points, info = Sampling(50, 10)(score, domain, starts, rng)
        return self._spoil(score, domain, points, info)

    def _spoil(self, score: Any, domain: Any, points: Any, info: Any) -> Any:
        if self.fault == "repeats":
            points = domain.take(points, [0, 0, 1])
        if self.fault == "returns the worst first":
            points = domain.take(points, range(len(points) - 1, -1, -1))
        if self.fault == "returns nothing":
            points = domain.join()
        if self.fault == "leaves the domain":
            points = points + 100
        if self.fault == "trusts bounds":
            order = np.argsort(-score.upper_bounds(points), kind="stable")
            points = domain.take(points, order)
        if self.fault == "says another score":
            info = info | {"best_score": -1.0}
        if self.fault == "says no JSON":
            info = info | {"best": (1, 2)}
        return points, info


FAULTS = ["needs starts", "changes the starts", "uses identities", "works on arrays alone", "remembers"]
FAULTS += ["draws globally", "repeats", "returns the worst first", "returns nothing", "leaves the domain"]
FAULTS += ["trusts bounds", "says another score", "says no JSON"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_maximizer_fails(fault, rng):
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: "):
        check_maximizer(Faulty(fault), SPACE, rng)


def test_the_faultless_pass(rng):
    check_maximizer(Faulty("none"), SPACE, rng)


@pytest.mark.parametrize("domain", [SPACE, bo.Space({"a": bool, "b": bool})], ids=["large", "four points"])
def test_a_maximizer_with_a_generator_of_its_own_fails(domain):
    for seed in range(5):
        with pytest.raises(AssertionError, match=r"^Faulty breaks the law: the same seed (leads to|scores) the same"):
            check_maximizer(Faulty("draws from its own generator"), domain, np.random.default_rng(seed))


def test_points_without_a_record_fail(rng):
    with pytest.raises(
        AssertionError, match=r"^Faulty breaks the law: a maximizer returns points and their info: got array"
    ):
        check_maximizer(Faulty("returns points alone"), SPACE, rng)
