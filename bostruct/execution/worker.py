"""The program of a worker process: it evaluates an objective at the points that come over a socket."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from bostruct.execution.evaluation import Evaluation, evaluate, failure, flush_output


def main() -> None:
    """Serve the socket whose descriptor is the first argument until it closes.

    Answers "ready", or why not, then the number and the evaluation of each trial.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the study, which ends its workers itself
    threading.Thread(target=_die_with_parent, args=(_take_stdin(),), daemon=True).start()
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    os.register_at_fork(after_in_child=connection.close)  # nobody but this process may answer, or seem to be it
    with contextlib.suppress(EOFError, ConnectionError):  # the study is gone: nobody is left to be told
        _serve(connection)


def _serve(connection: Connection) -> None:
    packed = connection.recv_bytes()
    try:
        objective = pickle.loads(packed)
    except Exception:
        connection.send(traceback.format_exc())
        return
    connection.send("ready")
    while True:
        number, point = connection.recv()
        evaluation = _evaluate_bytes(objective, point)
        flush_output()  # a worker may be killed at any time from here on
        connection.send((number, evaluation))


def _evaluate_bytes(objective: Callable[[Any], Any], packed: bytes) -> Evaluation:
    try:
        point = pickle.loads(packed)
    except Exception as error:
        return failure(error)
    return evaluate(objective, point)


def _take_stdin() -> int:
    """Give the objective an empty stdin; returns the descriptor of what was there, the pipe from the study."""
    pipe = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return pipe


def _die_with_parent(pipe: int) -> None:
    # Nothing is ever written to it: reading ends when the study's process does, however it does.
    while os.read(pipe, 1):
        pass
    os.killpg(0, signal.SIGKILL)
