"""Ctrl-C at any line of a step of one writer: memory and file stay one, and others go on."""

from __future__ import annotations

import gc
import linecache
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.execution import interrupts
from bostruct.storage import locks
from bostruct.storage.locks import FileWriterLock
from bostruct.study import ledger, saving
from tests.interrupting import interrupt_call
from tests.study.test_sharing import open_study, stored

pytestmark = pytest.mark.usefixtures("default_sigint")
STRIDE = 71  # lines between those at which a step is interrupted
FOLDERS = [Path(str(module.__file__)).parent for module in (ledger, locks)]
STEPS: dict[str, Callable[[bo.Study, bo.Trial], object]] = {
    "ask": lambda study, _: study.ask(),
    "tell": lambda study, trial: study.tell(trial, 4.0),
    "requeue": lambda study, trial: study.requeue(trial),
    "close": lambda study, _: study.close(),
}


class Interrupter:
    """A trace function that sends a signal at one line of the study and its storage.

    at: number of the line, from 1, in the order in which they are run.
    number: of the signal.
    """

    def __init__(self, at: int, number: signal.Signals) -> None:
        self._left, self._number = at, number

    @property
    def is_done(self) -> bool:
        return self._left <= 0

    def __call__(self, frame: Any, *_: Any) -> Any:
        return self._count if Path(frame.f_code.co_filename).parent in FOLDERS else None

    def _count(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line" and not begins_block(frame):
            self._left -= 1
            if self._left == 0:
                signal.raise_signal(self._number)
        return self._count


def begins_block(frame: Any) -> bool:
    """Tell whether a frame is at a `with`, which is its line again as the block ends, before `__exit__` is called.

    Python handles no signal between the two, where a lock of the library would be left taken for ever.
    """
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def interrupt(step: Callable[[], object], at: int, number: signal.Signals) -> bool:
    """Interrupt a step at a line; return whether it has so many."""
    interrupter, before = Interrupter(at, number), sys.gettrace()
    sys.settrace(interrupter)
    try:
        step()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return interrupter.is_done


@pytest.fixture
def raising_alarm() -> Iterator[None]:
    """Alarms raise, as those do that an objective sets, and that ring after it has returned."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("raising_alarm")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_is_interrupted_leaves_all_in_order(name: str, number: signal.Signals, tmp_path: Path) -> None:
    at, goes_on = 1, True
    while goes_on:
        (folder := tmp_path / str(at)).mkdir()
        one, another = open_study(folder / "runs.db"), open_study(folder / "runs.db")
        theirs, mine = another.ask(), one.ask()
        another.tell(theirs, 2.0)
        goes_on = interrupt(lambda one=one, mine=mine: STEPS[name](one, mine), at, number)
        with ThreadPoolExecutor(1) as executor:
            another.tell(executor.submit(another.ask).result(60), 3.0)
        one.close()
        while (trial := another.ask()).number < len(stored(folder / "runs.db")) - 1:
            another.tell(trial, 5.0)
        another.tell(trial, 5.0)
        assert another.trials == stored(folder / "runs.db")
        assert all(trial.status == "completed" and "attempts" not in trial.info for trial in another.trials)
        another.close()
        assert os.listdir(folder) == ["runs.db"]
        at += STRIDE
    assert at > 2 * STRIDE


@pytest.mark.parametrize("ask", [bo.Study.ask, lambda study: study.optimize(lambda _: 1.0, 5, progress=False)])
def test_a_trial_whose_ask_is_interrupted_as_it_lets_others_go_on_is_given_back(ask, tmp_path, monkeypatch):
    give_back = FileWriterLock._give_back

    def interrupt_first(seat: FileWriterLock, path: Path) -> None:
        signal.raise_signal(signal.SIGINT)
        give_back(seat, path)

    with open_study(tmp_path / "runs.db") as one, open_study(tmp_path / "runs.db") as another:
        with monkeypatch.context() as patched:
            patched.setattr(FileWriterLock, "_give_back", interrupt_first)
            with pytest.raises(KeyboardInterrupt):
                ask(one)
        assert not one.in_flight
        assert another.ask().number == 0


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_study_whose_close_is_interrupted_before_signals_wait_is_closed_by_the_next(at, tmp_path, monkeypatch):
    interrupt = interrupt_call(interrupts._find_signals, at)

    study = open_study(tmp_path / "runs.db")
    study.ask()
    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(interrupts, "_find_signals", interrupt)
        study.close()
    study.close()
    assert os.listdir(tmp_path) == ["runs.db"]


def test_a_study_that_could_not_be_closed_is_closed_by_the_next(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise MemoryError

    study = open_study(tmp_path / "runs.db")
    with monkeypatch.context() as patched:
        patched.setattr(saving, "_end", fail)
        with pytest.raises(MemoryError):
            study.close()
    study.close()
    assert os.listdir(tmp_path) == ["runs.db"]
    with pytest.raises(bo.BostructError, match="is closed"):
        study.ask()


def test_an_interrupt_while_a_study_goes_out_of_scope_is_raised_once_it_is_closed(tmp_path, monkeypatch):
    give_back = FileWriterLock._give_back

    def interrupt(seat: FileWriterLock, path: Path) -> None:
        signal.raise_signal(signal.SIGINT)
        give_back(seat, path)

    monkeypatch.setattr(FileWriterLock, "_give_back", interrupt)

    class Slow:
        """An object that is collected with the study, and whose own finalizer, too, would lose what is raised."""

        def __init__(self) -> None:
            self.study, self.itself = open_study(tmp_path / "runs.db"), self

        def __del__(self) -> None:
            for _ in range(30):
                time.sleep(0.01)

    def leave() -> None:
        Slow()
        gc.collect()
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert os.listdir(tmp_path) == ["runs.db"]


def test_an_interrupt_before_the_end_of_a_decision_lets_others_decide(tmp_path, monkeypatch):
    find_signals = interrupts._find_signals

    def interrupt(*args: Any) -> list[int]:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)
        return find_signals(*args)

    with open_study(tmp_path / "runs.db") as one, open_study(tmp_path / "runs.db") as another:
        with pytest.raises(KeyboardInterrupt) as raised, one.ask_lock():
            monkeypatch.setattr(interrupts, "_find_signals", interrupt)
        with ThreadPoolExecutor(1) as executor:
            try:
                assert executor.submit(another.ask).result(20).number == 0
            finally:
                del raised  # whose traceback would keep the decision
