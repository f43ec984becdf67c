"""Objectives refuse points and arguments in words, keep to their time, and score test examples when asked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.language import D, SearchSpace, siso_sequential
from bostruct.nas import Dataset, NetworkObjective, Recipe, TrainingFailed, diabetes, digits, ops, regression, train
from bostruct.nas import objectives as objectives_module
from bostruct.nas import outcomes as outcomes_module
from bostruct.nas.data import Examples
from bostruct.nas.networks import to_torch
from bostruct.nas.outcomes import OutOfMemory
from bostruct.nas.recipes import FAST
from bostruct.nas.spaces.nasnet import nasnet
from tests.nas.trainings import CONVOLUTION, PERCEPTRON, built

QUICK = replace(FAST, epochs=2, batch_size=32)
DIVERGING = replace(QUICK, optimizer="sgd", learning_rate=1e12, gradient_norm=0.0, epochs=5)


def program(units):
    return SearchSpace(lambda: siso_sequential([ops.dense(8), ops.relu(), ops.dense(units)])).program()


def flat(data):
    """The same with examples in one dimension."""
    parts = [Examples(one.inputs.flatten(1), one.targets) for one in (data.train, data.validation, data.test)]
    return Dataset("flat", data.task, *parts, data.classes)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"network": PERCEPTRON, "training": {"epochs": 1}, "epochs": 2}, "'epochs' is given twice, as 1 and 2"),
        ({"network": PERCEPTRON, "fraction": 1e-4}, "at least 1 of the 266 training examples, got 0.0001"),
        ({"network": PERCEPTRON, "fraction": "half"}, "fraction: expected a number, got 'half'"),
        ({"network": PERCEPTRON, "fraction": 1.5}, r"fraction: expected a finite number in \[0.0, 1.0\], got 1.5"),
        (CONVOLUTION, r"family cnn takes images .* data set 'diabetes' have the shape \(10,\)"),
    ],
)
def test_points_that_do_not_fit_are_refused(point, message):
    with pytest.raises(PointError, match=message):
        NetworkObjective(diabetes(), QUICK)(point)


def test_a_program_gives_what_the_data_has():
    data = flat(digits())
    assert 0.0 <= NetworkObjective(data, QUICK)(program(10)) < 0.9  # guessing
    for given in (5, 11):
        with pytest.raises(PointError, match=rf"'flat' has 10 classes; .* shape \(2, 10\), got \(2, {given}\)"):
            NetworkObjective(data, QUICK)(program(given))
    with pytest.raises(PointError, match=r"not supported for a program, got 0\.1; put it into the space"):
        NetworkObjective(data, replace(QUICK, dropout=0.1))(program(10))


def test_of_several_outputs_the_main_one_is_trained():
    data = digits()
    space = SearchSpace(nasnet(cells=3, filters=4))
    network = space.replay(space.sample(1, np.random.default_rng(0))[0]).program()
    few = {"network": network, "fraction": 0.1}
    alone, both = (replace(QUICK, epochs=1, every_decision=every) for every in (False, True))
    losses = [NetworkObjective(data, recipe).train(few)[0].epochs[0].loss for recipe in (alone, both)]
    assert losses[1] > 1.5 * losses[0]  # that of the auxiliary output too


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"device": "gpu"}, ValueError, "device: expected 'cpu'"),
        ({"checkpoints": 3}, TypeError, "checkpoints: expected a folder or None, got 3"),
        ({"checkpoints": __file__}, ValueError, "checkpoints: .* cannot be a folder: File exists"),
        ({"checkpoints": f"{__file__}/below"}, ValueError, "checkpoints: .* cannot be a folder: Not a directory"),
        ({"watch": 3}, TypeError, "watch: expected a function or None, got 3"),
    ],
)
def test_arguments_are_refused_at_once(given, error, message):
    with pytest.raises(error, match=message):
        NetworkObjective(diabetes(), QUICK, **given)


class Slow(nn.Module):
    """Linear; waits at every batch that is scored, and counts them."""

    def __init__(self, seconds):
        super().__init__()
        self.linear, self.seconds, self.scored = nn.Linear(10, 1), seconds, 0

    def forward(self, x):
        if not self.training:
            self.scored += 1
            time.sleep(self.seconds)
        return self.linear(x)


def test_time_runs_out_while_a_network_is_scored(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(50_000, 10))
    data = regression("long", rows, rows[:, 0])  # 10 batches to score
    NetworkObjective(diabetes(), QUICK)(PERCEPTRON)  # what torch loads at its first step has its time here
    slow = Slow(0.2)
    monkeypatch.setattr(objectives_module, "build_network", lambda *_: slow)
    with pytest.raises(TrainingFailed, match="epoch 0: out of time"):
        NetworkObjective(data, replace(QUICK, epochs=1, batch_size=30_000), seconds=0.3)(PERCEPTRON)
    assert 1 <= slow.scored <= 2


def test_the_time_is_that_of_all_repeats(monkeypatch):
    NetworkObjective(diabetes(), QUICK)(PERCEPTRON)
    monkeypatch.setattr(objectives_module, "build_network", lambda *_: Slow(0.2))
    monkeypatch.setattr(objectives_module, "is_batched", lambda *_: False)
    objective = NetworkObjective(diabetes(), QUICK, repeats=2, seconds=2.0)
    assert len(objective.train(PERCEPTRON)) == 2
    with pytest.raises(TrainingFailed, match="out of time"):
        replace(objective, repeats=12)(PERCEPTRON)
    monkeypatch.undo()
    long = replace(QUICK, epochs=100_000)
    began = time.monotonic()
    with pytest.raises(TrainingFailed, match="out of time"):  # as one training
        NetworkObjective(diabetes(), long, repeats=4, seconds=0.3)(PERCEPTRON)
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_network_too_large_for_any_memory_is_a_failed_training(repeats):
    giant = bo.Architecture.chain("relu-2000000 relu-2000000 linear")
    with pytest.raises(OutOfMemory, match="out of memory"):
        NetworkObjective(diabetes(), QUICK, repeats=repeats)(giant)
    assert NetworkObjective(diabetes(), QUICK).cost(giant).parameters > 4e12


def test_the_first_repeat_that_fails_ends_the_evaluation(monkeypatch):
    made = []

    def sometimes(network, data, dropout, *_):
        made.append(to_torch(network, data.input_shape, data.classes, dropout))
        if len(made) == 2:
            nn.init.constant_(next(made[-1].parameters()), 1e30)
        return made[-1]

    monkeypatch.setattr(objectives_module, "build_network", sometimes)
    monkeypatch.setattr(objectives_module.NetworkObjective, "_at_once", 3)
    monkeypatch.setattr(objectives_module, "is_batched", lambda *_: False)
    told = []
    objective = NetworkObjective(diabetes(), QUICK, repeats=3, watch=lambda *one: told.append(one[:2]))
    with pytest.raises(TrainingFailed, match="epoch 0: the loss is"):
        objective(PERCEPTRON)
    assert (0, 1) not in told
    monkeypatch.undo()
    with pytest.raises(TrainingFailed, match="the loss is"):
        NetworkObjective(diabetes(), DIVERGING, repeats=3)(PERCEPTRON)


@pytest.mark.parametrize("repeats", [1, 2])
def test_test_examples_are_scored_when_they_are_asked_for(monkeypatch, repeats):
    calls = []
    scored = outcomes_module.Scoring

    def noted(network, examples, *others):
        calls.append(len(examples.inputs))
        return scored(network, examples, *others)

    monkeypatch.setattr(outcomes_module, "Scoring", noted)
    one = NetworkObjective(diabetes(), QUICK, repeats=repeats).train(PERCEPTRON)[0]
    assert calls == []
    state = torch.get_rng_state()
    assert one.test_error == one.test_error
    assert calls == [88]
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        expected = nn.functional.mse_loss(one.network(diabetes().test.inputs), diabetes().test.targets)
    assert one.test_error == pytest.approx(float(expected), rel=1e-5)


def test_a_failed_evaluation_leaves_no_checkpoint(tmp_path):
    late = replace(QUICK, optimizer="sgd", learning_rate=3.0, gradient_norm=0.0, epochs=60)
    told = []
    with pytest.raises(TrainingFailed, match="the loss is"):
        NetworkObjective(diabetes(), late, checkpoints=tmp_path, watch=lambda *one: told.append(one))(PERCEPTRON)
    assert told  # a checkpoint was written before
    assert list(tmp_path.iterdir()) == []


def test_another_data_set_of_the_same_name_begins_anew(tmp_path):
    data, random = diabetes(), np.random.default_rng(0)
    other = regression("diabetes", random.normal(size=(442, 10)), random.normal(size=442))

    def stop(_, epoch, __):
        if epoch == 0:
            raise KeyError("stop")

    with pytest.raises(KeyError):
        NetworkObjective(data, QUICK, checkpoints=tmp_path, watch=stop)(PERCEPTRON)
    with pytest.warns(UserWarning, match=r"of another training \(other data\), it starts over"):
        value = NetworkObjective(other, QUICK, checkpoints=tmp_path)(PERCEPTRON)
    assert value == NetworkObjective(other, QUICK)(PERCEPTRON)


def test_a_killed_evaluation_resumes(tmp_path):
    script = f"""
