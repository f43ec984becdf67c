"""Searchers that obey the laws pass, and a searcher with one fault breaks one; ours are checked beside their tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Searcher, SpaceExhausted, Suggestion
from bostruct.searchers.baselines import RandomSearch
from bostruct.testing.searcher_laws import check_searcher
from tests.exhausting import check_exhausts

VARIABLES = {"a": bool, "b": ["p", "q", "r", "s"], "c": range(6)}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@dataclass(frozen=True)
class Faulty(Searcher):
    """Random search, but for one fault."""

    domain: Any
    fault: str
    memory: list[int]

    def settings(self):
        return {}

    def initial_state(self):
        return {"n": 0}

    def suggest(self, history, state, rng):
        self.memory.append(1)
        info: dict[str, Any] = {"origin": "random"}
        x = self.domain.sample_unseen(history.seen, rng)
        if self.fault == "repeats" and len(history.completed):
            x = history.completed[0]
        if self.fault == "invalid":
            x = x + 100
        if self.fault == "remembers" and len(self.memory) % 2:
            x = self.domain.sample_unseen(history.seen, rng)
        if self.fault == "global":
            np.random.random()  # noqa: NPY002
        if self.fault == "ignores its generator":
            x = self.domain.sample_unseen(history.seen, np.random.default_rng(0))
        if self.fault == "unseeded":
            x = self.domain.sample_unseen(history.seen, np.random.default_rng())
        if self.fault == "changes its state":
            state["n"] += 1
        if self.fault == "changes the history" and len(history.values):
            history.values[0] = 0.0
        if self.fault == "tuple":
            state = {"n": (1, 2)}
        if self.fault == "says nothing":
            info = {}
        if self.fault == "gives no reason":
            info = {"origin": "fallback"}
        if self.fault == "a plain tuple":
            return (x, state, info)
        return Suggestion(x, state, info)


FAULTS = (
    "repeats",
    "invalid",
    "remembers",
    "global",
    "ignores its generator",
    "unseeded",
    "changes its state",
    "changes the history",
    "tuple",
    "says nothing",
    "gives no reason",
    "a plain tuple",
)


def total(point: dict) -> float:
    return point["a"] + point["c"] + (point["b"] == "p")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_searcher_fails(fault, rng):
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: "):
        check_searcher(lambda domain: Faulty(domain, fault, []), bo.Space(VARIABLES), total, rng)


def test_the_faultless_pass(rng):
    check_searcher(lambda domain: Faulty(domain, "none", []), bo.Space(VARIABLES), total, rng)
    check_searcher(RandomSearch, bo.Space(VARIABLES), total, rng)


def test_a_searcher_that_stops_early_fails(rng):
    @dataclass(frozen=True)
    class Early(RandomSearch):
        def suggest(self, history, state, rng):
            if len(history.seen) == 5:
                self.domain.sample_unseen(frozenset(self.domain.keys(self.domain.enumerate())), rng)
            return RandomSearch.suggest(self, history, state, rng)

    with pytest.raises(SpaceExhausted):
        check_exhausts(Early, bo.Space({"a": bool, "b": ["p", "q", "r", "s"]}), lambda p: p["a"], rng)


def test_a_searcher_that_repeats_points_of_a_full_domain_fails(rng):
    @dataclass(frozen=True)
    class Restless(RandomSearch):
        def suggest(self, history, state, rng):
            if len(history.seen) >= self.domain.size:
                return Suggestion(history.completed[0], state, {"origin": "random"})
            return RandomSearch.suggest(self, history, state, rng)

    with pytest.raises(
        AssertionError, match=r"^Restless breaks the law: suggest raises SpaceExhausted once every point has been seen"
    ):
        check_searcher(Restless, bo.Space(VARIABLES), total, rng)
    check_searcher(Restless, bo.Space({**VARIABLES, "d": range(100)}), total, rng)  # too large to list


def test_what_is_no_subclass_and_a_number_of_points_that_is_none_fail(rng):
    class Thing:
        domain = bo.Space(VARIABLES)

    with pytest.raises(
        AssertionError, match=r"^Thing breaks the law: a searcher is a bostruct.contracts.Searcher: subclass it"
    ):
        check_searcher(lambda _: Thing(), Thing.domain, total, rng)

    class Uncounted(RandomSearch):
        n_initial = "ten"

    with pytest.raises(AssertionError, match=r"^Uncounted breaks the law: n_initial is a number of points: got 'ten'"):
        check_searcher(Uncounted, bo.Space(VARIABLES), total, rng)


def test_a_tuple_that_is_no_suggestion_is_named(rng):
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: suggest returns a Suggestion: got tuple "):
        check_searcher(lambda domain: Faulty(domain, "a plain tuple", []), bo.Space(VARIABLES), total, rng)


class Joint(RandomSearch):
    """Random search whose joint suggestions have one fault, or none."""

    fault = ""

    def suggest_jointly(self, history, state, rng):
        first = self.suggest(history, state, rng)
        if self.fault == "first":
            first = self.suggest(history, state, rng)
        yield first
        second = self.domain.sample_unseen({*history.seen, self.domain.key(first.point)}, rng)
        repeated = {"twice": first.point, "seen": history.completed[0]}.get(self.fault, second)
        yield first._replace(point=repeated, info={"origin": "random", "odd": (1,)} if self.fault == "info" else {})


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("first", "the first joint suggestion is the suggestion of suggest"),
        ("twice", "joint suggestions differ from each other"),
        ("seen", "joint suggestions were not seen before"),
        ("info", "survive JSON"),
    ],
)
def test_a_fault_of_joint_suggestions_is_found(fault, law, rng):
    class OneFault(Joint):
        pass

    OneFault.fault = fault
    with pytest.raises(AssertionError, match=law):
        check_searcher(OneFault, bo.Space(VARIABLES), total, rng)


def test_joint_suggestions_without_fault_pass(rng):
    check_searcher(Joint, bo.Space(VARIABLES), total, rng)
