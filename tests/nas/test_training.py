"""Training: it learns, repeats bit for bit, goes on after a kill, fails with a reason; recipes as published."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.nas import (
    Dataset,
    NetworkObjective,
    Recipe,
    TrainingFailed,
    diabetes,
    digits,
    regression,
    to_torch,
    train,
)
from bostruct.nas.checkpoints import data_digest
from bostruct.nas.data import Examples
from bostruct.nas.device_data import on_device
from bostruct.nas.devices import DeviceContext
from bostruct.nas.recipes import COMBO, FAST
from bostruct.nas.steps import Scoring, augment, decision_loss, exhaust
from bostruct.nas.training import Epoch, is_hopeless

CPU = torch.device("cpu")
QUICK = replace(FAST, epochs=3, batch_size=32)
PERCEPTRON = bo.Architecture.chain("relu-16 linear")
CONVOLUTION = bo.Architecture.chain("conv3-8 conv3-8/2 softmax")


def trained(data, recipe, seed=0, architecture=None, **settings):
    chosen = architecture or (CONVOLUTION if data.task == "classification" else PERCEPTRON)
    return train(lambda: to_torch(chosen, data.input_shape, data.classes), data, recipe, seed, **settings)


def scored(network, data, recipe):
    return exhaust(Scoring(network, on_device(data, CPU).validation, data.task, recipe, DeviceContext(CPU, 0)).steps())


def test_the_data_sets_are_split_without_overlap():
    data = digits()
    assert (len(data.train.inputs), len(data.validation.inputs), len(data.test.inputs)) == (599, 599, 599)
    assert data.input_shape == (1, 8, 8)
    rows = [set(map(bytes, part.inputs.numpy().reshape(len(part.inputs), -1))) for part in (data.train, data.test)]
    assert len(rows[0] & rows[1]) < 5  # a few digits occur twice
    data = diabetes()
    assert (len(data.train.inputs), len(data.validation.inputs), len(data.test.inputs)) == (266, 88, 88)
    assert data.train.inputs.mean(dim=0).abs().max() < 1e-5
    assert float(data.train.targets.std(unbiased=False)) == pytest.approx(1.0, abs=1e-5)
    assert len(data.part(0.1).train.inputs) == 27
    with pytest.raises(ValueError, match="fraction"):
        data.part(0.0)


def test_columns_that_do_not_vary_become_zero():
    features = np.column_stack([np.full(50, 7.0), np.arange(50.0)])
    data = regression("two", features, np.arange(50.0))
    assert not data.train.inputs[:, 0].any()
    assert torch.isfinite(data.test.inputs).all()


def test_networks_learn():
    better = bo.Architecture.chain("conv3-16 conv3-24/2 fc-32 softmax")
    assert trained(digits(), replace(QUICK, epochs=8), architecture=better).test_error < 0.3  # guessing: 0.9
    found = trained(diabetes(), replace(QUICK, epochs=15))
    assert found.error < 0.6
    assert found.epochs[-1].error < found.epochs[0].error


def test_the_same_seed_gives_the_same_bits():
    first, again, other = (trained(digits(), QUICK, seed) for seed in (3, 3, 4))
    assert first.epochs == again.epochs
    assert first.test_error == again.test_error
    assert first.epochs != other.epochs
    before = torch.random.get_rng_state()
    trained(diabetes(), QUICK)
    assert torch.equal(torch.random.get_rng_state(), before)  # nobody else's generator is touched


@pytest.mark.parametrize("architecture", ["conv3-8 conv3-8/2 softmax", "conv3-8 fc-8 softmax"])
def test_a_training_goes_on_from_every_checkpoint(tmp_path, architecture):
    chosen = bo.Architecture.chain(architecture)
    whole = trained(digits(), QUICK, architecture=chosen)

    class Killed(Exception):
        pass

    def kill_at(epoch):
        def watch(number, _):
            if number == epoch:
                raise Killed

        return watch

    for epoch in range(QUICK.epochs):
        file = tmp_path / f"{epoch}.pt"
        with pytest.raises(Killed):
            trained(digits(), QUICK, architecture=chosen, checkpoint=file, watch=kill_at(epoch))
        resumed = trained(digits(), QUICK, architecture=chosen, checkpoint=file)
        assert resumed.epochs == whole.epochs
        assert resumed.test_error == whole.test_error


def test_a_damaged_checkpoint_is_said_and_left(tmp_path):
    file = tmp_path / "c.pt"
    file.write_bytes(b"not a checkpoint")
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = trained(diabetes(), QUICK, checkpoint=file)
    assert found.epochs == trained(diabetes(), QUICK).epochs


def test_a_checkpoint_that_does_not_fit_is_said_and_left(tmp_path):
    file, wider = tmp_path / "c.pt", bo.Architecture.chain("relu-32 linear")
    trained(diabetes(), QUICK, checkpoint=file)
    partial = tmp_path / "c.pt.12345"
    partial.write_bytes(b"of a process that was killed")
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = trained(diabetes(), QUICK, architecture=wider, checkpoint=file)
    assert found.epochs == trained(diabetes(), QUICK, architecture=wider).epochs
    assert not partial.exists()
    trained(diabetes(), QUICK, checkpoint=file, architecture=wider)
    with pytest.warns(UserWarning, match=r"of another training \(other recipe, seed\)"):
        trained(diabetes(), replace(QUICK, learning_rate=1e-3), 1, checkpoint=file, architecture=wider)


def test_a_digest_is_of_content_and_shape():
    data = diabetes()
    assert data_digest(data) == data_digest(diabetes())
    changed = data.train.inputs.clone()
    changed[5, 3] += 1.0
    assert data_digest(replace(data, train=Examples(changed, data.train.targets))) != data_digest(data)
    assert data_digest(data.part(0.5)) != data_digest(data)
    held = weakref.ref(data)
    del data
    gc.collect()
    assert held() is None


def test_batch_normalization_of_one_value_is_said_in_words():
    data = digits()
    tiny = Dataset(
        "tiny",
        data.task,
        *(Examples(one.inputs[:, :, :1, :1], one.targets) for one in (data.train, data.validation, data.test)),
        10,
    )
    with pytest.raises(TrainingFailed, match=r"batch normalization was given one value a channel .* at least 2"):
        trained(tiny, replace(QUICK, batch_size=1))
    by_batch = replace(QUICK, batch_size=46, statistics="batch")
    assert len(data.validation.inputs) % 46 == 1
    assert len(trained(tiny, by_batch).epochs) == 3  # the last one goes with the batch before


def test_a_network_that_was_scored_by_batch_is_left_in_evaluation_mode():
    found = trained(digits(), replace(QUICK, statistics="batch"))
    network = found.network
    assert not any(one.training for one in network.modules())
    assert found.test_error < 1.0
    assert not any(one.training for one in network.modules())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network(digits().test.inputs)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_the_loss_is_that_of_the_task():
    given, classes = torch.tensor([[0.0, 5.0], [5.0, 0.0]]), torch.tensor([1, 0], dtype=torch.uint8)
    expected = torch.nn.functional.cross_entropy(given, classes.long())
    assert decision_loss(given, classes.long(), "classification", QUICK) == expected
    assert decision_loss(given, torch.tensor([[0, 5], [5, 0]]), "regression", QUICK) == 0.0


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
    objective = NetworkObjective(
        diabetes(),
        Recipe(epochs=8),
        checkpoints=str(tmp_path),
        watch=lambda *told: watched.append(told[1]),
    )
    value = objective(PERCEPTRON)
    assert watched[0] > 0
    assert value == NetworkObjective(diabetes(), Recipe(epochs=8))(PERCEPTRON)
    assert not list(tmp_path.glob("*.pt"))  # a finished evaluation needs none


def test_divergence_time_and_bad_points_are_reasons():
    with pytest.raises(TrainingFailed, match="the loss is"):
        trained(diabetes(), replace(QUICK, optimizer="sgd", learning_rate=1e12, gradient_norm=0.0, epochs=5))
    with pytest.raises(TrainingFailed, match="out of time"):
        trained(digits(), replace(QUICK, epochs=1_000), seconds=0.05)
    objective = NetworkObjective(diabetes(), QUICK)
    with pytest.raises(PointError, match="expected one Architecture or Program"):
        objective({"rate": 0.1})
    with pytest.raises(PointError, match="'rate' is no setting"):
        objective({"network": PERCEPTRON, "rate": 0.1})


def test_failed_trainings_are_failed_trials():
    objective = NetworkObjective(
        diabetes(), replace(QUICK, optimizer="sgd", learning_rate=1e12, gradient_norm=0.0, epochs=5)
    )
    domain = bo.mlp_domain(
        pool=[PERCEPTRON, bo.Architecture.chain("tanh-16 tanh-16 linear")], bounds=bo.Bounds(min_layers=3)
    )
    study = bo.Study(domain, method="evolution", seed=0)
    study.optimize(objective, 3, progress=False)
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
    assert found.epochs == trained(data.part(0.5), replace(QUICK, epochs=1, learning_rate=0.05)).epochs
    assert objective.cost(point).parameters == 10 * 16 + 16 + 16 + 1


def test_programs_are_trained():
    from bostruct.language import D, SearchSpace, siso_sequential
    from bostruct.nas import ops

    space = SearchSpace(lambda: siso_sequential([ops.dense(D([4, 8])), ops.relu(), ops.dense(1)]))
    result = bo.minimize(NetworkObjective(diabetes(), QUICK), space, 2, method="random", seed=0, progress=False)
    assert 0.0 < result.best_value < 2.0


def test_early_stop_is_the_published_rule():
    def stops(*errors):
        return is_hopeless([Epoch(0.0, error) for error in errors], 2)

    assert not stops(0.5, 0.6)
    assert stops(0.5, 0.6, 0.51)
    assert not stops(0.5, 0.6, 0.5)
    assert stops(0.9, 0.5, 0.6, 0.51)
    assert COMBO.patience == 10


def test_rates_follow_their_schedules():
    triangle = Recipe(schedule="triangle", learning_rate=1.0)
    assert triangle.rate(0.2) == pytest.approx(1.0, abs=0.01)
    assert triangle.rate(0.1) == pytest.approx(0.5, abs=0.01)
    assert triangle.rate(0.6) == pytest.approx(0.5)
    assert Recipe(schedule="cosine", learning_rate=1.0).rate(0.5) == pytest.approx(0.5)
    steps = Recipe(schedule="steps", learning_rate=1.0, drops=((0.5, 0.1), (0.75, 0.01)))
    assert [steps.rate(share) for share in (0.0, 0.49, 0.5, 0.8)] == [1.0, 1.0, 0.1, 0.01]
    for wrong in ({"epochs": 0}, {"optimizer": "adamw"}, {"learning_rate": 0.0}, {"momentum": 1.0}, {"loss": "huber"}):
        with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
            Recipe(**wrong)


def test_batch_statistics_score_without_moving_the_averages():
    data = digits()
    network = trained(data, QUICK).network
    for name, value in network.state_dict().items():
        if "running_mean" in name:
            value += torch.arange(float(len(value)))
    before = {name: value.clone() for name, value in network.state_dict().items() if "running" in name}
    by_batch = scored(network, data, replace(QUICK, statistics="batch"))
    running = scored(network, data, QUICK)
    assert by_batch != running
    for name, value in before.items():
        assert torch.equal(network.state_dict()[name], value)


def test_augmentation_moves_and_mirrors_each_image_by_itself():
    images = torch.arange(2 * 3 * 5 * 5, dtype=torch.float32).reshape(2, 3, 5, 5).repeat(200, 1, 1, 1)
    generator = torch.Generator().manual_seed(0)
    found = augment(images, Recipe(flip=True), generator)
    mirrored = (found == images.flip(3)).flatten(1).all(dim=1)
    kept = (found == images).flatten(1).all(dim=1)
    assert (mirrored | kept).all()
    assert 0.4 < mirrored.float().mean() < 0.6
    shifted = augment(torch.ones(400, 1, 5, 5), Recipe(shift=2), generator)
    counts = {int(one.sum()) for one in shifted}
    assert counts == {a * b for a in (3, 4, 5) for b in (3, 4, 5)}
    assert augment(images, Recipe(), generator) is images


def test_examples_count_their_inputs():
    with pytest.raises(ValueError, match="as many inputs as targets"):
        replace(diabetes(), test=Examples(torch.zeros(3, 10), torch.zeros(2, 1)))
