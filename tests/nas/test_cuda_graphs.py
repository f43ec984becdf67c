"""Graphs: a step is run, captured and replayed; what waits for the device, or cannot be captured, is run as it is."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from bostruct.nas import Trained, TrainingFailed, devices, diabetes, digits, train
from bostruct.nas import training as training_module
from bostruct.nas.devices import SYNC_MESSAGE, WARM_UP, CaptureFailed, CudaGraphs, DeviceContext, GraphedStep
from bostruct.nas.training import train_together
from tests.nas.graphs import Graphs, context_with
from tests.nas.trainings import PERCEPTRON, QUICK, RESIDUAL, built


def give_graphs(monkeypatch, graphs):
    """Let trainings on a CPU have these graphs."""
    monkeypatch.setattr(training_module, "DeviceContext", context_with(graphs))


def test_a_body_is_run_then_captured_then_replayed():
    told = []

    class Telling(Graphs):
        def capture(self, body):
            del body
            told.append("capture")
            return lambda: told.append("replayed")

    step = GraphedStep(lambda: told.append("run"), Telling())
    for _ in range(WARM_UP + 2):
        step()
    assert told == ["run"] * WARM_UP + ["capture", "replayed", "replayed"]


@pytest.fixture
def modes(monkeypatch):
    """All settings so far of what torch does where it waits for the device."""
    modes: list[object] = [0]
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: modes[-1])
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    return modes


class Recording(Graphs):
    """Asks torch for waits as on a GPU."""

    record_waits = CudaGraphs.record_waits


class Asking(torch.nn.Module):
    """Asks for a number half-way, of which torch warns where it was told to."""

    def __init__(self, modes, reason=SYNC_MESSAGE):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(10, 1), torch.nn.BatchNorm1d(1)
        self.modes, self.reason = modes, reason

    def forward(self, x):
        given = self.norm(self.linear(x))
        if self.modes[-1] == "warn":
            warnings.warn(self.reason, stacklevel=1)
        return given * (1.0 if float(given.detach().sum()) > 0.0 else 0.5)


def test_a_network_that_waits_is_trained_without_graphs_and_said_so_once(monkeypatch, modes):
    data, recipe = diabetes(), replace(QUICK, statistics="batch")  # batches enough for a graph of the scoring too
    give_graphs(monkeypatch, type("Eager", (Graphs,), {"record": False}))
    expected = train(lambda: Asking(modes), data, recipe, 1)
    give_graphs(monkeypatch, Recording)
    words = r"without CUDA graphs.* waits for the device at .*test_cuda_graphs.py:"
    with pytest.warns(UserWarning, match=words) as told:
        found = train(lambda: Asking(modes), data, recipe, 1)
    assert len(told) == 1
    assert Recording.captures == 0
    assert found.epochs == expected.epochs
    assert modes[-1] == 0


def test_other_warnings_are_shown_and_do_not_count_as_waits(modes):
    graphs = CudaGraphs(None)  # type: ignore[arg-type]

    def warned():
        with graphs.record_waits() as waits:
            warnings.warn("Synchronization debug mode is a prototype feature", stacklevel=1)
            warnings.warn("another reason", stacklevel=1)
        return waits

    with pytest.warns(UserWarning, match="another reason") as told:
        assert warned() == []
    assert len(told) == 1
    assert modes == [0, "warn", 0]
    with pytest.raises(KeyError), graphs.record_waits():
        raise KeyError
    assert modes[-1] == 0


def test_after_a_capture_that_failed_the_process_captures_no_more(monkeypatch, gpu):
    del gpu
    tried = []

    class Graph:
        def reset(self):
            raise RuntimeError("of a graph that is none")

    @contextmanager
    def graph(*_, **__):
        tried.append("capture")
        yield

    def fails():
        raise ValueError("a number is asked for\nat length")

    monkeypatch.setattr(devices, "_CAPTURE_FAILED", threading.Event())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    cuda = torch.device("cuda")
    first, second = DeviceContext(cuda, 0), DeviceContext(cuda, 1)
    assert first.graphs is not None
    assert second.graphs is not None
    with pytest.raises(CaptureFailed, match=r"cannot be a CUDA graph: a number is asked for$"):
        first.graphs.capture(fails)
    with pytest.raises(CaptureFailed, match="a capture has failed in this process"):
        second.graphs.capture(fails)
    assert tried == ["capture"]
    assert DeviceContext(cuda, 0).graphs is None


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

    return type("Failing", (Graphs,), {"capture": capture})


@pytest.mark.parametrize("files", [True, False])
def test_a_training_whose_capture_fails_begins_anew_without_graphs(monkeypatch, tmp_path, files):
    data, checkpoint = digits(), tmp_path / "c.pt" if files else None
    expected = train(built(RESIDUAL, data), data, QUICK, 1)
    give_graphs(monkeypatch, failed_capture(ValueError("a number is asked for")))
    with pytest.warns(UserWarning, match="trained without CUDA graphs, .*: its step cannot be a CUDA graph") as told:
        found = train(built(RESIDUAL, data), data, QUICK, 1, checkpoint=checkpoint)
    assert len(told) == 1
    assert (found.epochs, found.test_error) == (expected.epochs, expected.test_error)


def test_repeats_whose_captures_fail_stop_no_other(monkeypatch):
    data = diabetes()
    build = built(PERCEPTRON, data)
    expected = [train(build, data, QUICK, seed).epochs for seed in range(2)]
    give_graphs(monkeypatch, failed_capture(ValueError("a number is asked for")))
    with pytest.warns(UserWarning, match="without CUDA graphs"):
        found = train_together([build] * 2, data, QUICK, range(2), all_or_none=True)
    assert [one.epochs for one in found if isinstance(one, Trained)] == expected


def test_a_capture_without_memory_is_a_reason_and_leaves_nothing(monkeypatch):
    data, made = diabetes(), []
    cause = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")

    def build():
        made.append(weakref.ref(network := built(PERCEPTRON, data)()))
        return network

    expected = train(build, data, QUICK, 1)
    give_graphs(monkeypatch, failed_capture(cause))
    with pytest.raises(TrainingFailed, match=r"^out of memory: CUDA out of mem"):
        train(build, data, QUICK, 1)
    cause.__traceback__ = None
    gc.collect()
    assert made[1]() is None  # nor its gradients and what else was on the device
    monkeypatch.undo()
    assert train(build, data, QUICK, 1).epochs == expected.epochs


RECIPES = [
    (digits, RESIDUAL, QUICK),
    (digits, RESIDUAL, replace(QUICK, shift=1, flip=True, statistics="batch")),
    (diabetes, PERCEPTRON, replace(QUICK, optimizer="sgd", learning_rate=0.05, schedule="cosine")),
]


@pytest.mark.parametrize(("data", "architecture", "recipe"), RECIPES)
def test_a_step_that_is_replayed_is_the_step(monkeypatch, data, architecture, recipe):
    given = data()
    found = []
    for record in (True, False):
        graphs = type("Counting", (Graphs,), {"record": record})
        give_graphs(monkeypatch, graphs)
        found.append(train(built(architecture, given), given, recipe, 3))
        assert graphs.captures
    replayed, eager = found
    assert (replayed.epochs, replayed.test_error) == (eager.epochs, eager.test_error)
    monkeypatch.undo()
    usual = train(built(architecture, given), given, recipe, 3)  # optimizers that are not fused round otherwise
    assert usual.epochs[0].loss == pytest.approx(eager.epochs[0].loss, rel=1e-4)
