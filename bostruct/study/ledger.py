"""The ledger: the trials of a study and their transitions: ask, tell, add, requeue and retry."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from bostruct.checks import add_note
from bostruct.contracts import BostructError, Domain, Info, NotWanted, Point, Presented
from bostruct.execution.clock import clamp_end, now
from bostruct.execution.evaluation import EARLIER
from bostruct.execution.interrupts import defer_signals, defer_signals_once_begun
from bostruct.outcome import Outcome
from bostruct.storage.json_text import parse
from bostruct.storage.protocol import RemoteChanges, StorageError, StorageLost, StoredStudy, StudyWriter, TrialRow
from bostruct.storage.reading import pause_collector
from bostruct.storage.writing import defer_signals_and_note, retry_rolled_back
from bostruct.study.history import ATTRIBUTES, CANCELED, DOUBLE, MACHINE, NO_DATA, Trial
from bostruct.study.point_forms import Kept, find_moved_numbers, find_names, restore_numbers, write_point_text
from bostruct.study.records import DeferredTrial, read_goals, read_initial, read_trial, show_outcome, write_trial
from bostruct.study.space_changes import current_row, has_domain, migrate_trials
from bostruct.study.trial_records import Record, TrialRecords

RETRIES = 2  # default for a failure that the point did not cause
MAX_ATTEMPTS = 2
EVALUATION_KEYS = ("reports", ATTRIBUTES, CANCELED, NO_DATA)  # in a trial's info until it is asked again
log = logging.getLogger(__name__)


class NextPoint(NamedTuple):
    """The next point of a study.

    info: description for the user, plain JSON.
    state: the searcher's next state, as JSON text.
    may_repeat: whether the point may be a repetition.
    """

    point: Point
    info: Info
    state: str
    may_repeat: bool = False


class AddedPoint(NamedTuple):
    """A point that was never asked.

    outcome: outcome of its evaluation; None to queue it.
    given: the point as the user gave it.
    noted: additional info of its trial, plain JSON.
    """

    point: Point
    outcome: Outcome | None
    given: Presented
    noted: Info


class Ledger(TrialRecords):
    """The trials of a study in a storage, and their transitions; each change is written to disk first.

    The ledger reads the changes of other writers, and requeues the trials of dead writers.

    store: the study's writer; None if the study is read only.

    Raises StorageError, with the trial, if a point cannot be decoded.
    """

    def __init__(self, domain: Domain, stored: StoredStudy, store: StudyWriter | None, label: str) -> None:
        row = current_row(stored)
        super().__init__(domain, read_goals(row, label))
        self.name = row.name
        self.label = label
        self.state = row.state  # of the searcher, as JSON text
        self.store = store
        self.changes = stored.changes
        self.is_resumed = bool(stored.trials)  # until this process asks
        self._wanted: Callable[[], bool] | None = None  # called before a trial is returned
        self._folder = _find_folder()  # for relative paths in the label
        self._in_transaction = False
        self._contradiction: StorageLost | None = None  # contradiction between the storage and this object
        self._created = stored.study
        self._names = find_names(parse(row.domain))
        self._where = where = f"{label}: study {row.name!r}"
        self._initial = read_initial(row, domain, where) if has_domain(row, domain) else []
        with pause_collector():
            for row, (trial, kept, text) in zip(stored.trials, migrate_trials(stored, self._form, where), strict=True):
                self._enter(trial, kept, row, text)
            self._close_stored(stored.trials)

    @property
    def file(self) -> Path | None:
        """The absolute path of the study's file; None for a database."""
        return None if "://" in self.label else self._folder / self.label

    @property
    def writer(self) -> StudyWriter:
        """The study's writer; raises BostructError if the study is read only."""
        if self.store is None:
            raise BostructError(f"study {self.name!r} was loaded with read_only=True; it cannot be asked or told")
        return self.store

    @property
    def first_space(self) -> str:
        """The description of the domain at the study's creation, as JSON text."""
        return self._created.domain

    @property
    def is_writable(self) -> bool:
        """Return whether the study is open for writing and its storage exists."""
        return self.store is not None and self.store.is_open and self.store.lost is None

    @property
    def owner(self) -> str | None:
        """The name of this writer in the rows of its trials; None if there is only one writer."""
        return None if self.store is None else self.store.owner

    @property
    def _is_shared(self) -> bool:
        """True if this object writes the study, and other writers may have it open."""
        return self.owner is not None and self.is_writable

    @property
    def owned(self) -> dict[int, float]:
        """The start time of each running trial that this object owns, by number."""
        started = sorted(self.in_flight.items())
        return {number: begun for number, begun in started if number in self._running and self._is_owned(number)}

    @property
    def n_remote(self) -> int:
        """The number of running trials of other writers."""
        return len(self.evaluated) - len(self.owned)

    @contextmanager
    def ask_lock(self, wanted: Callable[[], bool] | None = None) -> Iterator[None]:
        """Wait until no other writer is choosing a trial, and lock them out for the duration of a block.

        wanted: returns whether a trial is wanted, given the changes of other writers. It is called in the transaction
            that starts a trial, because other writers may ask if a connection is lost. None to want any trial.
        """
        locks = [self.writer.ask_lock()] if self._is_shared else []  # others wait for it until this process ends
        for lock in locks:
            lock.__enter__()
        before, self._wanted = self._wanted, wanted or self._wanted
        try:
            yield
        finally:
            self._wanted = before
            try:
                if locks:
                    _exit_all(locks)
            except BaseException:  # from a signal that arrived before it started
                _exit_all(locks)
                raise

    def check_wanted(self) -> None:
        """Raise NotWanted if the block that holds the lock does not want another trial."""
        if self._wanted is not None and not self._wanted():
            raise NotWanted(f"{self._where}: no further trial is wanted")

    def sync(self) -> None:
        """Read the changes of other writers; do nothing within a transaction, or if nothing can be written."""
        if self._is_shared and not self._in_transaction:
            self._poll()

    @defer_signals_once_begun
    def _poll(self) -> None:
        with suppress(StorageLost):  # the next change raises it
            self._apply(self.writer.poll())

    def sync_unless_running(self, trial: object) -> None:
        """Read the changes of other writers, unless a given trial is known to be running."""
        number = getattr(trial, "number", trial)
        if isinstance(number, int) and number not in self._running:
            self.sync()

    def requeue_stale(self) -> None:
        """Requeue the running trials of dead writers; fail those that were requeued before.

        With one writer, these are the trials that were running when the study was opened.
        """
        owners = {owner for number in self._running if (owner := self._records[number].owner) is not None}
        gone = self.writer.find_dead_writers(owners - {self.owner}) if owners and self.is_writable else owners
        for number in sorted(self._running):
            record = self._records[number]
            if number in self.in_flight or not (record.owner is None or record.owner in gone):
                continue
            if record.owner is not None or record.attempts >= MAX_ATTEMPTS:
                self._requeue_or_fail(record.owner, number)

    def note_writers(self, present: AbstractSet[str]) -> None:
        """Show trials of dead writers as waiting in a read-only study, without writing."""
        for number in self._running:
            if self._records[number].owner not in present:
                self._records[number].owner = None

    @defer_signals_once_begun
    @retry_rolled_back
    def _requeue_or_fail(self, owner: str | None, number: int) -> None:
        """Requeue a trial of a dead owner, or fail it the second time; do nothing if another writer has done so.

        owner: the owner when the trial was found; None if it had none.
        """
        record, failed = self._records[number], None
        with self._transaction() as writer:
            if number not in self._running or record.owner != owner:  # finished, or requeued by another writer
                return
            if record.attempts >= MAX_ATTEMPTS:
                times = record.attempts
                failed = Outcome(failed=f"{times} processes that ran this trial ended, or were cut off from the study")
                row, trial = self._write_outcome(record, failed, None, {}, None)
            else:
                row, trial = write_trial(record.trial, record.attempts), record.trial
            writer.update(row)
        record.owner = None
        if failed is not None:
            self._close(trial, failed, row.told)
        fate = "has failed" if failed is not None else "is requeued"
        log.warning("study %r: trial %d %s, because its process no longer responds", self.name, number, fate)

    def adopt_store(self, store: StudyWriter, label: str, name: str) -> None:
        """Continue in another storage that has just received the study; this object keeps its running trials."""
        owned = self.owned
        self.name, self._created, self._where = name, self._created._replace(name=name), f"{label}: study {name!r}"
        self.store, self.label = store, label
        self._folder = _find_folder()
        for number in owned:
            record = self._records[number]
            store.update(write_trial(record.trial, record.attempts, owner=self.owner))
            record.owner = self.owner

    def export(self, name: str | None = None) -> StoredStudy:
        """Return the study as a record for another storage.

        name: name of the study there; None to keep its name.
        """
        positions = {number: position for position, number in enumerate(self.order)}
        rows = [  # trials have no owner there
            write_trial(one.trial, one.attempts, one.outcome, positions.get(number), point=self._encode(one))
            for number, one in enumerate(self._records)
        ]
        return StoredStudy(self._created._replace(name=name or self.name, state=self.state), rows, self.changes)

    @contextmanager
    def _transaction(self) -> Iterator[StudyWriter]:
        """Open a transaction, after reading the changes of other writers."""
        if not self.is_writable:
            yield self.writer
            return
        with self.writer.changing() as changes:
            self._in_transaction = True
            try:
                self._apply(changes)
                yield self.writer
            finally:
                self._in_transaction = False

    def _is_owned(self, number: int) -> bool:
        """Return whether a running trial is still owned by this object."""
        return number in self.in_flight and self._records[number].owner == self.owner

    def _apply(self, changes: RemoteChanges | None) -> None:
        """Apply changes of other writers, idempotently; None changes nothing."""
        if changes is None:
            return
        if changes.n_changes != len(self.changes):
            raise StorageError(f"{self._where}: another process changed its space; open the study again")
        found = [read_trial(row, self._form, self._names, self._where) for row in changes.trials]
        self._check_agreement(changes, found)
        for row, trial in zip(changes.trials, found, strict=True):
            if row.number == len(self):
                self._enter(trial, trial.kept, row)
                continue
            record = self._records[row.number]
            if record.outcome is not None:
                if _is_known(record, row):
                    continue  # including derived data of this process
                self._reopen(record)
            if trial.started != record.trial.started:
                record.earlier |= {record.trial.started}
            record.made, record.attempts, record.owner = trial.create(), row.attempts, row.owner
            if record.trial.is_canceled:
                self.in_flight.pop(row.number, None)
                record.open = frozenset()
        self._close_stored([row for row in changes.trials if self._records[row.number].outcome is None])
        self.state = changes.state

    def _check_agreement(self, changes: RemoteChanges, found: Sequence[DeferredTrial]) -> None:
        """Raise StorageLost, from now on, if a trial has another point or value than here.

        Points and values never change. A server that lost transactions may have accepted others instead.
        """
        for row, trial in zip(changes.trials, found, strict=True):
            if row.number < len(self) and self._contradiction is None:
                self._contradiction = self._find_contradiction(self._records[row.number], row, trial.kept)
        if self._contradiction is not None:
            raise self._contradiction

    def _find_contradiction(self, record: Record, row: TrialRow, kept: Kept) -> StorageLost | None:
        if record.trial.status == "completed" and not _is_known(record, row):
            what = "value"
        elif record.made.unread is None and self._form.key(kept) != self._form.key(record.kept):
            what = "point"
        else:
            return None
        return StorageLost(
            f"{self._where}: trial {row.number} has another {what} there than in this process; perhaps a server lost "
            "committed transactions in a crash, and accepted others instead"
        )

    def _close_stored(self, rows: list[TrialRow]) -> None:
        """Apply the outcomes of known trials, in the order observed."""
        for row in sorted((row for row in rows if row.told is not None), key=attrgetter("told")):
            try:
                self.goals.check_stored(row.outcome or Outcome(failed="running"))
            except (TypeError, ValueError) as error:
                raise StorageError(f"{self._where}: trial {row.number} cannot be read: {error}") from error
            self._close(self._records[row.number].made, row.outcome, row.told)

    def _write_outcome(
        self, record: Record, outcome: Outcome, ended: float | None, noted: Info, begun: float | None
    ) -> tuple[TrialRow, Trial]:
        """Return the outcome of a trial as its row, or as another trial of its point if it has finished."""
        running, info, attempts, point = record.trial, record.trial.info | noted, record.attempts, ""
        if running.number not in self._running:
            info = {"origin": DOUBLE, "double_of": running.number, **noted}
            running = Trial(len(self), running.point, "running", started=begun or running.started)
            attempts, point = 1, self._encode(record)
        ended = clamp_end(None, running.started) if ended is None else ended
        trial = show_outcome(running, outcome, info=info, finished=ended)
        return write_trial(trial, attempts, outcome, self._next_position, point=point), trial

    def _encode(self, record: Record) -> str:
        return self._write_point(self._form.restore(record.kept)) if record.text is None else record.text

    def _write_point(self, x: Point) -> str:
        return write_point_text(self._domain, x, self._names)

    @contextmanager
    def requeue_on_error(self, lock: AbstractContextManager[object]) -> Iterator[None]:
        """Requeue the trials of a block that raises, as by an interrupt, because the caller did not receive them."""
        with lock:
            before = self.owned
        try:
            yield
        except BaseException as error:
            self._give_back_new(before, lock, error)
            raise

    @defer_signals_once_begun
    def _give_back_new(
        self, before: Mapping[int, float], lock: AbstractContextManager[object], error: BaseException
    ) -> None:
        with lock:
            asked = {number: begun for number, begun in self.owned.items() if before.get(number) != begun}
            try:
                self.give_back(asked.items())
            except BostructError as another:
                note_unreturned(error, list(asked), another)

    def next_initial(self) -> Point | None:
        """Return the first initial point of the user that was neither asked nor added; None if none is left."""
        while self._initial and self.seen(self._initial[0]):
            self._initial.pop(0)
        return self._initial[0] if self._initial else None

    @defer_signals_once_begun
    @retry_rolled_back
    def ask_again(self, missing: Callable[[], int] | None = None) -> Trial | None:
        """Ask the first waiting trial again, and return it; None if there is none.

        missing: returns the number of wanted trials, if known. If it is 0, a trial that waits after a machine failure
            is asked now; without it, such a trial waits until another trial completes.
        """
        while (number := self._find_waiting(missing)) is not None:
            record = self._records[number]
            with self._transaction() as writer:
                if not self._is_waiting(number):  # it has finished meanwhile
                    continue
                self.check_wanted()
                attempts = record.attempts + 1
                trial = replace(record.trial, started=_find_new_time(record))
                if attempts > 1:
                    trial = replace(trial, info=trial.info | {"attempts": attempts})
                writer.update(write_trial(trial, attempts, owner=self.owner))
            record.earlier |= {record.trial.started}
            record.attempts, record.made = attempts, trial
            self._own(record)
            return trial
        return None

    @defer_signals_once_begun
    @retry_rolled_back
    def begin(self, found: NextPoint, waits: bool = False) -> Trial | None:
        """Record a new running trial and return it; None if another writer added the point meanwhile.

        waits: True to queue it for a later `ask_again`.
        """
        x, info = found.point, found.info
        with self._transaction() as writer:
            if not found.may_repeat and self.seen(x):
                return None
            if not waits:
                self.check_wanted()
            trial = Trial(len(self), self._domain.present(x), "running", info=info, started=now())
            point, owner = self._write_point(x), None if waits else self.owner
            row = write_trial(trial, 0 if waits else 1, point=point, owner=owner)
            writer.insert(row, found.state)
        self._shares_seen = False  # its searcher is done
        self._enter(trial, self._form.keep(x), row)
        if not waits:
            self._own(self._records[trial.number])
        self.state, self.is_resumed = found.state, False
        return trial

    @defer_signals_and_note
    @retry_rolled_back
    def finish(
        self,
        number: int,
        outcome: Outcome,
        ended: float | None = None,
        noted: Info | None = None,
        begun: float | None = None,
    ) -> Trial:
        """Record the outcome of a running trial, and return the trial.

        ended: seconds since the epoch; None for now.
        noted: additional info of the trial, plain JSON.
        begun: start time of the trial that the caller received; None for the latest.

        If the trial has finished meanwhile, the outcome becomes another trial of its point, with the first number in
        ``info["double_of"]``. If the file was lost, the outcome is kept in memory and StorageLost is raised.

        Raises ValueError if the trial has finished and the caller had not asked it here.
        """
        record, lost = self._records[number], None
        begun = self.in_flight.get(number) if begun is None else begun
        parts = (record, outcome, ended, noted or {}, begun)
        try:
            with self._transaction() as writer:
                if CANCELED not in parts[3]:
                    self._check_tellable(number, begun)
                row, trial = self._write_outcome(*parts)
                if trial.number != number and CANCELED in trial.info:  # no caller waits for it
                    return record.trial
                if trial.number == number:
                    writer.update(row)
                else:
                    writer.insert(row)
        except StorageLost as error:
            lost, (row, trial) = error, self._write_outcome(*parts)
        if self.in_flight.get(number) == begun:
            self.in_flight.pop(number, None)
        record.open -= {begun}
        if trial.number == len(self):
            self._enter(trial, record.kept, row)
        self._close(trial, outcome, row.told)
        if lost is not None:
            raise lost
        return self._records[trial.number].trial

    def cancel(self, number: int) -> Trial:
        """Cancel a running trial, and return it."""
        self.sync()
        if number in self._running:
            self.finish(number, Outcome(failed="canceled"), None, {CANCELED: True})
        self.in_flight.pop(number, None)
        self._records[number].open = frozenset()
        return self._records[number].trial

    @defer_signals_and_note
    @retry_rolled_back
    def add(self, points: Sequence[AddedPoint]) -> list[Trial | None]:
        """Record trials of points in one transaction; None for one to queue that has a trial and no measured value."""
        entered: list[tuple[Trial, TrialRow, AddedPoint] | None] = []
        by_key: dict[Hashable, list[Trial]] = {}
        with self._transaction() as writer:
            numbers, positions = count(len(self)), count(self._next_position)
            for one in points:
                x, outcome, given, noted = one
                same = by_key.setdefault(self._domain.key(x), [])
                if outcome is None and "measured" not in noted and (same or self.seen(x)):
                    entered.append(None)
                    continue
                shown, told, info = self._domain.present(x), None, {"origin": "given", **noted}
                if outcome is not None:
                    moved, told = find_moved_numbers(given, shown, self._domain), next(positions)
                    shown, info = restore_numbers(shown, moved), {"origin": "added", **noted}
                    info |= {"given": moved} if moved else {}
                    if (other := self._find_other_numbers(x, shown, same)) is not None:
                        info["same_step_as"] = other
                trial = Trial(next(numbers), shown, "running", info=info, started=now())
                if outcome is not None:
                    trial = show_outcome(trial, outcome, finished=clamp_end(None, trial.started))
                row = write_trial(trial, int(outcome is not None), outcome, told, point=self._write_point(x))
                writer.insert(row)
                entered.append((trial, row, one))
                same.append(trial)
        for trial, row, one in filter(None, entered):
            self._enter(trial, self._form.keep(one.point), row)
            if row.told is not None:
                self._close(trial, one.outcome, row.told)
        return [one and self._records[one[0].number].trial for one in entered]

    @defer_signals_once_begun
    @retry_rolled_back
    def give_back(self, begun: Iterable[tuple[int, float]]) -> None:
        """Requeue running trials, except those that were finished, canceled or requeued since they were asked here.

        begun: number and start time of each trial.
        """
        numbers = sorted({number for number, when in begun if self.in_flight.get(number) == when})
        if not numbers:
            return
        with self._transaction() as writer:
            ours = [number for number in numbers if number in self._running and self._is_owned(number)]
            if ours:
                writer.release(*ours)
        for number in numbers:
            self.in_flight.pop(number, None)
        for number in ours:
            self._records[number].attempts -= 1
            self._records[number].owner = None

    @defer_signals_once_begun
    @retry_rolled_back
    def requeue(self, number: int) -> None:
        """Requeue a running trial, or retry a failed one."""
        record, running = self._records[number], None
        with self._transaction() as writer:
            if self._is_waiting(number):
                return
            if record.trial.status == "failed":
                trial = record.trial
                info = _note_failure(trial.info, None if trial.is_canceled else trial.reason)
                running = replace(trial, status="running", reason=None, finished=None, info=info)
                writer.reopen(write_trial(running, record.attempts - 1))
            elif number in self._running and (number not in self.in_flight or self._is_owned(number)):
                writer.release(number)
            else:  # finished meanwhile, or started by another writer
                self.in_flight.pop(number, None)
                return
        if running is not None:
            self._reopen(record)
            record.made = running
        record.attempts -= 1
        self._disown(record)

    @defer_signals_once_begun
    @retry_rolled_back
    def retry(self, number: int, reason: str, begun: float | None = None, noted: Info | None = None) -> Trial:
        """Requeue a running trial whose evaluation failed, and return it; the retry and its reason are recorded.

        begun: start time of the trial that the caller received; None for the latest.
        noted: additional info, from `blame_machine`; None to count the retry as caused by the point.
        """
        record = self._records[number]
        begun = self.in_flight.get(number) if begun is None else begun
        with self._transaction() as writer:
            has_another = number in self.in_flight and self.in_flight[number] != begun
            if number not in self._running or has_another or (number in self.in_flight and not self._is_owned(number)):
                record.open -= {begun}
                if not has_another:
                    self.in_flight.pop(number, None)  # another writer finished or started it
                return record.trial
            attempts = record.attempts - (not self._is_waiting(number))
            info = _note_failure(record.trial.info, reason)
            trial = replace(record.trial, info=info | (noted or {"retries": info.get("retries", 0) + 1}))
            writer.update(write_trial(trial, attempts))
        record.made, record.attempts, record.open = trial, attempts, record.open - {begun}
        self._disown(record)
        return trial

    def blame_machine(self, number: int, cause: str) -> Info:
        """Return the info of a running trial whose evaluation failed because of the machine.

        It is first `MACHINE`, with which `retry` requeues the trial. If the trial failed in the same way before, and
        another trial has completed since, it is empty: the point is at fault, unless the process had met the cause
        before. Otherwise it is `NO_DATA`.
        """
        before = self._records[number].trial.info.get(MACHINE)
        if before is None:
            return {MACHINE: {"cause": cause, "completed": self.n_completed}}
        is_same = before["cause"].removesuffix(EARLIER) == cause  # in a fresh process
        return {} if is_same and before["completed"] < self.n_completed else {NO_DATA: cause}

    def _own(self, record: Record) -> None:
        record.owner = self.owner
        self.in_flight[record.trial.number] = record.trial.started
        record.open |= {record.trial.started}

    def _disown(self, record: Record) -> None:
        record.owner = None
        self.in_flight.pop(record.trial.number, None)


