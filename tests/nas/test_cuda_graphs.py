"""Graphs: a step is run, captured and replayed; what waits for the device, or cannot be captured, is said."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

import bostruct as bo
from bostruct.nas import TrainingFailed, diabetes, digits, to_torch, train
from bostruct.nas import training as training_module
from bostruct.nas.cuda_graphs import SYNC_MESSAGE, WARM_UP, CaptureFailed, CudaGraphs, GraphedStep
from bostruct.nas.recipes import FAST
from tests.nas.graphs import Graphs, context_with

QUICK = replace(FAST, epochs=3, batch_size=32)
PERCEPTRON = bo.Architecture.chain("relu-16 linear")
CONVOLUTION = bo.Architecture.chain("conv3-8 res3-8/2 softmax")


def built(architecture, data):
    return lambda: to_torch(architecture, data.input_shape, data.classes)


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


class Strict(Graphs):
    """Says SYNC_MESSAGE where it is told to, as a GPU does."""

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
    give_graphs(monkeypatch, type("Eager", (Graphs,), {"record": False}))
    expected = train(Asking, data, recipe, 1)
    give_graphs(monkeypatch, Strict)
    with pytest.warns(
        UserWarning, match=r"without CUDA graphs.* waits for the device at .*test_cuda_graphs.py:"
    ) as told:
        found = train(Asking, data, recipe, 1)
    assert len(told) == 1
    assert Strict.captures == 0
    assert found.epochs == expected.epochs  # of a network without buffers, the run that was broken off has done nothing


def test_what_fails_in_the_last_run_for_another_reason_fails(monkeypatch):
    give_graphs(monkeypatch, Strict)
    with pytest.raises(RuntimeError, match="another reason"):
        train(lambda: Asking("another reason"), diabetes(), QUICK, 1)


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
    give_graphs(monkeypatch, failed_capture(cause))
    with pytest.raises(TrainingFailed, match=reason):
        train(build, data, QUICK, 1)
    cause.__traceback__ = None
    gc.collect()
    assert made[1]() is None  # nor its gradients and what else was on the device
    monkeypatch.undo()
    assert train(build, data, QUICK, 1).epochs == expected.epochs


RECIPES = [
    (digits, CONVOLUTION, QUICK),
    (digits, CONVOLUTION, replace(QUICK, shift=1, flip=True, statistics="batch")),
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
    assert replayed.epochs == eager.epochs
    assert replayed.test_error == eager.test_error
    monkeypatch.undo()
    usual = train(built(architecture, given), given, recipe, 3)  # optimizers that are not fused round otherwise
    assert usual.epochs[0].loss == pytest.approx(eager.epochs[0].loss, rel=1e-4)


def test_waiting_raises_for_a_while(monkeypatch):
    modes = [0]
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: modes[-1])
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with pytest.raises(KeyError), CudaGraphs(None).raise_on_sync():  # type: ignore[arg-type]
        raise KeyError
    assert modes == [0, "error", 0]
