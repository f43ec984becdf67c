"""Training networks: data on the device, augmentation in bulk there, the same code on a CPU and on a GPU.

On a CPU everything is float32 and eager, and repeats bit for bit with the same seed and number of threads. On a GPU
images are channels-last, matrix products bfloat16 with float32 weights, normalization and loss, optimizers fused, and a
step is one CUDA graph that also gathers its batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bostruct.contracts import BostructError
from bostruct.nas.checkpoints import load_checkpoint, save_checkpoint
from bostruct.nas.data import Dataset
from bostruct.nas.devices import CaptureFailed, Place, memory_reason
from bostruct.nas.recipes import Recipe
from bostruct.nas.residency import resident
from bostruct.nas.steps import Batches, Scoring, step_of


class TrainingFailed(BostructError, RuntimeError):
    """A training that came to nothing: the reason is the message."""


class OutOfMemory(TrainingFailed):
    """A training that there is too little memory for."""


class Epoch(NamedTuple):
    """loss: mean over the training steps. error: on the validation examples, the share that is wrong or the mean
    squared error.
    """

    loss: float
    error: float


@dataclass(frozen=True)
class Trained:
    """epochs: in order. error: of validation, by the recipe's score. test_error: of the network as it ended.
    seconds: of training and scoring, while it was this training's turn.
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


Build = Callable[[], nn.Module]
Watch = Callable[[int, Epoch], None]


