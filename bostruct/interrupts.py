"""Steps that an interrupt must not cut in two."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

Step = TypeVar("Step", bound=Callable[..., Any])


def one_step(step: Step) -> Step:
    """A function during which Ctrl-C waits: what is on disk and what is in memory change together, or neither does."""

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        with _deferred():
            return step(*args, **kwargs)

    return whole  # type: ignore[return-value]


@contextmanager
def _deferred() -> Iterator[None]:
    # Python runs signal handlers in the main thread alone, and None is a handler that Python did not set.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    waiting: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *received: waiting.append(received))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting:
            if callable(before):
                before(*waiting[0])
            else:
                os.kill(os.getpid(), signal.SIGINT)
