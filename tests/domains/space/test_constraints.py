"""Constraints of a space: counted, told, walked and searched under."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.clauses import predicate_name
from bostruct.domains.space.constraints import count_satisfied_rules, satisfies_all, valid_mask
from bostruct.domains.space.sampling import find_unseen_nearby, random_walk, sample_satisfying


def is_even(point: dict[str, Any]) -> bool:
    return sum(point.values()) % 2 == 0


def has_first(point: dict[str, Any]) -> bool:
    return point["b0"]


SPACE = bo.Space({f"b{i}": bool for i in range(4)}, [is_even, has_first])
XS = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]])


def test_rules_are_counted_at_each_point():
    assert count_satisfied_rules(SPACE, XS, SPACE.constraints).tolist() == [2, 1, 1, 0]
    assert count_satisfied_rules(SPACE, XS, [is_even]).tolist() == [1, 0, 1, 0]
    assert valid_mask(SPACE, XS).tolist() == [True, False, False, False]
    assert satisfies_all(SPACE, SPACE.present(XS[0]))


def test_a_rule_that_fails_is_named():
    broken = bo.Space({"a": bool}, [lambda point: point["c"]])
    with pytest.raises(DomainError, match=r"constraint <lambda> failed on \{'a': False\}: KeyError"):
        valid_mask(broken, np.array([[0]]))
    assert predicate_name(is_even) == "is_even"


def test_draws_are_valid_and_reach_every_valid_point():
    drawn = sample_satisfying(SPACE, 200, np.random.default_rng(0))
    assert valid_mask(SPACE, drawn).all()
    assert len(set(SPACE.keys(drawn))) == 4


def test_a_walk_stays_valid_counts_its_moves_and_stops_after_the_most(rng):
    ends = [random_walk(SPACE, XS[0], 50, rng) for _ in range(20)]
    assert valid_mask(SPACE, np.array([x for x, _ in ends])).all()
    assert all(moves > 0 for _, moves in ends)
    assert [random_walk(SPACE, XS[0], 500, rng, max_moves=1)[1] for _ in range(5)] == [1] * 5
    x, moves = random_walk(SPACE, XS[0], 0, rng)
    assert (x.tolist(), moves) == (XS[0].tolist(), 0)


def test_the_nearest_unseen_point_is_found_by_changes_and_swaps():
    exactly_one = bo.Space({f"b{i}": bool for i in range(4)}, [lambda point: sum(point.values()) == 1])
    start, seen = np.array([1, 0, 0, 0]), set[Any]()
    for _ in range(4):
        x = find_unseen_nearby(exactly_one, start, seen)
        assert x is not None
        assert valid_mask(exactly_one, x[None])[0]
        seen.add(exactly_one.key(x))
    assert len(seen) == 4
    assert find_unseen_nearby(exactly_one, start, seen) is None
