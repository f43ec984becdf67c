"""Steps that a GPU replays: nothing in them is frozen that should change, and trainings do not disturb each other."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
import torch

import bostruct as bo
from bostruct.nas import Dataset, diabetes, digits, to_torch, train
from bostruct.nas.checkpoints import load_checkpoint, save_checkpoint
from bostruct.nas.data import Examples
from bostruct.nas.device_data import fraction_of, on_device
from bostruct.nas.recipes import FAST, Recipe
from bostruct.nas.steps import Batches, to_channels_last
from bostruct.nas.training import Trained, Training, TrainingState, make_optimizer
from tests.nas.graphs import CPU, Graphs

QUICK = replace(FAST, epochs=3, batch_size=32)
PERCEPTRON = bo.Architecture.chain("relu-16 linear")
CONVOLUTION = bo.Architecture.chain("conv3-8 res3-8/2 softmax")


def built(architecture, data):
    return lambda: to_torch(architecture, data.input_shape, data.classes)


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
        context = type("P", (Graphs,), {"record": record})
        monkeypatch.setattr(Training, "context_type", context)
        found.append(train(built(architecture, given), given, recipe, 3))
        assert context.captures
    replayed, eager = found
    assert replayed.epochs == eager.epochs
    assert replayed.test_error == eager.test_error
    monkeypatch.undo()
    usual = train(built(architecture, given), given, recipe, 3)  # optimizers that are not fused round otherwise
    assert usual.epochs[0].loss == pytest.approx(eager.epochs[0].loss, rel=1e-4)


def test_a_training_that_has_ended_is_held_by_nobody():
    data = digits()
    made = []

    def build():
        made.append(weakref.ref(network := built(CONVOLUTION, data)()))
        return network

    gc.collect()
    gc.disable()  # a GPU's memory cannot wait for the next collection
    try:
        training = Training(build, data, replace(QUICK, epochs=1), 1)
        training.advance(None)
        assert made[0]() is not None
        del training
        assert made[0]() is None
    finally:
        gc.enable()


def test_trainings_are_the_same_a_step_at_a_time():
    data = digits()
    dropped = lambda: to_torch(CONVOLUTION, data.input_shape, data.classes, dropout=0.3)  # noqa: E731
    whole = train(dropped, data, QUICK, 5)
    training = Training(dropped, data, QUICK, 5)
    torch.manual_seed(0)
    drawn = [float(torch.rand(()))]
    while training.advance(7):
        drawn.append(float(torch.rand(())))  # of others, in between
    assert isinstance(training.outcome, Trained)
    assert training.outcome.epochs == whole.epochs
    assert training.outcome.test_error == whole.test_error
    torch.manual_seed(0)
    assert drawn == [float(torch.rand(())) for _ in drawn]


def test_buffers_stay_where_they_are():
    images = Examples(torch.rand(70, 3, 8, 8), torch.arange(70))
    batches = Batches(images, Recipe(batch_size=32, shift=2, flip=True), torch.Generator().manual_seed(0))
    places = set()
    for _ in range(3):
        batches.reshuffle()
        seen = []
        for _ in range(batches.steps):
            seen.append(batches.take()[1])
            batches.record_loss(torch.tensor(1.0))
        places.add(batches._inputs.data_ptr())
        assert len(set(torch.cat(seen).tolist())) == 64
    assert len(places) == 1


def test_a_checkpoint_leaves_the_rate_where_graphs_read_it(tmp_path):
    network = torch.nn.Linear(2, 1)
    runs = [
        TrainingState(network, make_optimizer(list(network.parameters()), QUICK, Graphs(CPU, 0)), torch.Generator(), [])
        for _ in range(2)
    ]
    save_checkpoint(tmp_path / "c.pt", runs[0], {})
    rate = runs[1].optimizer.param_groups[0]["lr"]
    load_checkpoint(tmp_path / "c.pt", runs[1], {})
    assert runs[1].optimizer.param_groups[0]["lr"] is rate


def test_the_rate_that_graphs_read_is_of_the_type_that_they_read():
    torch.set_default_dtype(torch.float64)
    try:
        optimizer = make_optimizer([torch.zeros(2, requires_grad=True)], QUICK, Graphs(CPU, 0))
    finally:
        torch.set_default_dtype(torch.float32)
    assert optimizer.param_groups[0]["lr"].dtype == torch.float32


def test_weights_for_images_become_channels_last_and_others_stay():
    network = torch.nn.ModuleList([torch.nn.Conv2d(3, 4, 3), torch.nn.Conv3d(3, 4, 3), torch.nn.Linear(3, 2)])
    before = [one.detach().clone() for one in network.parameters()]
    to_channels_last(network)
    assert network[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert all(torch.equal(one, old) for one, old in zip(network.parameters(), before, strict=True))
    assert network[1].weight.is_contiguous()


def test_data_are_moved_once_and_go_with_the_data_set():
    data = diabetes()
    first = on_device(data, CPU)
    assert on_device(data, CPU).train.inputs is first.train.inputs
    part = fraction_of(data, 0.5)
    there = on_device(part, CPU)
    assert there.validation.inputs is first.validation.inputs
    assert there.train.inputs.data_ptr() == first.train.inputs.data_ptr()  # the first examples, and no copy of them
    assert torch.equal(there.train.inputs, on_device(data.part(0.5), CPU).train.inputs)
    assert torch.equal(there.train.targets, part.train.targets)
    scaled = Dataset("d", data.task, data.train, data.validation, data.test, data.classes, (1.0,), (2.0,))
    assert not torch.equal(on_device(scaled, CPU).train.inputs, first.train.inputs)
    held = weakref.ref(first.train.inputs)
    del data, first, part, scaled, there
    gc.collect()
    assert held() is None
