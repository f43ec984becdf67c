"""The table of trials in memory gives a searcher the same history, however trials came into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from bostruct.goals.declared import Goals, declare_goals
from bostruct.outcome import Outcome
from bostruct.study.history import Trial
from bostruct.study.records import show_outcome, write_trial
from bostruct.study.trial_records import TrialRecords

SPACE = bo.Space({"x": range(20)})


class Filled(TrialRecords):
    """A table whose trials are at 0, 1, 2, ..."""

    def __init__(self, n: int) -> None:
        super().__init__(SPACE, declare_goals("minimize", None, None, None))
        for number in range(n):
            trial = Trial(number, {"x": number}, "running", started=float(number))
            self._enter(trial, SPACE.key(SPACE.parse({"x": number})), write_trial(trial, 1))

    def close(self, number: int, outcome: Outcome) -> None:
        self._close(show_outcome(self.trials[number], outcome), outcome, self._next_position)

    def reopen(self, number: int) -> None:
        self._reopen(self._records[number])


def read_points(batch: np.ndarray) -> list[int]:
    return [SPACE.present(x)["x"] for x in batch]


def test_the_history_has_completed_failed_and_running_points_in_the_order_told() -> None:
    table = Filled(5)
    table.close(3, Outcome(values=(2.0,)))
    table.close(0, Outcome(failed="why"))
    table.close(1, Outcome(values=(1.0,)))
    history = table.history()
    assert read_points(history.completed) == [3, 1]
    assert history.values.tolist() == [2.0, 1.0]
    assert (read_points(history.failed), read_points(history.running)) == ([0], [2, 4])
    assert (table.order, table.incumbent.number, table.completed_number(1)) == ([3, 0, 1], 1, 1)


def test_a_failed_trial_that_is_opened_again_runs_and_is_no_failure() -> None:
    table = Filled(3)
    table.close(0, Outcome(failed="why"))
    table.close(2, Outcome(failed="why"))
    table.reopen(0)
    history = table.history()
    assert (read_points(history.failed), read_points(history.running)) == ([2], [0, 1])
    assert (table.order, table.outcomes[0], table.trials[0].status) == ([2], None, "running")


def test_a_trial_that_breaks_a_limit_is_never_seen_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may read the trials at any time, here just before the limits are checked."""
    seen: list[str] = []
    find_broken = Goals.find_broken
    with bo.Study(SPACE, method="random", constraints={"size": ("<=", 1.0)}, storage=tmp_path / "runs.db") as study:
        monkeypatch.setattr(Goals, "find_broken", lambda *own: seen.append(study.trials[0].status) or find_broken(*own))
        study.tell(study.ask(), 2.0, constraints={"size": 3.0})
        assert set(seen) == {"running"}
        assert study.trials[0].broken == ("size",)
    with bo.Study.load(tmp_path / "runs.db") as study:
        assert study.trials[0].broken == ("size",)


def test_keys_that_a_searcher_looks_at_do_not_change_under_it() -> None:
    table = Filled(2)
    seen = table.history().seen
    before = set(seen)
    trial = Trial(2, {"x": 2}, "running", started=2.0)
    table._enter(trial, SPACE.key(SPACE.parse({"x": 2})), write_trial(trial, 1))
    assert seen == before
    assert table.seen(SPACE.parse({"x": 2}))


@pytest.mark.parametrize("number", [-1, 2])
def test_a_number_that_no_trial_has_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r"trial: expected"):
        Filled(2).number(number)
