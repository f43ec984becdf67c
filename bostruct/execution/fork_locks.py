"""Locks that keep nobody waiting in a forked child, where the thread that held them is not there."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from contextlib import suppress
from itertools import compress
from operator import methodcaller

from bostruct.execution.interrupts import SignalDeferral, defer_signals_of_fork, hook_forks

FORK_SECONDS = 0.5  # for which a fork waits for a lock, at most

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
    _note(_all, lock)
    if delays_forks:
        _note(_delaying, lock)
    return lock


def _note(entries: set[weakref.ref[threading.RLock]], lock: threading.RLock) -> None:
    entries.add(weakref.ref(lock, entries.discard))


def _list(entries: set[weakref.ref[threading.RLock]]) -> list[threading.RLock]:
    return [lock for entry in list(entries) if (lock := entry()) is not None]


def _begin() -> None:
    """Take the locks that a fork waits for, during which signals wait, since Python drops what a hook raises."""
    if locks := _list(_delaying):
        _fork.signals = defer_signals_of_fork()
        # No line of Python is run between taking a lock and noting that, where a signal could raise; so it is below.
        _fork.locks.extend(compress(locks, map(methodcaller("acquire", True, FORK_SECONDS), locks)))


def _give_back() -> None:
    with suppress(IndexError):  # when none is left
        deque(map(methodcaller("release"), iter(_fork.locks.pop, None)), 0)


def _end_in_parent() -> None:
    _give_back()
    if (signals := _fork.signals) is not None:
        _fork.signals = None
        signals.__exit__()


def _free_all() -> None:
    """Make those locks new that belong to threads of the parent."""
    for lock in _list(_all):
        if lock.acquire(blocking=False):  # it is free, or this thread's
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the modules of the library do with theirs


def _end_in_child() -> None:
    _fork.signals = None  # `interrupts` has ended it
    _give_back()
    _free_all()


hook_forks(before=_begin, after_in_parent=_end_in_parent, after_in_child=_end_in_child)
