"""Several writers of one study: one decides at a time, nobody's value is lost, and no trial is evaluated twice."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.contracts import NotWanted, SpaceExhausted, Suggestion
from bostruct.searchers.baselines import RandomSearch
from bostruct.storage.locks import FileWriterLock
from bostruct.storage.protocol import StorageError, StudyLocked
from bostruct.study import loop
from bostruct.study.loop import ThroughputEstimate
from tests.programs import start

SPACE = {"a": range(12), "b": ["x", "y", "z"]}


def open_study(file: Path, **given: Any) -> bo.Study:
    return bo.Study(SPACE, **({"method": "random", "seed": 0, "storage": file} | given))


def stored(file: Path) -> tuple[bo.Trial, ...]:
    with bo.Study.load(file, read_only=True) as study:
        return study.trials


def test_each_learns_what_the_other_did(file: Path) -> None:
    with open_study(file, initial_points=[{"a": 5, "b": "y"}]) as first, open_study(file) as second:
        mine, theirs = first.ask(), second.ask()
        assert mine.point == {"a": 5, "b": "y"}
        assert (mine.number, theirs.number) == (0, 1)
        assert (second.n_remote, first.n_remote) == (1, 0)
        first.sync()
        assert (first.n_remote, len(first.trials)) == (1, 2)
        second.tell(theirs, 2.0)
        first.tell(mine, 1.0)
        first.add({"a": 0, "b": "x"}, 0.5)
        second.sync()
        assert second.trials == first.trials == stored(file)
        assert second.best_value == 0.5
        assert (second.n_finished, second.n_remote) == (2, 0)
        assert second.result.to_dataframe().equals(first.result.to_dataframe())


@pytest.mark.parametrize("method", ["random", "auto", "hill-climbing", "evolution"])
def test_no_point_is_handed_out_twice(file: Path, method: str) -> None:
    space, points = {"a": range(4), "b": ["x", "y"]}, []
    with (
        bo.Study(space, method=method, seed=0, storage=file) as first,
        bo.Study(space, method=method, seed=0, storage=file) as second,
    ):
        for study in (first, second) * 4:
            trial = study.ask()
            points.append(tuple(trial.point.values()))
            study.tell(trial, float(trial.point["a"]))
        for study in (first, second):
            with pytest.raises(SpaceExhausted):
                study.ask()
    assert len(set(points)) == 8


def test_a_point_added_while_another_thinks_is_not_handed_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as first, open_study(file) as second:
        suggest, turns = RandomSearch.suggest, []

        def add_what_is_suggested(searcher: Any, *given: Any) -> Suggestion:
            suggestion = suggest(searcher, *given)
            if not turns:
                turns.append(second.add(first.domain.present(suggestion.point), 1.0))
            return suggestion

        monkeypatch.setattr(RandomSearch, "suggest", add_what_is_suggested)
        trial = first.ask()
        assert trial.point != turns[0].point
        assert [one.number for one in (turns[0], trial)] == [0, 1]


def test_a_value_is_told_while_another_thread_waits_for_a_suggestion(file, monkeypatch):
    thinking, done = threading.Event(), threading.Event()
    suggest = RandomSearch.suggest

    def think(searcher: Any, *given: Any) -> Suggestion:
        thinking.set()
        assert done.wait(60)
        return suggest(searcher, *given)

    for storage in (file, None):
        thinking.clear()
        done.clear()
        with bo.Study(SPACE, method="random", seed=0, storage=storage) as study, ThreadPoolExecutor(1) as executor:
            trial = study.ask()
            with monkeypatch.context() as patched:
                patched.setattr(RandomSearch, "suggest", think)
                asked = executor.submit(study.ask)
                assert thinking.wait(60)
                assert study.tell(trial, 1.0).value == 1.0
                assert study.best_value == 1.0
                done.set()
                assert asked.result(60).number == 1


HOLD = """
study = bo.Study.load(sys.argv[1])
print(study.ask().number, flush=True)
sys.stdin.read()
"""


def hold_and_die(file: Path, how: int) -> int:
    """Ask for a trial in another process, and end it by a signal."""
    with start(HOLD, file) as process:
        number = int(process.stdout.readline())
        process.send_signal(how)
    return number


def test_the_trial_of_a_killed_process_is_handed_out_once_more_and_fails_the_second_time(file, caplog):
    with open_study(file) as study:
        study.tell(study.ask(), 1.0)
        for fate in ("is requeued", "has failed"):
            assert hold_and_die(file, signal.SIGKILL) == 1
            caplog.clear()
            study.give_back([study.ask()])
            assert f"study 'study': trial 1 {fate}, because its process no longer responds" in caplog.text
        assert study.ask().number == 2
        assert "2 processes that ran this trial ended" in (study.trials[1].reason or "")
        assert study.trials == stored(file)
    assert os.listdir(file.parent) == ["runs.db"]


def take_from(study: bo.Study, another: bo.Study, monkeypatch: pytest.MonkeyPatch) -> bo.Trial:
    """Hand a trial of one study out to another, as if the first had been taken for dead."""
    owner = study._ledger.owner
    with monkeypatch.context() as patched:
        patched.setattr(FileWriterLock, "is_gone", lambda _, one: one == owner)
        return another.ask()


def test_a_late_value_is_kept_beside_the_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as slow, open_study(file) as quick:
        late = slow.ask()
        again = take_from(slow, quick, monkeypatch)
        assert (again.number, again.point, again.info["attempts"]) == (0, late.point, 2)
        quick.tell(again, 3.0)
        double = slow.tell(late, 4.0)
        assert (double.number, double.value, double.point) == (1, 4.0, late.point)
        assert (double.info["double_of"], double.origin, double.is_extra) == (0, "double", True)
        with pytest.raises(ValueError, match="already completed"):
            slow.tell(late, 5.0)
        with pytest.raises(ValueError, match="already completed"):
            quick.tell(0, 5.0)
        quick.sync()
        assert [trial.value for trial in quick.trials] == [3.0, 4.0]
        assert quick.trials == slow.trials == stored(file)
        assert quick.n_finished == 1


def test_each_who_was_handed_a_trial_may_tell_once() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    first = study.ask()
    study.requeue(first)
    second = study.ask()
    assert (second.number, second.point) == (first.number, first.point)
    study.tell(second, 1.0)
    assert study.tell(first, 2.0).info["double_of"] == 0
    for trial in (first, second, 0):
        with pytest.raises(ValueError, match="already completed"):
            study.tell(trial, 3.0)
    canceled = study.ask()
    study.cancel(canceled)
    study.requeue(failed := study.ask())
    study.tell(study.ask(), failed="rain")
    with pytest.raises(ValueError, match="trial 4 is failed, and a double"):
        study.requeue(study.tell(failed, failed="rain, too"))
    with pytest.raises(ValueError, match="already failed"):
        study.tell(canceled, 1.0)
    assert [trial.value for trial in study.trials] == [1.0, 2.0, None, None, None]
    assert [trial.origin for trial in study.trials] == ["random", "double", "random", "random", "double"]
    assert study.n_finished == 3


def test_the_first_value_counts_whoever_tells_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as slow, open_study(file) as quick:
        late = slow.ask()
        again = take_from(slow, quick, monkeypatch)
        assert slow.tell(late, 4.0).number == 0
        assert quick.tell(again, failed="rain").info["double_of"] == 0
        assert [trial.status for trial in stored(file)] == ["completed", "failed"]


def test_what_was_canceled_elsewhere_is_not_doubled(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as one, open_study(file) as another:
        trial = one.ask()
        another.sync()
        assert another.cancel(trial.number).is_canceled
        one.sync()
        with pytest.raises(ValueError, match="already failed"):
            one.tell(trial, 1.0)
        late = one.ask()
        again = take_from(one, another, monkeypatch)
        another.tell(again, 2.0)
        assert one.cancel(late).value == 2.0
        assert len(stored(file)) == 2


def test_a_failed_trial_is_requeued_by_any_and_handed_out_by_any(file: Path) -> None:
    with open_study(file) as one, open_study(file) as another:
        one.tell(one.ask(), failed="rain")
        another.sync()
        another.requeue(0)
        trial = one.ask()
        assert (trial.number, trial.info["failed_before"]) == (0, ["rain"])
        assert one.tell(trial, 1.0).value == 1.0
        another.sync()
        assert another.best_value == 1.0
        one.tell(one.ask(), failed="snow", retry=True)
        assert another.ask().info["retries"] == 1


def test_closing_gives_back_what_is_its_own(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as one:
        another = open_study(file)
        mine, theirs = one.ask(), another.ask()
        another.close()
        assert one.ask().number == theirs.number
        third = open_study(file)
        assert take_from(one, third, monkeypatch).number == mine.number
        third.tell(mine.number, 1.0)
        third.close()
        assert one.tell(mine, 2.0).info["double_of"] == mine.number


def test_the_space_of_a_study_does_not_change_under_others(file: Path) -> None:
    wider = SPACE | {"a": range(14)}
    with open_study(file) as study:
        study.tell(study.ask(), 1.0)
        with pytest.raises(
            StudyLocked, match=rf"its space cannot be changed while it is open in process {os.getpid()}"
        ):
            bo.Study(wider, method="random", seed=0, storage=file)
    with bo.Study(wider, method="random", seed=0, storage=file) as study:
        assert len(study.space_changes) == 1


def test_a_study_whose_space_changed_by_force_is_not_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_study(file) as study:
        study.tell(study.ask(), 1.0)
        with monkeypatch.context() as patched:
            patched.setattr(FileWriterLock, "find_other", lambda _: None)
            bo.Study(SPACE | {"a": range(14)}, method="random", seed=0, storage=file).close()
        with pytest.raises(StorageError, match="another process changed its space; open the study again"):
            study.ask()
        assert len(stored(file)) == 1


def objective(point: dict) -> float:
    return float(point["a"]) + "xyz".index(point["b"]) / 4


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_with_studies_of_their_own_make_one_run(file: Path, workers: int) -> None:
    def run(_: int) -> str:
        with open_study(file, method="evolution") as study, ThreadPoolExecutor(workers) as executor:
            study.optimize(objective, 30, executor=executor, workers=workers, progress=False)
            return study.result.stopped_because

    with ThreadPoolExecutor(3) as executor:
        reasons = list(executor.map(run, range(3)))
    trials = stored(file)
    assert Counter(trial.status for trial in trials) == {"completed": 30}
    assert len({tuple(trial.point.values()) for trial in trials}) == 30
    assert all(trial.value == objective(trial.point) for trial in trials)
    assert any("n_trials reached (30)" in reason for reason in reasons)


RUN = """
with bo.Study({"a": range(12), "b": list("xyz")}, method="random", seed=0, storage=sys.argv[1]) as study:
    study.optimize(lambda point: point["a"], 24, progress=False)
