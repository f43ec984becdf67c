"""Functions that run atomically with respect to Ctrl-C, SIGTERM, user signal handlers, and forks.

Worker processes import this file first, so it imports little.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import weakref
from _signal import getsignal as get_handler  # type: ignore[import-not-found]  # 60 times as fast as with its enums
from _signal import signal as set_handler  # type: ignore[import-not-found]
from _thread import interrupt_main, start_new_thread
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from itertools import compress, repeat
from operator import methodcaller
from time import monotonic, sleep
from types import CodeType, FrameType
from typing import Any, ClassVar, TypeVar

SEND_SECONDS = 0.01  # between checks whether a signal, which would otherwise be lost, can be sent
SENT_AFTER = 5.0  # maximum seconds until it is sent
TERMINATED = 143  # exit status after SIGTERM, by the convention of shells and schedulers
FORK_SECONDS = 0.5  # maximum seconds that a fork waits for a lock
_ENDS = (int(signal.SIGINT), int(signal.SIGTERM))
_NUMBERS = sorted(map(int, signal.valid_signals()))
_CALLED_UNSEEN = (__name__, "weakref")  # modules of finalizers and of fork hooks
Function = TypeVar("Function", bound=Callable[..., Any])


def defer_signals(step: Function) -> Function:
    """Defer signals during a function, so that disk and memory change together or not at all.

    Ctrl-C, SIGTERM, and each signal with a Python handler, which may raise, are deferred.
    """
    return _wrap(step, is_firm=True)


def defer_signals_once_begun(step: Function) -> Function:
    """Defer signals during a function as `defer_signals` does, unless it calls `handle_deferred`."""
    return _wrap(step, is_firm=False)


def defer_signals_unseen(step: Function) -> Function:
    """Defer signals during a function whose exceptions Python discards, such as a finalizer.

    Their handlers are called shortly after it.
    """
    return _wrap(step, is_firm=True, is_unseen=True)


def defer_signals_of_fork() -> SignalDeferral | None:
    """Defer signals with Python handlers during a fork, whose hooks cannot raise.

    Other signals are not deferred: a child may receive SIGTERM immediately.

    Returns the deferral that the parent ends after the fork; None if no signals are deferred.
    """
    if SignalDeferral.current is not None or threading.current_thread() is not threading.main_thread():
        return None
    deferral = SignalDeferral(is_firm=True, is_unseen=True, defaults=())
    deferral.__enter__()
    return deferral


def handle_deferred() -> None:
    """Handle the signals that a function defers, if it has not changed anything yet."""
    deferral = SignalDeferral.current
    if deferral is not None and not deferral.is_firm and threading.current_thread() is threading.main_thread():
        deferral.handle()


def _wrap(step: Function, is_firm: bool, is_unseen: bool = False) -> Function:
    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return step(*args, **kwargs)
        if (outer := SignalDeferral.current) is None:
            with SignalDeferral(is_firm, is_unseen):
                return step(*args, **kwargs)
        was_firm, outer.is_firm = outer.is_firm, outer.is_firm or is_firm
        try:
            return step(*args, **kwargs)
        finally:
            outer.is_firm = was_firm

    return whole  # type: ignore[return-value]


class SignalDeferral:
    """Signals that are deferred until the end of a block: this object is their handler during the block.

    is_firm: True to defer signals until the block ends, even if it has not changed anything yet.
    is_unseen: True to run handlers later, because exceptions after the block would be discarded, as in a finalizer.
    """

    current: ClassVar[SignalDeferral | None] = None  # of the main thread, which runs the handlers

    def __init__(self, is_firm: bool, is_unseen: bool = False, defaults: Sequence[int] = _ENDS) -> None:
        self.is_firm = is_firm
        self._is_unseen, self._defaults = is_unseen, defaults
        self._before: dict[int, Any] = {}  # the handlers of the deferred signals, by number
        self._thread = threading.get_ident()
        self._frames: dict[int, FrameType | None] = {}  # the first interrupted frame, by signal number

    def __enter__(self) -> None:
        SignalDeferral.current = self
        try:
            while numbers := [number for number in _find_signals(self._defaults) if get_handler(number) is not self]:
                # No Python line runs between setting a handler and recording the replaced one. A handler that was
                # not replaced yet may still run and set others: hence the loop.
                self._before.update(zip(numbers, map(set_handler, numbers, repeat(self)), strict=False))
        except BaseException:  # of a signal that was not deferred yet
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            SignalDeferral.current = None
            self._restore()
        finally:
            self._handle()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Record a signal; leave and handle it if two other signals have prevented this object from leaving."""
        if SignalDeferral.current is self:
            self._frames.setdefault(number, frame)
        else:
            self._restore()
            _handle(number, frame, self._before[number])

    def handle(self) -> None:
        """Call the handlers of the signals so far, as if the block ended here and another block started."""
        if self._frames:
            try:
                self.__exit__()
            finally:
                self.__enter__()

    def leave_to_parent(self) -> None:
        """Restore the handlers in a forked child, unless its thread runs the block, which continues there."""
        if self._is_unseen or threading.get_ident() != self._thread:
            self._frames.clear()
            self.__exit__()

    def _restore(self) -> None:
        """Restore all handlers, even if a restored handler raises in between."""
        try:
            for number, handler in self._before.items():
                if get_handler(number) is self:  # unless a handler has set another handler
                    _replace_handler(number, self, handler)
        except BaseException:
            self._restore()
            raise

    def _handle(self) -> None:
        """Call the handler of each received signal, once per signal."""
        if self._is_unseen and self._frames and _send_later(list(self._frames)):
            self._frames.clear()
        with ExitStack() as calls:
            while self._frames:
                number, frame = self._frames.popitem()
                calls.callback(_handle, number, frame, self._before[number])


