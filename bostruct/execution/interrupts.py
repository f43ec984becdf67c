"""Steps that nothing cuts in two: neither Ctrl-C, SIGTERM and signal handlers of the user's own, nor a fork.

Imported by worker processes before they do anything, hence light.
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

SEND_SECONDS = 0.01  # between looks at whether a signal may be sent that would have been lost if it came
SENT_AFTER = 5.0  # seconds for which it waits at most
TERMINATED = 143  # the exit status of who ends by SIGTERM, as shells and schedulers count
FORK_SECONDS = 0.5  # for which a fork waits for a lock, at most
_ENDS = (int(signal.SIGINT), int(signal.SIGTERM))
_NUMBERS = sorted(map(int, signal.valid_signals()))
_CALLED_UNSEEN = (__name__, "weakref")  # modules of finalizers and of hooks of a fork
Function = TypeVar("Function", bound=Callable[..., Any])


def defer_signals(step: Function) -> Function:
    """Make signals wait for a function: what is on disk and in memory changes together, or neither does.

    Ctrl-C and SIGTERM wait, and so does each signal that has a handler in Python, which may raise.
    """
    return _wrap(step, is_firm=True)


def defer_signals_once_begun(step: Function) -> Function:
    """Make signals wait for a function as `defer_signals` does, unless it calls `handle_deferred`."""
    return _wrap(step, is_firm=False)


def defer_signals_unseen(step: Function) -> Function:
    """Make signals wait for a function that Python calls where nobody sees what is raised, such as a finalizer.

    Their handlers are called a moment after it.
    """
    return _wrap(step, is_firm=True, is_unseen=True)


def defer_signals_of_fork() -> SignalDeferral | None:
    """Make signals with handlers in Python wait for a fork, in whose hooks nobody sees what is raised.

    Others do not wait: a child may be sent SIGTERM as soon as it is there.

    Returns what is to end behind the fork, in the parent alone; None if there is nothing to end.
    """
    if SignalDeferral.current is not None or threading.current_thread() is not threading.main_thread():
        return None
    deferral = SignalDeferral(is_firm=True, is_unseen=True, defaults=())
    deferral.__enter__()
    return deferral


def handle_deferred() -> None:
    """Let those signals be handled that wait for a function that has not begun to change anything."""
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
    """Signals whose handlers wait for the end of a block: this object is their handler meanwhile.

    is_firm: whether they wait as long as the block does, even if it has not begun to change anything.
    is_unseen: whether what a handler raises behind the block would be lost, as in a finalizer. It is called later then.
    """

    current: ClassVar[SignalDeferral | None] = None  # of the main thread, where alone handlers run

    def __init__(self, is_firm: bool, is_unseen: bool = False, defaults: Sequence[int] = _ENDS) -> None:
        self.is_firm = is_firm
        self._is_unseen, self._defaults = is_unseen, defaults
        self._before: dict[int, Any] = {}  # the handler of each signal that waits, by its number
        self._thread = threading.get_ident()
        self._frames: dict[int, FrameType | None] = {}  # that was interrupted first, by the number of the signal

    def __enter__(self) -> None:
        SignalDeferral.current = self
        try:
            while numbers := [number for number in _find_signals(self._defaults) if get_handler(number) is not self]:
                # No line of Python is run between setting a handler and noting which it replaces. One that was not
                # replaced yet may still be called meanwhile, and set others: hence once more.
                self._before.update(zip(numbers, map(set_handler, numbers, repeat(self)), strict=False))
        except BaseException:  # of a signal that did not wait yet
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            SignalDeferral.current = None
            self._restore()
        finally:
            self._handle()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; where two others have kept this object from leaving, leave, and handle the signal."""
        if SignalDeferral.current is self:
            self._frames.setdefault(number, frame)
        else:
            self._restore()
            _handle(number, frame, self._before[number])

    def handle(self) -> None:
        """Call the handler of each signal that arrived by now, as if the block ended here and another one began."""
        if self._frames:
            try:
                self.__exit__()
            finally:
                self.__enter__()

    def leave_to_parent(self) -> None:
        """Give a forked child back its handlers, unless its thread is that of the block, which goes on there."""
        if self._is_unseen or threading.get_ident() != self._thread:
            self._frames.clear()
            self.__exit__()

    def _restore(self) -> None:
        """Put the handlers back, all of them, also if one that is back already raises meanwhile."""
        try:
            for number, handler in self._before.items():
                if get_handler(number) is self:  # and no handler has set another one
                    _replace_handler(number, self, handler)
        except BaseException:
            self._restore()
            raise

    def _handle(self) -> None:
        """Call the handler of each signal that arrived, once for all times that it did."""
        if self._is_unseen and self._frames and _send_later(list(self._frames)):
            self._frames.clear()
        with ExitStack() as calls:
            while self._frames:
                number, frame = self._frames.popitem()
                calls.callback(_handle, number, frame, self._before[number])


