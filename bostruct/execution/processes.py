"""Worker processes of our own: one a slot, so that a death or a time-out costs the trial that caused it and no other.

Objectives travel by cloudpickle, so that lambdas and functions of a script's own main module work.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

from bostruct.contracts import BostructError
from bostruct.execution.evaluation import Evaluation
from bostruct.execution.pickling import pickle_for_worker
from bostruct.execution.pools import FinishedTrials
from bostruct.outcome import Outcome

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_SECONDS = 5.0  # seconds that a process gets to end by itself
LOADING_SECONDS = 60.0  # seconds that it gets to load the objective, or the time-out of a trial where that is longer
CHECKING = 0.5  # seconds after which is looked whether a silent process has ended
MERCY = 2.0  # seconds that the study's own SIGTERM may come after that of a worker
WORKER_TERMINATED = "its worker process died (signal SIGTERM)"
WORKER_CODE = "import sys; sys.path[:] = sys.argv[2:]; from bostruct.execution.worker import main; main()"


log = logging.getLogger(__name__)


class ProcessPool:
    """A pool that runs each trial in a process.

    objective: function of a point, which must pickle.
    workers: trials at a time at most.
    timeout: seconds for one, None for ever.

    Raises TypeError where the objective cannot be pickled.
    """

    def __init__(self, objective: Callable[[Any], Any], workers: int, timeout: float | None) -> None:
        self.slots = workers
        self._timeout = timeout
        self._objective = pickle_for_worker("objective", objective)
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}
        self._broken: BostructError | None = None

    def submit(self, number: int, point: Any) -> None:
        if not self._idle and not self._busy:  # the first: start all, for they load the objective side by side
            self._idle.extend(_Worker(self._objective, self.slots) for _ in range(self.slots))
        worker = self._idle.pop() if self._idle else _Worker(self._objective, self.slots)
        if not worker.is_alive():  # it died with nothing to do: no fault of this point
            worker.kill()
            worker = _Worker(self._objective, self.slots)
        self._busy[worker.connection] = worker
        worker.begin(number, pickle_for_worker("point", point), self._timeout)

    def wait(self) -> FinishedTrials:
        """Return finished trials; raise BostructError where a process cannot load the objective."""
        finished: FinishedTrials = []
        while not finished:
            if self._broken is not None:  # what had finished by then was told first
                raise self._broken
            deadlines = [worker.deadline for worker in self._busy.values() if worker.deadline is not None]
            patience = min([CHECKING, *(max(0.0, deadline - time.monotonic()) for deadline in deadlines)])
            for worker in self._busy.values():
                worker.end_stream_of_the_dead()
            for connection in wait(list(self._busy), patience):
                worker = self._busy[connection]  # type: ignore[index]  # we gave it nothing but connections
                if worker.loading:
                    self._broken = worker.finish_loading(self._timeout) or self._broken
                else:
                    finished.append((worker.number, self._receive(worker)))
            for worker in [worker for worker in self._busy.values() if worker.is_late()]:
                if worker.loading:
                    limit = _loading_limit(self._timeout)
                    self._broken = BostructError(f"objective: a worker process did not load it in {limit:g} s")
                else:
                    self._drop(worker)
                    log.warning(
                        "trial %d: timed out after %g s; its worker process was killed", worker.number, self._timeout
                    )
                    finished.append((worker.number, _fail(f"timed out after {self._timeout:g} s")))
        if any(evaluation.outcome.failed == WORKER_TERMINATED for _, evaluation in finished):
            time.sleep(MERCY)  # who ends a job ends workers and study, in any order: then no trial is to fail for it
        return sorted(finished, key=lambda pair: pair[0])

    def close(self) -> None:
        for worker in self._busy.values():
            worker.kill()
        for worker in self._idle:
            worker.dismiss()
        for worker in self._idle:
            worker.wait_for_exit()
            worker.kill()
        self._busy.clear()
        self._idle.clear()

    def _receive(self, worker: _Worker) -> Evaluation:
        try:
            number, evaluation = worker.connection.recv()
        except (EOFError, OSError):
            how = worker.wait_for_exit()
            self._drop(worker)
            log.warning("trial %d: its worker process died (%s)", worker.number, how)
            return _fail(f"its worker process died ({how})")
        if number != worker.number:
            self._drop(worker)
            return _fail(f"its worker process answered for trial {number}")
        self._idle.append(self._busy.pop(worker.connection))
        return evaluation

    def _drop(self, worker: _Worker) -> None:
        del self._busy[worker.connection]
        worker.kill()


class _Worker:
    """One process, and our end of the socket to it."""

    def __init__(self, objective: bytes, workers: int) -> None:
        ours, theirs = socket.socketpair()
        threads = str(max(1, (os.cpu_count() or 1) // workers))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", WORKER_CODE, str(theirs.fileno()), *_search_path()],
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a group of its own: killing it kills what the objective has started
                env={**dict.fromkeys(THREAD_VARIABLES, threads), **os.environ},
            )
        self.connection = Connection(ours.detach())
        with contextlib.suppress(OSError):  # it died as it started: `wait` says how
            self.connection.send_bytes(objective)
        self.number = -1
        self.deadline: float | None = None
        self.loading = True
        self._point = b""

    def begin(self, number: int, point: bytes, timeout: float | None) -> None:
        """Evaluate a point, once the process has loaded the objective: loading does not count as evaluating."""
        self.number = number
        self._point = point
        if self.loading:
            self.deadline = time.monotonic() + _loading_limit(timeout)
        else:
            self._send(timeout)

    def finish_loading(self, timeout: float | None) -> BostructError | None:
        """Take what the process says of loading the objective; an error where it could not."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            answer = f"it died ({self.wait_for_exit()})"
        if answer != "ready":
            return BostructError(f"objective: a worker process could not load it:\n{answer}")
        self.loading = False
        self._send(timeout)
        return None

    def _send(self, timeout: float | None) -> None:
        with contextlib.suppress(OSError):  # it died while idle: `wait` finds the end of the stream, and says how
            self.connection.send((self.number, self._point))
        self.deadline = None if timeout is None else time.monotonic() + timeout

    def end_stream_of_the_dead(self) -> None:
        """Let `wait` find that the process has ended, though what it left behind may hold the socket open."""
        if self._process.poll() is not None and not self.connection.poll():
            with socket.socket(fileno=os.dup(self.connection.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)

    def is_alive(self) -> bool:
        return self.loading or self._process.poll() is None

    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def dismiss(self) -> None:
        """Let an idle process end by itself, and run what it has to at its exit."""
        self.connection.close()

    def kill(self) -> None:
        """End the process, if it has not ended, and all that it has started; may be repeated."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in its group
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.connection.close()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait_for_exit(self) -> str:
        """Return how the process ended; one that closed its socket and lives on is killed first."""
        try:
            code = self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        return f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"


def _fail(reason: str) -> Evaluation:
    return Evaluation(Outcome(failed=reason))


def _signal_name(number: int) -> str:
    """Return the name of a signal, or its number: most real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _loading_limit(timeout: float | None) -> float:
    return max(LOADING_SECONDS, timeout or 0.0)


def _search_path() -> list[str]:
    """Return the folders in which this process finds modules, as absolute paths."""
    return [os.path.abspath(path) for path in sys.path]
