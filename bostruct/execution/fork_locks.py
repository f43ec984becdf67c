"""Locks that keep nobody waiting in a forked child, where the thread that held them is not there."""

from __future__ import annotations

import os
import threading
import weakref

_all: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def make_lock() -> threading.RLock:
    """Make a reentrant lock; in a forked child it is free, unless the thread that forked holds it.

    It is one of the library, whose `with` no signal can interrupt halfway, as it could that of a class in Python.
    """
    lock = threading.RLock()
    _all.add(lock)
    return lock


def _free_all() -> None:
    """Make those locks new that belong to threads of the parent."""
    for lock in list(_all):
        if lock.acquire(blocking=False):  # it is free, or this thread's
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the modules of the library do with theirs


if hasattr(os, "register_at_fork"):  # absent where there is no fork
    os.register_at_fork(after_in_child=_free_all)
