"""Values that an objective reports on its way, and the end of an evaluation that a rule stops.

Imported by worker processes before they do anything, hence light.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from bostruct.checks import check_integer
from bostruct.outcome import Outcome, as_number

MAX_STEP = 2**53
MAX_REPORTS = 1000  # that are kept of a trial

Judge = Callable[[int, float], bool]  # of one trial: called at each report with step and value, true where to stop


class TrialStopped(BaseException):
    """The end of an evaluation that `report` stopped; it is no `Exception`, so that ``except Exception`` lets it pass.

    An objective may clean up in ``finally``, and must not swallow it.
    """


class WatchedPoint(NamedTuple):
    """A point, and who decides at each report whether its evaluation goes on.

    point: as the objective receives it.
    judge: called with each step and value in turn, and true where the evaluation is to stop; None for never.
    sign: by which values are multiplied for the judge, 1.0 or -1.0: it takes values to be minimized.
    """

    point: object
    judge: Judge | None = None
    sign: float = 1.0


class Reporter:
    """The reports of one evaluation, as `report` hands them over.

    judge, sign: as of `WatchedPoint`.
    """

    def __init__(self, judge: Judge | None = None, sign: float = 1.0) -> None:
        self.outcome: Outcome | None = None  # of an evaluation that was stopped
        self.stopped_at: int | None = None  # the step at which the judge stopped it
        self._judge = judge
        self._sign = sign
        self._kept: list[tuple[int, float]] = []
        self._last: tuple[int, float] | None = None
        self._digits = MAX_STEP.bit_length()  # binary ones of a step that tell reports apart

    @property
    def reports(self) -> tuple[tuple[int, float], ...]:
        """The steps and values reported, ascending by step, at most `MAX_REPORTS`, the last one included.

        Of more, the first one is kept of each cell of a grid of steps. Cells are 1 wide up to some power of 2, and
        twice as wide from each further one on. So early steps stay close together, and the first report at or above a
        power of 2 is always among those kept.
        """
        return (*self._kept, *(() if self._last is None or self._last_is_kept else (self._last,)))

    @property
    def _last_is_kept(self) -> bool:
        return self._kept[-1] == self._last

    def take(self, step: int, value: object) -> None:
        """Keep a report; raise TrialStopped where the evaluation is to end, and for every report after that.

        step: an integer from 0, larger than the last one.
        value: a number. One that is not finite ends the evaluation, which fails.

        Raises TypeError, and ValueError for a step that does not ascend.
        """
        if self.outcome is not None:
            raise TrialStopped("the evaluation was stopped at an earlier report")
        step, number = check_integer("step", step, 0, MAX_STEP), as_number("value", value)
        if self._last is not None and step <= self._last[0]:
            raise ValueError(f"step: expected one above {self._last[0]}, which was reported before, got {step}")
        if not math.isfinite(number):
            self.outcome = Outcome(failed=f"objective reported {number} at step {step}")
            raise TrialStopped(self.outcome.failed)
        self._keep(step, number)
        if self._judge is not None and self._judge(step, self._sign * number):
            self.outcome, self.stopped_at = Outcome((number,)), step
            raise TrialStopped(f"stopped at step {step}")

    def _keep(self, step: int, number: float) -> None:
        self._last = step, number
        if not self._kept or self._cell(step) != self._cell(self._kept[-1][0]):
            self._kept.append(self._last)
        while len(self._kept) + (not self._last_is_kept) > MAX_REPORTS:
            self._digits -= 1
            first = {self._cell(one[0]): one for one in reversed(self._kept)}
            self._kept = sorted(first.values())

    def _cell(self, step: int) -> tuple[int, int]:
        """Return the binary exponent of the width of a step's cell, and its leading digits."""
        exponent = max(0, step.bit_length() - self._digits)
        return exponent, step >> exponent


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


def report(step: int, value: object) -> None:
    """Report what a running objective has reached so far; a `stopping_rule` may end the evaluation here.

    Call it in an objective that `optimize` or `minimize` evaluates, in the thread that evaluates it. Where the rule
    stops the trial, this raises an exception that is no `Exception`: let it pass. The trial then completes with this
    value. Reports are on record in ``trial.info["reports"]``, up to 1,000 of them, early ones at
    shorter distances.

    step: the step reached, such as an epoch: an integer from 0, larger than the last one.
    value: of the objective at this step, in the user's direction. NaN and infinities end the evaluation as a failure.

    Anywhere else nothing is recorded, and a warning says so. Raises TypeError for what is not a number, and ValueError
    for a step that does not ascend.
    """
    reporter = _reporter.get()
    if reporter is None:
        message = "bostruct.report: nothing is recorded, since no study evaluates an objective in this thread"
        warnings.warn(message, stacklevel=2)
        return
    reporter.take(step, value)


@contextmanager
def receive_reports(judge: Judge | None, sign: float) -> Iterator[Reporter]:
    """Receive what `report` is told inside.

    judge, sign: as of `WatchedPoint`.
    """
    reporter = Reporter(judge, sign)
    token = _reporter.set(reporter)
    try:
        yield reporter
    finally:
        _reporter.reset(token)
