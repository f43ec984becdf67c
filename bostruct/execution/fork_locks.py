"""Locks in a forked child, where the thread that held them is not there: they keep nobody waiting."""

from __future__ import annotations

import os
import threading
import time
import weakref

FORK_SECONDS = 2.0  # for which a fork waits for locks, at most

_all: weakref.WeakSet[threading.RLock] = weakref.WeakSet()
_awaited: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


class _Taken(threading.local):
    """The locks that a thread holds while it forks."""

    def __init__(self) -> None:
        self.locks: list[threading.RLock] = []


_taken = _Taken()


def make_lock(*, delays_forks: bool = False) -> threading.RLock:
    """Make a reentrant lock; in a forked child it is free, unless the thread that forked holds it.

    It is one of the library, whose `with` no signal can interrupt halfway, as it could that of a class in Python.

    delays_forks: whether a fork waits a while until the lock is free, for what is unusable in a child that was forked
        in the middle of it.
    """
    lock = threading.RLock()
    _all.add(lock)
    if delays_forks:
        _awaited.add(lock)
    return lock


def _take_awaited() -> None:
    until = time.monotonic() + FORK_SECONDS
    for lock in list(_awaited):
        if lock.acquire(timeout=max(0.0, until - time.monotonic())):
            _taken.locks.append(lock)


def _give_awaited_back() -> None:
    while _taken.locks:
        _taken.locks.pop().release()


def _free_all() -> None:
    """Make those locks new that belong to threads of the parent."""
    for lock in list(_all):
        if lock.acquire(blocking=False):  # it is free, or this thread's
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the modules of the library do with theirs


def _give_back_in_child() -> None:
    _give_awaited_back()
    _free_all()


if hasattr(os, "register_at_fork"):  # absent where there is no fork
    os.register_at_fork(before=_take_awaited, after_in_parent=_give_awaited_back, after_in_child=_give_back_in_child)
