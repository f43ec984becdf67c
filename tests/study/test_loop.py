"""The loop of a run looks at answers between two questions, and keeps the time at which each came."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

import bostruct as bo

SPACE = bo.Space({"x": bo.Integer(0, 9)})


class AtOnce(Executor):
    """Has evaluated what it was given before it returns from submit."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


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