import time, torch, bostruct as bo
from bostruct.nas import NetworkObjective, diabetes, Recipe
torch.set_num_threads(1)
slow = lambda *_: time.sleep(0.3)
objective = NetworkObjective(diabetes(), Recipe(epochs=8), checkpoints={str(tmp_path)!r}, watch=slow)
objective(bo.Architecture.chain("relu-16 linear"))
"""
    process = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("*.pt")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    watched: list[int] = []
    watch = {"watch": lambda *told: watched.append(told[1])}
    value = NetworkObjective(diabetes(), Recipe(epochs=8), checkpoints=str(tmp_path), **watch)(PERCEPTRON)
    assert watched[0] > 0
    assert value == NetworkObjective(diabetes(), Recipe(epochs=8))(PERCEPTRON)
    assert not list(tmp_path.glob("*.pt"))  # a finished evaluation needs none


def test_failed_trainings_are_failed_trials():
    pool = [PERCEPTRON, bo.Architecture.chain("tanh-16 tanh-16 linear")]
    study = bo.Study(bo.mlp_domain(pool=pool, bounds=bo.Bounds(min_layers=3)), method="evolution", seed=0)
    study.optimize(NetworkObjective(diabetes(), DIVERGING), 3, progress=False)
    failed = [trial for trial in study.trials if trial.status == "failed"]
    assert failed
    assert all("TrainingFailed" in trial.reason and "loss is" in trial.reason for trial in failed)


def test_repeats_are_averaged_and_settings_reach_the_training():
    data = diabetes()
    singles = [NetworkObjective(data, QUICK, seed=seed)(PERCEPTRON) for seed in (0, 1)]
    assert NetworkObjective(data, QUICK, repeats=2)(PERCEPTRON) == pytest.approx(np.mean(singles))
    objective = NetworkObjective(data, QUICK)
    point = {"network": PERCEPTRON, "training": {"epochs": 1, "learning_rate": 0.05, "fraction": 0.5}}
    found = objective.train(point)[0]
    assert len(found.epochs) == 1
    quicker = replace(QUICK, epochs=1, learning_rate=0.05)
    alone = train(built(PERCEPTRON, data), data.part(0.5), quicker, 0)
    assert found.epochs == alone.epochs
    assert objective.cost(point).parameters == 10 * 16 + 16 + 16 + 1


def test_programs_are_trained():
    space = SearchSpace(lambda: siso_sequential([ops.dense(D([4, 8])), ops.relu(), ops.dense(1)]))
    result = bo.minimize(NetworkObjective(diabetes(), QUICK), space, 2, method="random", seed=0, progress=False)
    assert 0.0 < result.best_value < 2.0
