"""The ledger refuses trials of other studies, and keeps what was told apart from what was handed out."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import bostruct as bo
from bostruct.storage.documents import MemoryStorage
from bostruct.storage.protocol import StudyWriter
from bostruct.study.history import ArrayBuffer, BatchBuffer
from bostruct.study.ledger import Ledger
from bostruct.study.saving import write_copy

SPACE = bo.Space({"x": range(20)})


def open_study(seed: int) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=seed)


def test_a_trial_of_another_study_with_the_same_point_is_refused() -> None:
    own, other = (bo.Study({"a": range(9)}, method="random", seed=0) for _ in range(2))
    mine, theirs = own.ask(), other.ask()
    assert mine.point == theirs.point
    with pytest.raises(ValueError, match="expected a trial of this study, whose trial 0 started at another time"):
        own.tell(theirs, 99.0)
    assert own.tell(theirs.number, 1.0).value == 1.0


def test_a_trial_of_another_study_is_refused() -> None:
    study, other = open_study(0), open_study(1)
    trial, foreign = study.ask(), other.ask()
    assert trial.point != foreign.point
    for step in (lambda: study.tell(foreign, 1.0), lambda: study.requeue(foreign)):
        with pytest.raises(ValueError, match="expected a trial of this study, whose trial 0 started at another time"):
            step()
    assert study.tell(trial, 1.0).value == 1.0


def test_a_trial_whose_point_the_user_changed_is_still_that_trial() -> None:
    study = open_study(0)
    trial = study.ask()
    trial.point.pop("x")
    assert study.tell(trial, 1.0).value == 1.0


def test_a_trial_that_was_handed_out_again_is_still_that_trial() -> None:
    study = open_study(0)
    first = study.ask()
    study.requeue(first)
    assert study.ask().started != first.started
    assert study.tell(first, 1.0).value == 1.0


def test_what_was_handed_out_is_taken_back_in_a_copy_and_not_here() -> None:
    study, memory = open_study(0), MemoryStorage()
    study.tell(study.ask(), 1.0)
    study.ask()
    assert isinstance(study._ledger, Ledger)
    assert list(study._ledger.owned) == [1]
    write_copy(study._ledger, memory)
    assert [row.attempts for row in memory.read(None).trials] == [1, 0]
    assert [row.attempts for row in study._ledger.export().trials] == [1, 1]


def test_in_memory_nothing_waits_for_other_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[str] = []
    for name in ("ask_lock", "poll"):
        monkeypatch.setattr(StudyWriter, name, lambda _, name=name: asked_for.append(name) or nullcontext())
    study = open_study(0)
    study.tell(study.ask(), 1.0)
    study.optimize(lambda point: point["x"], 3, progress=False)
    assert (study.n_finished, asked_for) == (3, [])


def test_growing_rows_keep_what_was_read_before() -> None:
    array, batch = ArrayBuffer(np.empty(0)), BatchBuffer(SPACE)
    seen = []
    for number in range(9):
        array.extend([[float(number)]], 1)
        batch.append(np.array([number]))
        seen.append((array.read(), batch.read()))
    for number, (values, points) in enumerate(seen):
        assert values.tolist() == list(range(number + 1))
        assert points[:, 0].tolist() == list(range(number + 1))
    assert batch.read() is batch.read()
