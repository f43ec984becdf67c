"""Memory that is short, on a CPU or a GPU: how torch says it."""

from __future__ import annotations

from collections.abc import Callable

import torch

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


def memory_reason(error: BaseException | None, free_memory: Callable[[], float]) -> str | None:
    """Return the first line about memory in an error or what led to it; None where it is about something else.

    A capture that runs out of memory can raise an error about the capture, with the cause as its context. cuDNN passes
    over convolutions that have no room for their work, and in the end says only that it found none.

    error: that was raised.
    free_memory: gives the bytes that the device has free; called only where cuDNN found no convolution.
    """
    while error is not None:
        text = str(error)
        known = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError) or any(
            one in text for one in MEMORY_MESSAGES
        )
        if known or (NO_ENGINE in text and free_memory() < LOW_MEMORY):
            return text.partition("\n")[0].partition(". ")[0]
        error = error.__cause__ or error.__context__
    return None
