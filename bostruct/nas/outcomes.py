"""The outcomes of trainings: a network with the errors of every epoch, or the reason of the failure.

Errors on examples are summed on the device, a batch at a time: the CPU reads nothing, and does not wait, until all
batches are scored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from bostruct.contracts import BostructError
from bostruct.nas.data import Dataset, Task
from bostruct.nas.devices import CaptureFailed, DeviceContext, DeviceExamples, memory_reason, on_device
from bostruct.nas.recipes import Recipe

SCORED_AT_ONCE = 1_000  # number of examples
NORMALIZATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
ONE_VALUE_MESSAGE = "Expected more than 1 value per channel when training"  # torch's message about batch normalization


class TrainingFailed(BostructError, RuntimeError):
    """Raised if a training fails; the message is the reason."""


class OutOfMemory(TrainingFailed):
    """Raised if there is too little memory for a training."""


class NotCaptured(TrainingFailed):
    """Raised if a step of a training could not be a CUDA graph: the training is to restart without graphs."""


class Stopped(TrainingFailed):
    """Raised for a training that is stopped because another training, without which it is useless, has failed."""


class Epoch(NamedTuple):
    """The loss and the error of one epoch.

    error: error on the validation examples, the share of wrong classes or the mean squared error.
    """

    loss: float
    error: float


@dataclass(frozen=True)
class Trained:
    """A trained network with its errors and costs.

    Attributes
    ----------
    network : torch.nn.Module
        The network after the last epoch.
    epochs : tuple of Epoch
        Loss and error of each epoch.
    error : float
        The validation error by the recipe's score.
    seconds : float
        Seconds of training and scoring.
    score_test : callable
        Returns the error of `network` on the test examples.
    """

    network: nn.Module
    epochs: tuple[Epoch, ...]
    error: float
    seconds: float
    score_test: Callable[[], float] = field(repr=False, compare=False)

    @cached_property
    def test_error(self) -> float:
        """The error of the final network on the test examples.

        It is computed on first access, which must happen before the network is changed. Raises OutOfMemory.
        """
        return self.score_test()


def training_result(
    network: nn.Module, epochs: Sequence[Epoch], data: Dataset, recipe: Recipe, device: torch.device, seconds: float
) -> Trained:
    """Return the outcome of a completed training.

    epochs: loss and error of each epoch, in order; at least one.
    """
    score_test = partial(score_on_test, network, data, recipe, device)
    return Trained(network, tuple(epochs), select_error(epochs, recipe), seconds, score_test)


def score_on_test(network: nn.Module, data: Dataset, recipe: Recipe, device: torch.device) -> float:
    """Return the error on the test examples.

    Raises OutOfMemory, and the errors of the network.
    """
    context = DeviceContext(device, 0, with_graphs=False)
    context.synchronize()  # the network may have been trained on another stream
    try:
        with context.activate():
            return Scoring(network, on_device(data, device).test, data.task, recipe, context).error()
    except Exception as error:
        failure = out_of_memory_failure(error, context)
        if failure is None:
            raise
    raise failure


class ScoringBatches(NamedTuple):
    """The batches in which examples are scored.

    whole: number of full batches.
    rest: number of examples of the last, partial batch; 0 if there is none.
    """

    size: int
    whole: int
    rest: int

    @property
    def number(self) -> int:
        """The total number of batches."""
        return self.whole + (self.rest > 0)


def scoring_batches(n: int, recipe: Recipe) -> ScoringBatches:
    """Return the batches in which n examples are scored.

    With the statistics of the batch, a single remaining example is added to the batch before, because one example has
    no statistics.

    n: number of examples, from 1.
    """
    by_batch = recipe.statistics == "batch"
    size = recipe.batch_size if by_batch else SCORED_AT_ONCE
    rest = n % size
    if by_batch and rest == 1 and n > size > 1:
        rest += size
    return ScoringBatches(size, (n - rest) // size, rest)


class Scoring:
    """The error of a network on examples: the share of wrong classes, or the mean squared error.

    The order of calls is `begin`, `add_batch` for every batch, and `end`. With the statistics of the batch, running
    averages of batch normalization do not change. Afterward all modules of the network are in evaluation mode.

    task: ``classification`` or ``regression``.
    """

    def __init__(
        self, network: nn.Module, examples: DeviceExamples, task: Task, recipe: Recipe, context: DeviceContext
    ) -> None:
        self._by_batch = recipe.statistics == "batch"
        self._batches = scoring_batches(len(examples), recipe)
        self._sum = ErrorSum(network, examples, task, self._batches.size, context)
        # not a method of this object: a reference cycle would keep its graphs alive
        self._add_whole_batch = context.make_graphed_callable(self._sum.add_next)
        self._mode = ExitStack()

    def error(self) -> float:
        """Score all batches, and return the error."""
        try:
            self.begin()
            for position in range(self._batches.number):
                self.add_batch(position)
            return self.end()
        finally:
            self.close()

    def begin(self) -> None:
        """Reset the errors, and put the network into scoring mode until `end` or `close`."""
        self._sum.first.zero_()
        self._sum.total.zero_()
        self._mode.enter_context(_scoring_mode(self._sum.network, self._by_batch))

    def add_batch(self, position: int) -> None:
        """Add the errors on a batch.

        position: position of the batch, from 0; batches are added in order.
        """
        if position < self._batches.whole:
            self._add_whole_batch()
        else:
            self._sum.add_last(self._batches.rest)

    def end(self) -> float:
        """Return the error on the added batches, which contain all examples."""
        self.close()
        return float(self._sum.total) / len(self._sum.examples)

    def close(self) -> None:
        """Put the network into evaluation mode, even during a scoring."""
        self._mode.close()


class ErrorSum:
    """A sum of errors on the device.

    Its attributes are `first`, int64 (1,), the start of the next batch, and `total`, float64, the sum so far.
    """

    def __init__(
        self, network: nn.Module, examples: DeviceExamples, task: Task, size: int, context: DeviceContext
    ) -> None:
        device = examples.inputs.device
        self.network, self.examples, self.size = network, examples, size
        self.first = torch.zeros(1, dtype=torch.int64, device=device)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._task: Task = task
        self._context = context
        self._places = torch.arange(size, device=device)

    def add_next(self) -> None:
        """Add the errors on the batch at `first`, and advance to the next batch."""
        self._add(self.first + self._places)
        self.first += self.size

    def add_last(self, count: int) -> None:
        """Add the errors on the last examples."""
        n = len(self.examples)
        self._add(torch.arange(n - count, n, device=self.first.device))

    def _add(self, chosen: Tensor) -> None:
        inputs, targets = self.examples.take(chosen)
        with torch.no_grad(), self._context.precision():
            given = self.network(inputs).float()
        self.total += sum_errors(given, targets, self._task)


def sum_errors(given: Tensor, targets: Tensor, task: Task) -> Tensor:
    """Sum the wrong classes, or the squared errors, over the examples -> (...).

    given: outputs of networks, (..., m, classes).
    targets: classes (m,), or (m, targets) of a regression.
    task: ``classification`` or ``regression``.
    """
    if task == "classification":
        return (given.argmax(dim=-1) != targets).sum(dim=-1)
    return (given - targets).square().mean(dim=-1).sum(dim=-1)


@contextmanager
def _scoring_mode(network: nn.Module, by_batch: bool) -> Iterator[None]:
    """Put the network into scoring mode; batch normalization uses the batch or its running averages."""
    network.eval()
    normalizations = [one for one in network.modules() if isinstance(one, NORMALIZATIONS)]
    momenta = [one.momentum for one in normalizations]
    for one in normalizations if by_batch else ():
        one.train()
        one.momentum = 0.0
    try:
        yield
    finally:
        for one, momentum in zip(normalizations, momenta, strict=True):
            one.momentum = momentum
            one.eval()


def out_of_time_failure(epoch: int) -> TrainingFailed:
    """Return the failure of a training that has run out of time.

    epoch: number of the unfinished epoch, from 0.
    """
    return TrainingFailed(f"epoch {epoch}: out of time")


def nonfinite_failure(number: int, epoch: Epoch) -> TrainingFailed | None:
    """Return the failure of a training whose loss or error in this epoch is not finite, None if both are finite.

    number: number of the epoch, from 0.
    """
    if math.isfinite(epoch.loss) and math.isfinite(epoch.error):
        return None
    return TrainingFailed(f"epoch {number}: the loss is {epoch.loss}, the error {epoch.error}")


def out_of_memory_failure(error: Exception, context: DeviceContext) -> OutOfMemory | None:
    """Convert an error into a failure if memory was short, otherwise return None.

    The failure has no traceback frames of the error, because they keep device memory alive.
    """
    reason = memory_reason(error, context.free_memory)
    if reason is None:
        return None
    place = f" on {context.device}" if context.cuda else ""
    return OutOfMemory(f"out of memory{place}: {reason}".removesuffix(": "))


def describe_failure(error: Exception, context: DeviceContext) -> TrainingFailed | None:
    """Convert an error into the failure of a training; None for other errors, such as a wrong shape.

    The failure is a new error without the frames of the original error, because they keep device memory alive.
    """
    if (failure := out_of_memory_failure(error, context)) is not None:
        return failure
    if ONE_VALUE_MESSAGE in str(error):
        return TrainingFailed(
            f"batch normalization was given one value per channel ({str(error).partition(': ')[2]}): images of one "
            f"pixel, or features, need a batch_size of at least 2, and at least 2 examples"
        )
    if isinstance(error, CaptureFailed):
        return NotCaptured(str(error))
    return TrainingFailed(str(error)) if isinstance(error, TrainingFailed) else None


def select_error(epochs: Sequence[Epoch], recipe: Recipe) -> float:
    """Return the validation error of a training: of the best epoch or the last.

    epochs: epochs in order; at least one.
    """
    errors = [epoch.error for epoch in epochs]
    return min(errors) if recipe.score == "best" else errors[-1]


def is_hopeless(epochs: Sequence[Epoch], patience: int) -> bool:
    """Return whether none of the last `patience` epochs is as good as the epoch before them (Oh et al. 2019).

    epochs: epochs in order.
    patience: number of epochs; 0 never stops.
    """
    if not patience or len(epochs) <= patience:
        return False
    before, *last = (epoch.error for epoch in epochs[-patience - 1 :])
    return min(last) > before
