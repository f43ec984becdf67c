"""Histories made of others."""

import numpy as np

from bostruct.contracts import HistoryView
from bostruct.searchers.outputs import keep, revalue
from bostruct.study.history import History
from tests.laws.maxsat import bits

SPACE = bits(4)
POINTS = SPACE.enumerate()
HISTORY = History(
    POINTS[:4],
    np.arange(4.0),
    POINTS[4:6],
    POINTS[6:7],
    frozenset(SPACE.keys(POINTS[:7])),
    np.arange(8.0).reshape(4, 2),
    np.arange(4.0)[:, None],
    np.full(4, 0.5),
)


def members(view):
    return {name: getattr(view, name) for name in HistoryView.__annotations__ | vars(HistoryView) if name[0] != "_"}


def test_the_kept_points_keep_all_that_was_told_of_them():
    view = keep(HISTORY, [0, 2], [1], SPACE.take)
    assert SPACE.keys(view.completed) == SPACE.keys(POINTS[[0, 2]])
    assert SPACE.keys(view.running) == SPACE.keys(POINTS[[5]])
    assert (view.values.tolist(), view.objectives.tolist()) == ([0.0, 2.0], [[0.0, 1.0], [4.0, 5.0]])
    assert (view.violations.tolist(), view.variances.tolist()) == ([[0.0], [2.0]], [0.5, 0.5])
    assert (view.seen, len(view.failed)) == (HISTORY.seen, 1)


def test_none_kept_is_a_history_without_values():
    view = keep(HISTORY, [], [], SPACE.take)
    assert (len(view.completed), len(view.values), len(view.running)) == (0, 0, 0)


def test_other_values_are_of_one_objective():
    view = revalue(HISTORY, np.array([3.0, 1.0, 2.0, 0.0]))
    assert view.values.tolist() == view.objectives[:, 0].tolist() == [3.0, 1.0, 2.0, 0.0]
    assert view.violations is HISTORY.violations
    assert view.variances is None
    for name in ("completed", "running", "failed", "seen"):
        assert getattr(view, name) is getattr(HISTORY, name)


def test_a_view_has_all_that_a_searcher_may_ask_for():
    assert set(members(HISTORY)) == set(members(revalue(HISTORY, HISTORY.values))) >= {"objectives", "variances"}
