"""One worker process, seen from the study: its start, the trial it has, its answers and its end."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any, BinaryIO

from bostruct.execution.evaluation import Evaluation

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_SECONDS = 5.0  # seconds that a process gets to end by itself
ANSWER_SECONDS = 5  # seconds of silence within an answer, after which it is taken for junk
READING_SECONDS = 5  # seconds that a process may leave a large point unread, after which it is taken for lost
MAX_ANSWER = 2**27  # bytes; a line of text that gets onto the socket claims more than that as its length
WORKER_CODE = "import sys; sys.path[:] = sys.argv[3:]; from bostruct.execution.worker import main; main()"


class WorkerLost(Exception):
    """A process will not answer any more; the message says why, to follow "its worker process"."""


class WorkerProcess:
    """One process, and our end of the socket to it.

    objective: file that holds the pickled objective, as `share_bytes` returns it.
    workers: processes that share the machine.
    attempt: processes that have been started for the same trial, from 1, this one included.

    Raises OSError where the system refuses another process, or what it needs.
    """

    def __init__(self, objective: BinaryIO, workers: int, attempt: int = 1) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", ANSWER_SECONDS, 0))
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", READING_SECONDS, 0))
        self.connection = Connection(_move_above_stdio(ours.detach()))
        threads = str(max(1, (os.cpu_count() or 1) // workers))
        descriptors = (_move_above_stdio(theirs.detach()), objective.fileno())
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", WORKER_CODE, *map(str, descriptors), *_search_path()],
                stdin=subprocess.PIPE,
                pass_fds=descriptors,
                start_new_session=True,  # a group of its own: killing it kills what the objective has started
                env={**dict.fromkeys(THREAD_VARIABLES, threads), **os.environ},
            )
        except OSError:
            self.connection.close()
            raise
        finally:
            os.close(descriptors[0])
        self.attempt = attempt
        self.number = -1
        self.point = b""
        self.deadline: float | None = None
        self.is_loading = True

    def begin(self, number: int, point: bytes, load_timeout: float, timeout: float | None) -> None:
        """Evaluate a point, once the process has loaded the objective: loading does not count as evaluating.

        number: of the trial.
        point: pickled.
        load_timeout: seconds for what is left of loading.
        timeout: seconds for the evaluation, None for ever.

        Raises WorkerLost.
        """
        self.number = number
        self.point = point
        if self.is_loading:
            self.deadline = monotonic() + load_timeout
        else:
            self._send_point(timeout)

    def finish_loading(self, timeout: float | None) -> str | None:
        """Take what the process says of loading the objective, and begin; returns the traceback where it refuses.

        timeout: seconds for the evaluation, None for ever.

        Raises WorkerLost.
        """
        answer = self._receive()
        if not isinstance(answer, str):
            raise _junk(answer)
        if answer != "ready":
            return answer
        self.is_loading = False
        self._send_point(timeout)
        return None

    def receive_evaluation(self) -> Evaluation:
        """Return the evaluation of its trial; raise WorkerLost where the process died or sent something else."""
        match self._receive():
            case (self.number, Evaluation() as evaluation):
                return evaluation
            case (int(number), Evaluation()):
                raise WorkerLost(f"answered for trial {number}")
            case answer:
                raise _junk(answer)

    def _send_point(self, timeout: float | None) -> None:
        try:
            self.connection.send((self.number, self.point))
        except BlockingIOError:
            raise WorkerLost(f"did not read its point within {READING_SECONDS:g} s") from None
        except OSError:  # it died while idle: `wait` finds the end of the stream, and says how
            pass
        self.deadline = None if timeout is None else monotonic() + timeout

    def _receive(self) -> Any:
        try:
            packed = self.connection.recv_bytes(MAX_ANSWER)
        except (EOFError, ConnectionError):
            raise WorkerLost(f"died ({self.wait_for_exit()})") from None
        except (OSError, MemoryError) as error:  # the length is that of no answer, or less came than it says
            raise _junk(error) from error
        try:
            return pickle.loads(packed)
        except Exception as error:  # of any kind: these are not the bytes of an answer
            raise _junk(error) from error

    def end_stream_of_the_dead(self) -> None:
        """Let `wait` find that the process has ended, though what it left behind may hold the socket open."""
        if self._process.poll() is not None and not self.connection.poll():
            with socket.socket(fileno=os.dup(self.connection.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)

    def is_alive(self) -> bool:
        return self.is_loading or self._process.poll() is None

    def is_late(self) -> bool:
        return self.deadline is not None and monotonic() >= self.deadline

    def dismiss(self) -> None:
        """Let an idle process end by itself, and run what it has to at its exit."""
        self.connection.close()

    def kill(self) -> None:
        """End the process, if it has not ended, and all that it has started in its group; may be repeated."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in its group
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.let_go()

    def let_go(self) -> None:
        """Close our ends of its socket and its pipe."""
        self.connection.close()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait_for_exit(self, timeout: float = EXIT_SECONDS) -> str:
        """Return how the process ended; one that closed its socket and lives on is killed first.

        timeout: seconds that it gets to end by itself.
        """
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        return f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"


def share_bytes(content: bytes) -> BinaryIO:
    """Return a file that holds these bytes for all worker processes, in memory where the system can do that.

    content: the pickled objective.

    Each process reads the file when it is ready to. Over the sockets they would have to be sent to one after another.
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
    """Move what was opened above the descriptors of stdin, stdout and stderr, and return its new descriptor.

    Where one of these is closed, the next thing opened takes its number, and whatever is printed would go there.
    """
    if descriptor > 2:
        return descriptor
    import fcntl  # there is none on Windows

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _junk(found: object) -> WorkerLost:
    """Return the error for what was found instead of an answer: an object, or the exception that came of reading."""
    return WorkerLost(f"sent an answer that cannot be read ({type(found).__name__})")


def _signal_name(number: int) -> str:
    """Return the name of a signal, or its number: most real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _search_path() -> list[str]:
    """Return the folders in which this process finds modules, as absolute paths."""
    return [os.path.abspath(path) for path in sys.path]
