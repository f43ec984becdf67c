"""One step of the optimizer: a batch of augmented examples, its loss and gradients, and the update of the weights.

The position of the batch and the losses are on the device: from the start to the end of an epoch the CPU reads
nothing, and does not wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bostruct.nas.data import Task
from bostruct.nas.devices import DeviceContext, DeviceExamples, StepBody
from bostruct.nas.recipes import Recipe


def make_step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    task: Task,
    recipe: Recipe,
    context: DeviceContext,
) -> StepBody:
    """Return a step of the optimizer on the next batch, whose loss is recorded in `batches`.

    task: ``classification`` or ``regression``.
    """
    decide: Any = getattr(network, "decisions", None) if recipe.every_decision else None

    def body() -> None:
        inputs, targets = batches.take()
        with context.precision():
            given = [network(inputs)] if decide is None else decide(inputs)
            loss = torch.stack([decision_loss(one.float(), targets, task, recipe) for one in given]).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if recipe.gradient_norm:
            nn.utils.clip_grad_norm_(network.parameters(), recipe.gradient_norm)
        optimizer.step()
        batches.record_loss(loss.detach())

    return context.make_graphed_callable(body)


class Batches:
    """The training examples of an epoch in a new order, in batches of equal size.

    Remaining examples are left out of the epoch; with too few examples for one batch, the batch has all examples.

    `position`, int64 (1,), is the next batch, and `losses`, (steps,), are the losses of this epoch, on the device.
    """

    def __init__(self, data: DeviceExamples, recipe: Recipe, generator: torch.Generator) -> None:
        n, device = len(data), data.inputs.device
        self.size = min(recipe.batch_size, n)
        self.steps = count_steps(n, recipe)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.losses = torch.zeros(self.steps, device=device)
        self._data, self._generator = data, generator
        self._order = torch.arange(n, device=device)
        self._places = torch.arange(self.size, device=device)
        moves = data.inputs.dim() == 4 and (recipe.shift or recipe.flip)
        self._moves = Moves(n, recipe, device) if moves else None

    def reshuffle(self) -> None:
        """Draw a new order and new moves of the images, and start with the first batch."""
        n, device = len(self._order), self._order.device
        self._order.copy_(torch.randperm(n, generator=self._generator, device=device))
        if self._moves is not None:
            self._moves.draw(self._generator)
        self.position.zero_()

    def take(self) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the batch at `position`."""
        chosen = self._order.index_select(0, self.position * self.size + self._places)
        inputs, targets = self._data.take(chosen)
        return inputs if self._moves is None else self._moves.apply(inputs, chosen), targets

    def record_loss(self, loss: Tensor) -> None:
        """Record the loss of the batch at `position`, and advance to the next batch."""
        self.losses.index_copy_(0, self.position, loss.reshape(1))
        self.position += 1


def count_steps(n: int, recipe: Recipe) -> int:
    """Return the number of batches in an epoch, from 1.

    n: number of training examples, from 1.
    """
    return n // min(recipe.batch_size, n)


class Moves:
    """The augmentation of each image in this epoch: shifts by up to `shift` pixels, and mirroring of half of them.

    n: number of images.
    """

    def __init__(self, n: int, recipe: Recipe, device: torch.device) -> None:
        self._shift, self._flip = recipe.shift, recipe.flip
        self._down, self._right, self._mirrored = (
            torch.zeros(n, 1, dtype=torch.int64, device=device) for _ in range(3)
        )

    def draw(self, generator: torch.Generator) -> None:
        """Draw new moves of all images."""
        shape, device = self._down.shape, self._down.device
        if self._flip:
            self._mirrored.copy_(torch.rand(shape, generator=generator, device=device) < 0.5)
        for one in (self._down, self._right) if self._shift else ():
            one.copy_(torch.randint(2 * self._shift + 1, shape, generator=generator, device=device))

    def apply(self, images: Tensor, chosen: Tensor) -> Tensor:
        """Return the chosen images moved, with zeros beyond the edge.

        images: normalized images at `chosen`, (m, channels, height, width).
        """
        (m, _, height, width), device = images.shape, images.device
        down, right, mirrored = (one.index_select(0, chosen) for one in (self._down, self._right, self._mirrored))
        columns = torch.arange(width, device=device)
        columns = torch.where(mirrored > 0, width - 1 - columns, columns) + right
        lines = torch.arange(height, device=device) + down
        padded = functional.pad(images, (self._shift,) * 4).permute(0, 2, 3, 1)
        every = torch.arange(m, device=device)[:, None, None]
        return padded[every, lines[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def decision_loss(given: Tensor, targets: Tensor, task: Task, recipe: Recipe) -> Tensor:
    """Return the cross-entropy of logits, or the mean loss of predictions.

    given: (m, classes), outputs of a decision layer.
    targets: classes (m,), or (m, targets) of a regression.
    task: ``classification`` or ``regression``.
    """
    if task == "classification":
        return functional.cross_entropy(given, targets, label_smoothing=recipe.label_smoothing)
    return (functional.mse_loss if recipe.loss == "squared" else functional.l1_loss)(given, targets)


def make_optimizer(parameters: Sequence[Tensor], recipe: Recipe, context: DeviceContext) -> torch.optim.Optimizer:
    """Return the recipe's optimizer for some parameters.

    With CUDA graphs it is fused, and its learning rate is on the device, so that the graphs read it at every step.

    context: device context, with or without graphs.
    """
    has_graphs = context.graphs is not None
    extra: dict[str, Any] = {"fused": True} if has_graphs else {}
    rate: Any = recipe.learning_rate
    if has_graphs:
        rate = torch.tensor(rate, dtype=torch.float32, device=context.device)  # the type for fused kernels
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, rate, recipe.momentum, weight_decay=recipe.weight_decay, **extra)
    if has_graphs:
        extra["capturable"] = True
    optimizer: Any = torch.optim.Adam(parameters, rate, weight_decay=recipe.weight_decay, **extra)
    optimizer._warned_capturable_if_run_uncaptured = True  # the first steps are uncaptured on purpose
    return optimizer


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters; a tensor is changed in place.

    rate: above 0.
    """
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def to_channels_last(network: nn.Module) -> None:
    """Make the weights of a network's convolutions of images channels-last, in place.

    Torch does not support this for weights of five dimensions.
    """
    for one in network.parameters():
        if one.dim() == 4:
            one.data = one.data.contiguous(memory_format=torch.channels_last)
