"""Leases of trials: who has one keeps it while it lives, whatever others know, miss, or are in the middle of."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from bostruct.storage.locks import FileWriterLock
from bostruct.storage.protocol import StorageError
from bostruct.storage.sqlite import SqliteWriter
from bostruct.study.ledger import MAX_ATTEMPTS
from tests.study.test_sharing import hold_and_die, objective, open_study, stored, take_from


@pytest.mark.parametrize("deaths", [1, MAX_ATTEMPTS])
def test_a_trial_of_the_dead_is_taken_over_once(file: Path, deaths: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as quick:
        for _ in range(deaths):
            hold_and_die(file, signal.SIGKILL)
        is_gone, asked = FileWriterLock.is_gone, []

        def ask_meanwhile(seat: FileWriterLock, owner: str) -> bool:
            gone = is_gone(seat, owner)
            if not asked:
                asked.append(0)
                asked[0] = quick.ask()
            return gone

        monkeypatch.setattr(FileWriterLock, "is_gone", ask_meanwhile)
        with open_study(file) as slow:  # which saw the owner die, too
            (mine,) = asked
            assert slow.ask().number == mine.number + 1
            assert quick.tell(mine, 1.0).number == mine.number
        assert [trial.status for trial in stored(file)][: deaths - 1] == ["failed"] * (deaths - 1)
        assert len(stored(file)) == deaths + 1


def test_who_lost_a_trial_to_another_does_not_give_it_away(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as owner:
        trials = []
        for part_with in (
            lambda study, trial: study.requeue(trial),
            lambda study, trial: study.tell(trial, failed="rain", retry=True),
            lambda study, _: study.close(),
        ):
            late = open_study(file)
            trial = late.ask()
            trials.append(take_from(late, owner, monkeypatch))
            assert trials[-1].point == trial.point
            part_with(late, trial)
            late.close()
            with open_study(file) as third:
                assert third.n_remote == len(trials)
                assert third.trials[trial.number].info["attempts"] == 2
        for trial in trials:
            assert "double_of" not in owner.tell(trial, 1.0).info


def test_news_that_come_twice_change_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: Any = {"constraints": {"latency": ("<=", 1.0)}}
    with open_study(file, **limits) as one, open_study(file, **limits) as another:
        another.tell(another.ask(), 1.0, constraints={"latency": 2.0})
        another.tell(another.ask(), 2.0, constraints={"latency": 0.5})

        def refuse(*_: Any) -> None:
            raise StorageError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(SqliteWriter, "insert", refuse)
            for _ in range(2):
                with pytest.raises(StorageError, match="the disk is full"):
                    one.add({"a": 0, "b": "x"}, 0.0, constraints={"latency": 0.0})
        one.sync()
        assert one.trials == another.trials
        assert (one.n_finished, one.best_value) == (2, 2.0)


def test_a_trial_told_again_at_its_place_in_the_order_is_learned(file: Path) -> None:
    with open_study(file) as one:
        one.tell(one.ask(), failed="rain")
        with open_study(file) as another:
            another.requeue(0)
        with open_study(file) as third:
            third.tell(third.ask(), 2.0)
        one.sync()
        assert one.incumbent is not None
        assert one.incumbent.value == 2.0
        assert [trial.value for trial in one.trials] == [trial.value for trial in stored(file)] == [2.0]


def test_a_study_saved_elsewhere_keeps_the_trials_that_it_holds(file: Path) -> None:
    with open_study(file) as study:
        trial = study.ask()
        file.unlink()
        with pytest.raises(StorageError):
            study.add({"a": 0, "b": "x"}, 0.0)
        assert study.n_remote == 0
        study.save(other := file.with_name("other.db"))
        with open_study(other) as another:
            assert another.n_remote == 1
            assert another.ask().number == 1
        assert study.tell(trial, 1.0).number == 0
        assert len(stored(other)) == 2


def test_a_copy_has_what_others_told_and_charges_nobody_for_what_they_evaluate(file: Path) -> None:
    with open_study(file) as one, open_study(file) as another:
        another.tell(another.ask(), 1.0)
        hold_and_die(file, signal.SIGKILL)
        assert another.ask().info["attempts"] == 2
        one.save(copy := file.with_name("copy.db"))
    with open_study(copy) as study:
        assert study.trials[0].value == 1.0
        assert study.ask().number == 1


def test_a_run_ends_with_the_trials_of_the_dead(file: Path) -> None:
    with open_study(file) as study, open_study(file) as another:
        theirs = another.ask()
        hold_and_die(file, signal.SIGKILL)
        study.sync()
        assert study.n_remote == 2
        result = study.optimize(objective, 2, progress=False)
        assert result.stopped_because == (
            "n_trials reached (2), of which 1 is still running in other processes; if such a process has ended, the "
            "same call evaluates its trials"
        )
        assert [trial.status for trial in study.trials] == ["running", "completed"]
        another.tell(theirs, 1.0)
        with pytest.warns(UserWarning, match="nothing to do"):
            study.optimize(objective, 2, progress=False)
