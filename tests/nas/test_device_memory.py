"""What is for lack of memory, in the words of torch."""

from __future__ import annotations

import pytest
import torch

from bostruct.execution.evaluation import find_cause
from bostruct.nas import TrainingFailed, diabetes, train
from bostruct.nas import training as training_module
from bostruct.nas.devices import DeviceContext, MemoryPeak, memory_reason
from bostruct.nas.outcomes import OutOfMemory
from tests.nas.graphs import CPU
from tests.nas.trainings import PERCEPTRON, QUICK, built

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


class Memory:
    """The memory of a simulated GPU, whose number is 1."""

    def __init__(self, monkeypatch, total):
        self.total, self.held, self.most = total, 0, 0
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: self.held)
        monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: self.most)
        monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", self.reset)
        monkeypatch.setattr(torch, "empty", self.empty)
        monkeypatch.setattr("bostruct.nas.devices._PEAKS", {})

    def reset(self, _):
        self.most = self.held

    def take(self, size):
        if self.held + size > self.total:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        self.held += size
        self.most = max(self.most, self.held)

    def empty(self, size, *, dtype, device):
        assert (dtype, device) == (torch.uint8, "cuda:1")
        self.take(size)
        self.held -= size


def test_memory_heals_if_what_fitted_before_fits_again(monkeypatch):
    memory = Memory(monkeypatch, 100)
    memory.take(10)  # the data
    peak = MemoryPeak(torch.device("cuda"))
    assert peak.still_fits()  # nothing ran before
    memory.take(30)
    memory.held -= 30
    peak.record()
    large = MemoryPeak(torch.device("cuda:1"))
    memory.take(80)
    memory.held -= 80
    assert large.still_fits()  # a training that was too large is not recorded, and left nothing behind
    memory.take(60)  # a leak: less is free than a training had before
    assert memory.total - memory.held == 30
    assert large.still_fits()
    memory.take(1)
    assert not large.still_fits()
    assert MemoryPeak(CPU).still_fits()


@pytest.mark.parametrize(
    ("fits", "kind", "cause"), [(True, OutOfMemory, "no memory on the GPU"), (False, TrainingFailed, "a lost GPU")]
)
def test_memory_that_does_not_heal_is_a_lost_device(monkeypatch, fits, kind, cause):
    def full(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(training_module, "make_step", full)
    monkeypatch.setattr(MemoryPeak, "still_fits", lambda _: fits)
    with pytest.raises(TrainingFailed) as raised:
        train(built(PERCEPTRON, diabetes()), diabetes(), QUICK, 0)
    assert type(raised.value) is kind
    assert find_cause(raised.value).name == cause
