"""The device of a training: its random numbers, its precision, its data, and on a GPU its stream, graphs and memory.

All GPU-specific code is in this file. A step that does the same on the same tensors is captured once as a CUDA graph
and then replayed. A step that waits for the device is never captured: it always runs eagerly, with a warning. If a
capture fails anyway, its training restarts without graphs (`training.run_trainings`), and this process makes no
further captures.
"""

from __future__ import annotations

import gc
import math
import threading
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from bostruct.checks import short_repr
from bostruct.contracts import BostructError
from bostruct.nas.data import Dataset, Examples

WARM_UP = 3  # steps before the capture of a graph, on the same stream
SYNC_MESSAGE = "called a synchronizing CUDA operation"  # torch's warning of a wait, in the debug mode "warn"
StepBody = Callable[[], None]

# After a failed capture, torch's allocator treats it as still underway: the next capture, which empties the
# cache, would raise an internal error of torch.
_CAPTURE_FAILED = threading.Event()
_WAITS_LOCK = threading.Lock()  # warning filters and torch's debug mode belong to the whole process
STREAMS = 32  # number of torch's streams on a GPU: further requests return the same streams again
_FREE_STREAMS: dict[int, list[torch.cuda.Stream]] = {}  # number of a GPU -> unused streams

MEMORY_MESSAGES = (
    "CUDA error: out of memory",
    "CUDA out of memory",
    "CUDA driver error: out of memory",
    "CUDNN_STATUS_ALLOC_FAILED",
    "DEVICE_ALLOCATION_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
)  # messages of a RuntimeError if memory is short, besides torch.OutOfMemoryError
NO_ENGINE = "unable to find an engine"  # cuDNN's message if no convolution fits into memory, or supports the numbers
LOW_MEMORY = 2**30  # bytes; with less free memory, lack of memory is the cause
BFLOAT16 = (8, 0)  # the lowest compute capability for which cuDNN has all convolutions in bfloat16
_PEAKS: dict[int, int] = {}  # number of a GPU -> peak memory of successful trainings in bytes
_ON_DEVICE = WeakTensorKeyDictionary()  # inputs or targets of a part of a data set -> key of a device -> tensor there
_WHOLES = WeakTensorKeyDictionary()  # inputs of a fraction of training examples -> all training examples


