"""The loop of a run looks at answers between two questions, and keeps the time at which each came."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.storage.protocol import StorageError
from bostruct.storage.sqlite import SqliteWriter

SPACE = bo.Space({"x": bo.Integer(0, 9)})


class AtOnce(Executor):
    """Has evaluated what it was given before it returns from submit."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_a_trial_is_asked_with_one_look_at_what_other_writers_have_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looks: list[int] = []
    poll = SqliteWriter.poll
    monkeypatch.setattr(SqliteWriter, "poll", lambda writer: looks.append(1) or poll(writer))
    study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "study.db")
    counts = []
    for n_trials in (2, 5):
        study.optimize(lambda point: point["x"], n_trials, progress=False)
        counts.append(len(looks))
        looks.clear()
    study.close()
    assert counts[1] - counts[0] == 1  # one trial more in the second run


def test_answers_are_told_before_the_next_question_is_asked() -> None:
    known: list[tuple[int, int]] = []
    study = bo.Study(SPACE, method="random", seed=0)
    study.optimize(
        lambda point: point["x"],
        10,
        executor=AtOnce(),
        workers=10,
        callbacks=lambda study, trial: known.append((trial.number, len(study.trials))),
    )
    assert known == [(number, number + 1) for number in range(10)]


def test_a_trial_is_finished_when_its_objective_ends_not_when_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    tell, told_at = study.tell, dict[int, float]()

    def note_time_and_tell(number: int, *given: Any, **more: Any) -> bo.Trial:
        told_at[number] = time.time()
        return tell(number, *given, **more)

    monkeypatch.setattr(study, "tell", note_time_and_tell)
    study.optimize(lambda point: point["x"], 10, executor=AtOnce(), workers=10)
    assert len(told_at) == 10
    assert all(t.started <= (t.finished or 0.0) < told_at[t.number] for t in study.trials)


class FirstOfFive(Executor):
    """Evaluates the fifth call at once, and the others when it is told to."""

    def __init__(self) -> None:
        self._calls: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._calls.append((future, partial(fn, *args, **kwargs)))
        if len(self._calls) == 5:
            future.set_result(self._calls.pop()[1]())
        return future

    def finish(self) -> None:
        for future, call in self._calls:
            future.set_result(call())


def test_what_had_finished_when_an_error_ends_the_run_is_told_and_paid_for_once() -> None:
    evaluated: list[int] = []

    def evaluate(point: Any) -> int:
        evaluated.append(point["x"])
        if len(evaluated) == 3:
            raise RuntimeError("perhaps for the same reason")
        return point["x"]

    def interrupt(*_: object) -> None:
        executor.finish()
        raise KeyboardInterrupt

    study, executor = bo.Study(SPACE, method="random", seed=0), FirstOfFive()
    with pytest.raises(KeyboardInterrupt):
        study.optimize(evaluate, 8, executor=executor, workers=5, callbacks=interrupt)
    assert [trial.status for trial in study.trials] == ["completed", "running", *["completed"] * 3]
    study.optimize(evaluate, 8)
    assert len(evaluated) == 9  # each trial once, and the failed one twice


def test_what_had_finished_and_cannot_be_told_is_said_beside_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> bo.Trial:
        raise StorageError("database or disk is full")

    def stop(*_: object) -> None:
        executor.finish()
        monkeypatch.setattr(study, "tell", fail)
        raise RuntimeError("enough")

    study, executor = bo.Study(SPACE, method="random", seed=0), FirstOfFive()
    with pytest.raises(RuntimeError, match="enough") as caught:
        study.optimize(lambda point: point["x"], 8, executor=executor, workers=5, callbacks=stop)
    assert caught.value.__notes__[0] == "Not all finished trials were recorded: database or disk is full"
    assert [trial.status for trial in study.trials] == [*["running"] * 4, "completed"]
    monkeypatch.undo()
    assert study.n_waiting == 4
