"""Successive narrowing, round by round: what is kept, who waits, and what comes after the last round."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.fidelity import FidelityLevels
from bostruct.searchers.hyperband import SuccessiveNarrowing
from bostruct.study.history import History
from bostruct.testing.searcher_laws import check_searcher
from tests.exhausting import check_exhausts

SPACE = bo.Space({"x": range(400), "epochs": bo.Fidelity([1, 3, 9, 27])})
SMALL = bo.Space({"x": range(6), "epochs": bo.Fidelity([1, 3])})


def make(domain, **settings):
    return SuccessiveNarrowing(domain, FidelityLevels(domain), **settings)


def rows(points):
    return np.array(points, dtype=np.int64).reshape(-1, 2)


def cost(point):
    return abs(point["x"] - 200) + 1.0 / point["epochs"]


def test_each_round_keeps_the_best_third_and_multiplies_the_cost():
    study = bo.Study(SPACE, method=make(SPACE), seed=0)
    trials = study.optimize(cost, 80, progress=False).trials
    for start in (0, 40):  # 27 + 9 + 3 + 1, and once more
        rounds = [trials[start + a : start + b] for a, b in ((0, 27), (27, 36), (36, 39), (39, 40))]
        assert [{t.point["epochs"] for t in one} for one in rounds] == [{1}, {3}, {9}, {27}]
        for below, above in pairwise(rounds):
            best = sorted(below, key=lambda t: t.value or 0.0)[: len(above)]
            assert [t.point["x"] for t in above] == [t.point["x"] for t in best]
    best = bo.Study(SPACE, method="successive-narrowing", seed=0).optimize(cost, 40, progress=False).best_trial
    assert best.point["epochs"] == 27


def test_a_first_round_in_a_small_space_is_at_the_lowest_level():
    space = bo.Space({"x": range(30), "epochs": bo.Fidelity([1, 3, 9, 27])})
    trials = bo.Study(space, method="successive-narrowing", seed=0).optimize(cost, 27, progress=False).trials
    assert {t.point["epochs"] for t in trials} == {1}


def test_who_asks_while_a_round_runs_begins_the_next_narrowing():
    search, rng = make(SPACE, n_initial=3), np.random.default_rng(0)
    state, asked = search.initial_state(), []
    for _ in range(5):
        seen = History.of(SPACE, SPACE.join(), [], running=rows(asked))
        found = search.suggest(seen, state, rng)
        state = found.state
        asked.append(found.point)
    assert [x[1] for x in asked] == [0] * 5
    assert (len(state["members"]), len(state["waiting"])) == (3, 2)
    told = History.of(SPACE, rows(asked), [3.0, 1.0, 2.0, 0.0, 0.0])
    up = search.suggest(told, state, rng)
    assert (up.point.tolist(), up.info) == ([asked[1][0], 1], {"origin": "model", "level": 1})
    assert len(up.state["waiting"]) == 2  # of the next narrowing, however good
    running = History.of(SPACE, told.completed, told.values, running=rows([up.point]))
    assert search.suggest(running, up.state, rng).info["origin"] == "random"


def test_failed_points_are_not_kept_and_a_round_without_any_ends_the_narrowing():
    search, rng = make(SPACE, n_initial=3), np.random.default_rng(0)
    state, asked = search.initial_state(), []
    for _ in range(3):
        seen = History.of(SPACE, SPACE.join(), [], failed=rows(asked))
        found = search.suggest(seen, state, rng)
        state = found.state
        asked.append(found.point)
    again = search.suggest(History.of(SPACE, SPACE.join(), [], failed=rows(asked)), state, rng)
    assert again.info == {"origin": "random", "level": 0}
    assert len(again.state["members"]) == 1
    one_left = History.of(SPACE, rows(asked[2:]), [1.0], failed=rows(asked[:2]))
    assert search.suggest(one_left, state, rng).point.tolist() == [asked[2][0], 1]


def test_laws():
    check_searcher(make, SMALL, lambda p: p["x"] + 1.0 / p["epochs"], np.random.default_rng(0), n_trials=10)
    check_exhausts(make, SMALL, lambda p: p["x"] + 1.0 / p["epochs"], np.random.default_rng(0))


@pytest.mark.parametrize("setting", [{"n_initial": 0}, {"share": 1.0}])
def test_wrong_settings_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        make(SPACE, **setting)