def check_device(name: str) -> torch.device:
    """Return an available CPU or GPU.

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


def check_devices(names: Sequence[str] | Literal["all"] | None) -> tuple[str, ...] | None:
    """Return the devices that workers use in turn; None for None.

    names: at least one name, see `check_device`, or ``all`` for all GPUs.

    Raises TypeError, ValueError.
    """
    if names is None:
        return None
    if names == "all":
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not there:
            raise ValueError("devices: torch finds no CUDA devices here, got 'all'; use device='cpu'")
        return tuple(f"cuda:{number}" for number in range(there))
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise TypeError(f"devices: expected a list such as ['cuda:0', 'cuda:1'], or 'all', got {short_repr(names)}")
    for name in names:
        check_device(name)
    return tuple(names)


def with_index(device: torch.device) -> torch.device:
    """Return a device with its number; for ``cuda`` it is the current device."""
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


class DeviceContext:
    """A device with the random numbers of one training and, if there are graphs, its stream.

    On a GPU, a training uses bfloat16 (float32 below compute capability 8.0), and CUDA graphs of its steps on its own
    stream. The fallback is eager steps on the current stream, as on a CPU. It is used if torch is not built with CUDA,
    if all streams are taken, or if a capture has failed in this process.

    A training runs only within `activate`: there, torch's global generators are its own, and continue from its last
    turn, independent of other trainings. On a GPU this also holds while graphs of several trainings are replayed at
    once: a graph reads seed and offset from the generator state with which it was captured.

    with_graphs: False to use the fallback in any case.
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
            stream = take_stream(self._index, self) if with_graphs and can_capture() else None
            self.graphs = None if stream is None else CudaGraphs(stream)
            self._stream = torch.cuda.current_stream(self._index) if stream is None else stream

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Use this training's random numbers and stream inside the block, then restore the previous ones."""
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
        before = default.graphsafe_get_state()  # states are swapped, not copied: graphs keep their states
        default.graphsafe_set_state(self._generator)
        try:
            # The stream also sets the device, and restores both after a failed capture. A training's shapes are
            # fixed, so the benchmark of convolutions runs once in a process.
            with benchmark_convolutions(), torch.cuda.stream(self._stream):
                yield
        finally:
            default.graphsafe_set_state(before)

    def precision(self) -> torch.autocast:
        """Return the autocast of a forward pass: bfloat16 on a GPU from `BFLOAT16` on, otherwise float32."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._bfloat16)

    def make_graphed_callable(self, body: StepBody) -> StepBody:
        """Return a callable that repeats a step: as a CUDA graph if there are graphs, otherwise eagerly.

        The callable raises CaptureFailed.
        """
        return body if self.graphs is None else GraphedStep(body, self.graphs)

    def synchronize(self) -> None:
        """Wait until the device has finished all queued work, on any stream."""
        if self.cuda:
            torch.cuda.synchronize(self._index)

    def free_memory(self) -> float:
        """Return the free bytes of the device; infinity for a CPU, or if a GPU does not respond."""
        with suppress(RuntimeError):
            return torch.cuda.mem_get_info(self._index)[0] if self.cuda else math.inf
        return math.inf

    def release(self) -> None:
        """Release unreferenced memory of the device, after a failure."""
        if self.cuda:
            gc.collect()  # the frames of an error may be in a reference cycle
            with suppress(RuntimeError):  # a lost device, or torch after a failed capture, raises it: only the
                torch.cuda.empty_cache()  # reason of the failure counts


@contextmanager
def benchmark_convolutions() -> Iterator[None]:
    """Let cuDNN benchmark its convolutions for each new shape and keep the fastest, only inside this block.

    The first use of a shape decides for the whole process, because choices are kept.
    """
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class CaptureFailed(BostructError, RuntimeError):
    """Raised if a capture fails, or is not tried because another capture has failed in this process."""


def can_capture() -> bool:
    """Return whether steps can be captured: torch has CUDA, and no capture in this process has failed."""
    return torch.version.cuda is not None and not _CAPTURE_FAILED.is_set()


class CudaGraphs:
    """The CUDA graphs of one training, all captured on one stream."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self._stream = stream
        self._warned = False

    def capture(self, body: StepBody) -> StepBody:
        """Return a body as a graph, captured and not run.

        Raises CaptureFailed; its cause is the reason.
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
            with suppress(RuntimeError):  # only the error of the capture counts
                graph.reset()
            reason = str(error).partition("\n")[0]
            raise CaptureFailed(f"its step cannot be a CUDA graph: {reason}") from error
        return graph.replay

    @contextmanager
    def record_waits(self) -> Iterator[list[warnings.WarningMessage]]:
        """Yield a list that contains, after the block, torch's warnings of operations that waited for the device.

        Other warnings are shown after the block. Waits raise no errors, because torch has one setting for all threads.
        """
        waits: list[warnings.WarningMessage] = []
        with _WAITS_LOCK:
            before = torch.cuda.get_sync_debug_mode()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")  # from the first call
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
        """Warn about the line of code that waits, once for each training."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"trained without CUDA graphs, which is slower: a step waits for the device at {wait.filename}:"
                f"{wait.lineno}, which a graph cannot do",
                stacklevel=2,
            )


class GraphedStep:
    """A body that runs eagerly `WARM_UP` times, is then captured, and replayed from then on.

    If the last of these runs waits for the device, the body always runs eagerly. Calls raise CaptureFailed.
    """

    def __init__(self, body: StepBody, graphs: CudaGraphs) -> None:
        self._body, self._graphs, self._runs = body, graphs, 0
        self._replay: StepBody | None = None

    def __call__(self) -> None:
        self._runs += 1
        if self._runs == WARM_UP:
            with self._graphs.record_waits() as waits:
                self._body()
            if waits:
                self._graphs.warn_of_wait(waits[0])
                self._replay = self._body
            return
        if self._runs > WARM_UP and self._replay is None:
            self._replay = self._graphs.capture(self._body)
        (self._replay or self._body)()


def take_stream(number: int, owner: object) -> torch.cuda.Stream | None:
    """Return a stream that no other training uses, None if all are taken; it is released when its owner is deleted.

    When a graph is deleted, torch frees the cuBLAS workspace of its stream, even if another graph that was captured on
    the same stream still writes there.
    """
    if number not in _FREE_STREAMS:
        torch.cuda.init()
        every = [torch.cuda.Stream(number) for _ in range(STREAMS)]
        _FREE_STREAMS[number] = list({stream.cuda_stream: stream for stream in every}.values())
    free = _FREE_STREAMS[number]
    if not free:
        gc.collect()  # errors of failed trainings may be in reference cycles
    if not free:
        return None
    stream = free.pop()
    weakref.finalize(owner, free.append, stream)
    return stream


def memory_reason(error: BaseException | None, free_memory: Callable[[], float]) -> str | None:
    """Return the first line about memory in an error or its causes; None if memory is not the reason.

    A capture that runs out of memory may raise an error about the capture, with the cause as its context. cuDNN skips
    convolutions whose workspace does not fit, and finally reports only that it found none.

    free_memory: returns the free bytes of the device; called only if cuDNN found no convolution.
    """
    while error is not None:
        text, kinds = str(error), (MemoryError, torch.cuda.OutOfMemoryError)
        known = isinstance(error, kinds) or any(one in text for one in MEMORY_MESSAGES)
        if known or (NO_ENGINE in text and free_memory() < LOW_MEMORY):
            return text.partition("\n")[0].partition(". ")[0]
        error = error.__cause__ or error.__context__
    return None


