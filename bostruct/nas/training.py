"""Training networks: data and augmentation on the device, the same code on a CPU and on a GPU.

`train` and `train_together` are the entry points. `run_trainings` runs one or several trainings from start to result,
and `Training` has the operations of a single training. `RoundRobin` schedules the turns: within a turn errors are
raised as usual; at its end they become the failure of that training. A step of the optimizer is in `steps.py`,
device-specific code in `devices.py`.

On a CPU everything is float32 and eager, and reproducible bit for bit with the same seed and number of threads. On a
GPU images are channels-last, matrix products bfloat16 with float32 weights, normalization and loss, optimizers fused,
and a step is one CUDA graph that also gathers its batch. Without graphs (`DeviceContext`) each step runs eagerly.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from bostruct.nas.checkpoints import (
    TrainingState,
    checkpoint_identity,
    delete_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from bostruct.nas.data import Dataset
from bostruct.nas.devices import DeviceContext, MemoryPeak, on_device
from bostruct.nas.outcomes import (
    Epoch,
    NotCaptured,
    OutOfMemory,
    Scoring,
    Stopped,
    Trained,
    TrainingFailed,
    describe_failure,
    is_hopeless,
    nonfinite_failure,
    out_of_time_failure,
    scoring_batches,
    training_result,
)
from bostruct.nas.recipes import Recipe
from bostruct.nas.steps import Batches, count_steps, make_optimizer, make_step, set_rate, to_channels_last

STEPS_QUEUED = 50  # maximum number of queued steps on a GPU before its clock is read
R = TypeVar("R")
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

    Parameters
    ----------
    build : callable
        Returns the network. It is called once, after seeding.
    data : Dataset
        The examples.
    recipe : Recipe
        How the network is trained.
    seed : int
        Random seed of initial values, batches and everything else.
    device : str, default "cpu"
        "cpu", "cuda" or "cuda:<number>".
    checkpoint : Path, optional
        A file written after every epoch, from which a killed training resumes exactly if data, recipe, seed, kind of
        device and version of torch are the same. It is deleted at a failure.
    seconds : float, optional
        Time limit of this call, checked after every step of the optimizer and every scored batch.
    watch : callable, optional
        Called with the number of each epoch and its figures.

    Returns
    -------
    Trained
        The network with its errors.

    Raises
    ------
    TrainingFailed
        If a loss is not finite, memory or time run out, or batch normalization gets one value for a channel. Errors of
        `build`, the network and `watch` are raised as they are.
    """
    job = TrainingJob(build, seed, checkpoint, watch)
    outcome = run_trainings([job], data, recipe, device, seconds=seconds)[0]
    if isinstance(outcome, TrainingFailed):
        delete_checkpoint(checkpoint)
        raise outcome
    return outcome


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
    """Run several trainings that take turns after every step; on a GPU in parallel, each on its own stream.

    A failure, also an error of `build` or the network, does not stop other trainings, and is the training's entry in
    the result. A training that runs out of memory is retried after the others. Errors of `watch` end all trainings. On
    a CPU results equal `train`, bit for bit, without saving time. On a GPU trainings beyond 32 have no graphs.

    Parameters
    ----------
    builds, seeds, checkpoints
        One for each training, see `train`.
    data, recipe, device
        See `train`.
    seconds : float, optional
        Time limit of a training's own turns.
    deadline : float, default inf
        Time limit of all trainings, by `time.monotonic`.
    all_or_none : bool, default False
        Whether a failure other than memory stops the other trainings.
    watch : callable, optional
        Called with the number of the training, the number of the epoch, and the epoch's figures.

    Returns
    -------
    list
        The result or the failure of each training.

    Raises
    ------
    ValueError
        If the numbers of builds, seeds and checkpoints differ.
    """
    files = [None] * len(builds) if checkpoints is None else list(checkpoints)
    if not len(builds) == len(seeds) == len(files):
        given = f"{len(builds)}, {len(seeds)} and {len(files)}"
        raise ValueError(f"builds, seeds, checkpoints: expected equal numbers, got {given}")
    watches = [None if watch is None else partial(watch, number) for number in range(len(builds))]
    jobs = [TrainingJob(*one) for one in zip(builds, seeds, files, watches, strict=True)]
    rules: dict[str, Any] = {"seconds": seconds, "deadline": deadline, "fails_alone": True, "all_or_none": all_or_none}
    outcomes = run_trainings(jobs, data, recipe, device, **rules)
    for number, job in enumerate(jobs):
        if isinstance(outcomes[number], OutOfMemory) and len(jobs) > 1:
            # the streams and the memory of the others are free now
            outcomes[number] = run_trainings([job], data, recipe, device, **rules)[0]
        if isinstance(outcomes[number], TrainingFailed):
            delete_checkpoint(job.checkpoint)
    return outcomes


