"""Signals: steps that wait for none, SIGTERM as an exit, and whose exception it is."""

from __future__ import annotations

import os
import signal
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from bostruct.execution import interrupts
from bostruct.execution.interrupts import (
    TERMINATED,
    SignalDeferral,
    defer_signals,
    defer_signals_once_begun,
    defer_signals_unseen,
    exit_on_sigterm,
    handle_deferred,
    handler_codes,
    hook_forks,
    is_from_handler,
)

USR1 = signal.SIGUSR1
pytestmark = pytest.mark.usefixtures("default_sigint", "handlers_as_before")


@pytest.fixture
def handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, USR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Steps:
    """A step in two halves, between which signals arrive."""

    def __init__(self, *numbers: int) -> None:
        self.numbers, self.done = numbers, 0

    @defer_signals
    def run(self) -> int:
        """Both halves, or none."""
        self.done += 1
        for number in self.numbers:
            signal.raise_signal(number)
        self.done += 1
        return self.done


def test_an_interrupt_waits_for_the_whole_step() -> None:
    steps = Steps(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        steps.run()
    assert steps.done == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_step_that_nobody_interrupts_returns_what_it_returns() -> None:
    assert Steps().run() == 2
    assert Steps.run.__doc__ == "Both halves, or none."


@pytest.mark.parametrize("times", [1, 3])
def test_a_handler_of_the_users_own_is_called_once_after_the_step(times: int) -> None:
    called: list[tuple[int, int]] = []
    steps = Steps(*[signal.SIGTERM] * times)

    def own(number: int, frame: Any) -> None:
        assert frame is not None
        called.append((number, steps.done))

    signal.signal(signal.SIGTERM, own)
    assert (steps.run(), called) == (2, [(signal.SIGTERM, 2)])
    assert signal.getsignal(signal.SIGTERM) is own


def test_a_signal_that_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert Steps(signal.SIGTERM).run() == 2
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_steps_within_steps_wait_for_the_outermost() -> None:
    steps, done = Steps(signal.SIGINT), []

    @defer_signals
    def outer() -> None:
        done.append(steps.run())
        done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert done == [2, "outer"]


def test_a_step_that_raises_puts_the_handler_back() -> None:
    @defer_signals
    def broken() -> None:
        raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        broken()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def in_another_thread(function: Callable[[], Any]) -> Any:
    """Return what a function returns in a thread of its own."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function).result()


def test_in_another_thread_nothing_is_deferred_and_no_handler_runs() -> None:
    @defer_signals
    def step() -> Any:
        return signal.getsignal(signal.SIGINT)

    def run() -> Any:
        with exit_on_sigterm():
            return signal.getsignal(signal.SIGTERM)

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(USR1, raise_stop)
    found = [in_another_thread(one) for one in (step, run, handler_codes)]
    assert found == [signal.default_int_handler, signal.SIG_DFL, frozenset()]


def test_sigterm_is_an_exit_meanwhile() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with pytest.raises(SystemExit) as ended, exit_on_sigterm():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == TERMINATED == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_users_own_is_left_where_it_is() -> None:
    def own(*_: Any) -> None: ...

    signal.signal(signal.SIGTERM, own)
    with exit_on_sigterm():
        assert signal.getsignal(signal.SIGTERM) is own
    assert signal.getsignal(signal.SIGTERM) is own
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with exit_on_sigterm():
        signal.signal(signal.SIGTERM, own)
    assert signal.getsignal(signal.SIGTERM) is own


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_ends_by_sigterm_as_ever() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with exit_on_sigterm():
        if not (child := os.fork()):
            os._exit(0 if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL else 1)
        assert os.waitpid(child, 0)[1] == 0


class Stop(BaseException):
    """What a handler raises."""


def raise_stop(*_: Any) -> None:
    raise Stop


class Stopper:
    def __call__(self, *_: Any) -> None:
        raise Stop


@pytest.mark.parametrize("handler", [raise_stop, partial(partial(raise_stop, 1), 2), Stopper()])
def test_what_a_handler_raises_is_told_from_what_others_raise(handler: Any) -> None:
    assert not is_from_handler(Stop(), handler_codes())
    signal.signal(USR1, handler)
    codes = handler_codes()
    with pytest.raises(Stop) as raised:
        signal.raise_signal(USR1)
    assert is_from_handler(raised.value, codes)
    with pytest.raises(Stop) as own:
        raise Stop
    assert not is_from_handler(own.value, codes)


def test_codes_are_those_of_python_functions() -> None:
    before = handler_codes()
    signal.signal(USR1, raise_stop)
    assert handler_codes() == before | {raise_stop.__code__}
    signal.signal(USR1, signal.SIG_IGN)
    assert raise_stop.__code__ not in handler_codes()


@pytest.mark.parametrize("number", [signal.SIGALRM, USR1, signal.SIGPROF, signal.SIGRTMIN + 3])
def test_what_a_handler_of_the_user_raises_waits_for_the_whole_step(number: int) -> None:
    before, steps = signal.signal(number, signal.default_int_handler), Steps(number, signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(KeyboardInterrupt):
            steps.run()
        assert steps.done == 2
        assert signal.getsignal(number) is signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_all_signals_that_waited_are_handled_whatever_the_first_raises() -> None:
    called: list[int] = []

    def note(number: int, _: Any) -> None:
        called.append(number)
        raise Stop

    for number in (USR1, signal.SIGTERM):
        signal.signal(number, note)
    with pytest.raises(Stop):
        Steps(USR1, signal.SIGTERM).run()
    assert sorted(called) == sorted((USR1, signal.SIGTERM))
    assert signal.getsignal(USR1) is signal.getsignal(signal.SIGTERM) is note


@pytest.mark.parametrize(
    ("defer", "expected"),
    [(defer_signals_once_begun, ["asked the server"]), (defer_signals, ["asked the server", "waited for it"])],
)
def test_where_nothing_has_begun_signals_wait_no_longer_unless_a_value_is_written(defer, expected):
    done: list[str] = []

    @defer
    def step() -> None:
        handle_deferred()
        signal.raise_signal(signal.SIGINT)
        done.append("asked the server")
        handle_deferred()
        done.append("waited for it")

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == expected
    assert Steps().run() == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    handle_deferred()  # and outside of steps there is nothing to handle


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_by_another_thread_during_a_step_has_the_handlers_as_before() -> None:
    def fork() -> int:
        if not (child := os.fork()):
            os._exit(0 if signal.getsignal(signal.SIGINT) is signal.default_int_handler else 1)
        return os.waitpid(child, 0)[1]

    assert defer_signals(in_another_thread)(fork) == 0


def test_a_handler_that_raises_as_others_are_put_back_leaves_none_away(monkeypatch: pytest.MonkeyPatch) -> None:
    set_handler, calls = interrupts.set_handler, []

    def raise_between(number: int, handler: Any) -> Any:
        if handler is own and not calls:
            calls.append(number)
            signal.raise_signal(USR1)  # whose own handler is back already
        return set_handler(number, handler)

    def own(*_: Any) -> None:
        calls.append(-1)

    signal.signal(USR1, raise_stop)
    signal.signal(signal.SIGTERM, own)
    with monkeypatch.context() as patched:
        patched.setattr(interrupts, "set_handler", raise_between)
        with pytest.raises(Stop):
            Steps().run()
    assert calls == [signal.SIGTERM]
    assert (signal.getsignal(USR1), signal.getsignal(signal.SIGTERM)) == (raise_stop, own)
    assert Steps(signal.SIGTERM).run() == 2
    assert calls == [signal.SIGTERM, -1]


def test_a_handler_that_raises_before_it_waits_leaves_none_away(monkeypatch: pytest.MonkeyPatch) -> None:
    set_handler, steps = interrupts.set_handler, Steps()

    def raise_first(number: int, handler: Any) -> Any:
        if number == signal.SIGTERM and signal.getsignal(number) is raise_stop and not steps.numbers:
            steps.numbers = (USR1,)
            signal.raise_signal(number)
        return set_handler(number, handler)

    signal.signal(signal.SIGTERM, raise_stop)
    with monkeypatch.context() as patched:
        patched.setattr(interrupts, "set_handler", raise_first)
        with pytest.raises(Stop):
            steps.run()
    assert steps.done == 0
    assert signal.getsignal(signal.SIGTERM) is raise_stop
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        Steps(signal.SIGINT).run()


def note(*_: Any) -> None: ...


@pytest.mark.parametrize("changed", [USR1, signal.SIGINT, signal.SIGTERM, signal.SIGUSR2])
@pytest.mark.parametrize(("done", "at"), [(0, USR1), (2, signal.SIGTERM)])  # USR1 is set before SIGTERM
def test_what_a_handler_sets_as_others_begin_or_end_to_wait_stays(changed, done, at, monkeypatch):
    set_handler, steps, before, calls = interrupts.set_handler, Steps(), signal.getsignal(changed), []

    def change(*_: Any) -> None:
        calls.append(signal.signal(changed, note))

    def raise_once(number: int, handler: Any) -> Any:
        if number == at and steps.done == done and not calls:
            signal.raise_signal(USR1)
        return set_handler(number, handler)

    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(USR1, change)
    with monkeypatch.context() as patched:
        patched.setattr(interrupts, "set_handler", raise_once)
        assert steps.run() == 2
    try:
        assert len(calls) == 1
        assert signal.getsignal(changed) is note
        assert Steps(changed).run() == 2
        assert signal.getsignal(changed) is note
    finally:
        signal.signal(changed, before)


def test_what_a_handler_sets_that_a_step_without_a_value_lets_through_stays() -> None:
    @defer_signals_once_begun
    def step() -> None:
        signal.raise_signal(USR1)
        handle_deferred()
        signal.raise_signal(USR1)
        done.append("waited")

    def change(*_: Any) -> None:
        done.append("first")
        signal.signal(USR1, lambda *_: done.append("second"))

    done: list[str] = []
    signal.signal(USR1, change)
    step()
    assert done == ["first", "waited", "second"]
    signal.raise_signal(USR1)
    assert done == ["first", "waited", "second", "second"]


def test_a_signal_of_a_finalizer_keeps_no_variables_of_its_caller_alive() -> None:
    def call() -> weakref.ref[Any]:
        value, dropped = Steps(), Steps()
        weakref.finalize(dropped, defer_signals_unseen(signal.raise_signal), signal.SIGINT)
        del dropped
        return weakref.ref(value)

    def call_and_wait() -> None:
        assert call()() is None
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        call_and_wait()


def test_a_handler_that_two_signals_kept_from_being_put_back_is_called_all_the_same() -> None:
    SignalDeferral(is_firm=True).__enter__()
    SignalDeferral.current = None  # the first two lines of the end of a step, which others would have cut
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_the_system_does_not_fork_no_hook_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork")
    hook_forks(after_in_child=lambda: None)
