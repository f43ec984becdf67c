"""The garbage collector stands still for a block, and is as it was behind it."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace

import pytest

from bostruct.storage import reading
from bostruct.storage.reading import pause_collector


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was(enabled: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        states = []
        with suppress(KeyError), pause_collector():
            states.append(gc.isenabled())
            raise KeyError
        assert states == [False]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()


def call_at_once(function: Callable[[], None]) -> None:
    function()


def call_in_thread(function: Callable[[], None]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(("call", "runs"), [(call_at_once, False), (call_in_thread, True)])
def test_it_runs_in_a_child_unless_the_thread_that_stopped_it_has_forked(call, runs):
    statuses: list[int] = []

    def fork() -> None:
        if not (child := os.fork()):
            os._exit(0 if gc.isenabled() == runs else 1)
        statuses.append(os.waitpid(child, 0)[1])

    assert gc.isenabled()
    with pause_collector():
        call(fork)
        assert not gc.isenabled()
    assert statuses == [0]
    assert gc.isenabled()


def is_old(thing: object) -> bool:
    return any(one is thing for one in gc.get_objects(generation=2))


def test_what_was_made_is_old_and_what_a_user_froze_stays_frozen() -> None:
    assert gc.isenabled()
    with pause_collector():
        made = [[]]
    assert is_old(made)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with pause_collector():
            made = [[]]
        assert not is_old(made)
        assert gc.get_freeze_count() >= frozen // 2  # those that are gone by now leave it
    finally:
        gc.unfreeze()


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("name", ["disable", "get_freeze_count", "freeze", "unfreeze", "enable"])
def test_the_collector_runs_again_where_an_interrupt_comes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> object:
        result = getattr(gc, name)()
        signal.raise_signal(signal.SIGINT)
        return result

    fake = SimpleNamespace(**{key: getattr(gc, key) for key in dir(gc)} | {name: interrupt})
    monkeypatch.setattr(reading, "gc", fake)
    assert gc.isenabled()
    try:
        with pytest.raises(KeyboardInterrupt), pause_collector():
            pass
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
        gc.unfreeze()
