"""The program of a worker process, which evaluates an objective at the points that arrive over a socket."""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from bostruct.contracts import Json
from bostruct.execution.clock import now
from bostruct.execution.evaluation import evaluate_bytes, flush_output

_sending = threading.Lock()  # threads of an objective may set attributes concurrently


def main() -> None:
    """Serve a socket until it closes; the arguments are descriptors: of the socket, and of the file of the objective.

    It sends "ready" or an error, then the number of each trial with its attributes as they are set, and its evaluation.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the study handles Ctrl-C, and ends its workers itself
    _die_with_parent(_take_stdin())
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    os.register_at_fork(after_in_child=connection.close)  # only this process may answer
    with contextlib.suppress(EOFError, ConnectionError):  # the study has ended
        _serve(connection, int(sys.argv[2]))


def _serve(connection: Connection, descriptor: int) -> None:
    try:
        objective = _load(descriptor)
    except BaseException:  # a module that exits while it is imported does not load either
        connection.send(traceback.format_exc())
        return
    connection.send("ready")
    while True:
        number, point = connection.recv()
        send = partial(_send_attributes, connection, number)
        evaluation = evaluate_bytes(objective, point, send)._replace(ended=now())
        flush_output()  # a worker may be killed at any time from here onward
        with _sending:
            connection.send((number, evaluation))


def _send_attributes(connection: Connection, number: int, attributes: dict[str, Json]) -> None:
    """Send attributes at once, so that they survive the end of this process; not in a forked child."""
    with _sending, contextlib.suppress(OSError):
        connection.send((number, attributes))


def _load(descriptor: int) -> Callable[[Any], Any]:
    """Load the objective, after `sys.argv` of the study, which the objective's module may read."""
    os.set_inheritable(descriptor, False)
    with open(descriptor, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as packed:
        sys.argv[:] = json.loads(packed.readline())
        with memoryview(packed)[packed.tell() :] as pickled:
            return pickle.loads(pickled)


def _take_stdin() -> int:
    """Give the objective an empty stdin; return the descriptor of the original stdin, the pipe from the study."""
    pipe = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)  # not the number of a closed stdout
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return pipe


def _die_with_parent(pipe: int) -> None:
    """Kill this process and its group when the other end of the pipe closes, because the study's process has ended.

    On Linux, the kernel sends the signal itself. The thread is for other systems; it needs the interpreter's lock,
    which a call of C code may hold.
    """
    if sys.platform == "linux":
        fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()


def _watch(pipe: int) -> None:
    while os.read(pipe, 1):  # nothing is ever written to it: reading ends with the study's process
        pass
    os.killpg(0, signal.SIGKILL)
