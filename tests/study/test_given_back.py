"""Trials given back: what others made of them meanwhile stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.execution import interrupts
from bostruct.storage.protocol import StorageError
from tests.interrupting import interrupt_call

SPACE = {"a": range(12), "b": ["x", "y", "z"]}


def open_study(file: Path | None) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0, storage=file)


@pytest.mark.parametrize("stored", [True, False])
def test_trials_given_back_are_handed_out_as_if_for_the_first_time(file: Path, stored: bool) -> None:
    with open_study(file if stored else None) as study:
        trials = study.ask(3)
        study.tell(trials[1], 1.0)
        study.give_back(trials)
        assert [trial.status for trial in study.trials] == ["running", "completed", "running"]
        assert (study.n_waiting, dict(study.in_flight)) == (2, {})
        again = study.ask(2)
        assert [(one.number, one.point) for one in again] == [(one.number, one.point) for one in trials[::2]]
        assert "attempts" not in again[0].info
        study.give_back([trials[0]])  # which has another holder by now
        assert study.n_waiting == 0
        assert study.tell(trials[0], 2.0).number == 0  # of the first holder, who told after all


def test_what_is_no_trial_of_the_study_is_refused() -> None:
    with open_study(None) as study, open_study(None) as other:
        study.ask()
        with pytest.raises(ValueError, match="of this study"):
            study.give_back([other.ask()])
        for wrong in (study.ask(), 0, None):
            with pytest.raises(TypeError, match="trials: expected a list of trials as `ask` returned them, got "):
                study.give_back(wrong)  # type: ignore[arg-type]
    with pytest.raises(bo.BostructError, match="is closed"):
        study.give_back([])


def cancel(study: bo.Study) -> None:
    study.cancel(0)


def fail(study: bo.Study) -> None:
    study.tell(0, failed="the rig burned down")


def complete(study: bo.Study) -> None:
    study.tell(0, 1.0)


@pytest.mark.parametrize("end", [cancel, fail, complete])
def test_an_interrupted_run_leaves_what_another_process_ended(file: Path, end: Callable[[bo.Study], None]) -> None:
    with open_study(file) as mine, open_study(file) as other:

        def objective(_: dict) -> float:
            other.sync()
            end(other)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mine.optimize(objective, 5)
        other.sync()
        assert other.trials[0].status != "running"
        assert other.trials == mine.trials
        assert other.ask().number == 1
        assert other.n_finished == 1


def test_an_error_in_an_ask_leaves_what_another_process_ended(file: Path) -> None:
    with open_study(file) as mine, open_study(file) as other:
        ask_again = mine._ledger.ask_again

        def ask_once(*_: object) -> bo.Trial | None:
            if len(mine.trials) == 1:
                other.sync()
                cancel(other)
                raise ArithmeticError
            return ask_again()

        mine._ledger.ask_again = ask_once  # type: ignore[method-assign]
        with pytest.raises(ArithmeticError):
            mine.ask(2)
        other.sync()
        assert other.trials[0].is_canceled


def test_trials_that_cannot_be_given_back_are_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StorageError("the disk is full")

    def objective(_: dict) -> float:
        monkeypatch.setattr(bo.Study, "give_back", refuse)
        raise KeyboardInterrupt

    with open_study(file) as study, pytest.raises(KeyboardInterrupt) as caught:
        study.optimize(objective, 2)
    assert any("Trial 0 is requeued" in note for note in caught.value.__notes__)


def test_a_trial_with_two_holders_here_is_taken_from_the_one_that_has_it(file: Path) -> None:
    with open_study(file) as study:
        first = study.ask()
        study.requeue(first)
        second = study.ask()
        study.give_back([second, first])
        assert (study.n_waiting, dict(study.in_flight)) == (1, {})


@pytest.mark.parametrize("trials", [[0], [None], ["0"]])
def test_what_is_no_trial_at_all_is_refused(trials: list) -> None:
    with open_study(None) as study:
        study.ask()
        with pytest.raises(TypeError, match="trials: expected trials as `ask` returned them, got"):
            study.give_back(trials)
        assert study.in_flight.keys() == {0}


def test_an_ask_that_fails_gives_back_what_was_out_before_and_is_out_anew(file: Path) -> None:
    with open_study(file) as study:
        first = study.ask()
        begin_next = study._begin_next

        def begin_once(*_: object) -> None:
            if len(study.trials) == 2:
                raise ArithmeticError
            trial = begin_next(*_)
            study.requeue(first)
            return trial

        study._begin_next = begin_once  # type: ignore[method-assign]
        with pytest.raises(ArithmeticError):
            study.ask(3)  # the second is the first one anew
        assert (study.n_waiting, dict(study.in_flight)) == (2, {})


def test_an_interrupt_is_seen_where_nothing_can_be_given_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StorageError("the server is away")

    with open_study(file) as study:
        ask_next = study._ask_next

        def ask_once(*given: Any) -> bo.Trial:
            trial = ask_next(*given)
            monkeypatch.setattr(study._ledger, "give_back", refuse)
            raise KeyboardInterrupt
            return trial

        study._ask_next = ask_once  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt) as caught:
            study.ask()
        monkeypatch.undo()
    assert caught.value.__notes__ == ["Trial 0 is requeued once this process has ended: the server is away"]


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("at", range(1, 7))
def test_two_interrupts_leave_no_trial_of_the_run_to_the_next_one(at, file, monkeypatch):
    interrupt = interrupt_call(interrupts._find_signals, at)

    def objective(_: Any) -> float:
        monkeypatch.setattr(interrupts, "_find_signals", interrupt)
        raise KeyboardInterrupt

    with bo.Study({"x": range(9)}, method="random", seed=0, storage=file) as study:
        mine = study.ask()
        with pytest.raises(KeyboardInterrupt):
            study.optimize(objective, 3, progress=False)
        monkeypatch.undo()
        study.optimize(lambda _: 1.0, 3, progress=False)
        assert [trial.status for trial in study.trials] == ["running", "completed", "completed", "completed"]
        assert list(study.in_flight) == [mine.number]
