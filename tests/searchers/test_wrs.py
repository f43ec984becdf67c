"""Weighted random search: its probabilities, its modes, the laws of searchers, and that it is worth running."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bostruct as bo
from bostruct import language as lang
from bostruct.language import SearchSpace
from bostruct.methods import wrs
from bostruct.searchers.wrs import WeightedRandomSearch, wrs_trials
from bostruct.study.history import History
from bostruct.testing.searcher_laws import check_searcher
from examples.language_figures import figure_4
from tests.domains.language.more_programs import layers_of_kinds, shallow_and_wide
from tests.exhausting import check_exhausts

SPACE = bo.Space({"a": range(20), "b": range(20), "c": range(20), "d": ["x", "y"]})
MODES = ("shared", "independent", "single")


def objective(point):
    return abs(point["a"] - 13) + 0.3 * abs(point["b"] - 4) + 0.01 * point["c"]


def told(space, n=40, seed=0):
    xs = space.sample(n, np.random.default_rng(seed))
    return History.of(space, xs, [objective(space.present(x)) for x in xs])


@pytest.mark.parametrize("mode", MODES)
def test_laws(mode):
    def make(domain):
        return wrs(domain, 8, mode)

    check_searcher(make, SPACE, objective, np.random.default_rng(0), n_trials=14)
    check_searcher(make, SearchSpace(figure_4), shallow_and_wide, np.random.default_rng(1), n_trials=11)
    small = bo.Space({"a": range(4), "b": ["x", "y"], "c": bool}, [lambda p: p["a"] > 0 or p["c"]])
    check_exhausts(make, small, lambda p: p["a"] + p["c"], np.random.default_rng(2))


def changed(mode, weights, n=400, **settings):
    """How often each variable differs from the incumbent, over n suggestions."""
    search = dataclasses.replace(wrs(SPACE, 10, mode), **settings)
    history = told(SPACE)
    best = history.completed[int(np.argmin(history.values))]
    moved = [search.suggest(history, weights, np.random.default_rng(seed)).point != best for seed in range(n)]
    return np.array(moved)


WEIGHTS = {"a": 0.8, "b": 0.4, "c": 0.08, "d": 0.0}


def test_published_mode_changes_a_prefix_of_the_variables_by_importance():
    moved = changed("shared", WEIGHTS)
    np.testing.assert_allclose(moved.mean(axis=0)[:2], [0.95, 0.475], atol=0.07)  # a redraw may give the same again
    assert np.mean(moved[:, 2] & ~(moved[:, 0] & moved[:, 1])) < 0.03
    assert 0.04 < moved[:, 2].mean() < 0.16


def test_independent_mode_changes_each_by_itself():
    moved = changed("independent", WEIGHTS)
    np.testing.assert_allclose(moved.mean(axis=0)[:3], [0.95, 0.475, 0.095], atol=0.08)


def test_single_mode_changes_one_variable():
    moved = changed("single", WEIGHTS)
    assert set(moved.sum(axis=1).tolist()) == {1}
    np.testing.assert_allclose(moved.mean(axis=0), np.array([1.0, 0.5, 0.1, 0.01]) / 1.61, atol=0.08)


def test_without_importances_all_variables_change():
    assert changed("shared", dict.fromkeys(WEIGHTS, 0.0)).mean(axis=0)[:3].min() > 0.9


def test_variables_change_in_every_step_until_their_least_number_of_trials():
    assert changed("shared", WEIGHTS, least={"c": 41}).mean(axis=0)[2] > 0.9
    assert changed("shared", WEIGHTS, least={"c": 40}).mean(axis=0)[2] < 0.2


def test_weights_are_learned_once_and_find_what_matters():
    search = wrs(SPACE, 10)
    first = search.suggest(told(SPACE, 60), None, np.random.default_rng(0))
    assert list(first.state) == ["a", "b", "c", "d"]
    assert first.state["a"] > 3 * first.state["b"] > 3 * first.state["c"]
    second = search.suggest(told(SPACE, 61), first.state, np.random.default_rng(1))
    assert second.state == first.state


def test_choices_that_no_trial_had_are_drawn():
    space = SearchSpace(layers_of_kinds)
    result = bo.minimize(
        lambda p: -len(p) - sum(n.values.get("units", 0) for n in p.nodes),
        space,
        40,
        method=wrs(space, 12),
        seed=0,
    )
    assert result.best_value <= -11


def test_it_beats_random_search():
    seeds = range(16)
    ours = [bo.minimize(objective, SPACE, 60, method=wrs(SPACE, wrs_trials(60)), seed=s).best_value for s in seeds]
    theirs = [bo.minimize(objective, SPACE, 60, method="random", seed=s).best_value for s in seeds]
    assert np.mean(ours) < 0.7 * np.mean(theirs)
    assert sum(a < b for a, b in zip(ours, theirs, strict=True)) >= 12


def test_the_first_phase_is_as_published():
    assert [wrs_trials(n) for n in (1000, 300, 2)] == [368, 110, 2]


@pytest.mark.parametrize(("name", "value"), [("n_random", 1), ("mode", "both"), ("floor", 0.0), ("least", {"a": -1})])
def test_wrong_settings_are_refused_by_name(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        dataclasses.replace(WeightedRandomSearch(SPACE, lambda *_: {}), **{name: value})


def first_weights(space, loss):
    """Return the weights that the search takes from its first phase, 60 random points."""
    xs = space.sample(60, np.random.default_rng(0))
    history = History.of(space, xs, [loss(space.present(x)) for x in xs])
    return wrs(space, 60).suggest(history, None, np.random.default_rng(0)).state


def test_a_variable_under_a_condition_gets_no_weight_for_its_absence():
    space = bo.Space({"kind": ["a", "b"], "x": bo.Ordinal(range(6), when={"kind": "a"}), "y": range(6)})
    weights = first_weights(space, lambda point: 10.0 * (point["kind"] == "b") + point["y"])
    assert weights["kind"] > 0.8
    assert weights["y"] > 0.05
    assert weights["x"] < 0.01  # over independent variables it would have 0.28


def deep_or_plain():
    deep = lambda: lang.siso_module("Deep", {"x": lang.D(range(200))})  # noqa: E731
    return lang.siso_or({"deep": deep, "plain": lambda: lang.siso_module("Plain", {})}, lang.D(["deep", "plain"]))


def test_a_choice_that_some_programs_have_gets_no_weight_for_its_absence():
    space = SearchSpace(deep_or_plain)
    xs = space.sample(60, np.random.default_rng(0))
    values = [10.0 * (len(x) == 1) for x in xs]  # a plain one has one choice
    state = wrs(space, 60).suggest(History.of(space, xs, values), None, np.random.default_rng(0)).state
    assert state["SISOOr-0.idx"] > 0.99
    assert state["SISOOr-0[deep]/Deep-0.x"] < 0.01


def test_where_all_points_have_the_same_choices_nothing_is_drawn(monkeypatch):
    def refuse(*_):
        raise AssertionError("points were drawn")

    history = told(SPACE)
    monkeypatch.setattr(bo.Space, "sample", refuse)
    assert set(wrs(SPACE, 40).suggest(history, None, np.random.default_rng(0)).state) == set(SPACE.variables)
