"""Objectives that train what a search proposes: architectures, programs, and either with scalar hyperparameters."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import nn

from bostruct.checks import check_integer, check_number, short_repr
from bostruct.contracts import PointError
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.nas.checkpoints import delete_checkpoint
from bostruct.nas.costs import Cost, cost
from bostruct.nas.data import Dataset
from bostruct.nas.device_data import fraction_of
from bostruct.nas.devices import check_device
from bostruct.nas.ensembles import is_batched, train_ensemble
from bostruct.nas.networks import program_to_torch, to_torch
from bostruct.nas.outcomes import Epoch, Stopped, Trained, TrainingFailed
from bostruct.nas.own_layers import LayerBuilders, check_builders
from bostruct.nas.recipes import FAST, Recipe
from bostruct.nas.training import train_together

RECIPE_SETTINGS = frozenset(field.name for field in fields(Recipe))
FRACTION = "fraction"  # of the training examples, in (0, 1]
AT_ONCE = 8  # repeats side by side on a GPU: enough to fill one with small networks
TrainingSettings: TypeAlias = dict[str, Any]  # arguments by name, as a training takes them


@dataclass(frozen=True)
class NetworkObjective:
    """An objective that trains the network of a point and returns its validation error, to be minimized.

    A point is an `Architecture`, a `Program`, or a dict, nested or not, with one of these under any name; its other
    entries are settings of the recipe by name (``epochs``, ``learning_rate``, ``weight_decay``, ``dropout`` ...) or
    ``fraction``, the share of the training examples, so that epochs and examples can be a `Fidelity`.

    data: the data set, with training, validation and test examples.
    recipe: how networks are trained.
    repeats: trainings with seeds of their own, from 1, whose errors are averaged; with the first that fails the
        evaluation has failed. On a GPU up to 8 go at once. On a CPU those of a small perceptron are one batched
        training (unless there are checkpoints), whose values differ from those of single trainings in rounding.
    seed: an integer from 0; all else being equal, the same seed gives the same value on a CPU with the same number of
        threads.
    device: ``cpu``, ``cuda`` or ``cuda:<number>``.
    checkpoints: a folder from which a killed evaluation goes on; nothing of it is left when an evaluation has ended or
        failed. None for no checkpoints.
    seconds: at most, by the clock, for an evaluation with all its repeats; None for no limit.
    watch: called with the number of the repeat, the number of the epoch, and what the epoch came to.
    builders: of layers of your own in architectures, as of `to_torch`; with several workers, functions of a module.

    Raises TypeError, ValueError; when called PointError for a point that is none or does not fit the data,
    DomainError and CompileError for a network that cannot be built, and TrainingFailed.
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

    def __post_init__(self) -> None:
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
        """Train every repeat, and return its network, the errors of its epochs, and the test error.

        point: as for a call of the objective.
        """
        began, request = monotonic(), parse_request(point)
        recipe = replace(self.recipe, **request.settings)
        data = fraction_of(self.data, check_fraction(request.fraction, self.data))
        sketch = sketch_network(request.network, data, recipe.dropout, self.builders)
        build = partial(build_network, request.network, data, recipe.dropout, self.builders)
        if self._is_batched(sketch, recipe):
            share = None if self.seconds is None else self.seconds / self.repeats  # all take their time together
            settings: TrainingSettings = {"seconds": share, "all_or_none": True, "watch": self.watch}
            return _raise_failures(train_ensemble(build, data, recipe, self._seeds, **settings))
        files = [self._checkpoint(request, seed) for seed in self._seeds]
        deadline = math.inf if self.seconds is None else began + self.seconds
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
        """Train all repeats, as many at once as the device takes."""
        found: list[Trained] = []
        for first in range(0, self.repeats, self._at_once):
            part = slice(first, first + self._at_once)
            watch = partial(_watch_member, self.watch, first) if self.watch is not None else None
            settings: TrainingSettings = {"device": self.device, "deadline": deadline, "all_or_none": True}
            seeds = self._seeds[part]
            found += _raise_failures(
                train_together(
                    [build] * len(seeds), data, recipe, seeds, checkpoints=files[part], watch=watch, **settings
                )
            )
        return found

    @property
    def _seeds(self) -> range:
        return range(self.seed, self.seed + self.repeats)

    @property
    def _at_once(self) -> int:
        """The number of repeats trained at once: one on a CPU, which ends with the first that fails."""
        return AT_ONCE if self.device.startswith("cuda") else 1

    def _is_batched(self, sketch: nn.Module, recipe: Recipe) -> bool:
        alone = self.repeats == 1 or self.device != "cpu" or self.checkpoints is not None
        return not alone and is_batched(sketch, recipe.batch_size)

    def cost(self, point: object) -> Cost:
        """Count the parameters of a point's network, and its FLOPs for one example, without training.

        point: as for a call of the objective.
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


def _raise_failures(outcomes: Sequence[Trained | TrainingFailed]) -> list[Trained]:
    """Return all trainings; where some failed, raise the failure because of which others were stopped."""
    failed = [one for one in outcomes if isinstance(one, TrainingFailed)]
    if failed:
        raise min(failed, key=lambda one: isinstance(one, Stopped))
    return [one for one in outcomes if isinstance(one, Trained)]


def _delete(files: Sequence[Path | None]) -> None:
    for file in files:
        delete_checkpoint(file)


def _watch_member(watch: Callable[[int, int, Epoch], None], first: int, member: int, epoch: int, told: Epoch) -> None:
    watch(first + member, epoch, told)


@dataclass(frozen=True)
class TrainingRequest:
    """A point taken apart: what to build, and how its training differs from the recipe.

    network: to be built.
    settings: of a recipe, by name.
    fraction: share of the training examples, as the point has it.
    """

    network: Architecture | Program
    settings: TrainingSettings
    fraction: float


def parse_request(point: object) -> TrainingRequest:
    """Take a point apart into its network, its settings of the recipe and its fraction.

    point: a network, or a dict, nested or not, with one network in it.

    Raises PointError where there is no network, more than one, a name that no recipe knows, or a setting twice.
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
        raise PointError(f"point: {unknown[0]!r} is no setting of a training; expected some of {known}")
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

    given: the entry of a point, in (0, 1].
    data: the data set whose examples are counted.

    Raises PointError where it is no such number, or leaves no whole example.
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
    """Return the network that `build_network` builds, without weights: nothing is allocated or drawn.

    network: of a point.
    data: gives the shape of an example and the number of classes.
    dropout: probability before the decision layers of an architecture.
    builders: of layers of an architecture, as of `to_torch`.

    Raises PointError where the network takes or gives something else than the data has, and for a program with
    dropout; DomainError, CompileError where there is no such network.
    """
    if isinstance(network, Architecture):
        _check_examples(network, data)
        with torch.device("meta"):
            return to_torch(network, data.input_shape, data.classes, dropout, builders=builders)
    if dropout:
        raise PointError(f"dropout: a program has no place for it, got {dropout}; put it into the space, or expect 0")
    with torch.device("meta"), torch.no_grad():
        module = program_to_torch(network, data.input_shape).eval()
        given = module(torch.empty(2, *data.input_shape))
    shape = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
    if shape != (2, data.classes):
        what = "classes" if data.task == "classification" else "targets"
        raise PointError(
            f"network: the data set {data.name!r} has {data.classes} {what}; of 2 of its examples, expected a program "
            f"to give the shape {(2, data.classes)}, got {shape}"
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

    network: one that `sketch_network` accepts.
    data: gives the shape of an example and the number of classes.
    dropout: probability before the decision layers of an architecture.
    builders: of layers of an architecture, as of `to_torch`.
    """
    if isinstance(network, Architecture):
        return to_torch(network, data.input_shape, data.classes, dropout, builders=builders)
    return program_to_torch(network, data.input_shape)