def _replace_handler(number: int, old: Any, new: Any) -> None:
    """Replace a handler, unless another handler that runs at that moment has set a third one."""
    while (found := set_handler(number, new)) is not old:
        old, new = new, found


def _handle(number: int, frame: FrameType | None, handler: Any) -> None:
    if callable(handler):
        handler(number, frame)
    else:
        signal.signal(number, handler)
        signal.raise_signal(number)


def _send_later(numbers: Sequence[int]) -> bool:
    """Send signals to the main thread once it continues; return whether that is possible."""
    try:
        start_new_thread(_send, (_find_caller(), numbers, threading.get_ident()))
    except RuntimeError:  # the interpreter is ending
        return False
    return True


def _find_caller() -> tuple[int, int] | None:
    """Return the place from which Python called a finalizer or a hook; None if the interpreter is ending."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _CALLED_UNSEEN:
        frame = frame.f_back
    return None if frame is None else _name_place(frame)


def _name_place(frame: FrameType) -> tuple[int, int]:
    """Return the id of a frame, since a reference would keep its variables alive, and its current instruction."""
    return id(frame), frame.f_lasti


def _send(caller: tuple[int, int] | None, numbers: Sequence[int], thread: int) -> None:
    """Send signals once a frame is past an instruction that may run other code whose exceptions are discarded."""
    last = monotonic() + SENT_AFTER
    sleep(SEND_SECONDS)
    while caller is not None and caller in map(_name_place, _iterate_frames(thread)) and monotonic() < last:
        sleep(SEND_SECONDS)
    for number in numbers:
        if sys.platform == "win32":
            interrupt_main(signal.Signals(number))
        else:
            signal.pthread_kill(thread, number)  # also wakes a sleeping thread


def _iterate_frames(thread: int) -> Iterator[FrameType]:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _find_signals(defaults: Sequence[int]) -> list[int]:
    """Return the signals with a Python handler, and those among `defaults` whose handler Python knows."""
    in_python = [*compress(_NUMBERS, map(callable, map(get_handler, _NUMBERS)))]
    return in_python + [number for number in defaults if number not in in_python and get_handler(number) is not None]


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Make SIGTERM raise ``SystemExit(143)`` in this context, in the main thread and over the default handler."""
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


