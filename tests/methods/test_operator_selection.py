"""Adaptive operator selection: where it is used, who is asked after gains and failures, and what is mutated."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods import auto
from bostruct.methods.exploration import OperatorSelection, select_operators
from bostruct.study.history import History

ORDERS = bo.Space({"p": bo.Permutation(range(6)), "b": bool})


def tell(*values):
    """Return a history of random points with these values."""
    return History.of(ORDERS, ORDERS.sample(len(values), np.random.default_rng(0)), values)


def count_mutations(counts, seeds=200):
    """Return how often a mutation is suggested in 200 draws, after so many gains and failures of each."""
    history = tell(3.0, 1.0, 1.0)
    state = {"best": 1.0, "last": None, "counts": counts}
    found = [OperatorSelection()(ORDERS, history, state, np.random.default_rng(seed)) for seed in range(seeds)]
    return sum(one.point is not None for one in found)


def test_orders_without_conditions_have_it_and_no_other_space():
    assert select_operators(ORDERS) == OperatorSelection()
    assert auto(ORDERS).exploration == OperatorSelection()
    assert select_operators(bo.Space({"b": bool, "r": bo.Real(0, 1)})) is None
    assert auto(bo.Space({"b": bool})).exploration is None
    assert auto(bo.Space({"s": bo.Sequence("ab", length=4)})).exploration is None


def test_what_gained_more_often_is_asked_more_often():
    assert count_mutations([[0.0, 20.0], [5.0, 0.0]]) > 190
    assert count_mutations([[5.0, 0.0], [0.0, 20.0]]) < 10
    assert 20 < count_mutations([[0.0, 0.0], [0.0, 0.0]]) < 80  # the model is expected to gain twice as often


def test_the_last_suggestion_is_credited_with_a_better_value():
    rule, rng = OperatorSelection(discount=0.5), np.random.default_rng(0)
    state = rule(ORDERS, tell(3.0), None, rng).state
    assert state["counts"] == [[0.0, 0.0], [0.0, 0.0]]
    last = state["last"]
    state = rule(ORDERS, tell(3.0, 2.0), state, rng).state
    assert state["counts"][last] == [1.0, 0.0]
    last, before = state["last"], state["counts"]
    state = rule(ORDERS, tell(3.0, 2.0, 2.0), state, rng).state
    assert state["counts"][last] == [0.5 * before[last][0], 0.5 * before[last][1] + 1.0]
    assert json.loads(json.dumps(state)) == state


def test_of_equal_best_points_the_last_one_is_mutated():
    history = tell(1.0, 4.0, 1.0)
    state = {"best": 1.0, "last": None, "counts": [[0.0, 50.0], [50.0, 0.0]]}
    for seed in range(20):
        found = OperatorSelection()(ORDERS, history, state, np.random.default_rng(seed))
        assert ORDERS.key(found.point) not in history.seen
        near = set(ORDERS.keys(ORDERS.neighbors(history.completed[2])))
        assert ORDERS.key(found.point) in near


def test_where_no_mutation_is_unseen_the_model_is_asked():
    space = bo.Space({"p": bo.Permutation(["a", "b"])})
    history = History.of(space, np.array([[0, 1], [1, 0]]), [1.0, 1.0])
    state = {"best": 1.0, "last": None, "counts": [[0.0, 50.0], [50.0, 0.0]]}
    found = OperatorSelection()(space, history, state, np.random.default_rng(0))
    assert found.point is None
    assert found.state["last"] == 0


def test_a_record_tells_mutations_from_suggestions_of_the_model_and_says_why():
    result = bo.minimize(lambda point: point["p"][0], ORDERS, 40, seed=0)
    whys = [trial.info["why"] for trial in result.trials if trial.origin == "mutation"]
    assert whys
    assert all("mutations gained" in why for why in whys)
    assert {trial.origin for trial in result.trials} == {"initial", "model", "mutation"}


@pytest.mark.parametrize("discount", [0.0, 1.5, -1.0])
def test_a_discount_outside_of_its_range_is_refused(discount):
    with pytest.raises(ValueError, match=r"discount: expected a finite number in \(0.0, 1.0\], got"):
        OperatorSelection(discount)
