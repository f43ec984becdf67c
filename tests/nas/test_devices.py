"""Devices: graphs or none, memory, streams, and what of them fails; a GPU is stood in for."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

import bostruct as bo
from bostruct.nas import TrainingFailed, diabetes, to_torch, train
from bostruct.nas import devices as devices_module
from bostruct.nas.devices import (
    STREAMS,
    SYNC_MESSAGE,
    WARM_UP,
    CaptureFailed,
    DeviceContext,
    GraphedStep,
    benchmark_convolutions,
    check_device,
    memory_reason,
    with_index,
)
from bostruct.nas.recipes import FAST
from bostruct.nas.training import Training, train_together
from tests.nas.graphs import CPU, Graphs

QUICK = replace(FAST, epochs=3, batch_size=32)
PERCEPTRON = bo.Architecture.chain("relu-16 linear")


def built(architecture, data):
    return lambda: to_torch(architecture, data.input_shape, data.classes)


def test_a_body_is_run_then_captured_then_replayed():
    told = []

    class Telling(Graphs):
        def capture(self, body):
            del body
            told.append("capture")
            return lambda: told.append("replayed")

    step = GraphedStep(lambda: told.append("run"), Telling(CPU, 0))
    for _ in range(WARM_UP + 2):
        step()
    assert told == ["run"] * WARM_UP + ["capture", "replayed", "replayed"]


class Strict(Graphs):
    """Says `WAITS` where it is told to, as a GPU does."""

    strict = False

    @contextmanager
    def raise_on_sync(self):
        Strict.strict = True
        try:
            yield
        finally:
            Strict.strict = False


class Asking(torch.nn.Module):
    """Asks for a number half-way, or fails there for another reason."""

    def __init__(self, reason=SYNC_MESSAGE):
        super().__init__()
        self.linear, self.reason = torch.nn.Linear(10, 1), reason

    def forward(self, x):
        given = self.linear(x)
        if Strict.strict:
            raise RuntimeError(self.reason)
        return given * (1.0 if float(given.detach().sum()) > 0.0 else 0.5)


def test_a_network_that_waits_is_trained_without_graphs_and_said_so_once(monkeypatch):
    data, recipe = diabetes(), replace(QUICK, statistics="batch")  # batches enough for a graph of the scoring too
    monkeypatch.setattr(Training, "context_type", type("P", (Graphs,), {"record": False}))
    expected = train(Asking, data, recipe, 1)
    monkeypatch.setattr(Training, "context_type", type("P", (Strict,), {"captures": 0}))
    with pytest.warns(UserWarning, match=r"without CUDA graphs.* waits for the device at .*test_devices.py:") as told:
        found = train(Asking, data, recipe, 1)
    assert len(told) == 1
    assert Training.context_type.captures == 0  # type: ignore[attr-defined]
    assert found.epochs == expected.epochs  # of a network without buffers, the run that was broken off has done nothing


def test_what_fails_in_the_last_run_for_another_reason_fails(monkeypatch):
    monkeypatch.setattr(Training, "context_type", Strict)
    with pytest.raises(RuntimeError, match="another reason"):
        train(lambda: Asking("another reason"), diabetes(), QUICK, 1)


def test_waiting_raises_for_a_while_and_a_cache_that_cannot_be_emptied_hides_nothing(monkeypatch):
    context, modes = DeviceContext(CPU, 0), [0]
    context.cuda = True
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: modes[-1])
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with pytest.raises(KeyError), context.raise_on_sync():
        raise KeyError
    assert modes == [0, "error", 0]

    def broken():
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED")

    monkeypatch.setattr(torch.cuda, "empty_cache", broken)
    context.release()


def failed_capture(cause):
    """A step that raises while it is captured: the end of the capture raises too, and hides what led to it."""

    def capture(_, body):
        del body
        try:
            try:
                raise cause
            finally:
                raise RuntimeError("operation failed due to a previous error during capture")
        except Exception as error:
            raise CaptureFailed(f"its step cannot be a CUDA graph: {error}") from error

    return type("P", (Graphs,), {"capture": capture})


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (
            torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."),
            "^out of memory: CUDA out of mem",
        ),
        (ValueError("a number is asked for"), "^its step cannot be a CUDA graph: operation failed"),
    ],
)
def test_a_capture_that_fails_is_a_reason_and_leaves_nothing(monkeypatch, cause, reason):
    data = diabetes()
    made = []

    def build():
        made.append(weakref.ref(network := built(PERCEPTRON, data)()))
        return network

    expected = train(build, data, QUICK, 1)
    monkeypatch.setattr(Training, "context_type", failed_capture(cause))
    with pytest.raises(TrainingFailed, match=reason):
        train(build, data, QUICK, 1)
    cause.__traceback__ = None
    gc.collect()
    assert made[1]() is None  # nor its gradients and what else was on the device
    monkeypatch.undo()
    assert train(build, data, QUICK, 1).epochs == expected.epochs


SAYING_MEMORY = [
    "[enforce fail] DefaultCPUAllocator: can't allocate memory: 7 bytes",
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
]


def test_what_is_for_lack_of_memory():
    free = DeviceContext(CPU, 0).free_memory
    for text in SAYING_MEMORY:
        assert memory_reason(RuntimeError(f"{text}\nCompile with ..."), free) == text
    assert memory_reason(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), free) == "CUDA out of memory"
    assert memory_reason(MemoryError(), free) == ""
    assert memory_reason(ValueError("no"), free) is None


def test_no_convolution_is_for_lack_of_memory_where_little_is_free(monkeypatch):
    context, none = DeviceContext(CPU, 0), RuntimeError("GET was unable to find an engine to execute this computation")
    assert memory_reason(none, context.free_memory) is None
    context.cuda, context._index = True, 0
    for free, expected in ((2**28, str(none)), (2**33, None)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=free: (free, 2**37))
        assert memory_reason(none, context.free_memory) == expected

    def lost(_):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "mem_get_info", lost)
    assert memory_reason(none, context.free_memory) is None  # and not what asking raises


def test_devices_are_there_or_refused(monkeypatch):
    assert check_device("cpu") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("gpu", "mps", "cuda", "cuda:1"):
        with pytest.raises(ValueError, match=f"device: .* got '{name}'"):
            check_device(name)
    with pytest.raises(TypeError, match="device: expected 'cpu'"):
        check_device(0)  # type: ignore[arg-type]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert check_device("cuda:0").type == "cuda"
    with pytest.raises(ValueError, match="torch finds 1 CUDA devices here, got 'cuda:1'"):
        check_device("cuda:1")


def test_a_device_has_one_name(gpu):
    del gpu
    assert with_index(torch.device("cuda")) == with_index(torch.device("cuda:1")) == torch.device("cuda:1")
    assert with_index(torch.device("cuda:0")) == torch.device("cuda:0")
    assert with_index(CPU) == CPU


def test_convolutions_are_tuned_in_a_training_and_nowhere_else():
    assert not torch.backends.cudnn.benchmark
    seen = []

    def fails():
        with benchmark_convolutions():
            seen.append(torch.backends.cudnn.benchmark)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert seen == [True]
    assert not torch.backends.cudnn.benchmark


class Stream:
    """As torch gives them: more than there are, and then the same ones again."""

    asked = 0

    def __init__(self, number):
        self.number, self.cuda_stream = number, Stream.asked % STREAMS
        Stream.asked += 1


@pytest.fixture
def gpu(monkeypatch):
    """What a place asks of torch when it is made on a GPU; gives its compute capability, to be changed."""
    capability = [9, 0]
    random = torch.Generator
    monkeypatch.setattr(devices_module, "_FREE_STREAMS", {})
    monkeypatch.setattr(torch, "Generator", lambda *_: random())
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda number: ("current", number))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: tuple(capability))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    return capability


def test_no_two_places_with_graphs_share_a_stream(gpu):
    del gpu
    cuda = torch.device("cuda")
    Stream(1)  # of somebody else
    places = [DeviceContext(cuda, seed) for seed in range(STREAMS)]
    assert {context._stream.number for context in places} == {1}
    assert len({context._stream.cuda_stream for context in places}) == STREAMS
    scoring = [DeviceContext(cuda, 0, graphs=False) for _ in range(3)]
    assert {context._stream for context in scoring} == {("current", 1)}
    with pytest.raises(RuntimeError, match=rf"cuda:1 has {STREAMS} streams"):
        DeviceContext(cuda, 0)
    assert DeviceContext(torch.device("cuda:0"), 0)._stream.number == 0
    given_back = places[5]._stream
    del places[5]
    assert DeviceContext(cuda, 0)._stream is given_back
    places[3].itself = places[3]  # type: ignore[attr-defined]  # as an error and its frames
    given_back = places[3]._stream
    del places[3]
    places.append(DeviceContext(cuda, 0))
    assert DeviceContext(cuda, 0)._stream is given_back


def test_more_trainings_than_streams_are_refused():
    data = diabetes()
    with pytest.raises(ValueError, match=r"builds: expected at most 32, .* streams on a GPU, got 33"):
        train_together([built(PERCEPTRON, data)] * 33, data, QUICK, range(33), device="cuda")


def test_products_are_bfloat16_where_all_convolutions_are(gpu):
    cuda = torch.device("cuda")
    for capability, expected in (((9, 0), True), ((8, 0), True), ((7, 5), False)):
        gpu[:] = capability
        assert DeviceContext(cuda, 0).precision()._enabled == expected
    assert not DeviceContext(CPU, 0).precision()._enabled
