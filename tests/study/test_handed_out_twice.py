"""A trial that was handed out twice belongs to its last holder; each holder may tell of it once."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

import bostruct as bo
from bostruct.storage.protocol import StudyWriter
from bostruct.study.ledger import Ledger

SPACE = {"a": range(99), "b": range(99)}


@pytest.fixture
def study() -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0)


def test_a_failure_of_an_earlier_holder_leaves_the_trial_to_the_present_one(study: bo.Study) -> None:
    first = study.ask()
    study.requeue(first)
    second = study.ask()
    assert second.number == first.number
    study.tell(first, failed="rain", retry=True)
    assert study.ask().number == 1
    assert study.tell(second, 2.0).value == 2.0


def test_who_told_of_a_failure_may_not_tell_a_value_afterwards(study: bo.Study) -> None:
    first = study.ask()
    study.tell(first, failed="rain", retry=1)
    second = study.ask()
    with pytest.raises(ValueError, match="has been started again"):
        study.tell(first, 5.0)
    study.tell(second, 1.0)
    with pytest.raises(ValueError, match="already completed"):
        study.tell(first, 5.0)
    assert [trial.value for trial in study.trials] == [1.0]


def test_a_trial_that_failed_and_runs_again_is_told_by_its_new_holder(study: bo.Study) -> None:
    first = study.ask()
    study.tell(first, failed="rain")
    study.requeue(first.number)
    second = study.ask()
    with pytest.raises(ValueError, match="has been started again"):
        study.tell(first, 5.0)
    assert study.tell(second, 7.0).value == 7.0


def test_what_another_told_first_is_not_canceled(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    with bo.Study(SPACE, method="random", seed=0, storage=path) as mine, bo.Study.load(path) as other:
        trial = mine.ask()
        other.sync()
        monkeypatch.setattr(Ledger, "sync", lambda _: other.tell(trial.number, 3.0))  # after the look of a cancel
        mine.cancel(trial)
        monkeypatch.undo()
        mine.sync()
        assert [(one.status, one.value) for one in mine.trials] == [("completed", 3.0)]


def test_news_that_a_writer_has_not_heard_are_not_lost_by_a_step_of_its_own(tmp_path) -> None:
    path = tmp_path / "runs.db"
    with bo.Study(SPACE, method="random", seed=0, storage=path) as mine, bo.Study.load(path) as other:
        own, store = mine.ask(), mine._ledger.store
        assert isinstance(store, StudyWriter)
        other.sync()
        new = other.ask()
        store.release(own.number)  # a step without a look
        assert [row.number for row in store.poll().trials] == [own.number, new.number]


def test_an_ask_that_fails_gives_back_while_others_tell(study: bo.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    trials, told = study.ask(300), threading.Thread(target=lambda: [study.tell(one, 1.0) for one in trials])
    begin = Ledger.begin

    def fail_every_other(ledger: Ledger, *given: object) -> object:
        if len(ledger) % 2:
            begin(ledger, *given)  # type: ignore[arg-type]
            raise KeyboardInterrupt
        return begin(ledger, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "begin", fail_every_other)
    told.start()
    while told.is_alive():
        with suppress(KeyboardInterrupt):
            study.ask()
    told.join()
    assert study.n_finished == 300