def train(
    build: Build,
    data: Dataset,
    recipe: Recipe,
    seed: int,
    *,
    device: str = "cpu",
    checkpoint: Path | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Build a network, train it, score it. build: called once, under the seed. checkpoint: a file that is written after
    every epoch, from which a training that was killed goes on as if it had not been. seconds: at most, of this call.
    watch: told every epoch's number and what it came to.

    Raises TrainingFailed where losses are not finite, memory or time run out.
    """
    training = Training(build, data, recipe, seed, device=device, checkpoint=checkpoint, seconds=seconds, watch=watch)
    training.advance(None)
    if isinstance(training.outcome, Trained):
        return training.outcome
    assert training.outcome is not None
    raise training.outcome


class Training:
    """One training, a step at a time, so that several can take turns. outcome: None until it has ended.

    Arguments are those of `train`. Each has a stream and random numbers of its own: what it comes to does not depend on
    what happens between its steps.
    """

    place_of: type[Place] = Place

    def __init__(
        self,
        build: Build,
        data: Dataset,
        recipe: Recipe,
        seed: int,
        *,
        device: str = "cpu",
        checkpoint: Path | None = None,
        seconds: float | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.outcome: Trained | TrainingFailed | None = None
        self._data, self._recipe, self._device = data, recipe, device
        self._longest = math.inf if seconds is None else seconds
        self._spent, self._began = 0.0, math.nan
        self._place = self.place_of(torch.device(device), seed)
        self._work = self._steps(build, seed, checkpoint, watch)

    def advance(self, steps: int | None = 1) -> bool:
        """So many steps, of the optimizer or of a scoring, or all that are left; whether it goes on.

        A failure is the outcome. What `build` and `watch` raise is raised here, and ends the training.
        """
        self._began = time.monotonic() - self._spent
        try:
            with self._place.turn():
                while steps is None or steps > 0:
                    next(self._work)
                    steps = None if steps is None else steps - 1
        except StopIteration:
            pass
        except Exception as error:
            self.outcome = self._failure(error)
            if self.outcome is None:
                raise
        finally:
            self._spent = self._seconds()
        if isinstance(self.outcome, TrainingFailed):
            self._place.release()
        return self.outcome is None

    def close(self) -> None:
        """Let go of everything, wherever it is."""
        self._work.close()

    def _failure(self, error: Exception) -> TrainingFailed | None:
        """A new error, without the frames of the one that was raised, which hold what is on the device; None for errors
        that are not the training's.
        """
        reason = memory_reason(error)
        if reason is not None:
            where = f" on {self._device}" if self._place.cuda else ""
            return OutOfMemory(f"out of memory{where}: {reason}".removesuffix(": "))
        return TrainingFailed(str(error)) if isinstance(error, TrainingFailed | CaptureFailed) else None

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _steps(
        self, build: Build, seed: int, checkpoint: Path | None, watch: Watch | None
    ) -> Generator[None, None, None]:
        """All of it, with a pause after every step; the network lives here and nowhere else."""
        data, recipe, place = self._data, self._recipe, self._place
        run = _begun(build, recipe, seed, place)
        load_checkpoint(checkpoint, run)
        parts = resident(data, place.device)
        batches = Batches(parts.train, recipe, run.generator)
        step = step_of(run.network, run.optimizer, batches, recipe, place)
        validation = Scoring(run.network, parts.validation, data.task, recipe, place)
        while len(run.epochs) < recipe.epochs and not hopeless(run.epochs, recipe.patience):
            loss = yield from self._epoch(run, batches, step)
            error = yield from validation.steps()
            if not math.isfinite(loss) or not math.isfinite(error):
                raise TrainingFailed(f"epoch {len(run.epochs)}: the loss is {loss}, the error {error}")
            run.epochs.append(Epoch(loss, error))
            save_checkpoint(checkpoint, run)
            if watch is not None:
                watch(len(run.epochs) - 1, run.epochs[-1])
        test_error = yield from Scoring(run.network, parts.test, data.task, recipe, place).steps()
        run.network.zero_grad(set_to_none=True)  # gradients are in the graph's memory
        chosen = chosen_error(run.epochs, recipe)
        self.outcome = Trained(run.network, tuple(run.epochs), chosen, test_error, self._seconds())

    def _epoch(self, run: Run, batches: Batches, step: Callable[[], None]) -> Generator[None, None, float]:
        """One pass over the training examples in a new order; the mean loss of its steps."""
        run.network.train()
        batches.renew()
        done = len(run.epochs)
        for position in range(batches.steps):
            set_rate(run.optimizer, self._recipe.rate((done + position / batches.steps) / self._recipe.epochs))
            step()
            if self._seconds() > self._longest:
                raise TrainingFailed(f"epoch {done}: out of time")
            yield
        return float(batches.losses.mean())


def train_together(
    builds: Sequence[Build],
    data: Dataset,
    recipe: Recipe,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    checkpoints: Sequence[Path | None] | None = None,
    seconds: float | None = None,
    watch: Callable[[int, int, Epoch], None] | None = None,
) -> list[Trained | TrainingFailed]:
    """Several trainings that take turns after every step: on a GPU side by side, each on a stream of its own.

    builds, seeds, checkpoints: one each a training; the rest as of `train`, `seconds` of a training's own turns.
    watch: told the number of the training and of the epoch, and what it came to. A training that fails fails alone, and
    its failure is in its place; one that runs out of memory is tried once more when the others have ended. On a CPU
    every result is, bit for bit, that of `train`, and nothing is gained. Raises ValueError where numbers differ.
    """
    files = [None] * len(builds) if checkpoints is None else list(checkpoints)
    if not len(builds) == len(seeds) == len(files):
        raise ValueError(
            f"builds, seeds, checkpoints: expected as many of each, got {len(builds)}, {len(seeds)} and {len(files)}"
        )

    def begun(member: int) -> Training:
        told = None if watch is None else partial(watch, member)
        return Training(
            builds[member], data, recipe, seeds[member],
            device=device, checkpoint=files[member], seconds=seconds, watch=told,
        )  # fmt: skip

    trainings = [begun(member) for member in range(len(builds))]
    _take_turns(trainings)
    for member, training in enumerate(trainings):
        if isinstance(training.outcome, OutOfMemory) and len(trainings) > 1:
            trainings[member] = begun(member)
            _take_turns(trainings[member : member + 1])
    return [training.outcome for training in trainings]  # type: ignore[misc]


def _take_turns(trainings: Sequence[Training]) -> None:
    """A step each until all have ended; where one raises, all end."""
    going = list(trainings)
    try:
        while going:
            going = [training for training in going if training.advance()]
    finally:
        for training in going:
            training.close()


def chosen_error(epochs: Sequence[Epoch], recipe: Recipe) -> float:
    """Of validation, by the recipe's score: the best epoch or the last."""
    errors = [epoch.error for epoch in epochs]
    return min(errors) if recipe.score == "best" else errors[-1]


def _begun(build: Build, recipe: Recipe, seed: int, place: Place) -> Run:
    device = place.device
    network = build().to(device)
    if place.cuda:
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = optimizer_of(list(network.parameters()), recipe, place)
    return Run(network, optimizer, torch.Generator(device).manual_seed(seed))


def optimizer_of(parameters: Sequence[Tensor], recipe: Recipe, place: Place) -> torch.optim.Optimizer:
    """Where there are graphs fused, with a learning rate on the device that they read at every step."""
    extra: dict[str, Any] = {"fused": True} if place.graphs else {}
    rate: Any = torch.tensor(recipe.learning_rate, device=place.device) if place.graphs else recipe.learning_rate
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, rate, recipe.momentum, weight_decay=recipe.weight_decay, **extra)
    if place.graphs:
        extra["capturable"] = True
    optimizer: Any = torch.optim.Adam(parameters, rate, weight_decay=recipe.weight_decay, **extra)
    optimizer._warned_capturable_if_run_uncaptured = True  # the first steps are run on purpose
    return optimizer


def hopeless(epochs: Sequence[Epoch], patience: int) -> bool:
    """Oh et al. 2019: none of the last epochs is as good as the one before them."""
    if not patience or len(epochs) <= patience:
        return False
    before, *last = (epoch.error for epoch in epochs[-patience - 1 :])
    return min(last) > before


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The same for all parameters; where it is a tensor it stays that tensor."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
