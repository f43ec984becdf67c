"""Trainings that take turns: each on its device, by its clock, with an outcome of its own.

Within a turn errors are raised as usual. At its end they are values: the failure of the training whose turn it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

from bostruct.nas.devices import DeviceContext
from bostruct.nas.outcomes import NotCaptured, OutOfMemory, Stopped, Trained, TrainingFailed, describe_failure

T = TypeVar("T")  # a training that takes turns
R = TypeVar("R")


class Clock:
    """The time of one training: that of its own turns, and that of everybody.

    longest: seconds of its own turns.
    deadline: by `time.monotonic`, whoever's turn it is.
    """

    def __init__(self, longest: float = math.inf, deadline: float = math.inf) -> None:
        self._longest, self._deadline = longest, deadline
        self._spent, self._began = 0.0, monotonic()

    @contextmanager
    def run(self) -> Iterator[None]:
        """Count the time meanwhile."""
        self._began = monotonic() - self._spent
        try:
            yield
        finally:
            self._spent = self.seconds()

    def seconds(self) -> float:
        """Return the seconds of all turns up to now; it is called while the clock runs."""
        return monotonic() - self._began

    def is_late(self) -> bool:
        """Tell whether there is no more time; it is called while the clock runs."""
        return self.seconds() > self._longest or monotonic() > self._deadline


class TrainingContext(NamedTuple):
    """The device and the clock of one of the trainings that take turns.

    context: its device, with random numbers, stream and graphs of its own.
    clock: counts its turns.
    """

    context: DeviceContext
    clock: Clock


class TurnTaking(Generic[T]):
    """Trainings that take turns until all have ended.

    members: one for each training, by number.
    close: leaves off a training in the midst of it, its network as a training that has ended leaves it.
    fails_alone: what `begin` and `each` raise in a training's turn is that training's failure, whatever it is; else
        only what `describe_failure` knows, and all other errors are raised.
    all_or_none: where one fails, but not one that may be tried again (`OutOfMemory`, `NotCaptured`), the others are
        `Stopped`.

    It has running, the trainings that go on, and outcomes, of those that have ended, both by number.
    """

    def __init__(
        self,
        members: Sequence[TrainingContext],
        close: Callable[[T], None],
        *,
        fails_alone: bool,
        all_or_none: bool,
    ) -> None:
        self._members, self._close = list(members), close
        self._fails_alone, self._all_or_none = fails_alone, all_or_none
        self.running: dict[int, T] = {}
        self.outcomes: dict[int, Trained | TrainingFailed] = {}

    def begin(self, make: Callable[[int], T]) -> None:
        """Begin all trainings, each in its turn.

        make: gives the training of a number.
        """
        for number in range(len(self._members)):
            self._begin_one(number, make)
        self._stop_others()

    def each(self, act: Callable[[T], None], then: Callable[[T], None] | None = None) -> None:
        """Give every running training a turn.

        act: what it does in its turn.
        then: called in the same turn with a training that goes on; what this raises is the caller's, and raised here.
        """
        for number in list(self.running):
            failure = self._take_turn(number, partial(act, self.running[number]))
            if failure is not None:
                self._end(number, failure)
            elif then is not None:
                with self._activate(number):
                    then(self.running[number])
        self._stop_others()

    def finish(self, has_ended: Callable[[T], bool], result: Callable[[T], Trained]) -> None:
        """End the trainings that have nothing left to do.

        has_ended: tells which.
        result: gives what one has come to.
        """
        for number in [number for number, training in self.running.items() if has_ended(training)]:
            self._end(number, self._take_turn(number, partial(result, self.running[number])))
        self._stop_others()

    def close(self) -> None:
        """Leave off all trainings, wherever they are; they have no outcome."""
        for training in self.running.values():
            self._close(training)
        self.running.clear()

    def _begin_one(self, number: int, make: Callable[[int], T]) -> None:
        begun = self._take_turn(number, partial(make, number))
        if isinstance(begun, TrainingFailed):
            self._end(number, begun)
        else:
            self.running[number] = begun

    @contextmanager
    def _activate(self, number: int) -> Iterator[None]:
        context, clock = self._members[number]
        with clock.run(), context.activate():
            yield

    def _take_turn(self, number: int, act: Callable[[], R]) -> R | TrainingFailed:
        """Do something in a training's turn; a failure has none of the error's frames, which hold device memory."""
        try:
            with self._activate(number):
                return act()
        except Exception as error:
            failure = describe_failure(error, self._members[number].context)
            if failure is None and not self._fails_alone:
                raise
            return failure or TrainingFailed(f"{type(error).__name__}: {error}")

    def _end(self, number: int, outcome: Trained | TrainingFailed) -> None:
        """Note an outcome and let go of the training; what a failed one had on the device is given back."""
        self.outcomes[number] = outcome
        if number in self.running:
            self._close(self.running[number])
            del self.running[number]  # nobody else has it: its graphs and tensors go here, before memory is given back
        if isinstance(outcome, TrainingFailed):
            self._members[number].context.release()

    def _stop_others(self) -> None:
        """Stop all others once one has failed for good, where all are wanted or none."""
        failures = [one for one in self.outcomes.values() if isinstance(one, TrainingFailed)]
        if self._all_or_none and any(not isinstance(one, OutOfMemory | NotCaptured) for one in failures):
            for number in list(self.running):
                self._end(number, Stopped("another training has failed"))
