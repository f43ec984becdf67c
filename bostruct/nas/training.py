"""Training networks: data on the device, augmentation in bulk there, the same code on a CPU and on a GPU.

On a CPU everything is float32 and eager, and repeats bit for bit with the same seed and number of threads. On a GPU
images are channels-last, matrix products bfloat16 with float32 weights, normalization and loss (from compute capability
8.0 on, else float32), optimizers fused, and a step is one CUDA graph that also gathers its batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from torch import nn

from bostruct.nas.checkpoints import checkpoint_identity, delete_checkpoint, load_checkpoint, save_checkpoint
from bostruct.nas.data import Dataset
from bostruct.nas.device_data import on_device
from bostruct.nas.devices import STREAMS, CaptureFailed, DeviceContext
from bostruct.nas.outcomes import (
    Epoch,
    OutOfMemory,
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
from bostruct.nas.steps import Batches, Scoring, make_optimizer, make_step, set_rate, to_channels_last

ONE_VALUE_MESSAGE = "Expected more than 1 value per channel when training"  # torch, of batch normalization


@dataclass
class TrainingState:
    """The state of a training that a checkpoint holds: the network, its optimizer, generator and epochs."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    epochs: list[Epoch] = field(default_factory=list)


NetworkBuilder = Callable[[], nn.Module]
Watch = Callable[[int, Epoch], None]


