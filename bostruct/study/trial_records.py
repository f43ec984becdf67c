"""The trials of a study in memory, and the history that they form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import SupportsIndex

from bostruct.checks import check_integer, short_repr
from bostruct.contracts import Domain, Point, Presented
from bostruct.execution.interrupts import make_lock
from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome
from bostruct.storage.protocol import TrialRow
from bostruct.study.history import MACHINE, BatchBuffer, History, Measurements, Trial, is_extra
from bostruct.study.point_forms import Kept, PointForm, PointStore, find_moved_numbers
from bostruct.study.records import DeferredTrial

_creating = make_lock()


@dataclass(slots=True)
class Record:
    """One trial and its data in a table.

    made: the trial; a completed trial of a file is created when it is first read.
    kept: representation of its point, by `PointForm.keep`; None if it is unreadable.
    outcome: the whole outcome, whose value and reason are fields of the trial; None while it runs.
    text: the point as stored, JSON text, of a trial that was read; None for the domain's encoding.
    position: its position in the order of completion; None while it runs.
    """

    made: Trial | DeferredTrial
    kept: Kept
    attempts: int
    outcome: Outcome | None = None
    text: str | None = None
    earlier: frozenset[float] = frozenset()
    position: int | None = None
    owner: str | None = None
    open: frozenset[float | None] = frozenset()

    @property
    def trial(self) -> Trial:
        """The trial, created on first access."""
        if isinstance(self.made, Trial):
            return self.made
        with _creating:  # all threads receive the same
            if isinstance(self.made, DeferredTrial):
                self.made = self.made.create()
            return self.made

    @property
    def is_completed(self) -> bool:
        """True if the trial has values."""
        return self.outcome is not None and bool(self.outcome.values)


class TrialRecords:
    """Trials by number, with their points in the domain's form."""

    def __init__(self, domain: Domain, goals: Goals) -> None:
        self.goals = goals
        self.order: list[int] = []  # numbers, in the order observed
        self.incumbent: Trial | None = None
        self.n_added = 0
        self.in_flight: dict[int, float] = {}  # start times of this object's unfinished trials, by number
        self._domain = domain
        self._form = PointForm(domain)
        self._records: list[Record] = []  # by number
        self._running: set[int] = set()
        self._next_position = 0  # position of the next completed trial
        self._seen: set[Hashable] = set()
        self._shares_seen = False  # True while a searcher uses the set of keys, which must not change then
        self._measurements = Measurements(goals)  # in the order observed
        self._completed = BatchBuffer(domain, self._form.join)
        self._failed = BatchBuffer(domain, self._form.join)

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self._records)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return tuple(record.trial for record in self._records)

    def iterate_back(self) -> Iterator[Trial]:
        """Yield the trials, latest first."""
        return (record.trial for record in reversed(self._records))

    @property
    def points(self) -> PointStore:
        """The points of all trials, by number."""
        return PointStore(self._form, tuple(record.kept for record in self._records))

    @property
    def outcomes(self) -> tuple[Outcome | None, ...]:
        """The outcomes of all trials, by number; None while they run."""
        return tuple(record.outcome for record in self._records)

    @property
    def evaluated(self) -> list[int]:
        """The numbers of the running trials that any writer has started, ascending."""
        return sorted(number for number in self._running if not self._is_waiting(number))

    def seen(self, x: Point) -> bool:
        return self._domain.key(x) in self._seen

    def fresh_point(self, number: int) -> Point:
        """Return a new copy of the point for the user."""
        return self._domain.present(self._form.restore(self._records[number].kept))

    def history(self) -> History:
        """Return the history that a searcher may see, without rebuilding it."""
        running = self._form.join([self._records[number].kept for number in sorted(self._running)])
        self._shares_seen = True
        values, objectives, violations, variances = self._measurements.read()
        completed = partial(self._completed.read, len(values))
        batches = (running, self._failed.read(), self._seen)
        return History(completed, values, *batches, objectives, violations, variances)

    def completed_number(self, position: int) -> int:
        """Return the number of the trial at a position among the completed points of `history`.

        position: from 0.
        """
        records = (self._records[number] for number in self.order)
        completed = (one.made.number for one in records if one.is_completed and one.made.unread is None)
        return next(islice(completed, int(position), None))

    def number(self, trial: Trial | int) -> int:
        """Return the number of a trial; raise ValueError for a trial of another study, TypeError for another object."""
        if not isinstance(trial, Trial | SupportsIndex):
            hint = "; add takes a point" if isinstance(trial, Mapping) else ""
            raise TypeError(f"trial: expected a Trial or its number, got {short_repr(trial)}{hint}")
        number = trial.number if isinstance(trial, Trial) else check_integer("trial", trial, 0)
        if not 0 <= number < len(self):
            numbers = f"0 to {len(self) - 1}" if len(self) else "none so far"
            raise ValueError(f"trial: expected a trial of the study, {numbers}; got number {number}")
        record = self._records[number]
        starts = {record.trial.started, *record.earlier}  # not points, which users modify and studies share
        if isinstance(trial, Trial) and record.trial.unread is None and trial.started not in starts:
            raise ValueError(
                f"trial: expected a trial of this study, whose trial {number} started at another time; if it is the "
                "same trial, pass its number"
            )
        return number

    def identify(self, trial: object) -> tuple[int, float]:
        """Return the number and start time of a trial; raises the errors of `number`, and TypeError for a number."""
        if not isinstance(trial, Trial):
            raise TypeError(f"trials: expected trials as `ask` returned them, got {short_repr(trial)}")
        return self.number(trial), trial.started

    def running(self, trial: Trial | int) -> int:
        """Return the number of a running trial; raise ValueError if it is not running."""
        number = self.number(trial)
        self._check_readable(number)
        begun = trial.started if isinstance(trial, Trial) else self.in_flight.get(number)
        self._check_tellable(number, begun)
        if begun not in self._records[number].open and number in self.in_flight and self.in_flight[number] != begun:
            raise ValueError(
                f"trial: expected an unfinished trial, but trial {number} was told and has been started again; pass "
                "its number for the new evaluation"
            )
        return number

    def _check_tellable(self, number: int, begun: float | None) -> None:
        """Raise ValueError if a trial has finished, unless the caller started it at this time and has not told it."""
        record = self._records[number]
        if number not in self._running and begun not in record.open:
            raise ValueError(
                f"trial: expected a running trial, but trial {number} is already {record.trial.status}; study.add "
                "records another evaluation of a point"
            )

    def trial(self, number: int) -> Trial:
        return self._records[number].trial

    def check_requeueable(self, trial: Trial | int) -> int:
        """Return the number of a running or failed trial; raise ValueError for any other, and for an added one."""
        number = self.number(trial)
        self._check_readable(number)
        known = self._records[number].trial
        if known.status not in ("running", "failed") or known.is_extra:
            extra = "and was added" if known.origin == "added" else "and a double"
            kind = f"{known.status}, {extra}" if known.is_extra else known.status
            raise ValueError(f"trial: expected a running or failed trial, but trial {number} is {kind}")
        return number

    def _check_readable(self, number: int) -> None:
        if (why := self._records[number].trial.unread) is not None:
            raise ValueError(f"trial: expected a trial in the study's space, but trial {number} is not: {why}")

    def _is_waiting(self, number: int) -> bool:
        """Return whether a running trial is queued."""
        return number in self._running and number not in self.in_flight and self._records[number].owner is None

    @property
    def waiting(self) -> list[int]:
        """The numbers of the waiting trials, ascending."""
        return sorted(number for number in self._running if self._is_waiting(number))

    def _find_waiting(self, missing: Callable[[], int] | None = None) -> int | None:
        """Return the first waiting trial; None if there is none, or only trials deferred by a machine failure."""
        waiting = self.waiting
        given_back = {number: self._records[number].trial.info.get(MACHINE) for number in waiting}
        n_completed = self.n_completed if any(given_back.values()) else 0
        # deferred until another trial completes, which shows that the machine works
        deferred = [number for number, blamed in given_back.items() if blamed and blamed["completed"] >= n_completed]
        if len(deferred) < len(waiting):
            return min(given_back.keys() - set(deferred))
        return deferred[0] if deferred and missing is not None and missing() <= len(deferred) else None

    @property
    def n_completed(self) -> int:
        """The number of trials that were asked for and have completed."""
        return sum(record.is_completed and not is_extra(record.made.info) for record in self._records)

    def _find_other_numbers(self, x: Point, shown: Presented, same: Sequence[Trial]) -> int | None:
        """Return the first trial of the same point that shows other numbers; None if there is none.

        same: further trials of the point.
        """
        key, records = self._domain.key(x), self._records if self.seen(x) else ()
        readable = (one for one in records if one.made.unread is None)
        found = chain((one.trial for one in readable if self._form.key(one.kept) == key), same)
        return next((one.number for one in found if find_moved_numbers(shown, one.point)), None)

    def _enter(self, trial: Trial | DeferredTrial, kept: Kept, row: TrialRow, text: str | None = None) -> None:
        if isinstance(trial, DeferredTrial) and (row.outcome is None or not row.outcome.values):
            trial = trial.create()  # because it may change
        self._records.append(Record(trial, kept, row.attempts, text=text, owner=row.owner))
        if trial.unread is not None:
            return
        if row.outcome is None:
            self._running.add(trial.number)
        if self._shares_seen:
            self._seen, self._shares_seen = set(self._seen), False
        self._seen.add(self._form.key(kept))

    def _close(self, trial: Trial | DeferredTrial, outcome: Outcome | None, position: int | None) -> None:
        record = self._records[trial.number]
        assert outcome is not None  # the trial has finished
        assert position is not None
        if broken := self.goals.limits and self.goals.find_broken(outcome):
            trial = replace(trial if isinstance(trial, Trial) else trial.create(), broken=broken)
        record.made, record.outcome, record.position, record.owner = trial, outcome, position, None
        self._next_position = position + 1
        self.order.append(trial.number)
        self.n_added += is_extra(trial.info)
        self._running.discard(trial.number)
        if trial.unread is not None:
            return
        if not outcome.values:
            if not record.trial.is_no_data:
                self._failed.append(record.kept)
            return
        self._completed.append(record.kept)
        self._measurements.append(outcome)
        if self.goals.n_objectives > 1 or broken:
            return
        best, is_maximized = self.incumbent, self.goals.directions[0] == "maximize"
        if best is None or (outcome.values > best.values if is_maximized else outcome.values < best.values):
            self.incumbent = record.trial

    def _reopen(self, record: Record) -> None:
        """Set a trial to running again; the reason of its failure is kept."""
        trial = record.trial
        record.made = replace(trial, status="running", reason=None, finished=None)
        record.outcome = record.position = None
        self.order.remove(trial.number)
        self._running.add(trial.number)
        self._failed = BatchBuffer(self._domain, self._form.join)
        for number in self.order:
            one = self._records[number]
            if not one.is_completed and one.made.unread is None and not one.trial.is_no_data:
                self._failed.append(one.kept)
