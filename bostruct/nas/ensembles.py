"""Repeats of one perceptron as one training: a layer of all of them is one product of stacked matrices."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from bostruct.nas.data import Dataset, Task
from bostruct.nas.device_data import on_device
from bostruct.nas.devices import DeviceContext
from bostruct.nas.networks import ACTIVATION_MODULES, ArchitectureNetwork
from bostruct.nas.outcomes import (
    Epoch,
    Stopped,
    Trained,
    TrainingFailed,
    is_hopeless,
    nonfinite_failure,
    out_of_memory_failure,
    out_of_time_failure,
    training_result,
)
from bostruct.nas.recipes import Recipe
from bostruct.nas.scoring import SCORED_AT_ONCE, sum_errors
from bostruct.nas.steps import decision_loss, make_optimizer, set_rate
from bostruct.nas.training import NetworkBuilder

CPU = torch.device("cpu")
SMALL_STEP = 5_000_000  # multiplications a step and training; above it matrices fill a core by themselves
PLAIN_LAYERS = (nn.Linear, *(type(make()) for make in ACTIVATION_MODULES.values()))


def is_batched(network: nn.Module, batch_size: int) -> bool:
    """Tell whether repeated trainings of a network are worth running as one.

    They are for a perceptron of linear layers and activations alone (nothing random, no statistics, no images, no
    layers of a user's own), so small that a product of its matrices does not fill a core.

    network: with weights or without.
    batch_size: examples of a step, from 1.
    """
    parts = [one for one in network.modules() if not list(one.children())]
    plain = isinstance(network, ArchitectureNetwork) and not network.has_own_layers
    plain = plain and all(isinstance(one, PLAIN_LAYERS) for one in parts)
    return plain and batch_size * sum(one.numel() for one in network.parameters()) < SMALL_STEP


def train_ensemble(
    build: NetworkBuilder,
    data: Dataset,
    recipe: Recipe,
    seeds: Sequence[int],
    *,
    seconds: float | None = None,
    all_or_none: bool = False,
    watch: Callable[[int, int, Epoch], None] | None = None,
) -> list[Trained | TrainingFailed]:
    """Train one perceptron with several seeds as one training on the CPU.

    Each has the initial values, the batches and the order of them that `train` gives it with its seed, and stops when
    it would. What it comes to differs from `train` in rounding only, as products of stacked matrices are summed in
    another order, and is the same, bit for bit, at every call with the same seeds and number of threads.

    build: gives networks without buffers.
    data, recipe: as of `train`.
    seeds: one each a training.
    seconds: at most, a training, which is charged its share.
    all_or_none: where one fails the others are `Stopped`; else a training that fails fails alone.
    watch: called with the number of the training, the number of the epoch, and what it came to.
    """
    context = DeviceContext(CPU, 0)
    try:
        with context.activate():
            ensemble = Ensemble(build, data, recipe, seeds)
            while ensemble.running:
                before = [len(epochs) for epochs in ensemble.epochs]
                ensemble.train_epoch(math.inf if seconds is None else seconds)
                for member, epochs in enumerate(ensemble.epochs):
                    if watch is not None and len(epochs) > before[member]:
                        watch(member, len(epochs) - 1, epochs[-1])
                ensemble.end_some()
                if all_or_none and any(isinstance(one, TrainingFailed) for one in ensemble.outcomes.values()):
                    ensemble.end_all(Stopped("another training has failed"))
    except Exception as error:
        failure = out_of_memory_failure(error, context)
        if failure is None:
            raise
        return [failure] * len(seeds)
    return [ensemble.outcomes[member] for member in range(len(seeds))]


class Ensemble:
    """The stacked networks and what each has come to.

    build, data, recipe, seeds: as of `train_ensemble`.

    Its attributes are epochs, of each network, and outcomes, by the number of the network, of those that have ended.
    """

    def __init__(self, build: NetworkBuilder, data: Dataset, recipe: Recipe, seeds: Sequence[int]) -> None:
        self._began, self._recipe, self._data = monotonic(), recipe, data
        self._task: Task = data.task
        self._parts = on_device(data, CPU)
        self._networks = [_build_member(build, seed, recipe.every_decision) for seed in seeds]
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._stacked: dict[str, Tensor] = stack_module_state(self._networks)[0]
        self._ghost = copy.deepcopy(self._networks[0]).to("meta")
        self._optimizer = make_optimizer(list(self._stacked.values()), recipe, DeviceContext(CPU, 0))
        self.epochs: list[list[Epoch]] = [[] for _ in seeds]
        self.outcomes: dict[int, Trained | TrainingFailed] = {}

    @property
    def running(self) -> list[int]:
        """The members that have not ended."""
        return [member for member in range(len(self._networks)) if member not in self.outcomes]

    def seconds(self) -> float:
        """Return the seconds that each member is charged: the time of all, divided by their number."""
        return (monotonic() - self._began) / len(self._networks)

    def train_epoch(self, longest: float) -> None:
        """Pass once over the training examples, each member in its own order, and note what the running ones come to.

        longest: seconds a member; where there is no more time all end.
        """
        recipe, examples, done = self._recipe, self._parts.train, max(map(len, self.epochs))
        n = len(examples)
        size = min(recipe.batch_size, n)
        steps = n // size
        orders = torch.stack([torch.randperm(n, generator=one) for one in self._generators])
        losses = []
        for position in range(steps):
            set_rate(self._optimizer, recipe.rate((done + position / steps) / recipe.epochs))
            chosen = orders[:, position * size : (position + 1) * size]
            losses.append(self._step(examples.inputs[chosen], examples.targets[chosen]))
            if self._end_if_late(longest):
                return
        means = torch.stack(losses, dim=1).mean(dim=1).tolist()
        errors = self._validation_errors(longest)
        for member, loss, error in zip(range(len(errors)), means, errors, strict=False):
            if member not in self.outcomes:
                self._note(member, Epoch(loss, error))

    def end_some(self) -> None:
        """End the members that have had all their epochs, or have no hope, as they are now."""
        for member in self.running:
            epochs = self.epochs[member]
            if len(epochs) == self._recipe.epochs or is_hopeless(epochs, self._recipe.patience):
                self.outcomes[member] = self._member_result(member)

    def end_all(self, failure: TrainingFailed) -> None:
        """End all members that go on with the same failure.

        failure: the outcome of each.
        """
        for member in self.running:
            self.outcomes[member] = failure

    def _end_if_late(self, longest: float) -> bool:
        """End all members where there is no more time, and tell whether that was so."""
        if self.seconds() <= longest:
            return False
        self.end_all(out_of_time_failure(max(map(len, self.epochs))))
        return True

    def _step(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Do a step of every member on its batch, (members, m, ...), and return their losses, (members,)."""
        losses = vmap(self._loss)(self._stacked, inputs, targets)
        self._optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()  # no member's loss depends on another's parameters
        if self._recipe.gradient_norm:
            _clip([one.grad for one in self._stacked.values() if one.grad is not None], self._recipe.gradient_norm)
        self._optimizer.step()
        return losses.detach()

    def _loss(self, parameters: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        given = functional_call(self._ghost, parameters, (inputs,))
        return torch.stack([decision_loss(one.float(), targets, self._task, self._recipe) for one in given]).sum()

    def _validation_errors(self, longest: float) -> list[float]:
        """Return the validation error of every member; an empty list where there is no more time."""
        examples = self._parts.validation
        total = torch.zeros(len(self._networks), dtype=torch.float64)
        with torch.no_grad():
            for first in range(0, len(examples), SCORED_AT_ONCE):
                part = slice(first, first + SCORED_AT_ONCE)
                given = vmap(self._forward, in_dims=(0, None))(self._stacked, examples.inputs[part])
                total += sum_errors(given.float(), examples.targets[part], self._task)
                if self._end_if_late(longest):
                    return []
        return (total / len(examples)).tolist()

    def _forward(self, parameters: dict[str, Tensor], inputs: Tensor) -> Tensor:
        return functional_call(self._ghost.network, {_inner(name): one for name, one in parameters.items()}, (inputs,))

    def _note(self, member: int, epoch: Epoch) -> None:
        failure = nonfinite_failure(len(self.epochs[member]), epoch)
        if failure is None:
            self.epochs[member].append(epoch)
        else:
            self.outcomes[member] = failure

    def _member_result(self, member: int) -> Trained:
        """Return the result of a member, a network of its own with the member's values as they are now."""
        network, epochs = self._networks[member].network, self.epochs[member]
        network.load_state_dict({_inner(name): one[member].detach() for name, one in self._stacked.items()})
        network.eval()
        return training_result(network, epochs, self._data, self._recipe, CPU, self.seconds())


class _DecisionOutputs(nn.Module):
    """A network that returns the outputs the loss is taken of: those of all decision layers, or their mean alone."""

    def __init__(self, network: nn.Module, every: bool) -> None:
        super().__init__()
        self.network: Any = network
        self.every = every

    def forward(self, inputs: Tensor) -> list[Tensor]:
        return self.network.decisions(inputs) if self.every else [self.network(inputs)]


def _inner(name: str) -> str:
    return name.removeprefix("network.")


def _build_member(build: NetworkBuilder, seed: int, every_decision: bool) -> _DecisionOutputs:
    with DeviceContext(CPU, seed).activate():
        return _DecisionOutputs(build(), every_decision)


def _clip(gradients: Sequence[Tensor], most: float) -> None:
    """Scale gradients (members, ...) of each member down to a norm, as `torch.nn.utils.clip_grad_norm_` does."""
    norms = torch.stack([torch.linalg.vector_norm(one.flatten(1), dim=1) for one in gradients])
    scale = (most / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1.0)  # (members,)
    for one in gradients:
        one *= scale.reshape(-1, *[1] * (one.dim() - 1))
