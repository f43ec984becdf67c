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
from bostruct.nas.data import Dataset
from bostruct.nas.device_data import on_device
from bostruct.nas.devices import DeviceContext, memory_reason
from bostruct.nas.recipes import Recipe
from bostruct.nas.steps import Scoring, exhaust


class TrainingFailed(BostructError, RuntimeError):
    """A training that came to nothing: the reason is the message."""


class OutOfMemory(TrainingFailed):
    """A training that there is too little memory for."""


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

    seconds: the time that it took.
    """
    score_test = partial(score_on_test, network, data, recipe, device)
    return Trained(network, tuple(epochs), select_error(epochs, recipe), seconds, score_test)


def score_on_test(network: nn.Module, data: Dataset, recipe: Recipe, device: torch.device) -> float:
    """Return the error on the test examples, by the recipe's statistics; raise OutOfMemory."""
    context = DeviceContext(device, 0, graphs=False)
    context.synchronize()  # for whatever stream the network was trained on
    try:
        with context.activate():
            return exhaust(Scoring(network, on_device(data, device).test, data.task, recipe, context).steps())
    except Exception as error:
        failure = out_of_memory_failure(error, context)
        if failure is None:
            raise
    raise failure


def out_of_time_failure(epoch: int) -> TrainingFailed:
    """Return the failure of a training that has run out of time.

    epoch: that had not ended.
    """
    return TrainingFailed(f"epoch {epoch}: out of time")


def nonfinite_failure(number: int, epoch: Epoch) -> TrainingFailed | None:
    """Return the failure of a training whose loss or error in this epoch is not finite, None where both are.

    number: of the epoch.
    """
    if math.isfinite(epoch.loss) and math.isfinite(epoch.error):
        return None
    return TrainingFailed(f"epoch {number}: the loss is {epoch.loss}, the error {epoch.error}")


def out_of_memory_failure(error: Exception, context: DeviceContext) -> OutOfMemory | None:
    """Turn an error into a failure without its traceback frames, which hold device memory.

    Returns None where memory was not short.
    """
    reason = memory_reason(error, context.free_memory)
    if reason is None:
        return None
    where = f" on {context.device}" if context.cuda else ""
    return OutOfMemory(f"out of memory{where}: {reason}".removesuffix(": "))


def select_error(epochs: Sequence[Epoch], recipe: Recipe) -> float:
    """Return the validation error of a training by the recipe's score: of the best epoch or the last."""
    errors = [epoch.error for epoch in epochs]
    return min(errors) if recipe.score == "best" else errors[-1]


def is_hopeless(epochs: Sequence[Epoch], patience: int) -> bool:
    """Tell whether none of the last `patience` epochs is as good as the one before them (Oh et al. 2019)."""
    if not patience or len(epochs) <= patience:
        return False
    before, *last = (epoch.error for epoch in epochs[-patience - 1 :])
    return min(last) > before
