"""In n_halvings a searcher sees fewer values, in the end none, and what it says of points still holds of all."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import PARENT_POSITION
from bostruct.methods.time_limit import FEWEST, choose_values, limit_halvings, suggest_within
from bostruct.searchers.bayesian import Exploration, ExplorationStep
from bostruct.study.history import History

SPACE = bo.Space({f"x{i}": bool for i in range(10)})
N = 220


@pytest.fixture(scope="module")
def history() -> History:
    points = SPACE.enumerate()[np.random.default_rng(0).permutation(SPACE.size)[:N]]
    return History.of(SPACE, points, (points @ np.arange(1.0, 11.0)).tolist())


def suggest(name: str, history: History, n_halvings: int) -> list[bo.contracts.Suggestion]:
    searcher, rng = methods.searcher(name, SPACE), np.random.default_rng(1)
    return list(islice(suggest_within(searcher, history, searcher.initial_state(), rng, n_halvings), 3))


def test_of_the_fewer_values_a_model_may_take_a_part(history: History) -> None:
    searcher = methods.searcher("auto", SPACE)
    model = searcher.surrogate.surrogate
    few = replace(model, quiet=replace(model.quiet, most=40), noisy=replace(model.noisy, most=40))
    searcher = replace(searcher, surrogate=replace(searcher.surrogate, surrogate=few))
    found = next(suggest_within(searcher, history, searcher.initial_state(), np.random.default_rng(1), 1))
    assert found.info["learned_from"] == 40


def test_without_haste_a_searcher_suggests_as_it_does_alone(history: History) -> None:
    searcher = methods.searcher("auto", SPACE)
    alone = searcher.suggest(history, searcher.initial_state(), np.random.default_rng(1))
    found = suggest("auto", history, 0)[0]
    assert (SPACE.key(found.point), found.info) == (SPACE.key(alone.point), alone.info)


@pytest.mark.parametrize(("n_halvings", "n"), [(1, 110), (2, 55)])
def test_a_model_learns_from_half_and_from_a_quarter_of_the_values(history: History, n_halvings: int, n: int) -> None:
    found = suggest("auto", history, n_halvings)
    assert len(found) == 3
    assert all(one.info["learned_from"] == n and one.info["haste"] == n_halvings for one in found)
    assert found[0].info["origin"] == "model"
    assert not history.seen.intersection(SPACE.key(one.point) for one in found)


def test_without_a_model_a_good_point_is_mutated(history: History) -> None:
    (found,) = suggest("auto", history, 3)
    parent = found.info[PARENT_POSITION]
    assert (found.info["origin"], found.info["learned_from"]) == ("mutation", 0)
    assert np.sum(found.point != history.completed[parent]) == 1
    assert history.values[parent] <= np.sort(history.values)[9]
    assert SPACE.key(found.point) not in history.seen


def test_a_parent_is_named_by_its_place_among_all_values(history: History) -> None:
    (found,) = suggest("evolution", history, 1)
    assert np.sum(found.point != history.completed[found.info[PARENT_POSITION]]) == 1


def test_a_point_is_found_where_nothing_has_a_value() -> None:
    (found,) = suggest("auto", History.of(SPACE, (), []), 1)
    assert found.info["origin"] == "random"


def test_half_of_the_values_kept_are_the_best_and_half_the_last() -> None:
    values = np.array([5.0, 1.0, 9.0, 2.0, 8.0, 7.0, 3.0, 6.0])
    assert choose_values(values, 4) == [1, 3, 6, 7]
    assert choose_values(values, 8) == list(range(8))
    assert choose_values(values[::-1], 5) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(("n_halvings", "n", "least"), [(9, 220, 3), (3, 220, 3), (2, 220, 2), (5, 0, 1), (0, 0, 0)])
def test_no_haste_is_greater_than_one_without_a_model(n_halvings: int, n: int, least: int) -> None:
    assert limit_halvings(n_halvings, n) == least
    assert n >> max(least - 1, 0) >= FEWEST or least <= 1


def test_rules_of_exploration_see_all_values_in_haste(history: History) -> None:
    """Each value is better than those before: a rule that counts values of a part of them misses every second one."""
    seen: list[int] = []

    class Count(Exploration):
        def __call__(self, domain, history, state, rng):
            del domain, state, rng
            seen.append(len(history.values))
            return ExplorationStep(None, None)

    searcher = replace(methods.auto(SPACE), exploration=Count())
    for n_halvings in (0, 1, 2):
        list(
            islice(suggest_within(searcher, history, searcher.initial_state(), np.random.default_rng(1), n_halvings), 1)
        )
    assert seen == [N] * 3
