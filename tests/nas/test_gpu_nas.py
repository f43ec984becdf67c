"""The benchmark for a GPU runs on a CPU too, and says what it measured."""

from __future__ import annotations

import json
import time

import pytest
import torch

from benchmarks import gpu_nas
from bostruct.nas import cost


@pytest.mark.slow
def test_all_sections_run_in_miniature(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(gpu_nas, "MINIATURE", gpu_nas.MINIATURE._replace(train=8, held=4, batch=2, matmul=64))
    monkeypatch.setattr(gpu_nas, "STREAMS", (1, 8))
    file = tmp_path / "found.json"
    began = time.process_time()  # of this process: a busy machine takes as long as it likes
    gpu_nas.main(["--output", str(file), "--miniature"])
    assert time.process_time() - began < 60
    found = json.loads(file.read_text())
    assert not [name for name in gpu_nas.SECTIONS if "error" in found[name]]
    assert (found["device"], found["data"]) == ("cpu", "synthetic")
    assert found["peaks"]["flops_per_second"] > 0
    assert found["peaks"]["bytes_per_second"] > 0
    for cell in ("mean", "maximum"):
        steps = found["steps"][cell]
        for way in ("eager_1", "graph_1", "graph_8"):
            streams = int(way.partition("_")[2])
            assert steps[way]["step_ms"] == pytest.approx(streams * steps[way]["per_training_ms"])
            assert found["shares"][f"{cell}_{way}"]["arithmetic"] > 0
            assert found["shares"][f"{cell}_{way}"]["memory"] > 0
        assert steps["graph_8"]["step_ms"] > 2 * steps["graph_1"]["step_ms"]  # a CPU steps one after the other
    assert found["steps"]["mean"]["multiplications"] == pytest.approx(
        20.4e6, rel=0.005
    )  # no cell is nearer to the mean
    assert found["steps"]["maximum"]["multiplications"] == pytest.approx(99.0e6, rel=0.001)
    assert len(found["evaluation"]["errors"]) == found["evaluation"]["repeats"] == 2
    assert all(isinstance(error, float) for error in found["evaluation"]["errors"])
    assert found["evaluation"]["asked"] == 20.0
    assert found["search"]["evaluations"] == found["search"]["asked"] == 3
    assert found["search"]["best"] <= found["search"]["first"]
    printed = capsys.readouterr().out
    assert "not CIFAR-10's" in printed
    assert "mean cell (20.4 M multiplications): graph, streams 8, ms a step" in printed


def test_the_mean_cell_is_counted_and_the_same_at_every_call():
    bits = gpu_nas.mean_cell(300)
    assert bits == gpu_nas.mean_cell(300)
    for chosen in (bits, [1] * 31):
        network = gpu_nas.program_of(chosen).to_torch((2, *gpu_nas.SHAPE))
        assert gpu_nas.multiplications(chosen) == cost(network, gpu_nas.SHAPE).flops // 2


def test_a_section_that_fails_or_has_no_time_leaves_the_others(monkeypatch):
    def broken(_):
        raise RuntimeError("no device")

    monkeypatch.setitem(gpu_nas.SECTIONS, "peaks", (broken, 0.1))
    found = gpu_nas.measure_all(gpu_nas.synthetic(gpu_nas.MINIATURE), "cpu", gpu_nas.MINIATURE, 0.0, None)
    assert "no device" in found["peaks"]["error"]
    assert found["steps"]["mean"]["skipped"] == "out of time"
    assert found["search"]["evaluations"] == 1
    assert "peaks: failed" in gpu_nas.table(found)


def test_a_section_keeps_to_its_time(monkeypatch):
    given = []

    class Slow:
        def __init__(self, *_, seconds, **settings):
            del settings
            given.append(seconds)

        def __call__(self, _):
            time.sleep(0.1)
            return 0.5

    def bench(seconds):
        data = gpu_nas.synthetic(gpu_nas.MINIATURE)
        return gpu_nas.Bench(data, "cpu", gpu_nas.MINIATURE, time.monotonic() + seconds, {})

    late = gpu_nas.evaluation(bench(-1.0))
    assert all("out of time" in error for error in late["errors"])
    monkeypatch.setattr(gpu_nas, "NetworkObjective", Slow)
    gpu_nas.search(bench(30.0))
    assert len(given) == gpu_nas.MINIATURE.trials
    assert given == sorted(given, reverse=True)
    assert given[0] - given[-1] > 0.1


def test_traffic_is_that_by_hand():
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))
    weights, numbers = 30_730, 2 * 3_072 + 3_072 + 10
    assert gpu_nas.traffic(module, 4, 2) == 3 * 2 * (4 * numbers + weights) + 28 * weights
