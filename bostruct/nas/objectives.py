"""Objectives that train what a search proposes: architectures, programs, and either with scalar hyperparameters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from bostruct.checks import check_integer, check_number, shown
from bostruct.contracts import PointError
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.nas.costs import Cost, cost
from bostruct.nas.data import Dataset
from bostruct.nas.devices import Place
from bostruct.nas.ensembles import is_batched, train_ensemble
from bostruct.nas.networks import to_torch
from bostruct.nas.recipes import FAST, Recipe
from bostruct.nas.residency import fraction_of
from bostruct.nas.training import Epoch, Trained, TrainingFailed, train_together

SETTINGS = frozenset(field.name for field in fields(Recipe))
FRACTION = "fraction"  # of the training examples, in (0, 1]
AT_ONCE = 8  # repeats side by side on a GPU: enough to fill one with small networks


@dataclass(frozen=True)
class NetworkObjective:
    """Called with a point, trains its network and gives the error on the validation examples, which is minimised.

    A point is an `Architecture`, a `Program`, or a dict, nested or not, with one of these under any name; its other
    entries are settings of the recipe by name (``epochs``, ``learning_rate``, ``weight_decay``, ``dropout`` ...) or
    ``fraction``, the share of the training examples, so that epochs and examples can be a `Fidelity`.

    repeats: trainings with seeds of their own, whose errors are averaged; on a GPU up to 8 go at once, on a CPU
    those of a small perceptron are one batched training (unless there are checkpoints), whose values differ from those
    of single trainings in rounding. seed: all else being equal, the same seed gives the same value on a CPU with the
    same number of threads. checkpoints: a folder from
    which a killed evaluation goes on. seconds: at most, a training; None: no limit. watch: told the number of the
    repeat and of the epoch, and what it came to.

    Raises TypeError, ValueError; when called PointError for a point that is none, and TrainingFailed.
    """

    data: Dataset
    recipe: Recipe = FAST
    repeats: int = 1
    seed: int = 0
    device: str = "cpu"
    checkpoints: str | None = None
    seconds: float | None = None
    watch: Callable[[int, int, Epoch], None] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, Dataset):
            raise TypeError(f"data: expected a Dataset, got {shown(self.data)}")
        if not isinstance(self.recipe, Recipe):
            raise TypeError(f"recipe: expected a Recipe, got {shown(self.recipe)}")
        check_integer("repeats", self.repeats, 1)
        check_integer("seed", self.seed, 0)
        if self.seconds is not None:
            check_number("seconds", self.seconds, 0.0)

    def __call__(self, point: Any) -> float:
        return float(np.mean([one.error for one in self.trained(point)]))

    def trained(self, point: Any) -> list[Trained]:
        """Every repeat: its network, the errors of its epochs, and the test error."""
        wanted = wanted_of(point)
        recipe = replace(self.recipe, **wanted.settings)
        data = fraction_of(self.data, wanted.fraction)
        build = partial(built, wanted.network, data, recipe.dropout)
        seeds = range(self.seed, self.seed + self.repeats)
        files = [self._checkpoint(wanted, seed) for seed in seeds]
        if self._batched(build, recipe):
            found = train_ensemble(build, data, recipe, seeds, seconds=self.seconds, watch=self.watch)
            return [_succeeded(one) for one in found]
        found = []
        for first in range(0, self.repeats, self._at_once):
            part = slice(first, first + self._at_once)
            watch = partial(_watched, self.watch, first) if self.watch is not None else None
            settings: dict[str, Any] = {"device": self.device, "seconds": self.seconds, "watch": watch}
            builds = [build] * len(seeds[part])
            together = train_together(builds, data, recipe, seeds[part], checkpoints=files[part], **settings)
            found += [_succeeded(one) for one in together]
        for file in files:
            if file is not None:
                file.unlink(missing_ok=True)
        return found

    @property
    def _at_once(self) -> int:
        """On a CPU one after the other, which ends with the first that fails."""
        return AT_ONCE if self.device.startswith("cuda") else 1

    def _batched(self, build: Callable[[], nn.Module], recipe: Recipe) -> bool:
        if self.repeats == 1 or self.device != "cpu" or self.checkpoints is not None:
            return False
        with Place(torch.device("cpu"), self.seed).turn():
            return is_batched(build(), recipe.batch_size)

    def cost(self, point: Any) -> Cost:
        """Parameters, and FLOPs of one example, without training."""
        network = built(wanted_of(point).network, self.data, 0.0)
        return cost(network, self.data.input_shape)

    def _checkpoint(self, wanted: Wanted, seed: int) -> Path | None:
        if self.checkpoints is None:
            return None
        text = repr((wanted.key, sorted(wanted.settings.items()), wanted.fraction, self.data.name, self.recipe, seed))
        return Path(self.checkpoints) / f"{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}.pt"


def _succeeded(outcome: Trained | TrainingFailed) -> Trained:
    if isinstance(outcome, TrainingFailed):
        raise outcome
    return outcome


def _watched(watch: Callable[[int, int, Epoch], None], first: int, member: int, epoch: int, told: Epoch) -> None:
    watch(first + member, epoch, told)


@dataclass(frozen=True)
class Wanted:
    """A point taken apart: what to build, and how it differs from the recipe."""

    network: Architecture | Program
    settings: dict[str, Any]
    fraction: float

    @property
    def key(self) -> str:
        """The same for the same network in every process."""
        return self.network.fingerprint if isinstance(self.network, Architecture) else str(self.network.fingerprint)


def wanted_of(point: Any) -> Wanted:
    """Raises PointError where there is no network in a point, more than one, or a name that no recipe knows."""
    networks: list[Architecture | Program] = []
    settings: dict[str, Any] = {}
    _collect("network", point, networks, settings)
    if len(networks) != 1:
        raise PointError(f"point: expected one Architecture or Program in it, got {len(networks)} in {shown(point)}")
    if unknown := sorted(set(settings) - SETTINGS - {FRACTION}):
        known = ", ".join(sorted(SETTINGS | {FRACTION}))
        raise PointError(f"point: {unknown[0]!r} is no setting of a training; expected some of {known}")
    return Wanted(networks[0], settings, float(settings.pop(FRACTION, 1.0)))


def _collect(name: str, given: Any, networks: list[Any], settings: dict[str, Any]) -> None:
    if isinstance(given, Architecture | Program):
        networks.append(given)
    elif isinstance(given, Mapping):
        for inner, one in given.items():
            _collect(str(inner), one, networks, settings)
    else:
        settings[name] = given


def built(network: Architecture | Program, data: Dataset, dropout: float) -> nn.Module:
    """A module of batches of the data's examples; with dropout before what it gives."""
    if isinstance(network, Architecture):
        return to_torch(network, data.input_shape, data.classes, dropout)
    module = network.to_torch((2, *data.input_shape))
    return nn.Sequential(nn.Dropout(dropout), module) if dropout else module