"""


def test_processes_make_one_run(file: Path) -> None:
    processes = [start(RUN, file, stdin=None, stdout=None) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    trials = stored(file)
    assert Counter(trial.status for trial in trials) == {"completed": 24}
    assert len({tuple(trial.point.values()) for trial in trials}) == 24
    assert os.listdir(file.parent) == ["runs.db"]


def test_a_run_that_is_interrupted_leaves_a_trial_that_another_process_finished(file: Path) -> None:
    with open_study(file) as first, open_study(file) as other:

        def objective(_: Any) -> float:
            other.sync()
            other.tell(0, 5.0)  # as after a lease that is over
            first.sync()
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            first.optimize(objective, 3, progress=False)
    assert [(trial.status, trial.value) for trial in stored(file)] == [("completed", 5.0)]


def test_a_trial_is_told_and_canceled_by_its_number_in_another_process(file: Path) -> None:
    with open_study(file) as one, open_study(file) as other:
        first, second, third = one.ask(), one.ask(), one.ask()
        assert other.tell(first.number, 1.0).value == 1.0
        assert other.cancel(second.number).is_canceled
        other.tell(third.number, failed="rain")
        one.requeue(third.number)
        assert other.requeue(third.number) is None
        assert other.ask().number == third.number


@pytest.mark.parametrize("syncs", [True, False])
def test_who_was_handed_no_trial_may_not_tell_of_one_that_is_over(file: Path, syncs: bool) -> None:
    with open_study(file) as one, open_study(file) as other:
        trial = one.ask()
        other.sync()
        one.tell(trial, 1.0)
        if syncs:
            other.sync()
        with pytest.raises(ValueError, match="trial 0 is already completed"):
            other.tell(trial.number, 2.0)
        assert [one.value for one in other.trials] == [1.0]
        assert other.ask().number == 1


def test_a_condition_may_take_in_what_others_wrote(file: Path) -> None:
    with open_study(file) as one, open_study(file) as other:
        other.tell(other.ask(), 1.0)

        def is_wanted() -> bool:
            one.sync()
            return one.n_finished < 2

        with one.ask_lock(is_wanted):
            one.tell(one.ask(), 2.0)
        with pytest.raises(NotWanted), one.ask_lock(is_wanted):
            one.ask()


def test_runs_that_share_a_study_end_together(file: Path) -> None:
    def run(study: bo.Study) -> str:
        with ThreadPoolExecutor(3) as executor:
            return study.optimize(lambda point: float(point["a"]), 10, executor=executor, workers=3).stopped_because

    with open_study(file) as study, ThreadPoolExecutor(2) as executor:
        assert list(executor.map(run, [study] * 2)) == ["n_trials reached (10)"] * 2
        assert study.n_finished == 10


def test_room_that_another_run_takes_meanwhile_is_no_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other run takes it between the look at the room and the next one."""
    find_room, told = loop._Loop._room.fget, [0, 1]
    monkeypatch.setattr(loop._Loop, "_room", property(lambda run: told.pop() if told else find_room(run)))
    monkeypatch.setattr(ThroughputEstimate, "is_behind", property(lambda _: True))
    with open_study(file) as study, ThreadPoolExecutor(3) as executor:
        study.optimize(lambda point: float(point["a"]), 10, executor=executor, workers=3)
        assert study.n_finished == 10
