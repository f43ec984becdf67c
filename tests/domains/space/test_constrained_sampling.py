"""Drawing under constraints: the calls of predicates it takes, where its walks begin, and that no draw has a memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.call_limit import MAX_CALLS, call_limit, limit_calls, limit_search, release_calls
from bostruct.domains.space.constraints import valid_mask
from bostruct.domains.space.sampling import find_feasible, random_walk, sample_distinct

Rule = Callable[[dict], bool]


class Counter:
    """Predicates that count how often they are asked."""

    def __init__(self) -> None:
        self.calls = 0

    def rule(self, predicate: Rule) -> Rule:
        def counted(point: dict) -> bool:
            self.calls += 1
            return predicate(point)

        return counted

    def since_last(self) -> int:
        calls, self.calls = self.calls, 0
        return calls


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def fixed_and_parity(counter: Counter) -> bo.Space:
    """21 variables, seven of which are fixed, and a parity: one point in 32,768, and none has a valid neighbor."""
    fixed = {f"c{i}": i % 4 for i in range(7)}
    rules = [lambda p: all(p[name] == value for name, value in fixed.items()), lambda p: sum(p.values()) % 2 == 0]
    return bo.Space({f"c{i}": list(range(4)) for i in range(21)}, list(map(counter.rule, rules)))


def parity_cardinality_budget(counter: Counter) -> bo.Space:
    bits, counts = [f"b{i}" for i in range(30)], [f"c{i}" for i in range(22)]
    rules = [
        lambda p: sum(p[name] for name in bits) % 2 == 0,
        lambda p: sum(p[name] for name in bits) == 4,
        lambda p: sum(p[name] for name in counts) <= 25,
    ]
    variables = dict.fromkeys(bits, bool) | {name: list(range(6)) for name in counts}
    return bo.Space(variables | {"epochs": bo.Fidelity([1, 3, 9])}, list(map(counter.rule, rules)))


def many_choices(counter: Counter) -> bo.Space:
    """Half of the points are valid, but a point has 8,000 neighbors."""
    rules = [lambda p: sum(p.values()) % 2 == 0 or p["c0"] < 100]
    return bo.Space({f"c{i}": list(range(200)) for i in range(40)}, list(map(counter.rule, rules)))


def one_in_a_million_millions(counter: Counter) -> bo.Space:
    """At most one of 40 bits is set: 41 points in 2^40, and draws tilted towards a corner are set to miss it."""
    return bo.Space({f"b{i}": bool for i in range(40)}, [counter.rule(lambda p: sum(hidden(p)) <= 1)])


def hidden(point: dict) -> list[bool]:
    return [value != (i % 3 == 0) for i, value in enumerate(point.values())]


SUGGESTIONS = [
    ("combo", fixed_and_parity, 22),
    ("smbo", fixed_and_parity, 4),
    ("model-based-hyperband", parity_cardinality_budget, 17),
    ("evolution", parity_cardinality_budget, 30),
    pytest.param("combo", many_choices, 21, marks=pytest.mark.slow),
]


class TestCallsOfASuggestion:
    @pytest.mark.parametrize(("method", "make", "n"), SUGGESTIONS)
    def test_at_most_300_000_and_no_point_invalid_or_repeated(self, method, make, n, counter):
        space = make(counter)
        study = bo.Study(space, method=method, seed=3)
        rng, seen = np.random.default_rng(0), set()
        counter.since_last()
        for _ in range(n):
            trial = study.ask()
            assert counter.since_last() <= MAX_CALLS
            key = space.key(space.parse(trial.point))  # parse refuses what breaks a constraint
            assert key not in seen
            seen.add(key)
            study.tell(trial, float(rng.normal()))
            counter.since_last()

    @pytest.mark.parametrize("n_rules", [1, 3, 20])
    def test_a_refusal_takes_no_more_and_is_not_searched_for_again(self, n_rules, counter):
        rules = [counter.rule(lambda p, i=i: p[f"b{i}"] and not p[f"b{i}"]) for i in range(n_rules)]
        study = bo.Study(bo.Space({f"b{i}": bool for i in range(30)}, rules), method="random")
        for most in (MAX_CALLS, 0):
            with pytest.raises(DomainError, match="no valid point was found"):
                study.ask()
            assert counter.since_last() <= most

    def test_many_draws_are_not_all_walked_for(self, counter, rng):
        space = fixed_and_parity(counter)
        assert len(space.sample(20_000, rng)) == 20_000
        assert counter.since_last() <= MAX_CALLS / 2


class TestDraws:
    def test_what_was_asked_before_changes_no_draw(self, counter, rng):
        asked, fresh = fixed_and_parity(counter), fixed_and_parity(counter)
        asked.sample(100, rng)
        asked.sample_unseen(frozenset(asked.keys(asked.sample(50, rng))), rng)
        for space in (asked, fresh):
            with limit_calls():
                space.sample(3, np.random.default_rng(1))
                left = call_limit().left
            assert np.array_equal(space.sample(9, np.random.default_rng(2)), asked.sample(9, np.random.default_rng(2)))
            with limit_calls():
                asked.sample(3, np.random.default_rng(1))
                assert call_limit().left == left  # the survey is charged for, whoever made it

    def test_loose_constraints_are_met_by_uniform_draws_alone(self):
        space = bo.Space({f"b{i}": bool for i in range(30)}, [lambda p: sum(p.values()) % 4 == 0])
        rng, valid = np.random.default_rng(5), np.empty((0, 30), dtype=np.int64)
        while len(valid) < 100:
            drawn = rng.integers(0, 2, size=(max(64, 100 - len(valid)), 30))
            valid = np.concatenate([valid, drawn[drawn.sum(axis=1) % 4 == 0]])
        assert np.array_equal(space.sample(100, np.random.default_rng(5)), valid[:100])
        assert np.array_equal(space.sample_candidates(100, valid[:1], np.random.default_rng(5)), valid[:100])

    def test_candidates_of_walks_are_distinct_and_may_be_fewer(self, counter, rng):
        space = bo.Space({f"b{i}": bool for i in range(30)}, [counter.rule(lambda p: sum(p.values()) == 1)])
        found = space.sample_candidates(20_000, space.sample(1, rng), rng)
        assert len(found) == len(set(space.keys(found))) == 30
        assert valid_mask(space, found).all()

    def test_walks_begin_at_known_points_where_none_is_found(self, counter, rng):
        space = one_in_a_million_millions(counter)
        with pytest.raises(DomainError, match="no valid point was found"):
            space.sample(1, rng)
        known = space.parse({f"b{i}": i % 3 == 0 for i in range(40)})
        found = space.sample_candidates(1_000, known[None], rng)
        assert len(found) == len(set(space.keys(found))) == 41
        seen = frozenset(space.keys(known[None]))
        assert space.key(space.sample_unseen(seen, rng)) not in seen

    @pytest.mark.parametrize(("method", "n"), [("random", 40), ("smbo", 2)])
    def test_a_study_goes_on_from_a_point_that_nobody_would_find(self, method, n, counter):
        study = bo.Study(one_in_a_million_millions(counter), method=method, seed=1)
        study.add({f"b{i}": i % 3 == 0 for i in range(40)}, 1.0)
        asked = set()
        for _ in range(n):
            trial = study.ask()
            asked.add(tuple(trial.point.values()))
            study.tell(trial, float(sum(trial.point.values())))
        assert len(asked) == n
        if n == 40:  # all that there are
            with pytest.raises(bo.SpaceExhausted):
                study.ask()


class TestPredicatesGetCopies:
    @pytest.mark.parametrize("n", [1, 3])
    def test_a_rule_that_changes_a_choice_changes_nothing(self, n, rng):
        def grows(point: dict) -> bool:
            point["layers"].append(1)
            point.pop("x0")
            return True

        variables = {f"x{i}": bool for i in range(20)} | {"layers": [[1], [1, 2], [3]]}
        space = bo.Space(variables, [grows] * n + [lambda p: "x0" in p and len(p["layers"]) <= 2])
        x = space.sample(1, rng)[0]
        for _ in range(3):
            x, _ = random_walk(space, x, 50, rng)
            assert space.count_satisfied_constraints(x[None]).tolist() == [n + 1]
        assert list(space.variables["layers"].choices) == [[1], [1, 2], [3]]


class TestCallLimit:
    def test_a_limit_ends_what_is_drawn_under_it(self, counter, rng):
        space = many_choices(counter)
        x = space.sample(1, rng)[0]
        counter.since_last()
        with limit_calls(6_000, reserved=5_000):
            assert len(space.neighbors(x)) <= 1_000
            assert counter.since_last() == 1_000
            assert not valid_mask(space, x[None])[0]
            with release_calls():
                assert space.survey.calls < 3_000
                assert valid_mask(space, x[None])[0]
            assert counter.since_last() == 1
        assert call_limit().left == math.inf

    def test_a_search_takes_two_thirds_and_gives_back_what_it_leaves(self):
        with limit_calls(400, reserved=100) as limit:
            with limit_search():
                assert limit.left - limit.reserved == 200
            assert limit.left - limit.reserved == 300

    def test_distinct_points_are_found_without_a_limit_around(self, counter, rng):
        space = fixed_and_parity(counter)
        none = np.empty((0, 21), dtype=np.int64)
        assert len(sample_distinct(space, 50, none, rng)) == 50
        survey = find_feasible(space)
        assert survey.calls <= MAX_CALLS
        assert np.array_equal(survey.points, space.survey.points)
        assert not survey.uniform_hits
        assert valid_mask(space, survey.points).all()
