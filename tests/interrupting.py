"""Ctrl-C at a call of a function, at which a test lets it come."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable
from typing import Any


def interrupt_call(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    """Return a function that does what another one does, and that sends Ctrl-C as it is called for the n-th time.

    function: to call.
    at: n, from 1.
    """
    calls = itertools.count(1)

    def interrupt(*args: Any) -> Any:
        if next(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return function(*args)

    return interrupt
