"""Training one network: data on the device, augmentation in bulk there, the same code on a CPU and on a GPU.

On a CPU everything is float32 and eager, and repeats bit for bit with the same seed and number of threads. On a GPU
images are channels-last, matrix products bfloat16 with float32 weights, normalization and loss, optimizers fused, and a
step is one CUDA graph.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from bostruct.contracts import BostructError
from bostruct.nas.checkpoints import load_checkpoint, save_checkpoint
from bostruct.nas.data import Dataset, Examples
from bostruct.nas.recipes import Recipe

SCORED_AT_ONCE = 1_000  # examples
NORMALIZATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
WARM_UP = 3  # steps before a graph is captured, on a stream of their own, as torch asks for


class TrainingFailed(BostructError, RuntimeError):
    """A training that came to nothing: the reason is the message."""


class Epoch(NamedTuple):
    """loss: mean over the training steps. error: on the validation examples, the share that is wrong or the mean
    squared error.
    """

    loss: float
    error: float


@dataclass(frozen=True)
class Trained:
    """epochs: in order. error: of validation, by the recipe's score. test_error: of the network as it ended.
    seconds: of training and scoring.
    """

    network: nn.Module
    epochs: tuple[Epoch, ...]
    error: float
    test_error: float
    seconds: float


@dataclass
class Run:
    """What a checkpoint holds besides the network."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    epochs: list[Epoch] = field(default_factory=list)


def train(
    build: Callable[[], nn.Module],
    data: Dataset,
    recipe: Recipe,
    seed: int,
    *,
    device: str = "cpu",
    checkpoint: Path | None = None,
    seconds: float | None = None,
    watch: Callable[[int, Epoch], None] | None = None,
) -> Trained:
    """Build a network, train it, score it. build: called once, under the seed. checkpoint: a file that is written after
    every epoch, from which a training that was killed goes on as if it had not been. seconds: at most, of this call.
    watch: told every epoch's number and what it came to.

    Raises TrainingFailed where losses are not finite, memory or time run out.
    """
    started = time.monotonic()
    deadline = math.inf if seconds is None else started + seconds
    where = torch.device(device)
    with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        try:
            run = _begun(build, recipe, seed, where)
            load_checkpoint(checkpoint, run)
            step = _step(run, recipe, where)
            train_part = _on_device(data.train, data, where)
            validation = _on_device(data.validation, data, where)
            while len(run.epochs) < recipe.epochs and not _hopeless(run.epochs, recipe.patience):
                loss = _epoch(run, step, train_part, recipe, deadline)
                error = score(run.network, validation, data, recipe)
                if not math.isfinite(loss) or not math.isfinite(error):
                    raise TrainingFailed(f"epoch {len(run.epochs)}: the loss is {loss}, the error {error}")
                run.epochs.append(Epoch(loss, error))
                save_checkpoint(checkpoint, run)
                if watch is not None:
                    watch(len(run.epochs) - 1, run.epochs[-1])
            test_error = score(run.network, _on_device(data.test, data, where), data, recipe)
        except torch.cuda.OutOfMemoryError as error:
            raise TrainingFailed(f"out of memory on {device}: {str(error).partition('. ')[0]}") from error
        except MemoryError as error:
            raise TrainingFailed("out of memory") from error
    errors = [epoch.error for epoch in run.epochs]
    chosen = min(errors) if recipe.score == "best" else errors[-1]
    return Trained(run.network, tuple(run.epochs), chosen, test_error, time.monotonic() - started)


def score(network: nn.Module, examples: Examples, data: Dataset, recipe: Recipe) -> float:
    """Share of wrong classes, or mean squared error; examples as networks see them.

    With the statistics of the batch, running averages of batch normalization are left as they are.
    """
    network.eval()
    normalizations = [one for one in network.modules() if isinstance(one, NORMALIZATIONS)]
    momenta = [one.momentum for one in normalizations]
    if recipe.statistics == "batch":
        for one in normalizations:
            one.train()
            one.momentum = 0.0
    size = recipe.batch_size if recipe.statistics == "batch" else SCORED_AT_ONCE
    total = 0.0
    with torch.no_grad():
        for first in range(0, len(examples.inputs), size):
            inputs, targets = examples.inputs[first : first + size], examples.targets[first : first + size]
            given = network(inputs).float()
            if data.task == "classification":
                total += float((given.argmax(dim=1) != targets).sum())
            else:
                total += float((given - targets).square().mean(dim=1).sum())
    for one, momentum in zip(normalizations, momenta, strict=True):
        one.momentum = momentum
    return total / len(examples.inputs)


def _begun(build: Callable[[], nn.Module], recipe: Recipe, seed: int, device: torch.device) -> Run:
    network = build().to(device)
    cuda = device.type == "cuda"
    if cuda:
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    parameters = list(network.parameters())
    extra: dict[str, Any] = {"fused": True} if cuda else {}
    rate: Any = torch.tensor(recipe.learning_rate, device=device) if cuda else recipe.learning_rate
    if recipe.optimizer == "adam":
        if cuda:
            extra["capturable"] = True
        optimizer: torch.optim.Optimizer = torch.optim.Adam(parameters, rate, weight_decay=recipe.weight_decay, **extra)
    else:
        optimizer = torch.optim.SGD(parameters, rate, recipe.momentum, weight_decay=recipe.weight_decay, **extra)
    return Run(network, optimizer, torch.Generator(device).manual_seed(seed))