class MemoryPeak:
    """The peak memory of trainings on a GPU from now on, in bytes; memory of a CPU is not counted."""

    def __init__(self, device: torch.device) -> None:
        self._number = with_index(device).index if device.type == "cuda" else None
        if self._number is not None:
            torch.cuda.reset_peak_memory_stats(self._number)
            self._before = torch.cuda.memory_allocated(self._number)

    def record(self) -> None:
        """Record the peak memory of successful trainings."""
        if self._number is not None:
            own = torch.cuda.max_memory_allocated(self._number) - self._before
            _PEAKS[self._number] = max(own, _PEAKS.get(self._number, 0))

    def still_fits(self) -> bool:
        """Return whether the peak memory of earlier trainings can be allocated again; caches are empty."""
        try:
            if self._number in _PEAKS:
                torch.empty(_PEAKS[self._number], dtype=torch.uint8, device=f"cuda:{self._number}")
        except RuntimeError:
            return False
        return True


@dataclass(frozen=True, eq=False)
class DeviceExamples:
    """Examples of a part on a device; images channels-last on a GPU.

    inputs: uint8 images, normalized batch by batch, or float32, (input - mean) / scale.
    mean, scale: mean and scale of bytes divided by 255, (1, channels or 1, 1, 1).
    """

    inputs: Tensor
    targets: Tensor
    mean: Tensor
    scale: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Return normalized inputs and targets of chosen examples; images keep their memory format.

        chosen: int64 (m,), on the same device.
        """
        if self.inputs.dim() == 4 and self.inputs.stride(1) == 1:
            inputs = self.inputs.permute(0, 2, 3, 1).index_select(0, chosen).permute(0, 3, 1, 2)
        else:
            inputs = self.inputs.index_select(0, chosen)
        if inputs.dtype == torch.uint8:
            inputs = _normalize(inputs, self.mean, self.scale)
        return inputs, self.targets.index_select(0, chosen)


class DeviceParts(NamedTuple):
    """A data set's parts on a device."""

    train: DeviceExamples
    validation: DeviceExamples
    test: DeviceExamples


def on_device(data: Dataset, device: torch.device) -> DeviceParts:
    """Return a data set's parts on a device, the same tensors at every call; they must not be changed."""
    there = with_index(device)  # "cuda" and "cuda:0" may be the same device
    return DeviceParts(*(_examples_on_device(part, data, there) for part in (data.train, data.validation, data.test)))


def fraction_of(data: Dataset, fraction: float) -> Dataset:
    """Return `Dataset.part`; on a device it is a view of the first of all examples, not a copy.

    fraction: share of the training examples, in (0, 1].
    """
    if fraction == 1.0:
        return data
    part = data.part(fraction)
    _WHOLES[part.train.inputs] = data.train
    return part


def _examples_on_device(examples: Examples, data: Dataset, device: torch.device) -> DeviceExamples:
    whole: Examples | None = _WHOLES.get(examples.inputs)
    if whole is not None:
        there, n = _examples_on_device(whole, data, device), len(examples.inputs)
        return replace(there, inputs=there.inputs[:n], targets=there.targets[:n])
    dim = examples.inputs.dim()
    mean, scale = (torch.tensor(one).reshape(1, -1, *[1] * (dim - 2)).to(device) for one in (data.mean, data.scale))

    def move() -> Tensor:
        inputs = examples.inputs.to(device)
        is_image = dim == 4
        inputs = inputs if is_image and inputs.dtype == torch.uint8 else _normalize(inputs, mean, scale)
        there = device.type == "cuda" and is_image
        return inputs.contiguous(memory_format=torch.channels_last) if there else inputs

    inputs = _memoize(examples.inputs, (str(device), data.mean, data.scale), move)
    targets = _memoize(examples.targets, str(device), lambda: examples.targets.to(device))
    return DeviceExamples(inputs, targets, mean, scale)


def _normalize(inputs: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    values = inputs.float().div_(255.0) if inputs.dtype == torch.uint8 else inputs
    return (values - mean).div_(scale)


def _memoize(source: Tensor, key: Hashable, make: Callable[[], Tensor]) -> Tensor:
    """Return the tensor of `make`; it is made once during the lifetime of the source tensor."""
    cached: Any = _ON_DEVICE.setdefault(source, {})  # Hashable -> Tensor, which torch does not declare
    if key not in cached:
        made = make()
        if made is source:  # in the cache it would keep itself alive
            return made
        if made.is_cuda:
            torch.cuda.current_stream(made.device).synchronize()  # other streams may read it from now on
        cached[key] = made
    return cached[key]
