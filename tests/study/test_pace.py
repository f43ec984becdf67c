"""The pace of a run says when workers would wait, and is silent while it knows too little."""

from __future__ import annotations

import pytest

from bostruct.study.history import Trial
from bostruct.study.loop import MOST_AHEAD, RECENT, ThroughputEstimate


def set_pace(slots: int, suggestion: float, evaluation: float) -> ThroughputEstimate:
    pace = ThroughputEstimate(slots)
    pace.note_suggestion(Trial(0, {}, "running", info={"suggest_seconds": suggestion}))
    pace.note_evaluation(evaluation)
    return pace


def test_nothing_is_known_at_first() -> None:
    pace = ThroughputEstimate(64)
    assert (pace.is_behind, pace.n_ahead) == (False, 0)
    pace.note_evaluation(1.0)
    assert (pace.is_behind, pace.n_ahead) == (False, 0)


@pytest.mark.parametrize(
    ("slots", "suggestion", "is_behind", "n_ahead"),
    [
        (64, 0.001, False, 0),
        (64, 0.009, True, MOST_AHEAD),  # all of them ask for half of the time that there is
        (8, 0.01, False, 0),
        (8, 0.03, False, 2),  # each would wait for 3 % of an evaluation
        (8, 0.07, True, 2),
        (3, 0.5, True, 0),  # a point that waits is a third more that is not known
        (1, 1.0, True, 0),
    ],
)
def test_points_are_prepared_where_workers_would_wait(slots, suggestion, is_behind, n_ahead):
    pace = set_pace(slots, suggestion, 1.0)
    assert (pace.is_behind, pace.n_ahead) == (is_behind, n_ahead)


def test_points_that_another_search_served_do_not_count() -> None:
    pace = set_pace(64, 0.1, 1.0)
    for _ in range(RECENT):
        pace.note_suggestion(Trial(0, {}, "running", info={"suggest_seconds": 0.0, "joint": 1}))
    assert pace.is_behind


def test_only_the_last_suggestions_count() -> None:
    pace = set_pace(64, 100.0, 1.0)
    for _ in range(RECENT):
        pace.note_suggestion(Trial(0, {}, "running", info={"suggest_seconds": 0.0}))
    assert not pace.is_behind