def train(
    build: NetworkBuilder,
    data: Dataset,
    recipe: Recipe,
    seed: int,
    *,
    device: str = "cpu",
    checkpoint: Path | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Build a network, train it, and score it.

    build: gives the network; called once, under the seed.
    data: the examples to train on and to score with.
    recipe: how the network is trained.
    seed: of initial values, batches and everything else that is random.
    device: ``cpu``, ``cuda`` or ``cuda:<number>``.
    checkpoint: a file that is written after every epoch, from which a training that was killed goes on as if it had not
        been, where data, recipe, seed, kind of device and version of torch are the same; with a failure it is deleted.
    seconds: at most, of this call, looked at after every step of the optimizer and every batch that is scored.
    watch: called with every epoch's number and what it came to.

    Raises TrainingFailed where losses are not finite, memory or time run out, or batch normalization is given one value
    a channel; and what `build`, the network and `watch` raise.
    """
    training = Training(build, data, recipe, seed, device=device, checkpoint=checkpoint, seconds=seconds, watch=watch)
    training.advance(None)
    if isinstance(training.outcome, Trained):
        return training.outcome
    delete_checkpoint(checkpoint)
    assert training.outcome is not None
    raise training.outcome


class Training:
    """One training, a step at a time, so that several can take turns.

    outcome: None until it has ended.
    watching: whether `watch` was being told when it ended.
    deadline: by `time.monotonic`, whoever's turn it was.

    All other arguments are those of `train`. Each training has a stream and random
    numbers of its own: what it comes to does not depend on what happens between its steps.
    """

    context_type: type[DeviceContext] = DeviceContext

    def __init__(
        self,
        build: NetworkBuilder,
        data: Dataset,
        recipe: Recipe,
        seed: int,
        *,
        device: str = "cpu",
        checkpoint: Path | None = None,
        seconds: float | None = None,
        deadline: float = math.inf,
        watch: Watch | None = None,
    ) -> None:
        self.outcome: Trained | TrainingFailed | None = None
        self.watching = False
        self._data, self._recipe, self._checkpoint = data, recipe, checkpoint
        self._longest, self._deadline = math.inf if seconds is None else seconds, deadline
        self._epochs: list[Epoch] = []
        self._spent, self._began = 0.0, math.nan
        self._context = self.context_type(torch.device(device), seed)
        self._work = self._steps(build, seed, watch)

    def advance(self, steps: int | None = 1) -> bool:
        """Do some steps, of the optimizer or of a scoring, and tell whether the training goes on.

        steps: how many, None for all that are left.

        A failure is the outcome. What `build`, the network and `watch` raise is raised here, and ends the training.
        """
        self._began = time.monotonic() - self._spent
        try:
            with self._context.activate():
                while steps is None or steps > 0:
                    next(self._work)
                    if self._seconds() > self._longest or time.monotonic() > self._deadline:
                        raise out_of_time_failure(len(self._epochs))
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
            self.fail(self.outcome)
        return self.outcome is None

    def fail(self, failure: TrainingFailed) -> None:
        """End with this failure, wherever the training is, and let go of everything."""
        self.outcome = failure
        self._work.close()
        self._context.release()

    def close(self) -> None:
        """Let go of everything, wherever it is; a checkpoint stays."""
        self._work.close()

    def _failure(self, error: Exception) -> TrainingFailed | None:
        """Return a new error without the traceback frames of the one raised, which hold device memory.

        Returns None for errors that are not the training's.
        """
        if (failure := out_of_memory_failure(error, self._context)) is not None:
            return failure
        if ONE_VALUE_MESSAGE in str(error):
            return TrainingFailed(
                f"batch normalization was given one value a channel ({str(error).partition(': ')[2]}): images of one "
                f"pixel, or features, need batch_size of at least 2 and as many examples"
            )
        return TrainingFailed(str(error)) if isinstance(error, TrainingFailed | CaptureFailed) else None

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _steps(self, build: NetworkBuilder, seed: int, watch: Watch | None) -> Generator[None, None, None]:
        """Run the whole training with a pause after every step; the network lives here and nowhere else."""
        data, recipe, context, checkpoint = self._data, self._recipe, self._context, self._checkpoint
        run = _begin(build, recipe, seed, context, self._epochs)
        about = {} if checkpoint is None else checkpoint_identity(data, recipe, seed, context.device)
        load_checkpoint(checkpoint, run, about)
        parts = on_device(data, context.device)
        batches = Batches(parts.train, recipe, run.generator)
        step = make_step(run.network, run.optimizer, batches, data.task, recipe, context)
        validation = Scoring(run.network, parts.validation, data.task, recipe, context)
        while len(run.epochs) < recipe.epochs and not is_hopeless(run.epochs, recipe.patience):
            loss = yield from self._epoch(run, batches, step)
            error = yield from validation.steps()
            epoch = Epoch(loss, error)
            if (failure := nonfinite_failure(len(run.epochs), epoch)) is not None:
                raise failure
            run.epochs.append(epoch)
            save_checkpoint(checkpoint, run, about)
            if watch is not None:
                self.watching = True
                watch(len(run.epochs) - 1, run.epochs[-1])
                self.watching = False
        run.network.zero_grad(set_to_none=True)  # gradients are in the graph's memory
        run.network.eval()  # also where a checkpoint held all epochs
        self.outcome = training_result(run.network, run.epochs, data, recipe, context.device, self._seconds())

    def _epoch(self, run: TrainingState, batches: Batches, step: Callable[[], None]) -> Generator[None, None, float]:
        """Pass once over the training examples in a new order, and return the mean loss of the steps."""
        run.network.train()
        batches.reshuffle()
        done = len(run.epochs)
        for position in range(batches.steps):
            set_rate(run.optimizer, self._recipe.rate((done + position / batches.steps) / self._recipe.epochs))
            step()
            yield
        return float(batches.losses.mean())


def train_together(
    builds: Sequence[NetworkBuilder],
    data: Dataset,
    recipe: Recipe,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    checkpoints: Sequence[Path | None] | None = None,
    seconds: float | None = None,
    deadline: float = math.inf,
    all_or_none: bool = False,
    watch: Callable[[int, int, Epoch], None] | None = None,
) -> list[Trained | TrainingFailed]:
    """Run several trainings that take turns after every step: on a GPU side by side, each on a stream of its own.

    builds, seeds, checkpoints: one each a training, as of `train`.
    data, recipe, device: as of `train`.
    seconds: at most, of a training's own turns.
    deadline: of all of them, by `time.monotonic`.
    all_or_none: where one fails, for another reason than memory, the others are `Stopped`.
    watch: called with the number of the training, the number of the epoch, and what it came to.

    A training that fails fails alone, and its failure is in its place, also where `build` or the network raised it (a
    wrong shape); one that runs out of memory is tried once more when the others have ended. What `watch` raises is the
    caller's: it is raised here and ends all. On a CPU every result is, bit for bit, that of `train`, and nothing is
    gained. Raises ValueError where numbers differ, or for more trainings than a GPU has streams, 32.
    """
    files = [None] * len(builds) if checkpoints is None else list(checkpoints)
    _check_training_counts(len(builds), len(seeds), len(files), device)

    def begin(member: int) -> Training:
        told = None if watch is None else partial(watch, member)
        return Training(
            builds[member], data, recipe, seeds[member],
            device=device, checkpoint=files[member], seconds=seconds, deadline=deadline, watch=told,
        )  # fmt: skip

    trainings = [begin(member) for member in range(len(builds))]
    _take_turns(trainings, all_or_none)
    outcomes = [training.outcome for training in trainings]
    trainings.clear()  # their streams can be taken again
    for member, file in enumerate(files):
        if isinstance(outcomes[member], OutOfMemory) and len(outcomes) > 1:
            _take_turns([again := begin(member)], all_or_none)
            outcomes[member] = again.outcome
        if isinstance(outcomes[member], TrainingFailed):
            delete_checkpoint(file)
    return outcomes  # type: ignore[return-value]


def _check_training_counts(builds: int, seeds: int, files: int, device: str) -> None:
    """Raise ValueError where the numbers of trainings differ, or are more than a GPU has streams."""
    if not builds == seeds == files:
        raise ValueError(f"builds, seeds, checkpoints: expected as many of each, got {builds}, {seeds} and {files}")
    if torch.device(device).type == "cuda" and builds > STREAMS:
        raise ValueError(f"builds: expected at most {STREAMS}, as many as torch has streams on a GPU, got {builds}")


def _take_turns(trainings: Sequence[Training], all_or_none: bool) -> None:
    """Do a step of each training until all have ended; where `watch` raises, all end."""
    going = list(trainings)
    try:
        while going:
            going = [training for training in going if _advance_or_fail(training)]
            if all_or_none and any(_has_failed(training) for training in trainings):
                for training in going:
                    training.fail(Stopped("another training has failed"))
                going = []
    finally:
        for training in going:
            training.close()


def _advance_or_fail(training: Training) -> bool:
    """Do a step and tell whether the training goes on; an error is its failure, unless it comes from `watch`."""
    try:
        return training.advance()
    except Exception as error:
        if training.watching:
            raise
        reason = f"{type(error).__name__}: {error}"
    training.fail(TrainingFailed(reason))  # outside: the error's frames hold what is on the device
    return False


def _has_failed(training: Training) -> bool:
    """Tell whether a training failed, but not of memory, of which there may be more when others have ended."""
    return isinstance(training.outcome, TrainingFailed) and not isinstance(training.outcome, OutOfMemory)


def _begin(
    build: NetworkBuilder, recipe: Recipe, seed: int, context: DeviceContext, epochs: list[Epoch]
) -> TrainingState:
    device = context.device
    network = build().to(device)
    if context.cuda:
        to_channels_last(network)
    optimizer = make_optimizer(list(network.parameters()), recipe, context)
    return TrainingState(network, optimizer, torch.Generator(device).manual_seed(seed), epochs)
