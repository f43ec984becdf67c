"""The place of a training: its device, its own stream and CUDA graphs on a GPU, and its own random numbers.

Code that only a GPU needs is here and nowhere else.
"""

from __future__ import annotations

import gc
import math
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch

from bostruct.checks import short_repr
from bostruct.contracts import BostructError

WARM_UP = 3  # steps before a graph is captured, on the stream that it is captured on
MEMORY_MESSAGES = (
    "CUDA error: out of memory",
    "CUDA out of memory",
    "CUDA driver error: out of memory",
    "CUDNN_STATUS_ALLOC_FAILED",
    "DEVICE_ALLOCATION_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
)  # what a RuntimeError says where memory is short, besides torch.OutOfMemoryError
NO_ENGINE = "unable to find an engine"  # where no convolution of cuDNN's has room, and where there is none for numbers
LOW_MEMORY = 2**30  # bytes free; with fewer it was for lack of room
STREAMS = 32  # that torch has on a GPU: asked for more it gives the same ones again
BFLOAT16 = (8, 0)  # the compute capability from which cuDNN has all convolutions in bfloat16

_FREE_STREAMS: dict[int, list[torch.cuda.Stream]] = {}  # number of a GPU -> those that no place has
SYNC_MESSAGE = "called a synchronizing CUDA operation"  # what torch says where it was told to raise instead of waiting

StepBody = Callable[[], None]


def check_device(name: str) -> torch.device:
    """Return a CPU or a GPU that is there.

    name: ``cpu``, ``cuda`` or ``cuda:<number>``.

    Raises TypeError, ValueError.
    """
    if not isinstance(name, str):
        raise TypeError(f"device: expected 'cpu', 'cuda' or 'cuda:<number>', got {short_repr(name)}")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device: expected 'cpu', 'cuda' or 'cuda:<number>', got {short_repr(name)}")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= there:
        raise ValueError(f"device: torch finds {there} CUDA devices here, got {short_repr(name)}")
    return device


def with_index(device: torch.device) -> torch.device:
    """Return a device with its number, which for ``cuda`` is that of the current device.

    device: with or without a number.
    """
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def take_stream(number: int) -> torch.cuda.Stream:
    """Take a stream that no other training has, to be put back; raise RuntimeError where there is none.

    number: of the GPU.

    When a graph goes, torch frees the working memory of cuBLAS on its stream, also where another graph that was
    captured on the same stream still writes there.
    """
    if number not in _FREE_STREAMS:
        torch.cuda.init()
        every = [torch.cuda.Stream(number) for _ in range(STREAMS)]
        _FREE_STREAMS[number] = list({stream.cuda_stream: stream for stream in every}.values())
    free = _FREE_STREAMS[number]
    if not free:
        gc.collect()  # errors can hold trainings that have failed, and refer to themselves
    if not free:
        raise RuntimeError(f"device: cuda:{number} has {STREAMS} streams, and as many trainings there are still held")
    return free.pop()


@contextmanager
def benchmark_convolutions() -> Iterator[None]:
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


