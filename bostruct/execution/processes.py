"""Worker processes, one per slot, so that a death or a timeout costs only the trial that caused it.

Objectives are pickled by cloudpickle, to support lambdas and functions of a script's main module.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from time import monotonic, sleep
from typing import Any, BinaryIO, NamedTuple

from bostruct.checks import has_posix
from bostruct.contracts import BostructError, Json
from bostruct.execution.evaluation import Evaluation, name_cause_of_kill
from bostruct.execution.interrupts import hook_forks
from bostruct.execution.pools import FinishedTrials, Pool, pickle_for_worker
from bostruct.outcome import WORKER_NUMBER, Outcome

MAX_LOADS = 3  # processes that may be lost while loading the objective for one trial
CHECK_SECONDS = 0.5  # seconds between checks whether a silent process has ended
START_SECONDS = 30.0  # time without any process, because the system refuses one, after which the run ends
GRACE_SECONDS = 2.0  # maximum time between SIGTERM to a worker and SIGTERM to the study
WORKER_TERMINATED = "its worker process died (signal SIGTERM)"
WORKER_KILLED = "its worker process died (signal SIGKILL)"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_SECONDS = 5.0  # time in which a process must exit by itself
ANSWER_SECONDS = 5  # maximum silence within an answer, after which it is invalid
READING_SECONDS = 5  # maximum time to read a large point, after which a process is lost
MAX_ATTRIBUTES_READ = 1_000  # read from one process before others are checked
MAX_ANSWER = 2**27  # bytes; text that was printed to the socket is read as a larger length
WORKER_CODE = "import sys; sys.path[:] = sys.argv[3:]; from bostruct.execution.worker import main; main()"
log = logging.getLogger(__name__)
_pools: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


class WaitingTrial(NamedTuple):
    """A trial that waits for a process."""

    number: int
    point: bytes
    attempt: int = 1


class ProcessPool(Pool):
    """A pool that runs each trial in a worker process.

    workers: maximum number of concurrent trials.
    timeout: seconds per trial; None for no limit.
    load_timeout: seconds for a process to load the objective; another process is then tried.

    Raises TypeError if the objective cannot be pickled, BostructError if the system is not POSIX.
    """

    def __init__(
        self, objective: Callable[[Any], Any], workers: int, timeout: float | None, load_timeout: float = 60.0
    ) -> None:
        if not has_posix():
            raise BostructError(
                f"workers={workers}: worker processes need a POSIX system; use workers=1 with trial_timeout=None, or "
                "an executor"
            )
        self.slots = workers
        self._timeout = timeout
        self._load_timeout = load_timeout
        arguments = json.dumps([str(one) for one in sys.argv]).encode()  # in one line
        self._objective = share_bytes(arguments + b"\n" + pickle_for_worker("objective", objective))
        self._idle: list[WorkerProcess] = []
        self._busy: dict[Connection, WorkerProcess] = {}
        self._waiting: list[WaitingTrial] = []
        self._refused_since: float | None = None  # when the system first refused a process while none was running
        self._broken: BostructError | None = None
        _pools.add(self)

    def submit(self, number: int, point: Any) -> None:
        packed = pickle_for_worker("point", point)
        if not self._idle and not self._busy:  # first trial: start all, which load the objective in parallel
            try:
                for slot in range(self.slots):
                    self._idle.append(WorkerProcess(self._objective, self.slots, slot=slot))
            except OSError as error:
                log.warning("%d of %d worker processes could be started: %s", len(self._idle), self.slots, error)
        self._waiting.append(WaitingTrial(number, packed))
        self._begin_waiting()

    def poll(self) -> FinishedTrials:
        return self._poll(0.0)

    def wait(self) -> FinishedTrials:
        """Return finished trials; raise BostructError if no process can load the objective."""
        while True:
            deadlines = [worker.deadline for worker in self._busy.values() if worker.deadline is not None]
            timeout = min([CHECK_SECONDS, *(max(0.0, deadline - monotonic()) for deadline in deadlines)])
            if finished := self._poll(timeout):
                return finished

    def cancel(self, number: int) -> None:
        self._waiting = [trial for trial in self._waiting if trial.number != number]
        for worker in [worker for worker in self._busy.values() if worker.number == number]:
            self._drop(worker)

    def close(self) -> None:
        for worker in self._busy.values():
            worker.kill()
        for worker in self._idle:
            worker.dismiss()
        end = monotonic() + EXIT_SECONDS  # shared, because the workers were dismissed together
        for worker in self._idle:
            worker.wait_for_exit(max(0.0, end - monotonic()))
            worker.kill()
        self._forget()

    def _poll(self, timeout: float) -> FinishedTrials:
        """Wait for messages of processes, at most `timeout` seconds, and return the finished trials."""
        if self._broken is not None:  # earlier results were returned first
            raise self._broken
        finished: FinishedTrials = []
        for worker in self._busy.values():
            worker.detect_exit()
        for connection in wait(list(self._busy), timeout):
            worker = self._busy[connection]  # type: ignore[index]  # the list contains only connections
            if worker.is_loading:
                self._finish_loading(worker)
            elif (evaluation := self._receive(worker)) is not None:
                finished.append((worker.number, evaluation))
        for worker in [worker for worker in self._busy.values() if worker.is_late()]:
            self._drop(worker)
            if worker.is_loading:
                self._replace(worker, worker.attempt, f"did not load it in {self._load_timeout:g} s (load_timeout)")
            else:
                log.warning(
                    "trial %d: timed out after %g s; its worker process was killed", worker.number, self._timeout
                )
                finished.append((worker.number, _fail(worker, f"timed out after {self._timeout:g} s")))
        self._begin_waiting()
        if any(evaluation.outcome.failed == WORKER_TERMINATED for _, evaluation in finished):
            sleep(GRACE_SECONDS)  # a job's end may end the study after its workers; no trial must fail because of it
        return sorted(finished, key=lambda pair: pair[0])

    def _begin_waiting(self) -> None:
        """Start waiting trials while there are idle processes or the system allows new ones."""
        while self._waiting and (worker := self._find_worker(self._waiting[0].attempt)) is not None:
            number, point, attempt = self._waiting.pop(0)
            self._busy[worker.connection] = worker
            try:
                worker.begin(number, point, self._load_timeout, self._timeout)
            except WorkerLost as error:
                self._drop(worker)
                self._replace(worker, attempt, str(error))

    def _find_worker(self, attempt: int) -> WorkerProcess | None:
        """Return an idle or new process; None if the system refuses a process, which may end the run."""
        while self._idle and attempt == 1:
            worker = self._idle.pop()
            if worker.is_alive():
                return worker
            worker.kill()  # it died while it was idle: no point is at fault
        try:
            taken = {worker.slot for worker in (*self._busy.values(), *self._idle)}
            slot = next(number for number in range(len(taken) + 1) if number not in taken)
            worker = WorkerProcess(self._objective, self.slots, attempt, slot)
        except OSError as error:
            self._note_refusal(error)
            return None
        self._refused_since = None
        return worker

    def _note_refusal(self, error: OSError) -> None:
        """Wait for the running trials, or for a while if none runs, since other programs may free resources."""
        now = monotonic()
        if self._busy:
            self._refused_since = None
        elif self._refused_since is None:
            self._refused_since = now
            log.warning("no worker process can be started: %s", error)
        elif now - self._refused_since >= START_SECONDS:
            self._broken = BostructError(
                f"objective: no worker process could be started for {START_SECONDS:g} s: {error}; the machine lacks "
                "processes, memory or open files: use fewer workers, or raise the limit"
            )

    def _finish_loading(self, worker: WorkerProcess) -> None:
        try:
            refusal = worker.finish_loading(self._timeout)
        except WorkerLost as error:
            self._drop(worker)
            self._replace(worker, worker.attempt, f"could not load it: it {error}")
        else:
            if refusal is not None:
                self._broken = BostructError(f"objective: a worker process could not load it:\n{refusal}")

    def _replace(self, lost: WorkerProcess, attempt: int, why: str) -> None:
        """Requeue a trial whose process was lost before the evaluation, unless that happened too often."""
        if attempt >= MAX_LOADS:
            times = f"{attempt} worker processes were tried for trial {lost.number}, and the last one"
            self._broken = BostructError(f"objective: {times} {why}")
            return
        log.warning("trial %d: a worker process %s; another process is started", lost.number, why)
        self._waiting.append(WaitingTrial(lost.number, lost.point, attempt + 1))

    def _receive(self, worker: WorkerProcess) -> Evaluation | None:
        """Return the evaluation of a worker's trial; None while it is running."""
        try:
            evaluation = worker.receive_evaluation()
        except WorkerLost as error:
            self._drop(worker)
            log.warning("trial %d: its worker process %s", worker.number, error)
            failed = _fail(worker, f"its worker process {error}")
            return failed._replace(machine=name_cause_of_kill()) if failed.outcome.failed == WORKER_KILLED else failed
        if evaluation is None:
            return None
        if evaluation.machine is None:
            self._idle.append(self._busy.pop(worker.connection))
        else:  # the cause would also affect the next trial in the same process
            log.warning("trial %d: failed because of %s; its worker is replaced", worker.number, evaluation.machine)
            self._drop(worker)
        return evaluation

    def _drop(self, worker: WorkerProcess) -> None:
        del self._busy[worker.connection]
        worker.kill()

    def _forget(self) -> None:
        """Drop all processes without ending them, and the objective."""
        for worker in (*self._busy.values(), *self._idle):
            worker.close()
        self._busy.clear()
        self._idle.clear()
        self._waiting.clear()
        self._objective.close()


