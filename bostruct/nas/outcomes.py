"""The outcomes of trainings: errors of every epoch and a network, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import nn

from bostruct.contracts import BostructError
from bostruct.nas.cuda_graphs import CaptureFailed
from bostruct.nas.data import Dataset
from bostruct.nas.device_data import on_device
from bostruct.nas.device_memory import memory_reason
from bostruct.nas.devices import DeviceContext
from bostruct.nas.recipes import Recipe
from bostruct.nas.scoring import Scoring

ONE_VALUE_MESSAGE = "Expected more than 1 value per channel when training"  # torch, of batch normalization


class TrainingFailed(BostructError, RuntimeError):
    """A training that came to nothing: the reason is the message."""


class OutOfMemory(TrainingFailed):
    """A training that there is too little memory for."""


class NotCaptured(TrainingFailed):
    """A training whose step could not be a CUDA graph: it is to begin anew without graphs."""


class Stopped(TrainingFailed):
    """A training that had not ended when another one, without which it is of no use, failed."""


class Epoch(NamedTuple):
    """The loss and the error of one epoch.

    loss: mean over the training steps.
    error: on the validation examples, the share that is wrong or the mean squared error.
    """

    loss: float
    error: float


@dataclass(frozen=True)
class Trained:
    """A trained network and what its training came to.

    network: as it is after the last epoch.
    epochs: loss and error of each, in order.
    error: of validation, by the recipe's score.
    seconds: of training and scoring, while it was this training's turn.
    score_test: gives the error of `network` on the test examples.
    """

    network: nn.Module
    epochs: tuple[Epoch, ...]
    error: float
    seconds: float
    score_test: Callable[[], float] = field(repr=False, compare=False)

    @cached_property
    def test_error(self) -> float:
        """The error on the test examples of the network as it ended.

        It is computed when it is first asked for, which has to happen before the network is changed. Raises
        OutOfMemory.
        """
        return self.score_test()


def training_result(
    network: nn.Module, epochs: Sequence[Epoch], data: Dataset, recipe: Recipe, device: torch.device, seconds: float
) -> Trained:
    """Return the outcome of a training that has had its epochs.

    network: in evaluation mode, on the device.
    epochs: loss and error of each, in order, from one.
    data: gives the test examples.
    recipe: gives the rule of the score, and the statistics of batch normalization.
    device: on which test examples are scored.
    seconds: that the training took.
    """
    score_test = partial(score_on_test, network, data, recipe, device)
    return Trained(network, tuple(epochs), select_error(epochs, recipe), seconds, score_test)


def score_on_test(network: nn.Module, data: Dataset, recipe: Recipe, device: torch.device) -> float:
    """Return the error on the test examples.

    network: on the device.
    data: gives the test examples.
    recipe: gives the statistics of batch normalization.
    device: on which the examples are scored.

    Raises OutOfMemory, and what the network raises.
    """
    context = DeviceContext(device, 0, with_graphs=False)
    context.synchronize()  # for whatever stream the network was trained on
    try:
        with context.activate():
            return Scoring(network, on_device(data, device).test, data.task, recipe, context).error()
    except Exception as error:
        failure = out_of_memory_failure(error, context)
        if failure is None:
            raise
    raise failure


def out_of_time_failure(epoch: int) -> TrainingFailed:
    """Return the failure of a training that has run out of time.

    epoch: number of the one that had not ended, from 0.
    """
    return TrainingFailed(f"epoch {epoch}: out of time")


def nonfinite_failure(number: int, epoch: Epoch) -> TrainingFailed | None:
    """Return the failure of a training whose loss or error in this epoch is not finite, None where both are.

    number: of the epoch, from 0.
    epoch: its loss and error.
    """
    if math.isfinite(epoch.loss) and math.isfinite(epoch.error):
        return None
    return TrainingFailed(f"epoch {number}: the loss is {epoch.loss}, the error {epoch.error}")


def out_of_memory_failure(error: Exception, context: DeviceContext) -> OutOfMemory | None:
    """Turn an error for lack of memory into a failure; None where memory was not short.

    The failure has none of the error's traceback frames, which hold device memory.

    error: that was raised.
    context: tells how much memory is free.
    """
    reason = memory_reason(error, context.free_memory)
    if reason is None:
        return None
    where = f" on {context.device}" if context.cuda else ""
    return OutOfMemory(f"out of memory{where}: {reason}".removesuffix(": "))


def describe_failure(error: Exception, context: DeviceContext) -> TrainingFailed | None:
    """Turn an error into the failure of a training; None for one that is not the training's, as of a wrong shape.

    The failure is a new error without the frames of the one raised, which hold device memory.

    error: that was raised in the training's turn.
    context: of the training.
    """
    if (failure := out_of_memory_failure(error, context)) is not None:
        return failure
    if ONE_VALUE_MESSAGE in str(error):
        return TrainingFailed(
            f"batch normalization was given one value a channel ({str(error).partition(': ')[2]}): images of one "
            f"pixel, or features, need batch_size of at least 2 and as many examples"
        )
    if isinstance(error, CaptureFailed):
        return NotCaptured(str(error))
    return TrainingFailed(str(error)) if isinstance(error, TrainingFailed) else None


def select_error(epochs: Sequence[Epoch], recipe: Recipe) -> float:
    """Return the validation error of a training: of the best epoch or the last.

    epochs: in order, from one.
    recipe: gives the rule of the score.
    """
    errors = [epoch.error for epoch in epochs]
    return min(errors) if recipe.score == "best" else errors[-1]


def is_hopeless(epochs: Sequence[Epoch], patience: int) -> bool:
    """Tell whether none of the last `patience` epochs is as good as the one before them (Oh et al. 2019).

    epochs: in order.
    patience: number of epochs, 0 for training on without end.
    """
    if not patience or len(epochs) <= patience:
        return False
    before, *last = (epoch.error for epoch in epochs[-patience - 1 :])
    return min(last) > before
