"""Find processes by a mark in their environment (Linux: /proc)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "BOSTRUCT_CHAOS"


def find_marked(mark: str) -> set[int]:
    """Return the processes that have a mark in their environment; forked children inherit the mark of their parent.

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
    """Wait until no process has a mark; kill and return the processes that still have it after a time.

    mark: see `find_marked`.
    patience: seconds to wait.
    """
    deadline = time.monotonic() + patience
    while (left := find_marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return left