@defer_signals
def _exit_all(blocks: list[AbstractContextManager[None]]) -> None:
    while blocks:
        blocks.pop().__exit__(None, None, None)


def _find_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # removed by another process
        return Path()


def _is_known(record: Record, row: TrialRow) -> bool:
    """Return whether the recorded outcome equals that of a row."""
    return (record.position, record.outcome, record.trial.finished) == (row.told, row.outcome, row.finished)


def _find_new_time(record: Record) -> float:
    """Return the time of day, or the next float after the last start: the start time identifies the owner."""
    moment = now()
    while moment in {record.trial.started, *record.earlier, *record.open}:
        moment = math.nextafter(moment, math.inf)
    return moment


def note_unreturned(error: BaseException, numbers: Sequence[int], why: BostructError) -> None:
    """Add a note to an error that trials could not be requeued."""
    which = f"Trials {', '.join(map(str, numbers))} are" if len(numbers) > 1 else f"Trial {numbers[0]} is"
    add_note(error, f"{which} requeued once this process has ended: {why}")


def _note_failure(info: Info, reason: str | None) -> Info:
    """Return the info of a retried trial with the reason of its failure, or without a reason if it was canceled."""
    kept = {key: part for key, part in info.items() if key not in EVALUATION_KEYS}
    return kept if reason is None else kept | {"failed_before": [*info.get("failed_before", ()), reason]}
