"""Objectives that train suggested networks: architectures or programs, alone or with scalar hyperparameters.

Repeats of a small perceptron are one training (`train_ensemble`): a layer of all repeats is one product of stacked
matrices.
"""

from __future__ import annotations

import copy
import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from bostruct.checks import check_integer, check_number, short_repr
from bostruct.contracts import PointError
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.nas.checkpoints import delete_checkpoint
from bostruct.nas.data import Dataset, Task
from bostruct.nas.devices import DeviceContext, check_device, check_devices, fraction_of, on_device
from bostruct.nas.networks import ACTIVATION_MODULES, ArchitectureNetwork, Cost, cost, program_to_torch, to_torch
from bostruct.nas.outcomes import (
    SCORED_AT_ONCE,
    Epoch,
    Stopped,
    Trained,
    TrainingFailed,
    is_hopeless,
    nonfinite_failure,
    out_of_memory_failure,
    out_of_time_failure,
    sum_errors,
    training_result,
)
from bostruct.nas.own_layers import LayerBuilders, check_builders
from bostruct.nas.recipes import FAST, Recipe
from bostruct.nas.steps import decision_loss, make_optimizer, set_rate
from bostruct.nas.training import NetworkBuilder, train_together
from bostruct.outcome import WORKER_NUMBER

CPU = torch.device("cpu")
SMALL_STEP = 5_000_000  # multiplications per step of a training; larger matrices occupy a core by themselves
PLAIN_LAYERS = (nn.Linear, *(type(make()) for make in ACTIVATION_MODULES.values()))
RECIPE_SETTINGS = frozenset(field.name for field in fields(Recipe))
FRACTION = "fraction"  # fraction of the training examples, in (0, 1]
AT_ONCE = 8  # parallel repeats on a GPU: enough to occupy it with small networks
TrainingSettings: TypeAlias = dict[str, Any]  # arguments of a training by name


