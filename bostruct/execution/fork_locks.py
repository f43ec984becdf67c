"""Locks that keep nobody waiting in a forked child, where the thread that held them is not there."""

from __future__ import annotations

import os
import threading
import weakref

_all: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A reentrant lock for `with`; in a forked child it is free, unless the thread that forked holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def free_in_child(self) -> None:
        """Take a new lock in the place of one that belongs to a thread of the parent."""
        if self._lock.acquire(blocking=False):  # it is free, or this thread's
            self._lock.release()
        else:
            self._lock = threading.RLock()


def _free_all() -> None:
    for lock in list(_all):
        lock.free_in_child()


if hasattr(os, "register_at_fork"):  # absent where there is no fork
    os.register_at_fork(after_in_child=_free_all)
