"""What runs in a worker process: it evaluates an objective at the points that come over a socket."""

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

from bostruct.outcomes import Outcome, evaluate, failure


def main() -> None:
    """Serve the socket whose descriptor is the first argument until it closes.

    Answers "ready", or why not, then an outcome for each point.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the study, which ends its workers itself
    threading.Thread(target=_die_with_parent, daemon=True).start()
    connection = Connection(int(sys.argv[1]))
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
        point = connection.recv_bytes()
        answer = _packed(_evaluated(objective, point))
        sys.stdout.flush()  # a worker may be killed at any time from here on
        sys.stderr.flush()
        connection.send_bytes(answer)


def _evaluated(objective: Callable[[Any], Any], packed: bytes) -> Outcome:
    try:
        point = pickle.loads(packed)
    except Exception as error:
        return failure(error)
    return evaluate(objective, point)


def _packed(outcome: Outcome) -> bytes:
    """The outcome as plain data, and apart from it the exception, which may load here only, or nowhere."""
    import cloudpickle

    try:
        error = cloudpickle.dumps(outcome.error)
    except Exception:  # its text travels with the outcome
        error = b""
    return pickle.dumps((outcome._replace(error=None), error))


def unpacked(data: bytes) -> Outcome:
    """Inverse of what a worker sends; an exception that does not load here is stood in for by its text."""
    outcome, error = pickle.loads(data)
    if outcome.trace is None:  # nothing was raised
        return outcome
    try:
        loaded = pickle.loads(error)
    except Exception:  # of any kind: this is the objective's own code
        loaded = None
    return outcome._replace(error=loaded if isinstance(loaded, Exception) else RuntimeError(outcome.failed))


def _die_with_parent() -> None:
    # Nothing is ever written to stdin: reading ends when the study's process does, however it does.
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)
