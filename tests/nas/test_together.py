"""Several trainings at once: the results of one after the other, and none is hurt by another."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakSet

import pytest
import torch
from torch import nn

import bostruct as bo
from bostruct.nas import NetworkObjective, TrainingFailed, diabetes, digits, to_torch, train
from bostruct.nas import objectives as objectives_module
from bostruct.nas import training as training_module
from bostruct.nas.devices import DeviceContext
from bostruct.nas.outcomes import Epoch, OutOfMemory, Trained
from bostruct.nas.recipes import COMBO
from bostruct.nas.training import train_together
from tests.nas.trainings import CONVOLUTION, PERCEPTRON, QUICK, built


class Hungry(nn.Module):
    """Linear; asks for more memory than there is at its `last` batch and from then on."""

    def __init__(self, error, last=0):
        super().__init__()
        self.linear, self.error, self.left = nn.Linear(10, 1), error, last

    def forward(self, x):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return self.linear(x)


SHORT = [torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), MemoryError()]


@pytest.mark.parametrize("recipe", [QUICK, replace(COMBO, epochs=6, patience=2), replace(QUICK, shift=1, flip=True)])
def test_together_is_one_after_the_other(recipe):
    data = digits().part(0.3)
    # the second one draws random numbers at every step, the third has fewer of its own
    builds = [built(CONVOLUTION, data), built(CONVOLUTION, data, 0.3), built(CONVOLUTION, data)]
    told: list[tuple[int, int, Epoch]] = []
    torch.manual_seed(9)
    state = torch.get_rng_state()
    together = train_together(builds, data, recipe, [3, 4, 5], watch=lambda *one: told.append(one))
    assert torch.equal(torch.get_rng_state(), state)
    for member, (build, seed) in enumerate(zip(builds, [3, 4, 5], strict=True)):
        alone, beside = train(build, data, recipe, seed), together[member]
        assert isinstance(beside, Trained)
        assert beside.epochs == alone.epochs
        assert (beside.error, beside.test_error) == (alone.error, alone.test_error)
        for name, value in alone.network.state_dict().items():
            assert torch.equal(beside.network.state_dict()[name], value)
        assert [epoch for number, _, epoch in told if number == member] == list(alone.epochs)
    assert [number for number, epoch, _ in told if epoch == 0] == [0, 1, 2]  # they took turns


@pytest.mark.parametrize("error", SHORT)
def test_one_that_fails_fails_alone(error):
    data = diabetes()
    builds = [built(PERCEPTRON, data), lambda: Hungry(error, 5), built(PERCEPTRON, data)]
    found = train_together(builds, data, QUICK, [0, 1, 2])
    assert isinstance(found[1], OutOfMemory)
    assert "out of memory" in str(found[1])
    for member in (0, 2):
        one = found[member]
        assert isinstance(one, Trained)
        assert one.epochs == train(builds[member], data, QUICK, member).epochs


def test_a_network_that_does_not_fit_fails_alone():
    data = diabetes()
    builds = [built(PERCEPTRON, data), lambda: nn.Linear(9, 1), built(PERCEPTRON, data)]
    found = train_together(builds, data, QUICK, [0, 1, 2])
    assert isinstance(found[1], TrainingFailed)
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied" in str(found[1])
    assert all(isinstance(found[member], Trained) for member in (0, 2))
    with pytest.raises(RuntimeError, match="mat1"):
        train(builds[1], data, QUICK, 1)


def test_one_without_memory_beside_others_is_tried_alone():
    data = diabetes()
    tries = [Hungry(SHORT[0], 5), to_torch(PERCEPTRON, data.input_shape, data.classes)]
    builds = [built(PERCEPTRON, data), lambda: tries.pop(0)]
    assert all(isinstance(one, Trained) for one in train_together(builds, data, QUICK, [0, 1]))
    assert not tries


def test_one_that_is_tried_again_finds_the_devices_of_the_others_free(monkeypatch):
    data, contexts, seen = diabetes(), WeakSet(), []

    class Counted(DeviceContext):
        def __init__(self, device, seed, *, with_graphs=True):
            super().__init__(device, seed, with_graphs=with_graphs)
            contexts.add(self)

    def build():
        seen.append(len(contexts))
        return Hungry(MemoryError, 5)  # the class: an error that is kept would keep the contexts

    monkeypatch.setattr(training_module, "DeviceContext", Counted)
    found = train_together([built(PERCEPTRON, data), build, built(PERCEPTRON, data)], data, QUICK, [0, 1, 2])
    assert isinstance(found[1], OutOfMemory)
    assert seen == [3, 1]


def test_checkpoints_are_each_its_own_and_an_error_of_the_caller_ends_all(tmp_path):
    data = digits()
    files = [tmp_path / "0.pt", tmp_path / "1.pt"]
    builds = [built(CONVOLUTION, data)] * 2

    def stop(member, epoch, _):
        if (member, epoch) == (1, 1):
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        train_together(builds, data, QUICK, [0, 1], checkpoints=files, watch=stop)
    told = []
    again = train_together(builds, data, QUICK, [0, 1], checkpoints=files, watch=lambda *one: told.append(one[:2]))
    assert sorted(told) == [(0, 2), (1, 2)]
    whole = train_together(builds, data, QUICK, [0, 1])
    found, expected = ([one.epochs for one in run if isinstance(one, Trained)] for run in (again, whole))
    assert found == expected
    with pytest.raises(ValueError, match="equal numbers"):
        train_together(builds, data, QUICK, [0])


def test_time_is_that_of_a_training_s_own_turns():
    data = diabetes()
    found = train_together([built(PERCEPTRON, data)] * 2, data, replace(QUICK, epochs=100_000), [0, 1], seconds=0.1)
    assert all(isinstance(one, TrainingFailed) and "out of time" in str(one) for one in found)


def test_repeats_of_an_objective_go_together(monkeypatch):
    data = digits()
    objective = NetworkObjective(data, QUICK, repeats=3, watch=lambda *one: told.append(one[:2]))
    told: list[tuple[int, int]] = []
    apart = objective(CONVOLUTION)
    assert told == [(repeat, epoch) for repeat in range(3) for epoch in range(3)]
    monkeypatch.setattr(objectives_module.NetworkObjective, "_at_once", 2)
    told.clear()
    assert objective(CONVOLUTION) == apart
    assert told == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0), (2, 1), (2, 2)]


@pytest.mark.parametrize("error", SHORT)
def test_too_little_memory_is_a_failed_trial_and_the_study_goes_on(monkeypatch, error):
    calls = []

    def sometimes(network, data, dropout, *_):
        calls.append(network)
        return Hungry(error) if len(calls) == 2 else to_torch(network, data.input_shape, data.classes, dropout)

    monkeypatch.setattr(objectives_module, "build_network", sometimes)
    pool = [bo.Architecture.chain(one) for one in ("relu-16 linear", "tanh-16 linear", "relu-8 relu-8 linear")]
    study = bo.Study(bo.mlp_domain(pool=pool, bounds=bo.Bounds(min_layers=3)), method="evolution", seed=0)
    study.optimize(NetworkObjective(diabetes(), QUICK), 4, progress=False)
    failed = [trial for trial in study.trials if trial.status == "failed"]
    assert len(study.trials) == 4
    assert len(failed) == 1
    assert "OutOfMemory: out of memory" in str(failed[0].reason)
