"""The garbage collector of Python, which stands still while a study is read: nothing that is made then is garbage."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bostruct.execution.interrupts import defer_signals, hook_forks

_stopped_by: set[int] = set()  # the threads that have stopped it and are to start it again


@contextmanager
def pause_collector() -> Iterator[None]:
    """Keep the garbage collector from running for as long as a block lasts, unless somebody else has stopped it.

    It looks at all objects whenever their number has grown by a quarter, a third of the time of reading a long study.
    What was made counts as old afterwards, unless the user has frozen objects, so that it is not looked at once more.
    """
    was_enabled, thread = gc.isenabled(), threading.get_ident()
    try:
        if was_enabled:
            _stopped_by.add(thread)
        gc.disable()
        yield
    finally:
        if was_enabled:
            try:
                _make_old()
            finally:  # an interrupt may have come
                gc.enable()
                _stopped_by.discard(thread)


@defer_signals
def _make_old() -> None:
    """Count all objects as old, unless the user has frozen some."""
    if gc.get_freeze_count() == 0:
        gc.freeze()  # moves all objects out of the young generations,
        gc.unfreeze()  # and into the oldest


def _start_in_child() -> None:
    """Start the collector in a forked child, where the thread that stopped it is not there."""
    if _stopped_by and threading.get_ident() not in _stopped_by:
        gc.enable()
        _stopped_by.clear()


hook_forks(after_in_child=_start_in_child)