@dataclass(frozen=True)
class TrainingJob:
    """The individual settings of one of several trainings.

    checkpoint: checkpoint file of the training, if any.
    """

    build: NetworkBuilder
    seed: int
    checkpoint: Path | None = None
    watch: Watch | None = None


def run_trainings(
    jobs: Sequence[TrainingJob],
    data: Dataset,
    recipe: Recipe,
    device: str,
    *,
    seconds: float | None = None,
    deadline: float = math.inf,
    fails_alone: bool = False,
    all_or_none: bool = False,
    with_graphs: bool = True,
) -> list[Trained | TrainingFailed]:
    """Run trainings from start to end, step by step in turns, and return their results or failures.

    recipe: recipe of all trainings, whose epochs have the same number of steps.
    device: ``cpu``, ``cuda`` or ``cuda:<number>``.

    A training whose step cannot be captured restarts without graphs, or resumes from its checkpoint, with a warning;
    `watch` is called again for its epochs. Raises the errors of `watch`, and unless `fails_alone` is True also the
    errors of networks and their builders.
    """
    longest = math.inf if seconds is None else seconds
    context = partial(DeviceContext, torch.device(device), with_graphs=with_graphs)
    members = [TrainingContext(context(job.seed), Clock(longest, deadline)) for job in jobs]
    steps = count_steps(len(data.train), recipe)
    scored = scoring_batches(len(data.validation), recipe).number
    group = RoundRobin(members, fails_alone=fails_alone, all_or_none=all_or_none)
    peak = MemoryPeak(torch.device(device))
    try:
        group.begin(lambda number: Training(jobs[number], data, recipe, *members[number]))
        group.finish()  # trainings whose checkpoint had all epochs
        while group.running:
            for position in range(steps):
                group.each(partial(Training.train_batch, position=position))
                if (position + 1) % STEPS_QUEUED == 0 or position + 1 == steps:
                    group.wait()
            for position in range(scored):
                group.each(partial(Training.score_batch, position=position))
            group.wait()
            group.each(Training.end_epoch, then=Training.report_epoch)
            group.finish()
    finally:
        group.close()
    outcomes = [group.outcomes[number] for number in range(len(jobs))]
    if all(isinstance(one, Trained) for one in outcomes):
        peak.record()
    elif any(isinstance(one, OutOfMemory) for one in outcomes) and not peak.still_fits():
        lost = TrainingFailed(
            f"the memory of {device} does not recover: caches are empty, and trainings that fitted before do not fit"
        )
        return [lost if isinstance(one, OutOfMemory) else one for one in outcomes]
    again = [number for number, one in enumerate(outcomes) if isinstance(one, NotCaptured)]
    if again:
        warnings.warn(f"trained without CUDA graphs, which is slower: {outcomes[again[0]]}", stacklevel=3)
        rules = {"deadline": deadline, "fails_alone": fails_alone, "all_or_none": all_or_none, "with_graphs": False}
        redone = run_trainings([jobs[n] for n in again], data, recipe, device, seconds=seconds, **rules)
        for number, outcome in zip(again, redone, strict=True):
            outcomes[number] = outcome
    return outcomes


