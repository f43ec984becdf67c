"""One step of the optimizer: a batch of augmented examples, the loss on it, its gradients, the change of the weights.

Which batch comes is read from a counter on the device, and losses are noted there: between the beginning and the end
of an epoch nothing is known on the CPU, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bostruct.nas.data import Examples, Task
from bostruct.nas.devices import DeviceContext, StepBody
from bostruct.nas.recipes import Recipe


def make_step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    task: Task,
    recipe: Recipe,
    context: DeviceContext,
) -> StepBody:
    """Return a step of the optimizer on the next batch, whose loss the batches note.

    task: ``classification`` or ``regression``.
    """

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


class Batches:
    """The training examples of an epoch in a new order, in batches of one size.

    What is left over waits for another epoch; if there are too few examples for one batch it is all of them.

    It has position, int64 (1,), which batch is next, and losses, (steps,), of this epoch, both on the device.
    """

    def __init__(self, data: Examples, recipe: Recipe, generator: torch.Generator) -> None:
        n, device = len(data.inputs), data.inputs.device
        self.size = min(recipe.batch_size, n)
        self.steps = count_steps(n, recipe)
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
        """Note the loss of the batch at `position`, and go on to the next batch."""
        self.losses.index_copy_(0, self.position, loss.reshape(1))
        self.position += 1


def count_steps(n: int, recipe: Recipe) -> int:
    """Return the number of batches in an epoch, from 1.

    n: number of training examples, from 1.
    """
    return n // min(recipe.batch_size, n)


def select_examples(inputs: Tensor, chosen: Tensor) -> Tensor:
    """Return inputs[chosen], of images in the memory format that they have.

    inputs: (n, ...).
    chosen: int64 (m,), on the same device.
    """
    if inputs.dim() == 4 and inputs.stride(1) == 1:
        return inputs.permute(0, 2, 3, 1).index_select(0, chosen).permute(0, 3, 1, 2)
    return inputs.index_select(0, chosen)


def augment(images: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Move images by up to `shift` pixels either way and mirror half of them, all at once.

    images: (n, channels, height, width); examples of another shape are returned as they are.
    """
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


def _total_loss(network: nn.Module, inputs: Tensor, targets: Tensor, task: Task, recipe: Recipe) -> Tensor:
    decide: Any = getattr(network, "decisions", None) if recipe.every_decision else None
    given = [network(inputs)] if decide is None else decide(inputs)
    return torch.stack([decision_loss(one.float(), targets, task, recipe) for one in given]).sum()


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
    """Return the recipe's optimizer for these parameters.

    With CUDA graphs it is fused, and its learning rate is on the device, if the graphs read it at every step.

    context: tells whether there are graphs.
    """
    has_graphs = context.graphs is not None
    extra: dict[str, Any] = {"fused": True} if has_graphs else {}
    rate: Any = recipe.learning_rate
    if has_graphs:
        rate = torch.tensor(rate, dtype=torch.float32, device=context.device)  # what fused kernels read
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, rate, recipe.momentum, weight_decay=recipe.weight_decay, **extra)
    if has_graphs:
        extra["capturable"] = True
    optimizer: Any = torch.optim.Adam(parameters, rate, weight_decay=recipe.weight_decay, **extra)
    optimizer._warned_capturable_if_run_uncaptured = True  # the first steps are run on purpose
    return optimizer


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters; if it is a tensor it stays that tensor.

    rate: above 0.
    """
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def to_channels_last(network: nn.Module) -> None:
    """Make the weights of a network's convolutions of images channels-last, in place.

    Torch would refuse those of volumes, of five dimensions.
    """
    for one in network.parameters():
        if one.dim() == 4:
            one.data = one.data.contiguous(memory_format=torch.channels_last)
