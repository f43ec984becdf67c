"""CUDA graphs: a step that does the same on the same tensors is recorded once and replayed from then on."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from bostruct.contracts import BostructError

WARM_UP = 3  # steps before a graph is captured, on the stream that it is captured on
SYNC_MESSAGE = "called a synchronizing CUDA operation"  # what torch says where it was told to raise instead of waiting

StepBody = Callable[[], None]


class CaptureFailed(BostructError, RuntimeError):
    """A step that cannot be a CUDA graph, for lack of memory or because it waits for the device; its cause says why."""


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

        Raises CaptureFailed; torch keeps some memory of it then.
        """
        graph = torch.cuda.CUDAGraph()
        try:
            # thread_local: other threads of the process may allocate meanwhile
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                body()
        except Exception as error:
            graph.reset()
            reason = str(error).partition("\n")[0]
            raise CaptureFailed(f"its step cannot be a CUDA graph: {reason}") from error
        return graph.replay

    @contextmanager
    def raise_on_sync(self) -> Iterator[None]:
        """Make every operation that waits for the device raise a RuntimeError that says SYNC_MESSAGE.

        This holds for all threads, as torch has one setting. A capture would fail for the same reason, but does not
        give back all of its memory then.
        """
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(before)

    def warn_of_sync(self, error: RuntimeError) -> None:
        """Warn with the line of code that waits, once for each training.

        error: that was raised there.
        """
        if not self._warned:
            self._warned = True
            at = traceback.extract_tb(error.__traceback__)[-1]
            warnings.warn(
                f"trained without CUDA graphs, which is slower: a step waits for the device at {at.filename}:"
                f"{at.lineno} ({at.line}), which a graph cannot do",
                stacklevel=2,
            )


class GraphedStep:
    """A body that runs as it is WARM_UP times, is captured, and is replayed from then on.

    Where the last of these runs shows that the body waits for the device, it is run as it is, always. The run that
    showed it is made anew; running averages and random numbers that it moved on before it was broken off stay so.

    body: reads and writes tensors that stay where they are, and nothing on the CPU that changes.
    graphs: of the training that the body is a step of.
    """

    def __init__(self, body: StepBody, graphs: CudaGraphs) -> None:
        self._body, self._graphs, self._runs = body, graphs, 0
        self._replay: StepBody | None = None

    def __call__(self) -> None:
        self._runs += 1
        if self._runs == WARM_UP:
            if self._run_checking_sync():
                return
            self._replay = self._body
        elif self._runs > WARM_UP and self._replay is None:
            self._replay = self._graphs.capture(self._body)
        (self._replay or self._body)()

    def _run_checking_sync(self) -> bool:
        """Run the body, and tell whether it came to its end without waiting for the device."""
        try:
            with self._graphs.raise_on_sync():
                self._body()
        except RuntimeError as error:
            if SYNC_MESSAGE not in str(error):
                raise
            self._graphs.warn_of_sync(error)
            return False
        return True
