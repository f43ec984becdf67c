"""The trials of one study, in memory and on disk alike, and the history that they make."""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from bostruct.checks import check_integer, short_repr
from bostruct.contracts import BostructError, Domain, Info, Point, Presented
from bostruct.execution.interrupts import defer_interrupt
from bostruct.outcome import Outcome
from bostruct.storage.json_text import dump
from bostruct.storage.protocol import StorageError, StorageLost, StoredStudy, StudyWriter, TrialRow
from bostruct.study.given_numbers import find_moved_numbers, restore_numbers
from bostruct.study.growing import GrowingBatch
from bostruct.study.history import History, Trial
from bostruct.study.measured import Measurements
from bostruct.study.records import read_goals, read_initial, show_outcome, write_trial
from bostruct.study.space_changes import current_row, is_over, read_trials

MAX_ATTEMPTS = 2
RETRIES = 2  # of a failure that is no fault of the point, unless another number is asked for
OF_ONE_EVALUATION = ("reports", "canceled")  # in the info of a trial, until it is handed out again


@dataclass
class _Record:
    """One trial. point: as the domain holds it; None where it cannot be read. attempts: times handed out, less the
    times taken back in good order. outcome: all of it, of which the trial shows value and reason; None while it runs.
    text: the point as it is stored, JSON text, of a trial that was read; None for the domain's encoding. earlier: times
    at which it was begun before it was handed out again, as far as this process knows.
    """

    trial: Trial
    point: Point
    attempts: int
    outcome: Outcome | None = None
    text: str | None = None
    earlier: set[float] = field(default_factory=set)


