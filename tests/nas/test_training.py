"""Training: it learns, repeats bit for bit, is disturbed by nobody, and fails with a reason."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
import torch

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.nas import Dataset, NetworkObjective, TrainingFailed, diabetes, digits, train
from bostruct.nas.data import Examples
from bostruct.nas.devices import DeviceContext
from bostruct.nas.steps import count_steps
from bostruct.nas.training import Clock, Training, TrainingJob
from tests.nas.trainings import CONVOLUTION, PERCEPTRON, QUICK, built, trained

CPU = torch.device("cpu")


def test_networks_learn():
    better = bo.Architecture.chain("conv3-16 conv3-24/2 fc-32 softmax")
    assert trained(digits(), replace(QUICK, epochs=8), architecture=better).test_error < 0.3  # guessing: 0.9
    found = trained(diabetes(), replace(QUICK, epochs=15))
    assert found.error < 0.6
    assert found.epochs[-1].error < found.epochs[0].error


def test_the_same_seed_gives_the_same_bits():
    first, again, other = (trained(digits(), QUICK, seed) for seed in (3, 3, 4))
    assert (first.epochs, first.test_error) == (again.epochs, again.test_error)
    assert first.epochs != other.epochs
    before = torch.random.get_rng_state()
    trained(diabetes(), QUICK)
    assert torch.equal(torch.random.get_rng_state(), before)  # nobody else's generator is touched


def test_batch_normalization_of_one_value_is_said_in_words():
    data = digits()
    parts = (Examples(one.inputs[:, :, :1, :1], one.targets) for one in (data.train, data.validation, data.test))
    tiny = Dataset("tiny", data.task, *parts, 10)
    with pytest.raises(TrainingFailed, match=r"batch normalization was given one value per channel .* at least 2"):
        trained(tiny, replace(QUICK, batch_size=1))
    by_batch = replace(QUICK, batch_size=46, statistics="batch")
    assert len(data.validation.inputs) % 46 == 1
    assert len(trained(tiny, by_batch).epochs) == 3  # the last one goes with the batch before


def test_divergence_time_and_bad_points_are_reasons():
    with pytest.raises(TrainingFailed, match="the loss is"):
        trained(diabetes(), replace(QUICK, optimizer="sgd", learning_rate=1e12, gradient_norm=0.0, epochs=5))
    with pytest.raises(TrainingFailed, match="out of time"):
        trained(digits(), replace(QUICK, epochs=1_000), seconds=0.05)
    objective = NetworkObjective(diabetes(), QUICK)
    with pytest.raises(PointError, match="expected one Architecture or Program"):
        objective({"rate": 0.1})
    with pytest.raises(PointError, match="'rate' is not a setting"):
        objective({"network": PERCEPTRON, "rate": 0.1})


def started(build, data, recipe, seed):
    """A training that is about to do its first step, with its device."""
    context = DeviceContext(torch.device("cpu"), seed)
    with context.activate():
        return Training(TrainingJob(build, seed), data, recipe, context, Clock()), context


def test_a_training_is_held_by_nobody_else():
    data = digits()
    made = []

    def build():
        made.append(weakref.ref(network := built(CONVOLUTION, data)()))
        return network

    gc.collect()
    gc.disable()  # a GPU's memory cannot wait for the next collection
    try:
        training, context = started(build, data, QUICK, 1)
        with context.activate():
            training.train_batch(0)
            training.score_batch(0)
        assert made[0]() is not None
        del training
        assert made[0]() is None
        found = train(build, data, replace(QUICK, epochs=1), 1)
        assert made[1]() is found.network
        del found
        assert made[1]() is None
    finally:
        gc.enable()


def test_a_training_is_the_same_whatever_happens_between_its_turns():
    data, drawn = digits(), []
    build = built(CONVOLUTION, data, dropout=0.3)
    whole = train(build, data, QUICK, 5)
    training, context = started(build, data, QUICK, 5)
    torch.manual_seed(0)

    def turn(act, *position):
        drawn.append(float(torch.rand(())))  # of others, in between
        with context.activate():
            act(*position)

    while not training.has_ended():
        for position in range(count_steps(len(data.train), QUICK)):
            turn(training.train_batch, position)
        turn(training.score_batch, 0)
        turn(training.end_epoch)
    with context.activate():
        found = training.result()
    assert (found.epochs, found.test_error) == (whole.epochs, whole.test_error)
    torch.manual_seed(0)
    assert drawn == [float(torch.rand(())) for _ in drawn]
