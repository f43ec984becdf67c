"""A step of a training, a batch of a scoring: on tensors that stay where they are, so that a GPU can replay them.

Which batch comes is read from a counter on the device, losses and errors are summed there: between the beginning and
the end of an epoch nothing is known on the CPU, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bostruct.nas.data import Examples, Task
from bostruct.nas.devices import DeviceContext, StepBody
from bostruct.nas.recipes import Recipe

SCORED_AT_ONCE = 1_000  # examples
NORMALIZATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Batches:
    """The training examples of an epoch in a new order, in batches of one size; what is left over waits for another
    epoch, and where there are too few for one batch it is all of them.

    position: int64 (1,), which batch is next. losses: (steps,), of this epoch.
    """

    def __init__(self, data: Examples, recipe: Recipe, generator: torch.Generator) -> None:
        n, device = len(data.inputs), data.inputs.device
        self.size = min(recipe.batch_size, n)
        self.steps = n // self.size
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.losses = torch.zeros(self.steps, device=device)
        self._data, self._recipe, self._generator = data, recipe, generator
        self._order = torch.arange(n, device=device)
        self._places = torch.arange(self.size, device=device)
        self._inputs = data.inputs

    def reshuffle(self) -> None:
        """Draw a new order, augment images anew, and begin with the first batch."""
        n, given = len(self._order), self._data.inputs
        self._order.copy_(torch.randperm(n, generator=self._generator, device=given.device))
        images = augment(given, self._recipe, self._generator)
        if images is not given and self._inputs is given:
            self._inputs = images  # from now on the place of every epoch's images
        elif images is not given:
            self._inputs.copy_(images)
        self.position.zero_()

    def take(self) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the batch at `position`."""
        chosen = self._order.index_select(0, self.position * self.size + self._places)
        return select_examples(self._inputs, chosen), self._data.targets.index_select(0, chosen)

    def record_loss(self, loss: Tensor) -> None:
        """Note the loss of the batch at `position`, a number, and go on to the next batch."""
        self.losses.index_copy_(0, self.position, loss.reshape(1))
        self.position += 1


def select_examples(inputs: Tensor, chosen: Tensor) -> Tensor:
    """Return inputs[chosen], of images in the memory format that they have."""
    if inputs.dim() == 4 and inputs.stride(1) == 1:
        return inputs.permute(0, 2, 3, 1).index_select(0, chosen).permute(0, 3, 1, 2)
    return inputs.index_select(0, chosen)


def to_channels_last(network: nn.Module) -> None:
    """Make the weights of a network's convolutions of images channels-last, in place.

    Torch would refuse those of volumes, of five dimensions.
    """
    for one in network.parameters():
        if one.dim() == 4:
            one.data = one.data.contiguous(memory_format=torch.channels_last)


def make_optimizer(parameters: Sequence[Tensor], recipe: Recipe, context: DeviceContext) -> torch.optim.Optimizer:
    """Return the recipe's optimizer for these parameters.

    With CUDA graphs it is fused, and its learning rate is on the device, where the graphs read it at every step.
    """
    extra: dict[str, Any] = {"fused": True} if context.graphs else {}
    rate: Any = recipe.learning_rate
    if context.graphs:
        rate = torch.tensor(rate, dtype=torch.float32, device=context.device)  # what fused kernels read
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, rate, recipe.momentum, weight_decay=recipe.weight_decay, **extra)
    if context.graphs:
        extra["capturable"] = True
    optimizer: Any = torch.optim.Adam(parameters, rate, weight_decay=recipe.weight_decay, **extra)
    optimizer._warned_capturable_if_run_uncaptured = True  # the first steps are run on purpose
    return optimizer


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters; where it is a tensor it stays that tensor."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def make_step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    task: Task,
    recipe: Recipe,
    context: DeviceContext,
) -> StepBody:
    """Return a step of the optimizer on the next batch, whose loss the batches note."""

    def body() -> None:
        inputs, targets = batches.take()
        with context.precision():
            loss = _total_loss(network, inputs, targets, task, recipe)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if recipe.gradient_norm:
            nn.utils.clip_grad_norm_(network.parameters(), recipe.gradient_norm)
        optimizer.step()
        batches.record_loss(loss.detach())

    return context.make_graphed_callable(body)


def _total_loss(network: nn.Module, inputs: Tensor, targets: Tensor, task: Task, recipe: Recipe) -> Tensor:
    decide: Any = getattr(network, "decisions", None) if recipe.every_decision else None
    given = [network(inputs)] if decide is None else decide(inputs)
    return torch.stack([decision_loss(one.float(), targets, task, recipe) for one in given]).sum()