class Ledger:
    """Trials by number, with the points that their domain holds; each change is on disk before it is here.

    domain: of the points.
    stored: the study as its storage holds it.
    store: the right to write it, None where it is only read.
    label: of the storage, for messages.

    Raises StorageError, naming the trial, where a point cannot be decoded.
    """

    def __init__(self, domain: Domain, stored: StoredStudy, store: StudyWriter | None, label: str) -> None:
        row = current_row(stored)
        self.order: list[int] = []  # numbers, in the order told
        self.incumbent: Trial | None = None
        self.n_added = 0
        self.name = row.name
        self.label = label
        self.state = row.state  # the searcher's, as JSON text
        self.store = store
        self.is_resumed = bool(stored.trials)  # nothing that this process made has been asked since
        self._made = stored.study
        self.changes = stored.changes
        self._domain = domain
        self.goals = read_goals(row, label)
        self._records: list[_Record] = []  # by number
        self._running: set[int] = set()
        self._queue: list[int] = []  # running trials that the next asks hand out again, ascending
        self._next_position = 0  # the place of the next trial told in the order told
        self._seen: set[Hashable] = set()
        self._measurements = Measurements(self.goals)  # in the order told
        self._completed = GrowingBatch(domain)
        self._failed = GrowingBatch(domain)
        where = f"{label}: study {row.name!r}"
        self._initial = read_initial(row, domain, where) if is_over(row, domain) else []
        for one, found in zip(stored.trials, read_trials(stored, domain, where), strict=True):
            self._enter(found.trial, found.point, one.attempts, found.text)
        for position, told in sorted((one.told, one) for one in stored.trials if one.told is not None):
            self._check_stored(told, where)
            self._close(self._records[told.number].trial, told.outcome, position)

    @property
    def writer(self) -> StudyWriter:
        """The right to write the study; raises BostructError where it is only read."""
        if self.store is None:
            raise BostructError(f"study {self.name!r} was loaded with read_only=True; it cannot be asked or told")
        return self.store

    def __len__(self) -> int:
        """The number of trials."""
        return len(self._records)

    @property
    def first_space(self) -> str:
        """The description of the domain that the study was made with, as JSON text."""
        return self._made.domain

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return tuple(record.trial for record in self._records)

    def requeue_orphans(self) -> None:
        """Queue the trials that an earlier process left running; fail those that it left for the second time."""
        for number in sorted(self._running):
            times = self._records[number].attempts
            if times < MAX_ATTEMPTS:
                self._queue.append(number)
            else:
                self.finish(number, Outcome(failed=f"the process ended {times} times while this trial was running"))

    @contextmanager
    def requeue_on_error(self) -> Iterator[None]:
        """A trial that nobody received, as an interrupt came first, is given back."""
        out = self._running.difference(self._queue)
        try:
            yield
        except BaseException:
            for number in self._running.difference(self._queue, out):
                self.requeue(number)
            raise

    @defer_interrupt
    def ask_again(self) -> Trial | None:
        """The first trial in the queue, handed out once more; None where there is none."""
        if not self._queue:
            return None
        number = self._queue[0]
        record = self._records[number]
        attempts = record.attempts + 1
        trial = replace(record.trial, started=time.time())
        if attempts > 1:
            trial = replace(trial, info=trial.info | {"attempts": attempts})
        self.writer.update(write_trial(trial, None, "", None, attempts))
        record.earlier.add(record.trial.started)
        record.attempts, record.trial = attempts, trial
        self._queue.pop(0)
        return trial

    @defer_interrupt
    def begin(self, x: Point, info: Info, state: str) -> Trial:
        """Enter a new trial, running, and return it.

        x: a point of the domain.
        info: for people, plain JSON.
        state: the searcher's after it, as JSON text.
        """
        trial = Trial(len(self), self._domain.present(x), "running", info=info, started=time.time())
        self.writer.insert(write_trial(trial, None, dump(self._domain.encode(x)), None, 1), state)
        self._enter(trial, x, 1)
        self.state, self.is_resumed = state, False
        return trial

    @defer_interrupt
    def finish(self, number: int, outcome: Outcome, ended: float | None = None, noted: Info | None = None) -> Trial:
        """Record what came of a running trial, and return the trial.

        number: of the trial.
        outcome: of its evaluation.
        ended: seconds since the epoch, None for now.
        noted: what the trial has on record besides, plain JSON.

        Where the file was lost the outcome is kept here, and StorageLost is raised then.
        """
        record = self._records[number]
        trial = _apply_outcome(replace(record.trial, info=record.trial.info | (noted or {})), outcome, ended)
        lost: StorageLost | None = None
        try:
            self.writer.update(write_trial(trial, outcome, "", self._next_position, record.attempts))
        except StorageLost as error:
            lost = error
        self._close(trial, outcome, self._next_position)
        if number in self._queue:
            self._queue.remove(number)
        if lost is not None:
            raise lost
        return record.trial

    @defer_interrupt
    def add(self, x: Point, outcome: Outcome, given: Presented) -> Trial:
        """Enter a trial that was never asked for, with its outcome, and return it.

        x: a point of the domain.
        outcome: of its evaluation.
        given: the point as the user wrote it. Numbers that the domain holds as others are on record, and shown.
        """
        presented = self._domain.present(x)
        info: Info = {"origin": "added"}
        if moved := find_moved_numbers(given, presented):
            info["given"] = moved
        shown = restore_numbers(presented, moved)
        if (other := self._find_other_numbers(x, shown)) is not None:
            info["same_step_as"] = other
        running = Trial(len(self), shown, "running", info=info)
        trial = _apply_outcome(replace(running, started=time.time()), outcome)
        self.writer.insert(write_trial(trial, outcome, dump(self._domain.encode(x)), self._next_position, 1))
        self._enter(trial, x, 1)
        self._close(trial, outcome, self._next_position)
        return self._records[trial.number].trial

    @defer_interrupt
    def requeue(self, number: int) -> None:
        """Give a running trial back, or a failed one another chance.

        number: of a trial that is running or has failed.
        """
        if number in self._queue:
            return
        record = self._records[number]
        if record.trial.status == "failed":
            self._reopen(record)
        else:
            self.writer.take_back(number)
        record.attempts -= 1
        insort(self._queue, number)

    @defer_interrupt
    def retry(self, number: int, reason: str) -> Trial:
        """Give a running trial back whose evaluation failed, and return the trial; that and the reason are on record.

        number: of the trial.
        reason: why its evaluation failed.
        """
        record = self._records[number]
        attempts = record.attempts - (number not in self._queue)
        info = _note_failure(record.trial.info, reason)
        trial = replace(record.trial, info=info | {"retries": count_retries(info) + 1})
        self.writer.update(write_trial(trial, None, "", None, attempts))
        record.trial, record.attempts = trial, attempts
        if number not in self._queue:
            insort(self._queue, number)
        return trial

    @property
    def out(self) -> list[int]:
        """The numbers of the running trials that somebody was handed, ascending."""
        return sorted(self._running.difference(self._queue))

    def export(self) -> StoredStudy:
        """Return the study as a storage holds it, for another one to hold."""
        told = {number: place for place, number in enumerate(self.order)}
        rows = [
            write_trial(one.trial, one.outcome, self._encode(one), told.get(number), one.attempts)
            for number, one in enumerate(self._records)
        ]
        return StoredStudy(self._made._replace(state=self.state), rows, self.changes)

    def _encode(self, record: _Record) -> str:
        return dump(self._domain.encode(record.point)) if record.text is None else record.text

    def _reopen(self, record: _Record) -> None:
        """Back to running, as if it had never been told; what it failed of stays on record."""
        trial = record.trial
        info = _note_failure(trial.info, None if trial.is_canceled else trial.reason)
        trial = replace(trial, status="running", reason=None, finished=None, info=info)
        self.writer.reopen(write_trial(trial, None, "", None, record.attempts - 1))
        record.trial, record.outcome = trial, None
        self.order.remove(trial.number)
        self._running.add(trial.number)
        self._failed.clear()
        for number in self.order:
            one = self._records[number].trial
            if one.status != "completed" and one.unread is None and not one.is_canceled:
                self._failed.append(self._records[number].point)

    def running(self, trial: Trial | int) -> int:
        """Return the number of a running trial; raise ValueError where it is not running.

        trial: or its number.
        """
        number = self.number(trial)
        self._check_readable(number)
        if number not in self._running:
            status = self._records[number].trial.status
            raise ValueError(f"trial: expected a running one, but trial {number} is already {status}")
        return number

    def number(self, trial: Trial | int) -> int:
        """Return the number of a trial of this study; raise ValueError for one of another, TypeError for what is none.

        trial: or its number.
        """
        if isinstance(trial, Mapping):
            raise TypeError(f"trial: expected a Trial or its number, got {short_repr(trial)}; add takes a point")
        number = trial.number if isinstance(trial, Trial) else check_integer("trial", trial, 0)
        if not 0 <= number < len(self):
            held = f"0 to {len(self) - 1}" if len(self) else "none so far"
            raise ValueError(f"trial: expected one of the study's, {held}; got number {number}")
        if isinstance(trial, Trial) and self._is_of_another_study(trial):
            raise ValueError(
                f"trial: expected one of this study, whose trial {number} was begun at another time; if it is the same "
                "trial, give its number"
            )
        return number

    def _check_readable(self, number: int) -> None:
        if (why := self._records[number].trial.unread) is not None:
            raise ValueError(f"trial: expected one in the space of the study, but trial {number} is none: {why}")

    def _is_of_another_study(self, trial: Trial) -> bool:
        """Tell by when it was begun: users may change a point that they were given, and another study may have it."""
        record = self._records[trial.number]
        return trial.started not in {record.trial.started, *record.earlier} and record.trial.unread is None

    def check_requeueable(self, trial: Trial | int) -> int:
        """Return the number of a trial that is running or has failed; raise ValueError for any other, and one added.

        trial: or its number.
        """
        number = self.number(trial)
        self._check_readable(number)
        known = self._records[number].trial
        if known.status not in ("running", "failed") or known.origin == "added":
            kind = f"{known.status}, and was added" if known.origin == "added" else known.status
            raise ValueError(f"trial: expected a running or a failed one, but trial {number} is {kind}")
        return number

    def fresh_point(self, number: int) -> Point:
        """Return the point as the user wrote it, for the user to do with as they like.

        number: of the trial.
        """
        return self._domain.present(self._records[number].point)

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of all trials, by number, as the domain holds them; None for one that it has not."""
        return tuple(record.point for record in self._records)

    @property
    def outcomes(self) -> tuple[Outcome | None, ...]:
        """The outcomes of all trials, by number; None while they run."""
        return tuple(record.outcome for record in self._records)

    def seen(self, x: Point) -> bool:
        return self._domain.key(x) in self._seen

    def next_initial(self) -> Point | None:
        """The first of the user's own points that was never asked nor added; None where there is none left."""
        while self._initial and self.seen(self._initial[0]):
            self._initial.pop(0)
        return self._initial[0] if self._initial else None

    def history(self) -> History:
        """Return what a searcher may see of the trials, without building it anew."""
        running = self._domain.join([self._records[number].point for number in sorted(self._running)])
        told, failed = self._measurements.read()._asdict(), self._failed.read()
        return History(self._completed.read(), running=running, failed=failed, seen=self._seen, **told)

    def completed_number(self, position: int) -> int:
        """Return the number of the trial that has a position among the completed points of `history`.

        position: from 0.
        """
        trials = (self._records[number].trial for number in self.order)
        completed = (one.number for one in trials if one.status == "completed" and one.unread is None)
        return next(islice(completed, int(position), None))

    def _find_other_numbers(self, x: Point, shown: Presented) -> int | None:
        """Return the first trial of the same point whose numbers are others than those shown; None where none is."""
        if not self.seen(x):
            return None
        key, records = self._domain.key(x), enumerate(self._records)
        readable = ((number, one) for number, one in records if one.trial.unread is None)
        same = (number for number, one in readable if self._domain.key(one.point) == key)
        return next((n for n in same if find_moved_numbers(shown, self._records[n].trial.point)), None)

    def _enter(self, trial: Trial, x: Point | None, attempts: int, text: str | None = None) -> None:
        self._records.append(_Record(trial, x, attempts, text=text))
        if trial.unread is not None:
            return
        self._running.add(trial.number)
        self._seen.add(self._domain.key(x))

    def _close(self, trial: Trial, outcome: Outcome | None, told: int) -> None:
        record = self._records[trial.number]
        assert outcome is not None  # of a trial that was told
        trial = replace(trial, broken=self.goals.find_broken(outcome))
        record.trial, record.outcome = trial, outcome
        self._next_position = told + 1
        self.order.append(trial.number)
        self.n_added += trial.origin == "added"
        self._running.discard(trial.number)
        if trial.unread is not None:
            return
        if trial.status != "completed":
            if not trial.is_canceled:
                self._failed.append(record.point)
            return
        self._completed.append(record.point)
        self._measurements.append(outcome)
        if self.goals.n_objectives == 1 and trial.is_feasible and self._is_better(trial, self.incumbent):
            self.incumbent = trial

    def _is_better(self, trial: Trial, than: Trial | None) -> bool:
        """Tell whether a completed trial has a better value than another."""
        return than is None or self.goals.orient(trial.values) < self.goals.orient(than.values)

    def _check_stored(self, row: TrialRow, where: str) -> None:
        """Raise StorageError for an outcome that the goals of the study do not allow."""
        try:
            self.goals.check_stored(row.outcome or Outcome(failed="running"))
        except (TypeError, ValueError) as error:
            raise StorageError(f"{where}: trial {row.number} cannot be read: {error}") from error


def count_retries(info: Info) -> int:
    """Return how often a trial was handed out again by `Ledger.retry`.

    info: of the trial.
    """
    return info.get("retries", 0)


def _note_failure(info: Info, reason: str | None) -> Info:
    """Return the info of a trial that is handed out again after it failed, or, without a reason, was canceled."""
    kept = {key: part for key, part in info.items() if key not in OF_ONE_EVALUATION}
    return kept if reason is None else kept | {"failed_before": [*info.get("failed_before", ()), reason]}


def _apply_outcome(trial: Trial, outcome: Outcome, ended: float | None = None) -> Trial:
    now = time.time() if ended is None else ended
    return replace(show_outcome(trial, outcome), finished=now)