@dataclass(frozen=True)
class NetworkObjective:
    """An objective that trains the network of a point and returns its validation error, to be minimized.

    A point is an `Architecture`, a `Program`, or a dict, nested or not, with one of them under any name. Its other
    entries are settings of the recipe by name (``epochs``, ``learning_rate``, ``weight_decay``, ``dropout`` ...) or
    ``fraction``, the share of the training examples, so that epochs and examples can be a `Fidelity`.

    Parameters
    ----------
    data : Dataset
        The training, validation and test examples.
    recipe : Recipe, default FAST
        How networks are trained.
    repeats : int, default 1
        Number of trainings with different seeds, at least 1, whose errors are averaged. The first failure fails the
        evaluation. On a GPU up to 8 run at once. On a CPU, repeats of a small perceptron are one batched training,
        unless there are checkpoints, with the values of single trainings up to rounding.
    seed : int, default 0
        Random seed, at least 0. On a CPU the same seed and number of threads give the same value.
    device : str, default "cpu"
        "cpu", "cuda" or "cuda:<number>".
    checkpoints : str or path-like, optional
        A folder from which a killed evaluation resumes. It is emptied when an evaluation ends or fails.
    seconds : float, optional
        Time limit of an evaluation with all its repeats.
    watch : callable, optional
        Called with the number of the repeat, the number of the epoch, and the epoch's figures.
    builders : dict of callable, optional
        Builders of custom layers, see `to_torch`. With several workers they must be functions of a module.
    devices : sequence of str or "all", optional
        Devices of worker processes, in turn, instead of `device`; "all" for all GPUs. Without workers the first device
        is used.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    PointError
        When called: if the point is invalid or does not fit the data.
    DomainError, CompileError
        When called: if the network cannot be built.
    TrainingFailed
        When called: if a training fails.
    """

    data: Dataset
    recipe: Recipe = FAST
    repeats: int = 1
    seed: int = 0
    device: str = "cpu"
    checkpoints: str | os.PathLike[str] | None = None
    seconds: float | None = None
    watch: Callable[[int, int, Epoch], None] | None = None
    builders: LayerBuilders | None = None
    devices: Sequence[str] | Literal["all"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", check_devices(self.devices))
        if not isinstance(self.data, Dataset):
            raise TypeError(f"data: expected a Dataset, got {short_repr(self.data)}")
        if not isinstance(self.recipe, Recipe):
            raise TypeError(f"recipe: expected a Recipe, got {short_repr(self.recipe)}")
        check_integer("repeats", self.repeats, 1)
        check_integer("seed", self.seed, 0)
        check_device(self.device)
        check_builders(self.builders)
        if not isinstance(self.checkpoints, str | os.PathLike | None):
            raise TypeError(f"checkpoints: expected a folder or None, got {short_repr(self.checkpoints)}")
        if self.checkpoints is not None:
            try:
                Path(self.checkpoints).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ValueError(f"checkpoints: {self.checkpoints} cannot be a folder: {error.strerror}") from error
        if self.watch is not None and not callable(self.watch):
            raise TypeError(f"watch: expected a function or None, got {short_repr(self.watch)}")
        if self.seconds is not None:
            check_number("seconds", self.seconds, 0.0)

    def __call__(self, point: object) -> float:
        """Return the mean validation error of the repeats."""
        return float(np.mean([one.error for one in self.train(point)]))

    def train(self, point: object) -> list[Trained]:
        """Train all repeats; return their networks, the errors of their epochs, and their test errors.

        Parameters
        ----------
        point : object
            A point, as for a call of the objective.
        """
        started, request = monotonic(), parse_request(point)
        recipe = replace(self.recipe, **request.settings)
        data = fraction_of(self.data, check_fraction(request.fraction, self.data))
        sketch = sketch_network(request.network, data, recipe.dropout, self.builders)
        build = partial(build_network, request.network, data, recipe.dropout, self.builders)
        alone = self.repeats == 1 or self._own_device != "cpu" or self.checkpoints is not None
        if not alone and is_batched(sketch, recipe.batch_size):
            share = None if self.seconds is None else self.seconds / self.repeats  # all repeats run together
            settings: TrainingSettings = {"seconds": share, "all_or_none": True, "watch": self.watch}
            return _raise_failures(train_ensemble(build, data, recipe, self._seeds, **settings))
        files = [self._checkpoint(request, seed) for seed in self._seeds]
        deadline = math.inf if self.seconds is None else started + self.seconds
        try:
            found = self._train_in_groups(build, data, recipe, files, deadline)
        except TrainingFailed:
            _delete(files)
            raise
        _delete(files)
        return found

    def _train_in_groups(
        self, build: Callable[[], nn.Module], data: Dataset, recipe: Recipe, files: list[Path | None], deadline: float
    ) -> list[Trained]:
        """Train all repeats, several at once if the device allows it."""
        found: list[Trained] = []
        for first in range(0, self.repeats, self._at_once):
            part = slice(first, first + self._at_once)
            watch = partial(_watch_member, self.watch, first) if self.watch is not None else None
            settings: TrainingSettings = {"device": self._own_device, "deadline": deadline, "all_or_none": True}
            seeds = self._seeds[part]
            settings |= {"checkpoints": files[part], "watch": watch}
            found += _raise_failures(train_together([build] * len(seeds), data, recipe, seeds, **settings))
        return found

    @property
    def _seeds(self) -> range:
        return range(self.seed, self.seed + self.repeats)

    @property
    def _at_once(self) -> int:
        """The number of repeats trained at once: one on a CPU, which stops at the first failure."""
        return AT_ONCE if self._own_device.startswith("cuda") else 1

    @property
    def _own_device(self) -> str:
        """The device of this process, by its number among the workers."""
        number = int(os.environ.get(WORKER_NUMBER, "0"))
        return self.devices[number % len(self.devices)] if self.devices else self.device

    def cost(self, point: object) -> Cost:
        """Count the parameters and FLOPs of a point's network without training it.

        Parameters
        ----------
        point : object
            A point, as for a call of the objective.
        """
        sketch = sketch_network(parse_request(point).network, self.data, 0.0, self.builders)
        return cost(sketch, self.data.input_shape)

    def _checkpoint(self, request: TrainingRequest, seed: int) -> Path | None:
        if self.checkpoints is None:
            return None
        network, settings = request.network.fingerprint, sorted(request.settings.items())
        own = tuple(sorted(self.builders)) if self.builders else ()
        text = repr((network, settings, request.fraction, self.data.name, self.recipe, seed, *own))
        return Path(self.checkpoints) / f"{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}.pt"


def is_batched(network: nn.Module, batch_size: int) -> bool:
    """Return whether repeated trainings of a network are faster as one batched training.

    They are if the network is a perceptron of only linear layers and activations (nothing random, no statistics, no
    images, no custom layers), so small that a product of its matrices does not occupy a core.

    batch_size: examples per step, from 1.
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
    """Train one perceptron with several seeds as a single batched training on the CPU.

    Each training has the initial values, batches and stopping of `train` with its seed. Results differ from `train`
    only by rounding, because products of stacked matrices are summed in another order. They are reproducible with the
    same seeds and number of threads.

    Parameters
    ----------
    build : callable
        Returns a network without buffers.
    data : Dataset
        The examples.
    recipe : Recipe
        How the network is trained.
    seeds : sequence of int
        One seed for each training.
    seconds : float, optional
        Time limit of a training; each training is charged an equal share of the time.
    all_or_none : bool, default False
        Whether a failure stops the other trainings.
    watch : callable, optional
        Called with the number of the training, the number of the epoch, and the epoch's figures.
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
    """The stacked networks and their results.

    Its attributes are `epochs`, of each network, and `outcomes`, of ended trainings by the number of the network.
    """

    def __init__(self, build: NetworkBuilder, data: Dataset, recipe: Recipe, seeds: Sequence[int]) -> None:
        self._started, self._recipe, self._data = monotonic(), recipe, data
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
        """The members that are still running."""
        return [member for member in range(len(self._networks)) if member not in self.outcomes]

    def seconds(self) -> float:
        """Return the seconds charged to each member: the elapsed time divided by the number of members."""
        return (monotonic() - self._started) / len(self._networks)

    def train_epoch(self, longest: float) -> None:
        """Train for one epoch, each member in its own order of examples, and record the results of running members.

        longest: time limit of a member in seconds; if it is exceeded, all members end.
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
            if member in self.outcomes:
                continue
            epochs, epoch = self.epochs[member], Epoch(loss, error)
            if (failure := nonfinite_failure(len(epochs), epoch)) is None:
                epochs.append(epoch)
            else:
                self.outcomes[member] = failure

    def end_some(self) -> None:
        """End the members that have completed all epochs, or whose patience is exhausted."""
        for member in self.running:
            epochs = self.epochs[member]
            if len(epochs) == self._recipe.epochs or is_hopeless(epochs, self._recipe.patience):
                network = self._networks[member].network  # a separate network with the member's parameters
                network.load_state_dict({_inner(name): one[member].detach() for name, one in self._stacked.items()})
                network.eval()
                seconds = self.seconds()
                self.outcomes[member] = training_result(network, epochs, self._data, self._recipe, CPU, seconds)

    def end_all(self, failure: TrainingFailed) -> None:
        """End all running members with the same failure."""
        for member in self.running:
            self.outcomes[member] = failure

    def _end_if_late(self, longest: float) -> bool:
        """End all members if there is no time left, and return whether they were ended."""
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
        """Return the validation error of every member; an empty list if there is no time left."""
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


class _DecisionOutputs(nn.Module):
    """A network that returns the outputs for the loss: the outputs of all decision layers, or only their mean."""

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
    """Clip the gradients (members, ...) of each member to a norm, like `torch.nn.utils.clip_grad_norm_`."""
    norms = torch.stack([torch.linalg.vector_norm(one.flatten(1), dim=1) for one in gradients])
    scale = (most / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1.0)  # (members,)
    for one in gradients:
        one *= scale.reshape(-1, *[1] * (one.dim() - 1))


def _raise_failures(outcomes: Sequence[Trained | TrainingFailed]) -> list[Trained]:
    """Return all trainings; if some failed, raise the failure that stopped the others."""
    failed = [one for one in outcomes if isinstance(one, TrainingFailed)]
    if failed:
        raise min(failed, key=lambda one: isinstance(one, Stopped))
    return [one for one in outcomes if isinstance(one, Trained)]


def _delete(files: Sequence[Path | None]) -> None:
    for file in files:
        delete_checkpoint(file)


def _watch_member(watch: Callable[[int, int, Epoch], None], first: int, member: int, number: int, epoch: Epoch) -> None:
    watch(first + member, number, epoch)


@dataclass(frozen=True)
class TrainingRequest:
    """A parsed point: the network to build, and the settings in which its training differs from the recipe."""

    network: Architecture | Program
    settings: TrainingSettings
    fraction: float


def parse_request(point: object) -> TrainingRequest:
    """Parse a point into its network, its settings of the recipe and its fraction.

    Raises PointError if there is no network, more than one, an unknown setting, or a setting twice.
    """
    networks: list[Architecture | Program] = []
    settings: TrainingSettings = {}
    _collect("network", point, networks, settings)
    if len(networks) != 1:
        raise PointError(
            f"point: expected one Architecture or Program in it, got {len(networks)} in {short_repr(point)}"
        )
    if unknown := sorted(set(settings) - RECIPE_SETTINGS - {FRACTION}):
        known = ", ".join(sorted(RECIPE_SETTINGS | {FRACTION}))
        raise PointError(f"point: {unknown[0]!r} is not a setting of a training; expected some of {known}")
    return TrainingRequest(networks[0], settings, settings.pop(FRACTION, 1.0))


def _collect(name: str, given: object, networks: list[Any], settings: TrainingSettings) -> None:
    if isinstance(given, Architecture | Program):
        networks.append(given)
    elif isinstance(given, Mapping):
        for inner, one in given.items():
            _collect(str(inner), one, networks, settings)
    elif name in settings:
        raise PointError(
            f"point: {name!r} is given twice, as {short_repr(settings[name])} and {short_repr(given)}; expected once"
        )
    else:
        settings[name] = given


def check_fraction(given: object, data: Dataset) -> float:
    """Return a fraction of the training examples as a number.

    given: entry of a point, in (0, 1].

    Raises PointError if it is not such a number, or less than one example is left.
    """
    try:
        fraction, n = check_number(FRACTION, given, 0.0, 1.0), len(data.train.inputs)
    except (TypeError, ValueError) as error:
        raise PointError(f"point: {error}") from None
    if round(fraction * n, 6) < 1.0:
        raise PointError(f"point: {FRACTION}: expected at least 1 of the {n} training examples, got {given}")
    return fraction


def sketch_network(
    network: Architecture | Program, data: Dataset, dropout: float, builders: LayerBuilders | None = None
) -> nn.Module:
    """Return the network of `build_network` on the meta device: no weights are allocated or drawn.

    data: data set with the shape of an example and the number of classes.
    dropout: probability of dropout before the decision layers of an architecture.

    Raises PointError if the input or output of the network does not fit the data, or if a program has dropout;
    DomainError, CompileError if the network cannot be built.
    """
    if isinstance(network, Architecture):
        _check_examples(network, data)
        with torch.device("meta"):
            return to_torch(network, data.input_shape, data.classes, dropout, builders=builders)
    if dropout:
        raise PointError(f"dropout: not supported for a program, got {dropout}; put it into the space, or use 0")
    with torch.device("meta"), torch.no_grad():
        module = program_to_torch(network, data.input_shape).eval()
        given = module(torch.empty(2, *data.input_shape))
    shape = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
    if shape != (2, data.classes):
        what = "classes" if data.task == "classification" else "targets"
        raise PointError(
            f"network: the data set {data.name!r} has {data.classes} {what}; for 2 of its examples, expected a program "
            f"to return the shape {(2, data.classes)}, got {shape}"
        )
    return module


def _check_examples(network: Architecture, data: Dataset) -> None:
    family = network.family
    if len(data.input_shape) != (3 if family.image else 1):
        kind = "images (channels, height, width)" if family.image else "rows of features (features,)"
        raise PointError(
            f"network: the family {family.name} takes {kind}; examples of the data set {data.name!r} have the shape "
            f"{data.input_shape}"
        )


def build_network(
    network: Architecture | Program, data: Dataset, dropout: float, builders: LayerBuilders | None = None
) -> nn.Module:
    """Build the network of a point, a module that takes batches of the data's examples.

    data: data set with the shape of an example and the number of classes.
    dropout: probability of dropout before the decision layers of an architecture.
    """
    if isinstance(network, Architecture):
        return to_torch(network, data.input_shape, data.classes, dropout, builders=builders)
    return program_to_torch(network, data.input_shape)