def _hopeless(epochs: list[Epoch], patience: int) -> bool:
    """Oh et al. 2019: none of the last epochs is as good as the one before them."""
    if not patience or len(epochs) <= patience:
        return False
    before, *last = (epoch.error for epoch in epochs[-patience - 1 :])
    return min(last) > before


def _on_device(examples: Examples, data: Dataset, device: torch.device) -> Examples:
    """Examples as networks see them: float32, (input - mean) / scale."""
    inputs, targets = examples.to(device)
    values = inputs.float() / 255.0 if inputs.dtype == torch.uint8 else inputs
    shape = (1, -1, *[1] * (values.dim() - 2))
    mean, scale = (torch.tensor(one, device=device).reshape(shape) for one in (data.mean, data.scale))
    values = (values - mean) / scale
    if device.type == "cuda" and values.dim() == 4:
        values = values.contiguous(memory_format=torch.channels_last)
    return Examples(values, targets)


def _epoch(
    run: Run, step: Callable[[Tensor, Tensor], Tensor], data: Examples, recipe: Recipe, deadline: float
) -> float:
    """One pass over the training examples in a new order; the mean loss of its steps."""
    run.network.train()
    losses: list[Tensor] = []
    done = len(run.epochs)
    steps = max(len(data.inputs) // recipe.batch_size, 1)
    for position, (inputs, targets) in enumerate(_batches(data, recipe, run.generator)):
        _set_rate(run.optimizer, recipe.rate((done + position / steps) / recipe.epochs))
        losses.append(step(inputs, targets))
        if time.monotonic() > deadline:
            raise TrainingFailed(f"epoch {done}: out of time")
    return float(torch.stack(losses).mean())


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def _batches(data: Examples, recipe: Recipe, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of one size, what is left over waiting for another epoch; all of it where there is too little for one."""
    n = len(data.inputs)
    size = min(recipe.batch_size, n)
    order = torch.randperm(n, generator=generator, device=data.inputs.device)
    inputs = augmented(data.inputs, recipe, generator)
    for first in range(0, n - size + 1, size):
        chosen = order[first : first + size]
        yield inputs[chosen], data.targets[chosen]


def augmented(images: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Images (n, c, h, w), each moved by up to `shift` pixels either way and half of them mirrored, all at once."""
    if images.dim() != 4 or not (recipe.shift or recipe.flip):
        return images
    n, _, height, width = images.shape
    device = images.device
    rows = torch.arange(height, device=device).expand(n, height)
    columns = torch.arange(width, device=device).expand(n, width)
    if recipe.flip:
        mirrored = torch.rand(n, 1, generator=generator, device=device) < 0.5
        columns = torch.where(mirrored, width - 1 - columns, columns)
    if recipe.shift:
        images = functional.pad(images, (recipe.shift,) * 4)
        reach = 2 * recipe.shift + 1
        rows = rows + torch.randint(reach, (n, 1), generator=generator, device=device)
        columns = columns + torch.randint(reach, (n, 1), generator=generator, device=device)
    every = torch.arange(n, device=device)[:, None, None]
    channels_last = images.permute(0, 2, 3, 1)
    return channels_last[every, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _step(run: Run, recipe: Recipe, device: torch.device) -> Callable[[Tensor, Tensor], Tensor]:
    """One step of the optimizer on a batch; gives its loss."""

    def eager(inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = _loss(run.network, inputs, targets, recipe)
        run.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if recipe.gradient_norm:
            nn.utils.clip_grad_norm_(run.network.parameters(), recipe.gradient_norm)
        run.optimizer.step()
        return loss.detach()

    return Graphed(eager) if device.type == "cuda" else eager


def _loss(network: nn.Module, inputs: Tensor, targets: Tensor, recipe: Recipe) -> Tensor:
    decide: Any = getattr(network, "decisions", None) if recipe.every_decision else None
    given = [network(inputs)] if decide is None else decide(inputs)
    return torch.stack([_one_loss(one.float(), targets, recipe) for one in given]).sum()


def _one_loss(given: Tensor, targets: Tensor, recipe: Recipe) -> Tensor:
    if targets.dtype == torch.int64:
        return functional.cross_entropy(given, targets, label_smoothing=recipe.label_smoothing)
    return (functional.mse_loss if recipe.loss == "squared" else functional.l1_loss)(given, targets)


class Graphed:
    """A step as one CUDA graph, forward, backward and optimizer: captured at the first full batch, then replayed."""

    def __init__(self, step: Callable[[Tensor, Tensor], Tensor]) -> None:
        self._step = step
        self._graph: Any = None
        self._inputs = self._targets = self._loss = torch.empty(0)
        self._warm = 0

    def __call__(self, inputs: Tensor, targets: Tensor) -> Tensor:
        if self._graph is None and self._warm < WARM_UP:
            self._warm += 1
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                loss = self._step(inputs, targets)
            torch.cuda.current_stream().wait_stream(side)
            return loss
        if self._graph is None:
            self._inputs, self._targets = inputs.clone(), targets.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._loss = self._step(self._inputs, self._targets)
        self._inputs.copy_(inputs)
        self._targets.copy_(targets)
        self._graph.replay()
        return self._loss.clone()
