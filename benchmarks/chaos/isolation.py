"""A call in a separate process, in which a crash or a timeout is also a result."""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """The result of a call in a forked process.

    value: the returned value; None if the call did not return.
    trouble: why the call did not return: a traceback, or how its process ended; None if it returned.
    is_slow: whether the process was ended because its time was up.
    """

    value: Any = None
    trouble: str | None = None
    is_slow: bool = False


def call_isolated(call: Callable[[], Any], limit: float) -> Answer:
    """Call a function in a forked process, whose process group is killed at the end.

    call: returns a value that can be pickled.
    limit: seconds of wall time.
    """
    reader, writer = os.pipe()
    gc.disable()  # the child must not collect objects of the parent
    process = os.fork()
    if process == 0:
        os.close(reader)
        _answer(call, writer)
    gc.enable()
    os.close(writer)
    try:
        packed = _read_until(reader, time.monotonic() + limit)
    finally:
        os.close(reader)
        status = _end_group(process)
    if packed is None:
        return Answer(trouble=f"it did not end within {limit:g} s", is_slow=True)
    if not packed:
        return Answer(trouble=f"its process ended with status {status}")
    return pickle.loads(packed)


def _answer(call: Callable[[], Any], writer: int) -> None:
    try:
        os.setpgid(0, 0)
        try:
            packed = pickle.dumps(Answer(call()))
        except BaseException:
            packed = pickle.dumps(Answer(trouble=traceback.format_exc()))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(packed)
    finally:
        os._exit(0)


def _read_until(reader: int, deadline: float) -> bytes | None:
    """Return all bytes until the pipe is closed, or None at the deadline."""
    found = b""
    while True:
        if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return None
        block = os.read(reader, 1 << 16)
        if not block:
            return found
        found += block


def _end_group(process: int) -> int:
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:  # it has no group yet, or has ended
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
