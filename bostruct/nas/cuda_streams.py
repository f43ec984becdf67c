"""CUDA streams, of which torch has 32 on a GPU: each belongs to one training at a time."""

from __future__ import annotations

import gc
import weakref

import torch

STREAMS = 32  # that torch has on a GPU: asked for more it gives the same ones again

_FREE_STREAMS: dict[int, list[torch.cuda.Stream]] = {}  # number of a GPU -> those that nobody has


def take_stream(number: int, owner: object) -> torch.cuda.Stream | None:
    """Take a stream that no other training has, None where all are taken; it is given back when its owner is gone.

    When a graph goes, torch frees the working memory of cuBLAS on its stream, also where another graph that was
    captured on the same stream still writes there.

    number: of the GPU.
    owner: has the stream, and with it what was captured there.
    """
    if number not in _FREE_STREAMS:
        torch.cuda.init()
        every = [torch.cuda.Stream(number) for _ in range(STREAMS)]
        _FREE_STREAMS[number] = list({stream.cuda_stream: stream for stream in every}.values())
    free = _FREE_STREAMS[number]
    if not free:
        gc.collect()  # errors can hold trainings that have failed, and refer to themselves
    if not free:
        return None
    stream = free.pop()
    weakref.finalize(owner, free.append, stream)
    return stream