def _replace_handler(number: int, old: Any, new: Any) -> None:
    """Set a new handler for the old one, unless another handler, called at that moment, has set a third: that stays."""
    while (found := set_handler(number, new)) is not old:
        old, new = new, found


def _handle(number: int, frame: FrameType | None, handler: Any) -> None:
    if callable(handler):
        handler(number, frame)
    else:
        signal.signal(number, handler)
        signal.raise_signal(number)


def _send_later(numbers: Sequence[int]) -> bool:
    """Send signals to this thread, the main one, once it goes on; tell whether that is possible."""
    try:
        start_new_thread(_send, (_find_caller(), numbers, threading.get_ident()))
    except RuntimeError:  # the interpreter is ending
        return False
    return True


def _find_caller() -> tuple[int, int] | None:
    """Return the place where Python came to call a finalizer or a hook; None if the interpreter is ending."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _CALLED_UNSEEN:
        frame = frame.f_back
    return None if frame is None else _name_place(frame)


def _name_place(frame: FrameType) -> tuple[int, int]:
    """Return the id of a frame, whose variables a reference would keep alive, and its present instruction."""
    return id(frame), frame.f_lasti


def _send(caller: tuple[int, int] | None, numbers: Sequence[int], thread: int) -> None:
    """Send signals once a frame is past an instruction, in which others may be called whose errors nobody sees."""
    last = monotonic() + SENT_AFTER
    sleep(SEND_SECONDS)
    while caller is not None and caller in map(_name_place, _iterate_frames(thread)) and monotonic() < last:
        sleep(SEND_SECONDS)
    for number in numbers:
        if sys.platform == "win32":
            interrupt_main(signal.Signals(number))
        else:
            signal.pthread_kill(thread, number)  # which also wakes a thread that sleeps


def _iterate_frames(thread: int) -> Iterator[FrameType]:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _find_signals(defaults: Sequence[int]) -> list[int]:
    """Return each signal that has a handler in Python, and those of the defaults whose handlers Python knows."""
    in_python = compress(_NUMBERS, map(callable, map(get_handler, _NUMBERS)))
    return sorted({*in_python, *(number for number in defaults if get_handler(number) is not None)})


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


def hook_forks(**hooks: Callable[[], object]) -> None:
    """Have functions called at each fork of this process from now on; nothing happens on a system without forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)  # type: ignore[call-overload]


def _restore_sigterm() -> None:
    if signal.getsignal(signal.SIGTERM) is _exit_as_terminated:  # and not one that was set since
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _restore_in_child() -> None:
    """Make signals end a pool's process at once, also where another thread than the one that forked is in a step."""
    if SignalDeferral.current is not None:
        SignalDeferral.current.leave_to_parent()
    _restore_sigterm()


hook_forks(after_in_child=_restore_in_child)


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
    """Tell whether an exception passed through a function with one of these codes."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code not in codes:
        trace = trace.tb_next
    return trace is not None


_all: set[weakref.ref[threading.RLock]] = set()  # sets of the library are changed, and listed, in one piece
_delaying: set[weakref.ref[threading.RLock]] = set()


class _Fork(threading.local):
    """The locks that a thread holds while it forks, and the signals that wait for the end of that."""

    def __init__(self) -> None:
        self.locks: list[threading.RLock] = []
        self.signals: SignalDeferral | None = None


_fork = _Fork()


def make_lock(*, delays_forks: bool = False) -> threading.RLock:
    """Make a reentrant lock; in a forked child it is free, unless the thread that forked holds it.

    It is one of the library, whose `with` no signal can interrupt halfway, as it could that of a class in Python.

    delays_forks: whether a fork waits until the lock is free, for FORK_SECONDS at most. A step that is cut in two by a
        fork may leave the child with something that it cannot use.
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
    """Take the locks that a fork waits for, during which signals wait, since Python drops what a hook raises."""
    if locks := _list_locks(_delaying):
        _fork.signals = defer_signals_of_fork()
        # No line of Python is run between taking a lock and noting that, if a signal could raise; so it is below.
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
    _fork.signals = None  # `_restore_in_child` has ended it
    _release_locks()
    for lock in _list_locks(_all):
        if lock.acquire(blocking=False):  # it is free, or this thread's
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the modules of the library do with theirs


hook_forks(before=_hold_locks, after_in_parent=_end_in_parent, after_in_child=_end_in_child)
