"""Processes found by a mark in their environment, whoever started them (Linux: /proc)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "BOSTRUCT_CHAOS"


def find_marked(mark: str) -> set[int]:
    """Return the processes that carry a mark in their environment, or in that of the parent they were forked from.

    mark: value of the variable BOSTRUCT_CHAOS.
    """
    wanted, found = f"{MARK}={mark}".encode(), set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it has just ended
                state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
                if state not in (b"Z", b"X") and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def await_end(mark: str, patience: float) -> set[int]:
    """Wait until no process carries a mark; return those that still do when the patience is over, and kill them.

    mark: as of `find_marked`.
    patience: seconds.
    """
    deadline = time.monotonic() + patience
    while (left := find_marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return left
