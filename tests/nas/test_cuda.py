"""What only a GPU can show: graphs against single steps, trainings side by side, memory, failures in the midst of it.

Values are compared as far as they repeat on a GPU, where sums are not always taken in the same order.
"""

from __future__ import annotations

import gc
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import bostruct as bo
from benchmarks.gpu_nas import MINIATURE, eager, synthetic
from bostruct.nas import diabetes, train
from bostruct.nas import training as training_module
from bostruct.nas.devices import WARM_UP, CudaGraphs, DeviceContext, on_device
from bostruct.nas.networks import _add_padded_inputs
from bostruct.nas.outcomes import Epoch, OutOfMemory, Trained
from bostruct.nas.recipes import FAST, FAST_IMAGES, NASBOT_CNN
from bostruct.nas.training import train_together
from tests.nas.trainings import built

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

DEVICE = "cuda"
EPOCHS = WARM_UP + 2  # of one whole batch of validation examples each: the last two are replayed
PERCEPTRON = bo.Architecture.chain("relu-16 relu-16 linear")
RESIDUAL = bo.Architecture.chain("conv3-16 res3-32/2 max-pool fc-32 softmax")
ADAM = replace(FAST_IMAGES, epochs=EPOCHS, batch_size=100)
SGD = replace(NASBOT_CNN, epochs=EPOCHS, batch_size=100)
TABLE = replace(FAST, epochs=40, batch_size=32)


@pytest.fixture(scope="module")
def images():
    return synthetic(MINIATURE._replace(train=2_000, held=1_050))


def assert_alike(found, expected):
    """Epoch by epoch, to the noise of a training on a GPU."""
    assert isinstance(found, Trained)
    assert len(found.epochs) == len(expected.epochs)
    first, *_ = zip(found.epochs, expected.epochs, strict=True)
    np.testing.assert_allclose(first[0].loss, first[1].loss, rtol=0.02)
    np.testing.assert_allclose([one.loss for one in found.epochs], [one.loss for one in expected.epochs], rtol=0.15)
    np.testing.assert_allclose([one.error for one in found.epochs], [one.error for one in expected.epochs], atol=0.1)


@pytest.mark.parametrize("recipe", [ADAM, SGD, replace(ADAM, statistics="batch", gradient_norm=1.0)])
def test_graphs_of_images_are_the_steps(monkeypatch, images, recipe):
    build = built(RESIDUAL, images, dropout=0.3)
    replayed = train(build, images, recipe, 3, device=DEVICE)
    monkeypatch.setattr(training_module, "DeviceContext", eager)
    fallback = train(build, images, recipe, 3, device=DEVICE)
    assert_alike(replayed, fallback)
    assert replayed.test_error == pytest.approx(fallback.test_error, abs=0.1)
    assert replayed.epochs[-1].loss < replayed.epochs[0].loss


def test_graphs_of_a_perceptron_are_the_steps(monkeypatch):
    data = diabetes()
    replayed = train(built(PERCEPTRON, data, 0.1), data, TABLE, 3, device=DEVICE)
    monkeypatch.setattr(training_module, "DeviceContext", eager)
    assert_alike(replayed, train(built(PERCEPTRON, data, 0.1), data, TABLE, 3, device=DEVICE))


def test_replays_draw_anew_and_each_place_its_own_numbers():
    def drawing(seed):
        context, ones = DeviceContext(torch.device(DEVICE), seed), torch.ones(1_000, device=DEVICE)
        kept = torch.empty_like(ones)
        context.synchronize()  # for the stream on which they were made
        return context, kept, context.make_graphed_callable(lambda: kept.copy_(nn.functional.dropout(ones, 0.5)))  # type: ignore[arg-type]

    places, found = [drawing(1), drawing(1), drawing(2)], []
    for _ in range(WARM_UP + 3):
        for context, kept, step in places:
            with context.activate():
                step()
                found.append(kept.tolist())
    first, again, other = found[0::3], found[1::3], found[2::3]
    assert first == again
    assert len({tuple(one) for one in (*first, *other)}) == 2 * (WARM_UP + 3)


def test_together_is_one_after_the_other(images):
    build = built(RESIDUAL, images, dropout=0.3)
    together = train_together([build] * 8, images, ADAM, range(8), device=DEVICE)
    for seed in (0, 3, 7):
        assert_alike(together[seed], train(build, images, ADAM, seed, device=DEVICE))
    assert len({one.epochs for one in together if isinstance(one, Trained)}) == 8


