"""Outcomes of trainings: what errors come to, when a training is hopeless, which epoch counts."""

from __future__ import annotations

import pytest
import torch

from bostruct.nas import Recipe, diabetes, outcomes
from bostruct.nas.devices import CaptureFailed, DeviceContext
from bostruct.nas.outcomes import Epoch, OutOfMemory, describe_failure, nonfinite_failure
from bostruct.nas.recipes import COMBO
from tests.nas.graphs import CPU

ONE_VALUE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 4])"


def test_early_stop_is_the_published_rule():
    def stops(*errors):
        return outcomes.is_hopeless([Epoch(0.0, error) for error in errors], 2)

    assert not stops(0.5, 0.6)
    assert stops(0.5, 0.6, 0.51)
    assert not stops(0.5, 0.6, 0.5)
    assert stops(0.9, 0.5, 0.6, 0.51)
    assert COMBO.patience == 10


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (MemoryError(), OutOfMemory, "out of memory"),
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried"), OutOfMemory, "out of memory: CUDA out of memory"),
        (
            CaptureFailed("its step cannot be a CUDA graph: x"),
            outcomes.NotCaptured,
            "its step cannot be a CUDA graph: x",
        ),
        (outcomes.out_of_time_failure(3), outcomes.TrainingFailed, "epoch 3: out of time"),
    ],
)
def test_errors_of_a_training_are_failures_without_their_frames(error, kind, message):
    try:
        raise error
    except Exception as raised:
        found = describe_failure(raised, DeviceContext(CPU, 0))
    assert type(found) is kind
    assert str(found) == message
    assert found.__traceback__ is found.__context__ is found.__cause__ is None


def test_batch_normalization_of_one_value_is_a_failure_and_a_wrong_shape_is_none():
    context = DeviceContext(CPU, 0)
    assert "need a batch_size of at least 2" in str(describe_failure(ValueError(ONE_VALUE), context))
    assert describe_failure(RuntimeError("mat1 and mat2 shapes cannot be multiplied"), context) is None


@pytest.mark.parametrize("epoch", [Epoch(float("nan"), 0.5), Epoch(0.5, float("inf"))])
def test_a_loss_or_an_error_that_is_not_finite_is_a_failure(epoch):
    assert str(nonfinite_failure(2, epoch)).startswith("epoch 2: the loss is")
    assert nonfinite_failure(2, Epoch(0.5, 0.5)) is None


def test_the_error_is_that_of_the_best_epoch_or_the_last():
    epochs = [Epoch(1.0, 0.5), Epoch(1.0, 0.3), Epoch(1.0, 0.4)]
    for score, expected in (("best", 0.3), ("last", 0.4)):
        recipe = Recipe(score=score)  # type: ignore[arg-type]
        found = outcomes.training_result(torch.nn.Linear(10, 1), epochs, diabetes(), recipe, CPU, 1.5)
        assert (found.error, found.seconds, found.epochs) == (expected, 1.5, tuple(epochs))
