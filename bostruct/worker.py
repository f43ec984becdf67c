"""What runs in a worker process: it evaluates an objective at the points that come over a socket."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection

from bostruct.outcomes import Outcome, evaluate


def main() -> None:
    """Serve the socket whose descriptor is the first argument until it closes.

    Answers "ready", or why not, then an outcome for each point.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the study, which ends its workers itself
    threading.Thread(target=_die_with_parent, daemon=True).start()
    connection = Connection(int(sys.argv[1]))
    try:
        objective = pickle.loads(connection.recv_bytes())
    except Exception:
        connection.send(traceback.format_exc())
        return
    connection.send("ready")
    while True:
        try:
            point = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        answer = _packed(evaluate(objective, point))
        sys.stdout.flush()  # a worker may be killed at any time from here on
        sys.stderr.flush()
        connection.send_bytes(answer)


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
    try:
        return outcome._replace(error=pickle.loads(error))
    except Exception:
        return outcome._replace(error=RuntimeError(outcome.failed))


def _die_with_parent() -> None:
    # Nothing is ever written to stdin: reading ends when the study's process does, however it does.
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)