class DeviceContext:
    """A device with random numbers, and where there are graphs a stream, that belong to one training.

    Everything that a training does happens within `activate`: then torch's global random numbers are its own, and go on
    from its last turn, whatever others have drawn in between. On a GPU this also holds while graphs of several
    trainings are replayed at once: a graph reads seed and offset of the generator's state that it was captured with.
    """

    def __init__(self, device: torch.device, seed: int, *, graphs: bool = True) -> None:
        self.device = device
        self.cuda = device.type == "cuda"
        self.graphs = self.cuda and graphs  # what is repeated is captured
        self._warned = self._bfloat16 = False
        self._state = torch.Generator().manual_seed(seed).get_state()
        if self.cuda:
            torch.cuda.init()
            self._index = with_index(device).index
            self._stream = self._own_stream() if graphs else torch.cuda.current_stream(self._index)
            self._generator = torch.Generator(torch.device("cuda", self._index)).manual_seed(seed)
            self._bfloat16 = torch.cuda.get_device_capability(self._index) >= BFLOAT16

    def _own_stream(self) -> torch.cuda.Stream:
        """Given back when this place, and with it what was captured here, is gone."""
        stream = take_stream(self._index)
        weakref.finalize(self, _FREE_STREAMS[self._index].append, stream)
        return stream

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Use this training's random numbers and stream meanwhile, then those of before."""
        before = torch.get_rng_state()
        torch.set_rng_state(self._state)
        try:
            if self.cuda:
                with self._activate_cuda():
                    yield
            else:
                yield
        finally:
            self._state = torch.get_rng_state()
            torch.set_rng_state(before)

    @contextmanager
    def _activate_cuda(self) -> Iterator[None]:
        default = torch.cuda.default_generators[self._index]
        before = default.graphsafe_get_state()  # states change places, nothing is copied: graphs keep theirs
        default.graphsafe_set_state(self._generator)
        try:
            # The stream sets the device too, and both back after a capture that failed. A training's shapes are
            # fixed, so that the trying is paid once in a process.
            with benchmark_convolutions(), torch.cuda.stream(self._stream):
                yield
        finally:
            default.graphsafe_set_state(before)

    def precision(self) -> torch.autocast:
        """bfloat16 for matrix products and convolutions on a GPU of BFLOAT16; float32 for everything elsewhere."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._bfloat16)

    def make_graphed_callable(self, body: StepBody) -> StepBody:
        """Return a callable that repeats `body`: on a GPU as a CUDA graph.

        body: reads and writes tensors that stay where they are, and nothing on the CPU that changes. A body that waits
        for the device half-way, as for a number that its network asks for, is run as it is, and from its beginning
        where this is found out; a warning says so, one for each place.
        """
        return GraphedStep(body, self) if self.graphs else body

    @contextmanager
    def raise_on_sync(self) -> Iterator[None]:
        """Make every operation that waits for the device raise a RuntimeError that says WAITS.

        This holds for all threads, as torch has one setting. A capture would fail for the same reason, but does not
        give back all of its memory then.
        """
        if not self.cuda:
            yield
            return
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(before)

    def warn_of_sync(self, error: RuntimeError) -> None:
        """Warn once, with the line of code that waits.

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

    def synchronize(self) -> None:
        """Wait until the device has done all that it was told, on any stream."""
        if self.cuda:
            torch.cuda.synchronize(self._index)

    def free_memory(self) -> float:
        """Return the bytes the device could give to anybody; not counted on a CPU, nor where a GPU does not answer."""
        with suppress(RuntimeError):
            return torch.cuda.mem_get_info(self._index)[0] if self.cuda else math.inf
        return math.inf

    def release(self) -> None:
        """Give memory that nothing refers to any more back to the device, after a failure."""
        if self.cuda:
            gc.collect()  # an error's frames can refer to themselves
            with suppress(RuntimeError):  # of a device that is lost, or of torch after a failed capture: the reason
                torch.cuda.empty_cache()  # of the failure is what counts

    def capture(self, body: StepBody) -> StepBody:
        """Return a body as a graph, captured and not run.

        body: as of `make_graphed_callable`.

        Raises CaptureFailed; torch keeps some memory of it then.
        """
        graph = torch.cuda.CUDAGraph()
        try:
            # thread_local: other threads of the process may allocate meanwhile
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                body()
        except Exception as error:
            graph.reset()
            raise CaptureFailed(f"its step cannot be a CUDA graph: {_first_line(error)}") from error
        return graph.replay


class GraphedStep:
    """A body that runs as it is WARM_UP times, is captured, and is replayed from then on; unless the last of these runs
    shows that it waits for the device: then it is run as it is, always. The run that showed it is made anew; running
    averages and random numbers that it moved on before it was broken off stay so.
    """

    def __init__(self, body: StepBody, context: DeviceContext) -> None:
        self._body, self._context, self._runs = body, context, 0
        self._replay: StepBody | None = None

    def __call__(self) -> None:
        self._runs += 1
        if self._runs == WARM_UP:
            if self._run_checking_sync():
                return
            self._replay = self._body
        elif self._runs > WARM_UP and self._replay is None:
            self._replay = self._context.capture(self._body)
        (self._replay or self._body)()

    def _run_checking_sync(self) -> bool:
        try:
            with self._context.raise_on_sync():
                self._body()
        except RuntimeError as error:
            if SYNC_MESSAGE not in str(error):
                raise
            self._context.warn_of_sync(error)
            return False
        return True


def memory_reason(error: BaseException | None, free_memory: Callable[[], float]) -> str | None:
    """The first line about memory in an error or what led to it; None where it is about something else.

    A capture that runs out of memory can raise an error about the capture, with the cause as its context. cuDNN passes
    over convolutions that have no room for their work, and in the end says only that it found none. free_memory: of the
    device, in bytes, asked for in this case alone.
    """
    while error is not None:
        text = str(error)
        known = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError) or any(
            one in text for one in MEMORY_MESSAGES
        )
        if known or (NO_ENGINE in text and free_memory() < LOW_MEMORY):
            return _first_line(error).partition(". ")[0]
        error = error.__cause__ or error.__context__
    return None


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
