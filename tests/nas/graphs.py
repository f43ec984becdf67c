"""A CPU that does as a GPU does: what a graph would keep is recorded and replayed."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from bostruct.nas.devices import CudaGraphs, DeviceContext

CPU = torch.device("cpu")


class Recorder(TorchDispatchMode):
    """Operations on tensors with their arguments, numbers frozen and tensors by reference: what a CUDA graph keeps."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, given))
        return given

    def replay(self):
        made = {}

        def now(x):
            return made.get(id(x), x) if isinstance(x, torch.Tensor) else x

        def note(old, new):
            if isinstance(old, torch.Tensor):
                made[id(old)] = new
            elif isinstance(old, (tuple, list)):
                for one, other in zip(old, new, strict=True):
                    note(one, other)

        for func, args, kwargs, old in self.calls:
            with torch.no_grad():
                note(old, func(*tree_map(now, args), **tree_map(now, kwargs)))


class Graphs(CudaGraphs):
    """Graphs of a CPU: a body is recorded, or run as it is. captures: how many there were, of this class."""

    record = True
    captures = 0

    def __init__(self):
        super().__init__(None)  # type: ignore[arg-type]  # no stream

    @contextmanager
    def record_waits(self):
        yield []

    def capture(self, body):
        type(self).captures += 1
        if not self.record:
            return body
        held = [(tensor, tensor.clone()) for tensor in _tensors(body)]
        recorder = Recorder()
        with recorder:
            body()
        with torch.no_grad():
            for tensor, before in held:  # a capture computes nothing
                tensor.copy_(before)
        return recorder.replay


def context_with(graphs):
    """A type of context on a CPU that has graphs: everything that is done on a GPU but for streams and bfloat16."""

    class Context(DeviceContext):
        def __init__(self, device, seed, *, with_graphs=True):
            super().__init__(device, seed)
            self.graphs = graphs() if with_graphs else None

    return Context


def _tensors(body):
    """All tensors that a function or what it refers to can reach."""
    seen, found, waiting = set(), [], [body]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | torch.dtype) or type(one).__name__ == "module":
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            found.append(one.detach())
        elif isinstance(one, dict):
            waiting.extend(one.values())
            waiting.extend(key for key in one if isinstance(key, torch.Tensor))
        elif isinstance(one, (tuple, list)):
            waiting.extend(one)
        elif callable(one) and (closure := getattr(one, "__closure__", None)):
            waiting.extend(cell.cell_contents for cell in closure)
        elif getattr(one, "__self__", None) is not None:
            waiting.append(one.__self__)
        elif hasattr(one, "__dict__"):
            waiting.append(vars(one))
    return found
