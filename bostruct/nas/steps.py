"""One step of the optimizer: the loss on a batch, its gradients, the change of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bostruct.nas.batches import Batches
from bostruct.nas.cuda_graphs import StepBody
from bostruct.nas.data import Task
from bostruct.nas.devices import DeviceContext
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

    network: is trained, on the device of the context.
    optimizer: of its parameters.
    batches: give examples and take losses.
    task: ``classification`` or ``regression``.
    recipe: gives the loss and the limit of the gradients.
    context: gives precision and graphs.
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


def _total_loss(network: nn.Module, inputs: Tensor, targets: Tensor, task: Task, recipe: Recipe) -> Tensor:
    decide: Any = getattr(network, "decisions", None) if recipe.every_decision else None
    given = [network(inputs)] if decide is None else decide(inputs)
    return torch.stack([decision_loss(one.float(), targets, task, recipe) for one in given]).sum()


def decision_loss(given: Tensor, targets: Tensor, task: Task, recipe: Recipe) -> Tensor:
    """Return the cross-entropy of logits, or the mean loss of predictions.

    given: (m, classes), outputs of a decision layer.
    targets: classes (m,), or (m, targets) of a regression.
    task: ``classification`` or ``regression``.
    recipe: gives label smoothing, or which loss it is.
    """
    if task == "classification":
        return functional.cross_entropy(given, targets, label_smoothing=recipe.label_smoothing)
    return (functional.mse_loss if recipe.loss == "squared" else functional.l1_loss)(given, targets)


def make_optimizer(parameters: Sequence[Tensor], recipe: Recipe, context: DeviceContext) -> torch.optim.Optimizer:
    """Return the recipe's optimizer for these parameters.

    With CUDA graphs it is fused, and its learning rate is on the device, where the graphs read it at every step.

    parameters: on the device of the context.
    recipe: gives the kind of optimizer, its rate, momentum and weight decay.
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
    """Set the learning rate of all parameters; where it is a tensor it stays that tensor.

    optimizer: to be changed.
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

    network: to be changed.
    """
    for one in network.parameters():
        if one.dim() == 4:
            one.data = one.data.contiguous(memory_format=torch.channels_last)
