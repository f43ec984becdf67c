"""What is for lack of memory, in the words of torch."""

from __future__ import annotations

import torch

from bostruct.nas.devices import DeviceContext, memory_reason
from tests.nas.graphs import CPU

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
