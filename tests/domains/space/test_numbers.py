"""Reals and integers of any range: searched by the methods that can, refused by name by the others, kept by files."""

import math
from functools import cache

import numpy as np
import pytest
import sklearn.ensemble  # noqa: F401  # importing it draws random names, which the laws would blame on a searcher

import bostruct as bo
from bostruct import methods
from bostruct.contracts import DomainError
from bostruct.testing.searcher_laws import check_searcher

REALS = bo.Space(
    {"rate": bo.Real(1e-4, 1e-1, log=True), "x": bo.Real(-5, 5), "kind": ["a", "b"]}, [lambda p: p["x"] < 4.0]
)
INTEGERS = bo.Space({"batch": bo.Integer(1, 100_000, log=True), "n": bo.Integer(-3_000, 3_000), "kind": ["a", "b"]})
SEARCHING = ["random", "annealing", "hill-climbing", "evolution", "regularized-evolution", "wrs"]


def cost_of_reals(point):
    return (math.log10(point["rate"]) + 2.5) ** 2 + (point["x"] - 1.234) ** 2 + (point["kind"] == "a")


def cost_of_integers(point):
    return (math.log10(point["batch"]) - 2.0) ** 2 + abs(point["n"] - 1_234) / 1_000 + (point["kind"] == "a")


CASES = {  # a space, its objective, and what methods that take choices alone cannot search
    "reals": (REALS, cost_of_reals, "the Real variable 'rate' and the Real variable 'x', unless .*; auto, .* can"),
    "integers": (INTEGERS, cost_of_integers, "the Integer variable 'batch' of more than .*; auto,"),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("method", SEARCHING)
def test_searchers(kind, method, rng):
    space, objective, _ = CASES[kind]
    n_trials = 45 if method == "wrs" else 25  # some more than each method draws before it begins
    check_searcher(methods.METHODS[method], space, objective, rng, n_trials=n_trials)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("method", ["combo", "bocs", "smbo", "mcts"])
def test_methods_without_a_place_for_them_refuse_by_name(kind, method):
    space, objective, named = CASES[kind]
    with pytest.raises(DomainError, match=f"method: .* cannot search {named}"):
        bo.minimize(objective, space, 5, method=method)


@pytest.mark.parametrize("method", [m for m in SEARCHING if m != "random"])
def test_methods_beat_random_search_on_reals(method):
    assert median_best(method) < 0.7 * median_best("random")


@cache
def median_best(method):
    return np.median([bo.minimize(cost_of_reals, REALS, 100, method=method, seed=s).best_value for s in range(5)])


@pytest.mark.parametrize("method", ["smac", "auto"])
def test_models_find_integers_that_random_search_does_not(method):
    ours, theirs = (
        bo.minimize(cost_of_integers, INTEGERS, 30, method=m, seed=1).best_value for m in (method, "random")
    )
    assert ours < 0.5 * theirs


FREE = bo.Space({"x": bo.Real(1e-3, 10.0, log=True), "y": bo.Real(-1, 1)})
STUDIES = {
    "reals": (FREE, lambda point: point["x"] + point["y"], "wrs", 45, 50),
    "integers": (INTEGERS, cost_of_integers, "auto", 14, 16),
}


@pytest.mark.parametrize("kind", STUDIES)
def test_studies_keep_them(kind, tmp_path):
    space, objective, method, n, more = STUDIES[kind]
    with bo.Study(space, method=method, seed=0, storage=tmp_path / "runs.db") as study:
        study.optimize(objective, n)
        trials = study.trials
    with bo.Study.load(tmp_path / "runs.db") as again:
        assert again.trials == trials
        assert again.optimize(objective, more).n_completed == more
        assert list(bo.importance(again).main) == list(space.variables)