class Training:
    """One network in training, with its state on the device.

    `run_trainings` calls its methods in order, each within a turn: the context is active, and the clock is running.
    The result does not depend on what happens between its turns.

    The constructor, in the first turn, builds the network, restores the checkpoint, if any, and moves the data. Raises
    the errors of the builder.
    """

    def __init__(self, job: TrainingJob, data: Dataset, recipe: Recipe, context: DeviceContext, clock: Clock) -> None:
        self._job, self._data, self._recipe, self._device, self._clock = job, data, recipe, context.device, clock
        network = job.build().to(context.device)
        if context.cuda:
            to_channels_last(network)
        optimizer = make_optimizer(list(network.parameters()), recipe, context)
        generator = torch.Generator(context.device).manual_seed(job.seed)
        self._state = TrainingState(network, optimizer, generator)
        self._about = {} if job.checkpoint is None else checkpoint_identity(data, recipe, job.seed, context.device)
        load_checkpoint(job.checkpoint, self._state, self._about)
        parts = on_device(data, context.device)
        self._batches = Batches(parts.train, recipe, generator)
        self._step = make_step(network, optimizer, self._batches, data.task, recipe, context)
        self._scoring = Scoring(network, parts.validation, data.task, recipe, context)
        self._loss = math.nan  # loss of the epoch, once all its steps are done

    def train_batch(self, position: int) -> None:
        """Do a step of the optimizer; the first step of an epoch draws the order of the examples.

        position: position of the step in the epoch, from 0.

        Raises TrainingFailed if there is no time left.
        """
        if position == 0:
            self._state.network.train()
            self._batches.reshuffle()
        progress = (len(self._state.epochs) + position / self._batches.steps) / self._recipe.epochs
        set_rate(self._state.optimizer, self._recipe.rate(progress))
        self._step()
        self._check_time()

    def score_batch(self, position: int) -> None:
        """Score the network on a batch of the validation examples; the first call reads the loss of the epoch.

        position: position of the batch, from 0.

        Raises TrainingFailed if there is no time left.
        """
        if position == 0:
            self._loss = float(self._batches.losses.mean())
            self._scoring.begin()
        self._scoring.add_batch(position)
        self._check_time()

    def end_epoch(self) -> None:
        """Record loss and error of the epoch, and write the checkpoint; raise TrainingFailed if they are not finite."""
        epochs, epoch = self._state.epochs, Epoch(self._loss, self._scoring.end())
        if (failure := nonfinite_failure(len(epochs), epoch)) is not None:
            raise failure
        epochs.append(epoch)
        save_checkpoint(self._job.checkpoint, self._state, self._about)

    def report_epoch(self) -> None:
        """Report the last epoch to `watch`."""
        if self._job.watch is not None:
            self._job.watch(len(self._state.epochs) - 1, self._state.epochs[-1])

    def has_ended(self) -> bool:
        """Return whether all epochs are done, or patience is exhausted."""
        epochs = self._state.epochs
        return len(epochs) >= self._recipe.epochs or is_hopeless(epochs, self._recipe.patience)

    def result(self) -> Trained:
        """Return the trained network, in evaluation mode, and its epochs."""
        network = self._state.network
        network.zero_grad(set_to_none=True)  # gradients are in the graph's memory
        network.eval()  # also if a checkpoint had all epochs
        seconds = self._clock.seconds()
        return training_result(network, self._state.epochs, self._data, self._recipe, self._device, seconds)

    def close(self) -> None:
        """Put the network into evaluation mode, even during a scoring."""
        self._scoring.close()

    def _check_time(self) -> None:
        if self._clock.is_late():
            raise out_of_time_failure(len(self._state.epochs))


class Clock:
    """The time of one training: its own turns, and the common deadline.

    longest: time limit of its own turns in seconds.
    """

    def __init__(self, longest: float = math.inf, deadline: float = math.inf) -> None:
        self._longest, self._deadline = longest, deadline
        self._spent, self._started = 0.0, monotonic()

    @contextmanager
    def run(self) -> Iterator[None]:
        """Count the time of the block."""
        self._started = monotonic() - self._spent
        try:
            yield
        finally:
            self._spent = self.seconds()

    def charge(self, seconds: float) -> None:
        """Add seconds that no turn has counted; call it while the clock is stopped."""
        self._spent += seconds

    def seconds(self) -> float:
        """Return the seconds of all turns up to now; call it while the clock runs."""
        return monotonic() - self._started

    def is_late(self) -> bool:
        """Return whether there is no time left; call it while the clock runs."""
        return self.seconds() > self._longest or monotonic() > self._deadline