def _forget_in_child() -> None:
    for pool in list(_pools):  # a child must neither end its parent's workers nor keep them alive
        pool._forget()


def _fail(worker: WorkerProcess, reason: str) -> Evaluation:
    return Evaluation(Outcome(failed=reason), attributes=worker.attributes)


class WorkerLost(Exception):
    """Raised if a process will not answer any more; the message continues "its worker process"."""


class WorkerProcess:
    """One worker process and our end of its socket.

    objective: file with `sys.argv` as a line of JSON and the pickled objective, as `share_bytes` returns it.
    attempt: number of processes started for the same trial, from 1, including this one.
    slot: number of the process in its pool, from 0; the value of the environment variable `WORKER_NUMBER`.

    Raises OSError if the system refuses another process or its resources.
    """

    def __init__(self, objective: BinaryIO, workers: int, attempt: int = 1, slot: int = 0) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", ANSWER_SECONDS, 0))
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", READING_SECONDS, 0))
        self.connection = Connection(_move_above_stdio(ours.detach()))
        threads = str(max(1, (os.cpu_count() or 1) // workers))
        descriptors = (_move_above_stdio(theirs.detach()), objective.fileno())
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", WORKER_CODE, *map(str, descriptors), *map(os.path.abspath, sys.path)],
                stdin=subprocess.PIPE,
                pass_fds=descriptors,
                start_new_session=True,  # a separate group: killing it also kills processes of the objective
                env={**dict.fromkeys(THREAD_VARIABLES, threads), **os.environ, WORKER_NUMBER: str(slot)},
            )
        except OSError:
            self.connection.close()
            raise
        finally:
            os.close(descriptors[0])
        self.attempt, self.slot = attempt, slot
        self.number = -1
        self.attributes: dict[str, Json] = {}  # attributes of its trial received so far
        self.point = b""
        self.deadline: float | None = None
        self.is_loading = True

    def begin(self, number: int, point: bytes, load_timeout: float, timeout: float | None) -> None:
        """Evaluate a point, once the process has loaded the objective: loading does not count as evaluating.

        load_timeout: remaining seconds for loading.
        timeout: seconds for the evaluation; None for no limit.

        Raises WorkerLost.
        """
        self.number, self.attributes = number, {}
        self.point = point
        if self.is_loading:
            self.deadline = monotonic() + load_timeout
        else:
            self._send_point(timeout)

    def finish_loading(self, timeout: float | None) -> str | None:
        """Receive the result of loading the objective, and start; return the traceback if loading failed.

        timeout: seconds for the evaluation; None for no limit.

        Raises WorkerLost.
        """
        answer = self._receive()
        if not isinstance(answer, str):
            raise _invalid_answer(answer)
        if answer != "ready":
            return answer
        self.is_loading = False
        self._send_point(timeout)
        return None

    def receive_evaluation(self) -> Evaluation | None:
        """Return the evaluation of its trial; None if only attributes arrived; raise WorkerLost for anything else."""
        for _ in range(MAX_ATTRIBUTES_READ):
            match self._receive():
                case (self.number, Evaluation() as evaluation):
                    return evaluation
                case (int(number), Evaluation()):
                    raise WorkerLost(f"answered for trial {number}")
                case (int(number), dict(attributes)):  # a thread of an earlier trial may also set attributes
                    self.attributes |= attributes if number == self.number else {}
                case answer:
                    raise _invalid_answer(answer)
            if not self.connection.poll():
                break
        return None

    def _send_point(self, timeout: float | None) -> None:
        try:
            self.connection.send((self.number, self.point))
        except BlockingIOError:
            raise WorkerLost(f"did not read its point within {READING_SECONDS:g} s") from None
        except OSError:  # it died while it was idle: `wait` detects the end of the stream and reports the reason
            pass
        self.deadline = None if timeout is None else monotonic() + timeout

    def _receive(self) -> Any:
        try:
            packed = self.connection.recv_bytes(MAX_ANSWER)
        except (EOFError, ConnectionError):
            raise WorkerLost(f"died ({self.wait_for_exit()})") from None
        except (OSError, MemoryError) as error:  # the length is invalid, or fewer bytes arrived
            raise _invalid_answer(error) from error
        try:
            return pickle.loads(packed)
        except Exception as error:  # any exception: the bytes are not an answer
            raise _invalid_answer(error) from error

    def detect_exit(self) -> None:
        """Let `wait` detect that the process has ended, although its children may hold the socket open."""
        if self._process.poll() is not None and not self.connection.poll():
            with socket.socket(fileno=os.dup(self.connection.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)

    def is_alive(self) -> bool:
        return self.is_loading or self._process.poll() is None

    def is_late(self) -> bool:
        return self.deadline is not None and monotonic() >= self.deadline

    def dismiss(self) -> None:
        """Let an idle process exit by itself and run its exit handlers."""
        self.connection.close()

    def kill(self) -> None:
        """End the process and all processes of its group; idempotent."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # its group is empty
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.close()

    def close(self) -> None:
        """Close our ends of its socket and pipe."""
        self.connection.close()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait_for_exit(self, timeout: float = EXIT_SECONDS) -> str:
        """Return how the process ended; a process that closed its socket but lives is killed first.

        timeout: seconds to exit by itself.
        """
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        return f"signal {_name_signal(-code)}" if code < 0 else f"exit code {code}"


def share_bytes(content: bytes) -> BinaryIO:
    """Return a file with these bytes for all worker processes, in memory if the system supports it.

    Each process reads the file when it is ready. Over sockets, processes would receive the bytes one after another.
    """
    if sys.platform == "linux":
        descriptor = os.memfd_create("objective")
    else:
        with tempfile.TemporaryFile() as unnamed:
            descriptor = os.dup(unnamed.fileno())
    file = os.fdopen(_move_above_stdio(descriptor), "w+b")
    file.write(content)
    file.flush()
    return file


def _move_above_stdio(descriptor: int) -> int:
    """Move a file descriptor above stdin, stdout and stderr, and return the new descriptor.

    If one of these is closed, the next opened file takes its number, and printed text would go there.
    """
    if descriptor > 2:
        return descriptor
    import fcntl  # not available on Windows

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _invalid_answer(found: object) -> WorkerLost:
    """Return the error for an invalid answer: an object, or the exception from reading it."""
    return WorkerLost(f"sent an answer that cannot be read ({type(found).__name__})")


def _name_signal(number: int) -> str:
    """Return the name of a signal, or its number, since most real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


hook_forks(after_in_child=_forget_in_child)