def decision_loss(given: Tensor, targets: Tensor, task: Task, recipe: Recipe) -> Tensor:
    """Return the cross-entropy of logits (m, classes), or the mean loss of predictions (m, targets)."""
    if task == "classification":
        return functional.cross_entropy(given, targets, label_smoothing=recipe.label_smoothing)
    return (functional.mse_loss if recipe.loss == "squared" else functional.l1_loss)(given, targets)


def augment(images: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Move images (n, c, h, w) by up to `shift` pixels either way and mirror half of them, all at once."""
    if images.dim() != 4 or not (recipe.shift or recipe.flip):
        return images
    n, _, height, width = images.shape
    device = images.device
    lines = torch.arange(height, device=device).expand(n, height)
    columns = torch.arange(width, device=device).expand(n, width)
    if recipe.flip:
        mirrored = torch.rand(n, 1, generator=generator, device=device) < 0.5
        columns = torch.where(mirrored, width - 1 - columns, columns)
    if recipe.shift:
        images = functional.pad(images, (recipe.shift,) * 4)
        reach = 2 * recipe.shift + 1
        lines = lines + torch.randint(reach, (n, 1), generator=generator, device=device)
        columns = columns + torch.randint(reach, (n, 1), generator=generator, device=device)
    every = torch.arange(n, device=device)[:, None, None]
    channels_last = images.permute(0, 2, 3, 1)
    return channels_last[every, lines[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class Scoring:
    """A network's error on examples: the share of wrong classes, or the mean squared error.

    With the statistics of the batch, running averages of batch normalization are left as they are, and one example that
    is left over goes with the batch before, as it has no statistics by itself. Afterwards the network is in evaluation
    mode, all of it.
    """

    def __init__(
        self, network: nn.Module, examples: Examples, task: Task, recipe: Recipe, context: DeviceContext
    ) -> None:
        self._by_batch = recipe.statistics == "batch"
        size = recipe.batch_size if self._by_batch else SCORED_AT_ONCE
        self._sum = ErrorSum(network, examples, task, size, context)
        self._next = context.make_graphed_callable(
            self._sum.next
        )  # not this object's own: graphs go when nobody holds it

    def steps(self) -> Generator[None, None, float]:
        """Compute the error, a batch at a time."""
        whole = self._sum
        n = len(whole.examples)
        left = n % whole.size
        if self._by_batch and left == 1 and n > whole.size > 1:
            left += whole.size
        whole.first.zero_()
        whole.total.zero_()
        with _scoring_mode(whole.network, self._by_batch):
            for _ in range((n - left) // whole.size):
                self._next()
                yield
            if left:
                whole.add(whole.examples.inputs[n - left :], whole.examples.targets[n - left :])
                yield
        return float(whole.total) / n


class ErrorSum:
    """Errors added up on the device. first: int64 (1,), where the next batch begins. total: float64, so far."""

    def __init__(self, network: nn.Module, examples: Examples, task: Task, size: int, context: DeviceContext) -> None:
        device = examples.inputs.device
        self.network, self.examples, self.size = network, examples, size
        self.first = torch.zeros(1, dtype=torch.int64, device=device)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._task: Task = task
        self._context = context
        self._places = torch.arange(size, device=device)

    def next(self) -> None:
        """Add the errors on the batch at `first`, and go on to the next batch."""
        chosen = self.first + self._places
        self.add(select_examples(self.examples.inputs, chosen), self.examples.targets.index_select(0, chosen))
        self.first += self.size

    def add(self, inputs: Tensor, targets: Tensor) -> None:
        with torch.no_grad(), self._context.precision():
            given = self.network(inputs).float()
        self.total += sum_errors(given, targets, self._task)


def sum_errors(given: Tensor, targets: Tensor, task: Task) -> Tensor:
    """Sum the wrong classes, or the squared errors, over the examples -> (...); given: (..., m, classes)."""
    if task == "classification":
        return (given.argmax(dim=-1) != targets).sum(dim=-1)
    return (given - targets).square().mean(dim=-1).sum(dim=-1)


def exhaust(steps: Generator[None, None, float]) -> float:
    """Run all steps and return the value that they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@contextmanager
def _scoring_mode(network: nn.Module, by_batch: bool) -> Iterator[None]:
    """The network as it is scored, batch normalization by the batch or by its running averages."""
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
