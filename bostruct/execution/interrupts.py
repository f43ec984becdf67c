"""Signals: Ctrl-C, SIGTERM and signal handlers of the user's own, and steps that none of them must cut in two.

Imported by worker processes before they do anything, hence light.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from types import CodeType
from typing import Any, TypeVar

TERMINATED = 143  # the exit status of who ends by SIGTERM, as shells and schedulers count
# Those whose handlers raise: objectives set alarms, schedulers send the others before they kill. Windows has not all.
RAISING = [
    getattr(signal, name) for name in ("SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU") if hasattr(signal, name)
]

Function = TypeVar("Function", bound=Callable[..., Any])


def defer_interrupt(step: Function) -> Function:
    """Make signals wait for a function: what is on disk and in memory changes together, or neither does.

    Ctrl-C and SIGTERM wait, and so do alarms and the like that have a handler.

    step: function to protect, which is returned wrapped.
    """

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():  # where no handler runs
            return step(*args, **kwargs)
        with ExitStack() as deferred:
            for number in _list_deferred():
                deferred.enter_context(_defer(number))
            return step(*args, **kwargs)

    return whole  # type: ignore[return-value]


def _list_deferred() -> list[signal.Signals]:
    """Return the signals that could cut a step in two; None is a handler that Python did not set."""
    ends = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not None]
    return ends + [number for number in RAISING if callable(signal.getsignal(number))]


@contextmanager
def _defer(number: signal.Signals) -> Iterator[None]:
    waiting: list[Any] = []
    before = signal.signal(number, lambda *received: waiting.append(received))
    try:
        yield
    finally:
        signal.signal(number, before)
        if waiting:
            if callable(before):
                before(*waiting[0])
            else:
                signal.raise_signal(number)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Make SIGTERM raise ``SystemExit(143)`` meanwhile; only in the main thread, and only over the default handler."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _exit_as_terminated)
    try:
        yield
    finally:
        _restore_sigterm()


def _exit_as_terminated(*_: Any) -> None:
    raise SystemExit(TERMINATED)


def _restore_sigterm() -> None:
    if signal.getsignal(signal.SIGTERM) is _exit_as_terminated:  # and not one that was set since
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):  # absent where there is no fork
    os.register_at_fork(after_in_child=_restore_sigterm)  # a pool's process ends at once when it is terminated


def handler_codes() -> frozenset[CodeType]:
    """Return the code of all signal handlers that are Python functions."""
    if threading.current_thread() is not threading.main_thread():  # where no handler runs
        return frozenset()
    found = (_code(signal.getsignal(number)) for number in signal.valid_signals())
    return frozenset(code for code in found if code is not None)


def _code(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    if not callable(handler):  # SIG_DFL, SIG_IGN, or not set by Python
        return None
    return getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)


def is_from_handler(error: BaseException, codes: frozenset[CodeType]) -> bool:
    """Tell whether an exception passed through a function with one of these codes.

    error: with its traceback.
    codes: of functions, as `handler_codes` returns them.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code not in codes:
        trace = trace.tb_next
    return trace is not None
