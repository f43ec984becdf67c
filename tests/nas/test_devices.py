"""Devices: there or refused, by one name, with the precision and the memory that they have."""

from __future__ import annotations

import pytest
import torch

from bostruct.nas.devices import DeviceContext, benchmark_convolutions, check_device, with_index
from tests.nas.graphs import CPU


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
        assert context.precision()._enabled == (context.graphs is not None) == expected
    assert not DeviceContext(CPU, 0).precision()._enabled
