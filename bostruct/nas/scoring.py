"""The error of a network on examples, a batch at a time: on tensors that stay where they are.

Errors are summed on the device: until all batches are scored nothing is known on the CPU, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from bostruct.nas.batches import select_examples
from bostruct.nas.data import Examples, Task
from bostruct.nas.devices import DeviceContext
from bostruct.nas.recipes import Recipe

SCORED_AT_ONCE = 1_000  # examples
NORMALIZATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class ScoringBatches(NamedTuple):
    """The batches that examples are scored in.

    size: examples of a whole batch.
    whole: number of whole batches.
    rest: examples of the last batch, 0 for none.
    """

    size: int
    whole: int
    rest: int

    @property
    def number(self) -> int:
        """The number of batches in all."""
        return self.whole + (self.rest > 0)


def scoring_batches(n: int, recipe: Recipe) -> ScoringBatches:
    """Return the batches that n examples are scored in.

    With the statistics of the batch, one example that is left over goes with the batch before, as it has no statistics
    by itself.

    n: number of examples, from 1.
    recipe: gives the statistics, and the size of a batch where they are those of the batch.
    """
    by_batch = recipe.statistics == "batch"
    size = recipe.batch_size if by_batch else SCORED_AT_ONCE
    rest = n % size
    if by_batch and rest == 1 and n > size > 1:
        rest += size
    return ScoringBatches(size, (n - rest) // size, rest)


class Scoring:
    """The error of a network on examples: the share of wrong classes, or the mean squared error.

    `begin`, `add_batch` for every batch and `end` come in this order. With the statistics of the batch, running
    averages of batch normalization are left as they are. Afterwards the network is in evaluation mode, all of it.

    network: is scored as it is when a batch is added.
    examples: on the device of the context.
    task: ``classification`` or ``regression``.
    recipe: gives the statistics of batch normalization.
    context: gives precision and graphs.
    """

    def __init__(
        self, network: nn.Module, examples: Examples, task: Task, recipe: Recipe, context: DeviceContext
    ) -> None:
        self._by_batch = recipe.statistics == "batch"
        self._batches = scoring_batches(len(examples), recipe)
        self._sum = ErrorSum(network, examples, task, self._batches.size, context)
        # not this object's own method: graphs go when nobody holds it
        self._add_whole_batch = context.make_graphed_callable(self._sum.add_next)
        self._mode = ExitStack()

    def error(self) -> float:
        """Return the error, of all batches at once."""
        try:
            self.begin()
            for position in range(self._batches.number):
                self.add_batch(position)
            return self.end()
        finally:
            self.close()

    def begin(self) -> None:
        """Forget all errors, and put the network into the mode it is scored in until `end` or `close`."""
        self._sum.first.zero_()
        self._sum.total.zero_()
        self._mode.enter_context(_scoring_mode(self._sum.network, self._by_batch))

    def add_batch(self, position: int) -> None:
        """Add the errors on a batch.

        position: of the batch; they come in their order, from 0.
        """
        if position < self._batches.whole:
            self._add_whole_batch()
        else:
            self._sum.add_last(self._batches.rest)

    def end(self) -> float:
        """Return the error on the batches that were added, all of the examples."""
        self.close()
        return float(self._sum.total) / len(self._sum.examples)

    def close(self) -> None:
        """Put the network into evaluation mode, wherever the scoring is."""
        self._mode.close()


class ErrorSum:
    """Errors added up on the device.

    network, examples, task, context: as of `Scoring`.
    size: examples of a batch of `add_next`.

    Its attributes are first, int64 (1,), where the next batch begins, and total, float64, the sum so far.
    """

    def __init__(self, network: nn.Module, examples: Examples, task: Task, size: int, context: DeviceContext) -> None:
        device = examples.inputs.device
        self.network, self.examples, self.size = network, examples, size
        self.first = torch.zeros(1, dtype=torch.int64, device=device)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._task: Task = task
        self._context = context
        self._places = torch.arange(size, device=device)

    def add_next(self) -> None:
        """Add the errors on the batch at `first`, and go on to the next batch."""
        chosen = self.first + self._places
        self._add(select_examples(self.examples.inputs, chosen), self.examples.targets.index_select(0, chosen))
        self.first += self.size

    def add_last(self, count: int) -> None:
        """Add the errors on the last examples.

        count: of these examples.
        """
        begin = len(self.examples) - count
        self._add(self.examples.inputs[begin:], self.examples.targets[begin:])

    def _add(self, inputs: Tensor, targets: Tensor) -> None:
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
    """Put the network into the mode it is scored in, batch normalization by the batch or by its running averages."""
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
