"""CUDA graphs: a step that does the same on the same tensors is recorded once and replayed from then on.

A step that waits for the device is never recorded. It is run as it is, always, with a warning. Where a recording fails
all the same, its training begins anew without graphs (`training.run_trainings`), and this process records no more.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch

from bostruct.contracts import BostructError

WARM_UP = 3  # steps before a graph is captured, on the stream that it is captured on
SYNC_MESSAGE = "called a synchronizing CUDA operation"  # what torch warns of where it was told to warn of waits

StepBody = Callable[[], None]

# After a capture that failed torch's allocator takes it for one still underway: the next capture, which empties the
# cache, would raise an internal error of torch.
_CAPTURE_FAILED = threading.Event()
_WAITS_LOCK = threading.Lock()  # filters of warnings, like torch's setting, belong to the whole process


class CaptureFailed(BostructError, RuntimeError):
    """A capture that failed, or that is not tried because another one has failed in this process."""


def can_capture() -> bool:
    """Tell whether steps may be captured here: torch is built with CUDA, and no capture of this process has failed."""
    return torch.version.cuda is not None and not _CAPTURE_FAILED.is_set()


class CudaGraphs:
    """The CUDA graphs of one training, all captured on one stream.

    stream: of the training alone.
    """

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self._stream = stream
        self._warned = False

    def capture(self, body: StepBody) -> StepBody:
        """Return a body as a graph, captured and not run.

        body: as of `GraphedStep`.

        Raises CaptureFailed, whose cause says why.
        """
        if not can_capture():
            raise CaptureFailed("a capture has failed in this process")
        graph = torch.cuda.CUDAGraph()
        try:
            # thread_local: other threads of the process may allocate meanwhile
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                body()
        except Exception as error:
            _CAPTURE_FAILED.set()
            with suppress(RuntimeError):  # the error of the capture is what counts
                graph.reset()
            reason = str(error).partition("\n")[0]
            raise CaptureFailed(f"its step cannot be a CUDA graph: {reason}") from error
        return graph.replay

    @contextmanager
    def record_waits(self) -> Iterator[list[warnings.WarningMessage]]:
        """Give a list that holds, after the block, torch's warnings of operations that waited for the device.

        Other warnings are shown after the block. Nothing is raised in it, as torch has one setting for all threads.
        """
        waits: list[warnings.WarningMessage] = []
        with _WAITS_LOCK:
            before = torch.cuda.get_sync_debug_mode()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")  # said at the first call
                torch.cuda.set_sync_debug_mode("warn")
                try:
                    yield waits
                finally:
                    torch.cuda.set_sync_debug_mode(before)
        for one in caught:
            if SYNC_MESSAGE in str(one.message):
                waits.append(one)
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)

    def warn_of_wait(self, wait: warnings.WarningMessage) -> None:
        """Warn with the line of code that waits, once for each training.

        wait: torch's warning.
        """
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"trained without CUDA graphs, which is slower: a step waits for the device at {wait.filename}:"
                f"{wait.lineno}, which a graph cannot do",
                stacklevel=2,
            )


class GraphedStep:
    """A body that runs as it is WARM_UP times, is captured, and is replayed from then on.

    Where the last of these runs waits for the device, the body is run as it is, always. Calls raise CaptureFailed.

    body: reads and writes tensors that stay where they are, and nothing on the CPU that changes.
    graphs: of the training that the body is a step of.
    """

    def __init__(self, body: StepBody, graphs: CudaGraphs) -> None:
        self._body, self._graphs, self._runs = body, graphs, 0
        self._replay: StepBody | None = None

    def __call__(self) -> None:
        self._runs += 1
        if self._runs == WARM_UP:
            self._run_recording_waits()
            return
        if self._runs > WARM_UP and self._replay is None:
            self._replay = self._graphs.capture(self._body)
        (self._replay or self._body)()

    def _run_recording_waits(self) -> None:
        with self._graphs.record_waits() as waits:
            self._body()
        if waits:
            self._graphs.warn_of_wait(waits[0])
            self._replay = self._body
