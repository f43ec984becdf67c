"""The device of a training: its random numbers, its precision, and on a GPU its stream, graphs and memory.

What only a GPU needs is here, in `cuda_streams.py` and in `cuda_graphs.py`, and nowhere else.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from bostruct.checks import short_repr
from bostruct.nas.cuda_graphs import CudaGraphs, GraphedStep, StepBody, can_capture
from bostruct.nas.cuda_streams import take_stream

BFLOAT16 = (8, 0)  # the compute capability from which cuDNN has all convolutions in bfloat16


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


class DeviceContext:
    """A device with random numbers, and where there are graphs a stream, that belong to one training.

    A GPU has one fast way: bfloat16, and steps as CUDA graphs on a stream of the training's own. Its fallback is the
    way of a CPU, step by step on the current stream. The fallback is taken where anything is in doubt: below compute
    capability 8.0 (in float32), where torch is not built with CUDA, where all streams are taken, and where a capture
    has failed in this process.

    Everything that a training does happens within `activate`: then torch's global random numbers are its own, and go on
    from its last turn, whatever others have drawn in between. On a GPU this also holds while graphs of several
    trainings are replayed at once: a graph reads seed and offset of the generator's state that it was captured with.

    device: a CPU or a GPU that is there.
    seed: of the training's random numbers.
    with_graphs: False for the fallback in any case.
    """

    def __init__(self, device: torch.device, seed: int, *, with_graphs: bool = True) -> None:
        self.device = device
        self.cuda = device.type == "cuda"
        self.graphs: CudaGraphs | None = None
        self._bfloat16 = False
        self._state = torch.Generator().manual_seed(seed).get_state()
        if self.cuda:
            torch.cuda.init()
            self._index = with_index(device).index
            self._generator = torch.Generator(torch.device("cuda", self._index)).manual_seed(seed)
            self._bfloat16 = torch.cuda.get_device_capability(self._index) >= BFLOAT16
            fast = with_graphs and self._bfloat16 and can_capture()
            stream = take_stream(self._index, self) if fast else None
            self.graphs = None if stream is None else CudaGraphs(stream)
            self._stream = torch.cuda.current_stream(self._index) if stream is None else stream

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
        """Return the autocast of a forward pass: bfloat16 on a GPU of BFLOAT16, float32 elsewhere."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._bfloat16)

    def make_graphed_callable(self, body: StepBody) -> StepBody:
        """Return a callable that repeats a step: as a CUDA graph where there are graphs, else as it is.

        body: reads and writes tensors that stay where they are, and nothing on the CPU that changes. A body that waits
            for the device half-way, as for a number that its network asks for, is run as it is; a warning says so,
            once for each training.

        The callable raises CaptureFailed.
        """
        return body if self.graphs is None else GraphedStep(body, self.graphs)

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


@contextmanager
def benchmark_convolutions() -> Iterator[None]:
    """Let cuDNN try its convolutions the first time that it meets a shape and keep the fastest, in this block alone.

    What meets a shape first decides for the process, as choices are kept however they were made.
    """
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before
