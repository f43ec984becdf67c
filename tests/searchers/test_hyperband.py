"""Asynchronous Hyperband, rung by rung: what goes up, where new points begin, where a model's proposals go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import Prediction, Searcher, Suggestion, TrainingPrediction
from bostruct.domains.fidelity import FidelityLevels
from bostruct.goals.pareto import constrained_rank
from bostruct.searchers.hyperband import Hyperband, Rungs
from bostruct.study.history import History

SPACE = bo.Space({"x": range(30), "epochs": bo.Fidelity([1, 3, 9])})
LEVELS = FidelityLevels(SPACE)


def suggest(told: list[tuple[int, int, float]], running: Any = (), failed: Any = (), **settings: Any) -> Suggestion:
    """The next point after these (x, level, value), and points (x, level) that run or failed."""
    search = Hyperband(SPACE, LEVELS, **settings)
    return search.suggest(history_of(told, running, failed), search.initial_state(), np.random.default_rng(0))


def history_of(told: list[tuple[int, int, float]], running: Any = (), failed: Any = ()) -> History:
    batches = [np.array(list(rows), dtype=np.int64).reshape(-1, 2) for rows in ([t[:2] for t in told], running, failed)]
    return History.of(SPACE, batches[0], [value for *_, value in told], batches[1], batches[2])


def test_the_best_of_three_goes_up_and_of_two_none():
    two = [(4, 0, 5.0), (7, 0, 1.0)]
    assert suggest(two).info["origin"] == "random"
    up = suggest([*two, (9, 0, 3.0)])
    assert (up.point.tolist(), up.info) == ([7, 1], {"origin": "model", "level": 1})
    assert suggest([(4, 0, 1.0), (7, 0, 1.0), (9, 0, 1.0)]).point.tolist() == [4, 1]  # the first told of equals


def test_points_that_run_or_failed_count_towards_no_rung():
    two = [(4, 0, 5.0), (7, 0, 1.0)]
    assert suggest(two, running=[(9, 0)], failed=[(10, 0)]).info["origin"] == "random"


def test_what_went_up_once_does_not_go_up_again():
    three = [(4, 0, 5.0), (7, 0, 1.0), (9, 0, 3.0)]
    assert suggest(three, running=[(7, 1)]).info["origin"] == "random"
    assert suggest(three, failed=[(7, 1)]).info["origin"] == "random"


def test_higher_levels_are_promoted_first():
    rung = [(x, 0, float(x)) for x in range(12)]
    second = [(x, 1, float(-x)) for x in range(3)]
    assert suggest([*rung, *second]).point.tolist() == [2, 2]
    assert suggest([*rung, *second[:2]]).point.tolist() == [2, 1]


def test_points_of_one_bracket_are_not_compared_with_those_of_another():
    began_at_one = [(x, 1, -10.0) for x in (20, 21)]
    rung = [(x, 0, float(x)) for x in range(9)]
    second = [(x, 1, float(x)) for x in range(3)]
    assert suggest([*began_at_one, *rung, *second]).point.tolist() == [0, 2]


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=20, unique=True), st.sampled_from([2.0, 3.0, 4.0]))
@settings(max_examples=40)
def test_of_n_points_at_a_level_n_over_eta_go_up_best_first(values, reduction):
    told, promoted = [(x, 0, value) for x, value in enumerate(values)], []
    while (found := suggest(told, [(x, 1) for x in promoted], reduction=reduction)).info["origin"] == "model":
        promoted.append(int(found.point[0]))
    assert promoted == sorted(range(len(values)), key=values.__getitem__)[: int(len(values) / reduction)]


def test_new_points_begin_in_the_bracket_that_lags_most():
    """Shares 9, 4.5 and 3 of three levels at eta 3."""
    begun: list[tuple[int, int]] = []
    for _ in range(22):
        found = suggest([], running=begun)
        begun.append((int(found.point[0]), found.info["level"]))
    assert len({x for x, _ in begun}) == 22
    counts = [sum(level == bracket for _, level in begun) for bracket in range(3)]
    np.testing.assert_allclose(counts, np.array([9.0, 4.5, 3.0]) * 22 / 16.5, atol=1.0)


def test_halving_begins_at_the_lowest_level_alone():
    running = [(x, 0) for x in range(20)]
    assert suggest([], running=running, halving=True).info == {"origin": "random", "level": 0}


def test_once_every_point_has_begun_any_unseen_one_is_drawn_and_says_so():
    search = Hyperband(SPACE, LEVELS, halving=True)
    history = history_of([], running=[(x, 0) for x in range(30)])
    found = search.suggest(history, None, np.random.default_rng(0))
    assert (found.info["origin"], found.info["why"]) == ("fallback", "no new point was found in 100 draws")
    assert SPACE.keys([found.point])[0] not in history.seen


def test_a_constraint_on_the_fidelity_keeps_a_point_where_it_is():
    space = bo.Space(SPACE.variables, [lambda p: p["epochs"] == 1 or p["x"] != 7])
    search = Hyperband(space, FidelityLevels(space), halving=True)
    told = space.join([[x, 0] for x in (7, 8, 9, 10, 11, 12)])
    history = History.of(space, told, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert search.suggest(history, None, np.random.default_rng(0)).point.tolist() == [8, 1]


def test_rungs_know_bracket_highest_level_and_values():
    history = history_of([(3, 1, 0.5), (3, 2, 0.25), (5, 0, 7.0)], running=[(5, 1)], failed=[(6, 2)])
    rungs = Rungs.of(history, LEVELS)
    three, five, six = LEVELS.keys(np.array([[3, 0], [5, 0], [6, 0]]))
    assert rungs.bracket == {three: 1, five: 0, six: 2}
    assert rungs.highest == {three: 2, five: 1, six: 2}
    assert rungs.bracket_sizes == [1, 1, 1]
    assert [(value, order) for value, order, _ in rungs.completed(1, 2)] == [(0.25, 1)]
    assert rungs.completed(2, 2) == []


class Proposes(Searcher):
    """A searcher that proposes one point, whatever it is told, and appraises it."""

    def __init__(self, *row: int) -> None:
        self.domain, self.row = SPACE, np.array(row)

    def settings(self) -> dict[str, Any]:
        return {"row": self.row.tolist()}

    def initial_state(self) -> int:
        return 3

    def suggest(self, history: Any, state: int, rng: Any) -> Suggestion:
        del history, rng
        return Suggestion(self.row, state + 1, {"origin": "model", "predicted": 0.5})

    def appraise(self, history: Any, state: Any, rng: Any) -> TrainingPrediction:
        del state, rng
        n = len(history.values)
        return TrainingPrediction(np.ones(n, dtype=bool), Prediction(np.full((1, n), 2.0), np.ones((1, n))))


@pytest.mark.parametrize(
    ("proposed", "told", "running", "expected"),
    [
        ((8, 2), [], [], [8, 0]),  # a new point begins where its bracket does
        ((8, 2), [], [(1, 0), (2, 0)], [8, 1]),
        ((8, 0), [(8, 0, 1.0)], [], [8, 1]),  # one evaluated at some level goes up by one
        ((8, 0), [], [(8, 1)], [8, 2]),
    ],
)
def test_where_a_proposal_goes(proposed, told, running, expected):
    found = suggest(told, running, proposals=Proposes(*proposed))
    assert found.point.tolist() == expected
    assert found.state == 4
    assert found.info == {"origin": "model", "predicted": 0.5, "level": expected[1]}


def test_a_proposal_that_is_at_the_top_already_gives_way_to_a_random_point():
    found = suggest([(8, 2, 1.0)], proposals=Proposes(8, 0))
    assert (found.info["origin"], found.state) == ("random", 4)
    assert found.point[0] != 8


def test_points_at_the_highest_level_told_may_be_recommended():
    history = history_of([(1, 0, 0.0), (2, 1, 1.0), (3, 1, 2.0), (4, 0, 3.0)])
    plain = Hyperband(SPACE, LEVELS)
    found = plain.appraise(history, None, np.random.default_rng(0))
    assert (found.eligible.tolist(), found.prediction) == ([False, True, True, False], None)
    modeled = Hyperband(SPACE, LEVELS, proposals=Proposes(0, 0))
    found = modeled.appraise(history, 3, np.random.default_rng(0))
    assert found.eligible.tolist() == [False, True, True, False]
    np.testing.assert_array_equal(found.prediction.mean, np.full((1, 4), 2.0))


def test_settings_say_how_points_go_up():
    assert Hyperband(SPACE, LEVELS).settings() == {"reduction": 3.0, "halving": False, "costs": [1.0, 3.0, 9.0]}
    assert Hyperband(SPACE, LEVELS, proposals=Proposes(1, 2)).settings()["proposals"] == {"row": [1, 2]}
    with pytest.raises(ValueError, match="reduction"):
        Hyperband(SPACE, LEVELS, reduction=1.0)


def test_of_several_objectives_a_rung_compares_its_own_points_alone():
    """A, B and C are one front; points at a higher fidelity, which dominate A and C, do not count."""
    rung = [(0, 0, (0.0, 10.0)), (1, 0, (5.0, 5.0)), (2, 0, (10.0, 0.0))]
    higher = [(10, 2, (-1.0, 9.0)), (11, 2, (9.0, -1.0))]
    found = []
    for told in (rung, [*rung, *higher]):
        history = history_of([(x, level, 0.0) for x, level, _ in told])
        objectives = np.array([values for *_, values in told])
        history = replace(history, objectives=objectives, violations=np.empty((len(told), 0)))
        history = replace(history, values=constrained_rank(objectives, history.violations))
        search = Hyperband(SPACE, LEVELS)
        found.append(search.suggest(history, search.initial_state(), np.random.default_rng(0)).point.tolist())
    assert found == [[0, 1], [0, 1]]
