"""Where a training runs: its device, on a GPU a stream and CUDA graphs of its own, and random numbers of its own.

What only a GPU needs is here and nowhere else.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from bostruct.checks import shown
from bostruct.contracts import BostructError

WARM_UP = 3  # steps before a graph is captured, on the stream that it is captured on
MEMORY = (
    "CUDA error: out of memory",
    "CUDA out of memory",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
)  # what a RuntimeError says where memory is short, besides torch.OutOfMemoryError

Body = Callable[[], None]


def check_device(name: str) -> torch.device:
    """A CPU or a GPU that is there; raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"device: expected 'cpu', 'cuda' or 'cuda:<number>', got {shown(name)}")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device: expected 'cpu', 'cuda' or 'cuda:<number>', got {shown(name)}")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= there:
        raise ValueError(f"device: torch finds {there} CUDA devices here, got {shown(name)}")
    return device


@contextmanager
def tuned() -> Iterator[None]:
    """cuDNN tries its convolutions the first time that it meets a shape and keeps the fastest, in this block alone.

    What meets a shape first decides for the process, as choices are kept however they were made.
    """
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class CaptureFailed(BostructError, RuntimeError):
    """A step that cannot be a CUDA graph, for lack of memory or because it waits for the device; its cause says why."""


class Place:
    """A device with a stream and random numbers that belong to one training.

    Everything that a training does happens within `turn`: then torch's global random numbers are its own, and go on
    from its last turn, whatever others have drawn in between. On a GPU this also holds while graphs of several
    trainings are replayed at once: a graph reads seed and offset of the generator's state that it was captured with.
    """

    def __init__(self, device: torch.device, seed: int, *, graphs: bool = True) -> None:
        self.device = device
        self.cuda = device.type == "cuda"
        self.graphs = self.cuda and graphs  # what is repeated is captured
        self._state = torch.Generator().manual_seed(seed).get_state()
        if self.cuda:
            torch.cuda.init()
            self._index = torch.cuda.current_device() if device.index is None else device.index
            self._stream = torch.cuda.Stream(self._index)
            self._generator = torch.Generator(torch.device("cuda", self._index)).manual_seed(seed)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """This place's stream and random numbers, then those of before."""
        before = torch.get_rng_state()
        torch.set_rng_state(self._state)
        try:
            if self.cuda:
                with self._cuda_turn():
                    yield
            else:
                yield
        finally:
            self._state = torch.get_rng_state()
            torch.set_rng_state(before)

    @contextmanager
    def _cuda_turn(self) -> Iterator[None]:
        default = torch.cuda.default_generators[self._index]
        before = default.graphsafe_get_state()  # states change places, nothing is copied: graphs keep theirs
        default.graphsafe_set_state(self._generator)
        try:
            # The stream sets the device too, and both back after a capture that failed. A training's shapes are
            # fixed, so that the trying is paid once in a process.
            with tuned(), torch.cuda.stream(self._stream):
                yield
        finally:
            default.graphsafe_set_state(before)

    def precision(self) -> torch.autocast:
        """bfloat16 for matrix products and convolutions on a GPU; float32 for everything on a CPU."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.cuda)

    def repeated(self, body: Body) -> Body:
        """What does as `body` does, again and again: on a GPU as a CUDA graph.

        body: reads and writes tensors that stay where they are, and nothing on the CPU that changes.
        """
        return Repeated(body, self.captured) if self.graphs else body

    def wait(self) -> None:
        """Until the device has done all that it was told, on any stream."""
        if self.cuda:
            torch.cuda.synchronize(self._index)

    def release(self) -> None:
        """After a failure: memory that nothing refers to any more goes back to the device."""
        if self.cuda:
            gc.collect()  # an error's frames can refer to themselves
            torch.cuda.empty_cache()

    def captured(self, body: Body) -> Body:
        """`body` as a graph, captured and not run. Raises CaptureFailed, and leaves nothing behind."""
        graph = torch.cuda.CUDAGraph()
        try:
            # thread_local: other threads of the process may allocate meanwhile
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                body()
        except Exception as error:
            graph.reset()
            raise CaptureFailed(f"its step cannot be a CUDA graph: {_first_line(error)}") from error
        return graph.replay


class Repeated:
    """A body that runs as it is WARM_UP times, is captured, and is replayed from then on.

    captured: gives the replay of a body, without running it.
    """

    def __init__(self, body: Body, captured: Callable[[Body], Body]) -> None:
        self._body, self._captured, self._runs = body, captured, 0
        self._replay: Body | None = None

    def __call__(self) -> None:
        if self._runs < WARM_UP:
            self._runs += 1
            self._body()
            return
        if self._replay is None:
            self._replay = self._captured(self._body)
        self._replay()


def memory_reason(error: BaseException | None) -> str | None:
    """The first line about memory in an error or what led to it; None where it is about something else.

    A capture that runs out of memory can raise an error about the capture, with the cause as its context.
    """
    while error is not None:
        text = str(error)
        if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError) or any(one in text for one in MEMORY):
            return _first_line(error).partition(". ")[0]
        error = error.__cause__ or error.__context__
    return None


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
