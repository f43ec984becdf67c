"""Repeats of a perceptron as one training: the results of one after the other but for rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct.nas import Dataset, Examples, NetworkObjective, TrainingFailed, diabetes, to_torch, train
from bostruct.nas import objectives as objectives_module
from bostruct.nas.objectives import is_batched, train_ensemble
from bostruct.nas.outcomes import OutOfMemory, Stopped, Trained
from bostruct.nas.recipes import FAST, NASBOT_MLP, NASBOT_MLP_MODERN
from tests.nas.trainings import built

QUICK = replace(FAST, epochs=6, batch_size=32)
LAYERS = ["ip", "relu-16", "tanh-8", "crelu-8", "linear", "linear", "op"]
TWO_ENDS = bo.Architecture(LAYERS, [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (3, 5), (4, 6), (5, 6)])


def classes() -> Dataset:
    """Points of three classes around three centers."""
    random = np.random.default_rng(0)
    labels = random.integers(3, size=300)
    points = random.normal(size=(300, 4)) + labels[:, None]
    inputs, targets = torch.tensor(points, dtype=torch.float32), torch.tensor(labels)
    parts = [Examples(inputs[cut], targets[cut]) for cut in (slice(0, 150), slice(150, 220), slice(220, 300))]
    return Dataset("classes", "classification", *parts, classes=3)


CASES = [
    (diabetes, "relu-16 relu-16 linear", QUICK),
    (diabetes, "softplus-8 elu-8 crelu-4 linear", replace(QUICK, gradient_norm=0.1)),
    (diabetes, "logistic-8 leaky-relu-8 linear", replace(NASBOT_MLP_MODERN, epochs=5, batch_size=1_000)),
    (diabetes, "tanh-8 linear", replace(NASBOT_MLP, epochs=4, momentum=0.9, learning_rate=1e-3, batch_size=50)),
    (diabetes, "relu-64 relu-64 linear", replace(QUICK, epochs=40, learning_rate=0.02, patience=3, score="best")),
    (classes, "relu-16 softmax", replace(QUICK, label_smoothing=0.1)),
]


@pytest.mark.parametrize(("data", "chain", "recipe"), CASES)
def test_an_ensemble_is_its_trainings(data, chain, recipe):
    given, seeds = data(), [3, 4, 5, 11]
    build = built(bo.Architecture.chain(chain), given)
    told = []
    found = train_ensemble(build, given, recipe, seeds, watch=lambda *one: told.append(one))
    lengths = set()
    for member, seed in enumerate(seeds):
        alone, beside = train(build, given, recipe, seed), found[member]
        assert isinstance(beside, Trained)
        lengths.add(len(beside.epochs))
        tolerance = 1e-5 if recipe.epochs < 10 else 1e-3
        # rounding grows over hundreds of steps; the first ones are compared closely, the whole of it less so
        np.testing.assert_allclose(beside.epochs[:5], alone.epochs[:5], rtol=1e-5)
        assert len(beside.epochs) == len(alone.epochs)
        np.testing.assert_allclose(beside.epochs, alone.epochs, rtol=tolerance)
        assert (beside.error, beside.test_error) == pytest.approx((alone.error, alone.test_error), rel=tolerance)
        assert [epoch for number, _, epoch in told if number == member] == list(beside.epochs)
    if recipe.patience:
        assert len(lengths) > 1  # some stop earlier than others


def test_several_decisions_are_trained_each():
    data = diabetes()
    build = built(TWO_ENDS, data)
    for recipe in (QUICK, replace(QUICK, every_decision=True)):
        for one, seed in zip(train_ensemble(build, data, recipe, [1, 2]), [1, 2], strict=True):
            assert isinstance(one, Trained)
            np.testing.assert_allclose(one.epochs, train(build, data, recipe, seed).epochs, rtol=1e-5)


def test_the_same_call_gives_the_same_bits_and_touches_nobody():
    data = diabetes()
    build = built(bo.Architecture.chain("relu-16 relu-16 linear"), data)
    state = torch.get_rng_state()
    first, again = (train_ensemble(build, data, QUICK, range(8)) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert type(one) is type(other) is Trained
        assert (one.epochs, one.test_error) == (other.epochs, other.test_error)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_member_that_diverges_fails_alone():
    data = diabetes()
    networks = [to_torch(bo.Architecture.chain("relu-8 linear"), data.input_shape, 1) for _ in range(3)]
    with torch.no_grad():
        next(networks[1].parameters()).fill_(1e30)
    waiting = list(networks)
    bad = train_ensemble(lambda: waiting.pop(0), data, QUICK, [0, 1, 2])
    assert isinstance(bad[1], TrainingFailed)
    assert "the loss is" in str(bad[1])
    assert all(isinstance(bad[member], Trained) for member in (0, 2))
    waiting = list(networks)
    told: list[int] = []
    how = {"all_or_none": True, "watch": lambda member, *_: told.append(member)}
    useless = train_ensemble(lambda: waiting.pop(0), data, QUICK, [0, 1, 2], **how)
    assert told == [0, 2]  # their first epoch
    assert [type(one) for one in useless] == [Stopped, TrainingFailed, Stopped]


def test_time_and_memory_run_out():
    data = diabetes()
    build = built(bo.Architecture.chain("relu-8 linear"), data)
    found = train_ensemble(build, data, replace(QUICK, epochs=100_000), [0, 1], seconds=0.05)
    assert all("out of time" in str(one) for one in found)

    def hungry():
        raise MemoryError

    assert all(isinstance(one, OutOfMemory) for one in train_ensemble(hungry, data, QUICK, [0, 1]))


def test_what_is_trained_as_one(monkeypatch, tmp_path):
    data = diabetes()
    assert is_batched(built(bo.Architecture.chain("relu-16 linear"), data)(), 32)
    assert not is_batched(built(bo.Architecture.chain("relu-512 relu-512 linear"), data)(), 32)
    assert not is_batched(to_torch(bo.Architecture.chain("relu-16 linear"), (10,), 1, dropout=0.2), 32)
    assert not is_batched(to_torch(bo.Architecture.chain("conv3-8 softmax"), (1, 8, 8), 10), 32)
    calls = []

    def noted(*given, **settings):
        calls.append(len(given[3]))
        return train_ensemble(*given, **settings)

    monkeypatch.setattr(objectives_module, "train_ensemble", noted)
    network = bo.Architecture.chain("relu-16 linear")
    value = NetworkObjective(data, QUICK, repeats=3)(network)
    assert calls == [3]
    single = NetworkObjective(data, QUICK)
    assert value == pytest.approx(np.mean([replace(single, seed=seed)(network) for seed in range(3)]), rel=1e-5)
    NetworkObjective(data, QUICK, repeats=2, checkpoints=str(tmp_path))(network)
    NetworkObjective(data, replace(QUICK, dropout=0.1), repeats=2)(network)
    assert calls == [3]
    diverging = replace(QUICK, optimizer="sgd", learning_rate=1e12, gradient_norm=0.0, epochs=5)
    with pytest.raises(TrainingFailed, match="the loss is"):
        NetworkObjective(data, diverging, repeats=2)(network)
