"""Devices: there or refused, by one name, with the precision and the memory that they have."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import bostruct as bo
from bostruct.domains.architecture.value import Architecture
from bostruct.nas import digits, objectives
from bostruct.nas.devices import DeviceContext, benchmark_convolutions, check_device, check_devices, with_index
from bostruct.nas.outcomes import Trained
from bostruct.nas.recipes import FAST
from bostruct.outcome import WORKER_NUMBER
from tests.nas.graphs import CPU
from tests.nas.lost_gpu import leaking, lost


def test_a_cache_that_cannot_be_emptied_hides_nothing(monkeypatch):
    context, tried = DeviceContext(CPU, 0), []

    def broken():
        tried.append("empty")
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED")

    monkeypatch.setattr(torch.cuda, "empty_cache", broken)
    context.release()
    assert tried == []  # a CPU has no such cache
    context.cuda = True
    context.release()
    assert tried == ["empty"]


def test_devices_are_there_or_refused(monkeypatch):
    assert check_device("cpu") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("gpu", "mps", "cuda", "cuda:1"):
        with pytest.raises(ValueError, match=f"device: .* got '{name}'"):
            check_device(name)
    with pytest.raises(TypeError, match="device: expected 'cpu'"):
        check_device(0)  # type: ignore[arg-type]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert check_device("cuda:0").type == "cuda"
    with pytest.raises(ValueError, match="torch finds 1 CUDA devices here, got 'cuda:1'"):
        check_device("cuda:1")


def test_a_device_has_one_name(gpu):
    del gpu
    assert with_index(torch.device("cuda")) == with_index(torch.device("cuda:1")) == torch.device("cuda:1")
    assert with_index(torch.device("cuda:0")) == torch.device("cuda:0")
    assert with_index(CPU) == CPU


def test_convolutions_are_tuned_in_a_training_and_nowhere_else():
    assert not torch.backends.cudnn.benchmark
    seen = []

    def fails():
        with benchmark_convolutions():
            seen.append(torch.backends.cudnn.benchmark)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert seen == [True]
    assert not torch.backends.cudnn.benchmark


def test_a_gpu_has_graphs_unless_they_are_in_doubt(monkeypatch, gpu):
    del gpu
    cuda = torch.device("cuda")
    assert DeviceContext(cuda, 0).graphs is not None
    fallback = DeviceContext(cuda, 0, with_graphs=False)
    assert (fallback.graphs, fallback._stream) == (None, ("current", 1))
    monkeypatch.setattr(torch.version, "cuda", None)  # a build for another maker's GPUs
    assert DeviceContext(cuda, 0).graphs is None


def test_products_are_bfloat16_where_all_convolutions_are(gpu):
    cuda = torch.device("cuda")
    for capability, expected in (((9, 0), True), ((8, 0), True), ((7, 5), False)):
        gpu[:] = capability
        context = DeviceContext(cuda, 0)
        assert context.precision()._enabled == expected
        assert context.graphs is not None  # in float32 on older GPUs
    assert not DeviceContext(CPU, 0).precision()._enabled


def test_devices_of_workers_are_named_checked_and_counted(monkeypatch):
    assert check_devices(None) is None
    assert check_devices(["cpu", "cpu"]) == ("cpu", "cpu")
    with pytest.raises(ValueError, match="torch finds no CUDA devices here, got 'all'"):
        check_devices("all")
    for wrong in ("cuda:0", [], 3):
        with pytest.raises(TypeError, match="devices: expected a list such as"):
            check_devices(wrong)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert check_devices("all") == ("cuda:0", "cuda:1", "cuda:2")
    with pytest.raises(ValueError, match="torch finds 3 CUDA devices here, got 'cuda:3'"):
        check_devices(["cuda:0", "cuda:3"])


def test_a_worker_trains_on_the_device_of_its_number(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    trained = []

    def train(builds, *_, device, **__):
        trained.append(device)
        return [Trained(torch.nn.Identity(), (), 0.5, 0.0, float) for _ in builds]

    monkeypatch.setattr(objectives, "train_together", train)
    objective = objectives.NetworkObjective(digits(), devices="all")
    monkeypatch.delenv(WORKER_NUMBER, raising=False)
    for number in (None, "0", "1", "2"):  # three workers on two devices
        if number is not None:
            monkeypatch.setenv(WORKER_NUMBER, number)
        assert objective(Architecture.chain("conv3-8 softmax")) == 0.5
    assert trained == ["cuda:0", "cuda:0", "cuda:1", "cuda:0"]


def number_of_worker(point: dict[str, int]) -> float:
    """Return the number of the worker, which waits until all have one, whatever the point."""
    del point
    while len(list(Path(os.environ["MET"]).iterdir())) < 3:
        (Path(os.environ["MET"]) / os.environ[WORKER_NUMBER]).touch()
        time.sleep(0.01)
    return float(os.environ[WORKER_NUMBER])


def test_workers_have_numbers_from_zero(monkeypatch, tmp_path):
    monkeypatch.setenv("MET", str(tmp_path))
    result = bo.minimize(number_of_worker, bo.Space({"a": range(9)}), 3, method="random", seed=0, workers=3)
    assert sorted(trial.value for trial in result.trials) == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("build", [lost, leaking])
def test_a_lost_gpu_or_memory_costs_no_trial_as_its_worker_is_replaced(monkeypatch, tmp_path, build):
    monkeypatch.setenv("LOST_GPU_FILE", str(tmp_path / "lost"))
    objective = objectives.NetworkObjective(digits(), replace(FAST, epochs=1), builders={"conv3": build})
    domain = bo.cnn_domain(bo.Bounds(min_layers=3, max_layers=5, max_units=16), ["conv3-8 conv3-8 softmax"])
    result = bo.minimize(objective, domain, 6, method="random", seed=0, workers=2, progress=False)
    assert (tmp_path / "lost").exists()
    assert (len(result.trials), result.n_failed) == (6, 0)