def test_a_training_goes_on_from_a_checkpoint(tmp_path, images):
    class Killed(Exception):
        pass

    def kill(epoch: int, _: Epoch) -> None:
        if epoch == 1:
            raise Killed

    build, file, told = built(RESIDUAL, images, dropout=0.3), tmp_path / "c.pt", []
    whole = train(build, images, SGD, 3, device=DEVICE)
    with pytest.raises(Killed):
        train(build, images, SGD, 3, device=DEVICE, checkpoint=file, watch=kill)
    resumed = train(build, images, SGD, 3, device=DEVICE, checkpoint=file, watch=lambda epoch, _: told.append(epoch))
    assert told == list(range(2, EPOCHS))
    assert_alike(resumed, whole)


class Asking(nn.Module):
    """Waits for the device in every forward pass."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 1)

    def forward(self, x):
        given = self.linear(x)
        return given * (1.0 if given.detach().sum().item() > 0.0 else 0.5)


def test_a_network_that_waits_is_trained_and_harms_no_other():
    data = diabetes()
    with pytest.warns(UserWarning, match=r"waits for the device at .*test_cuda.py") as told:
        found = train(Asking, data, TABLE, 0, device=DEVICE)
    assert len(told) == 1
    assert found.error < 1.0
    assert train(built(PERCEPTRON, data), data, TABLE, 0, device=DEVICE).error < 1.0


def test_what_waits_is_told():
    graphs = DeviceContext(torch.device(DEVICE), 0).graphs
    assert graphs is not None
    with graphs.record_waits() as waits:
        assert torch.ones(1, device=DEVICE).item() == 1.0
    assert waits[0].filename == __file__
    with graphs.record_waits() as waits:
        torch.ones(1, device=DEVICE)
    assert waits == []


class Hungry(nn.Module):
    """Asks for 128 TiB in one of its forward passes and from then on."""

    def __init__(self, left):
        super().__init__()
        self.linear, self.left = nn.Linear(10, 1), left

    def forward(self, x):
        self.left -= 1
        return self.linear(x) if self.left >= 0 else torch.empty(2**45, device=x.device)


def check_too_little_memory(left):
    """Train a network that is short of memory from a forward pass on, between two that are not."""
    data = diabetes()
    sound = built(PERCEPTRON, data)
    alone = train(sound, data, TABLE, 1, device=DEVICE)
    found = train_together([sound, lambda: Hungry(left), sound], data, TABLE, [1, 2, 1], device=DEVICE)
    assert isinstance(found[1], OutOfMemory)
    for one in (found[0], found[2], train(sound, data, TABLE, 1, device=DEVICE)):
        assert_alike(one, alone)


def test_too_little_memory_is_a_reason_and_harms_no_other():
    check_too_little_memory(0)


def test_memory_comes_back(images):
    build = built(RESIDUAL, images)

    def held() -> int:
        """Bytes, after three trainings, the network of one scored on the test examples."""
        found = train_together([build] * 3, images, ADAM, range(3), device=DEVICE)
        assert isinstance(found[0], Trained)
        assert found[0].test_error < 1.0
        del found
        gc.collect()
        return torch.cuda.memory_allocated()

    first = held()  # with the data and what libraries keep
    assert max(held() for _ in range(3)) <= first + 2**20


def test_sums_stay_in_the_type_of_what_is_added():
    parts = [torch.ones(2, channels, 4, 4, device=DEVICE, dtype=torch.bfloat16) for channels in (3, 5, 5)]
    with DeviceContext(torch.device(DEVICE), 0).precision():
        found = _add_padded_inputs(parts)
    assert found.dtype == torch.bfloat16
    assert found[0, :, 0, 0].tolist() == [3.0, 3.0, 3.0, 2.0, 2.0]


def test_data_are_on_a_device_once_by_any_of_its_names(images):
    numbered = f"cuda:{torch.cuda.current_device()}" if DEVICE == "cuda" else DEVICE
    there = [on_device(images, torch.device(name)).train for name in (DEVICE, numbered)]
    assert there[0].inputs is there[1].inputs
    assert there[0].targets is there[1].targets


# After the tests below no training of this process has graphs.


def test_at_last_a_capture_that_fails_costs_the_graphs_and_no_training(monkeypatch):
    data = diabetes()
    monkeypatch.setattr(CudaGraphs, "record_waits", lambda _: nullcontext([]))
    with pytest.warns(UserWarning, match=r"trained without CUDA graphs, .*cannot be a CUDA graph"):
        found = train(Asking, data, TABLE, 0, device=DEVICE)
    assert found.error < 1.0
    assert DeviceContext(torch.device(DEVICE), 0).graphs is None
    assert train(built(PERCEPTRON, data, 0.1), data, TABLE, 0, device=DEVICE).error < 1.0


def test_at_last_too_little_memory_in_the_fourth_step_is_a_reason_too():
    check_too_little_memory(WARM_UP)