class TrainingContext(NamedTuple):
    """The device and the clock of one training that takes turns."""

    context: DeviceContext
    clock: Clock


class RoundRobin:
    """Trainings that take turns until all have ended.

    Its attributes are `running`, the running trainings, and `outcomes`, the outcomes of ended trainings, by number.
    """

    def __init__(self, members: Sequence[TrainingContext], *, fails_alone: bool, all_or_none: bool) -> None:
        self._members, self._fails_alone, self._all_or_none = members, fails_alone, all_or_none
        self.running: dict[int, Training] = {}
        self.outcomes: dict[int, Trained | TrainingFailed] = {}

    def begin(self, make: Callable[[int], Training]) -> None:
        """Start all trainings, each in its turn."""
        for number in range(len(self._members)):
            started = self._take_turn(number, partial(make, number))
            if isinstance(started, TrainingFailed):
                self._end(number, started)
            else:
                self.running[number] = started
            del started  # only `running` has a reference
        self._stop_others()

    def each(self, act: Callable[[Training], None], then: Callable[[Training], None] | None = None) -> None:
        """Give every running training a turn."""
        for number in list(self.running):
            failure = self._take_turn(number, partial(act, self.running[number]))
            if failure is not None:
                self._end(number, failure)
            elif then is not None:
                with self._activate(number):
                    then(self.running[number])
        self._stop_others()

    def wait(self) -> None:
        """Wait until the device has finished all queued steps; the running trainings share the time equally.

        So a time limit counts work and not launches, and no training is charged for the queue of the others.
        """
        waiting = [self._members[number] for number in self.running]
        if waiting and waiting[0].context.cuda:
            started = monotonic()
            with suppress(RuntimeError):  # an error of the device is raised, and recorded, in the next turn
                waiting[0].context.synchronize()
            for one in waiting:
                one.clock.charge((monotonic() - started) / len(waiting))

    def finish(self) -> None:
        """End the completed trainings."""
        for number in [number for number, training in self.running.items() if training.has_ended()]:
            self._end(number, self._take_turn(number, self.running[number].result))
        self._stop_others()

    def close(self) -> None:
        """Abandon all running trainings, without outcomes."""
        for training in self.running.values():
            training.close()
        self.running.clear()

    @contextmanager
    def _activate(self, number: int) -> Iterator[None]:
        context, clock = self._members[number]
        with clock.run(), context.activate():
            yield

    def _take_turn(self, number: int, act: Callable[[], R]) -> R | TrainingFailed:
        """Act in a training's turn; a failure has no frames of its error, because they keep device memory alive."""
        try:
            with self._activate(number):
                return act()
        except Exception as error:
            failure = describe_failure(error, self._members[number].context)
            if failure is None and not self._fails_alone:
                raise
            return failure or TrainingFailed(f"{type(error).__name__}: {error}")

    def _end(self, number: int, outcome: Trained | TrainingFailed) -> None:
        """Record an outcome and delete the training; the device memory of a failed training is released."""
        self.outcomes[number] = outcome
        if number in self.running:
            self.running[number].close()
            del self.running[number]  # the last reference: frees its graphs and tensors before memory is released
        if isinstance(outcome, TrainingFailed):
            self._members[number].context.release()

    def _stop_others(self) -> None:
        """Stop all other trainings after a permanent failure, if `all_or_none` is True."""
        failures = [one for one in self.outcomes.values() if isinstance(one, TrainingFailed)]
        if self._all_or_none and any(not isinstance(one, OutOfMemory | NotCaptured) for one in failures):
            for number in list(self.running):
                self._end(number, Stopped("another training has failed"))