def hook_forks(**hooks: Callable[[], object]) -> None:
    """Register the functions that run at each fork of this process; no effect on systems without forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)  # type: ignore[call-overload]


def _restore_sigterm() -> None:
    if signal.getsignal(signal.SIGTERM) is _exit_as_terminated:  # unless another handler was set since
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _restore_in_child() -> None:
    """Make signals end a pool's process at once, even if a thread other than the forking one is in a block."""
    if SignalDeferral.current is not None:
        SignalDeferral.current.leave_to_parent()
    _restore_sigterm()


hook_forks(after_in_child=_restore_in_child)


def handler_codes() -> frozenset[CodeType]:
    """Return the code of all signal handlers that are Python functions."""
    if threading.current_thread() is not threading.main_thread():  # no handler runs in this thread
        return frozenset()
    found = (_find_code(signal.getsignal(number)) for number in signal.valid_signals())
    return frozenset(code for code in found if code is not None)


def _find_code(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    if not callable(handler):  # SIG_DFL, SIG_IGN, or not set by Python
        return None
    return getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)


def is_from_handler(error: BaseException, codes: frozenset[CodeType]) -> bool:
    """Return whether an exception passed through a function with one of these codes."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code not in codes:
        trace = trace.tb_next
    return trace is not None


_all: set[weakref.ref[threading.RLock]] = set()  # operations on built-in sets are atomic
_delaying: set[weakref.ref[threading.RLock]] = set()


class _Fork(threading.local):
    """The locks that a thread holds while it forks, and the signals that are deferred until the fork has ended."""

    def __init__(self) -> None:
        self.locks: list[threading.RLock] = []
        self.signals: SignalDeferral | None = None


_fork = _Fork()


def make_lock(*, delays_forks: bool = False) -> threading.RLock:
    """Return a reentrant lock; in a forked child it is free, unless the forking thread holds it.

    It is a lock of the standard library, because a signal could interrupt the `with` of a Python class halfway.

    delays_forks: True if a fork waits until the lock is free, at most FORK_SECONDS. A fork in the middle of a protected
        step may leave the child in an unusable state.
    """
    lock = threading.RLock()
    _add_lock(_all, lock)
    if delays_forks:
        _add_lock(_delaying, lock)
    return lock


def _add_lock(entries: set[weakref.ref[threading.RLock]], lock: threading.RLock) -> None:
    entries.add(weakref.ref(lock, entries.discard))


def _list_locks(entries: set[weakref.ref[threading.RLock]]) -> list[threading.RLock]:
    return [lock for entry in list(entries) if (lock := entry()) is not None]


def _hold_locks() -> None:
    """Acquire the locks that a fork waits for, with signals deferred, because Python discards exceptions of hooks."""
    if locks := _list_locks(_delaying):
        _fork.signals = defer_signals_of_fork()
        # A signal could raise: no Python line may run between acquiring a lock and recording it, as in the line below.
        _fork.locks.extend(compress(locks, map(methodcaller("acquire", True, FORK_SECONDS), locks)))


def _release_locks() -> None:
    with suppress(IndexError):  # when none is left
        deque(map(methodcaller("release"), iter(_fork.locks.pop, None)), 0)


def _end_in_parent() -> None:
    _release_locks()
    if (signals := _fork.signals) is not None:
        _fork.signals = None
        signals.__exit__()


def _end_in_child() -> None:
    _fork.signals = None  # `_restore_in_child` has ended the deferral
    _release_locks()
    for lock in _list_locks(_all):
        if lock.acquire(blocking=False):  # it is free, or this thread holds it
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # as modules of the standard library do


hook_forks(before=_hold_locks, after_in_parent=_end_in_parent, after_in_child=_end_in_child)
