"""The trials of one study, in memory and on disk alike, and the history that they make."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

from bostruct.checks import check_integer, has_capability, short_repr
from bostruct.contracts import BostructError, Domain, Info, Point, Presented
from bostruct.execution.interrupts import defer_interrupt
from bostruct.outcome import Outcome
from bostruct.storage.json_text import parse
from bostruct.storage.protocol import (
    News,
    SharedWriter,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyWriter,
    TrialRow,
)
from bostruct.storage.undone import repeat_undone
from bostruct.study.given_numbers import find_moved_numbers, restore_numbers
from bostruct.study.growing import GrowingBatch
from bostruct.study.history import History, Trial
from bostruct.study.measured import Measurements
from bostruct.study.point_texts import find_names, write_point_text
from bostruct.study.records import read_goals, read_initial, read_trial, show_outcome, write_trial
from bostruct.study.space_changes import current_row, is_over, read_trials

MAX_ATTEMPTS = 2
RETRIES = 2  # of a failure that is no fault of the point, unless another number is asked for
OF_ONE_EVALUATION = ("reports", "canceled")  # in the info of a trial, until it is handed out again


@dataclass
class _Record:
    """One trial. point: as the domain holds it; None where it cannot be read. attempts: times handed out, less the
    times taken back in good order. outcome: all of it, of which the trial shows value and reason; None while it runs.
    text: the point as it is stored, JSON text, of a trial that was read; None for the domain's encoding. earlier: times
    at which it was begun before it was handed out again, as far as this process knows. told: its position in the order
    of telling; None while it runs. owner: the writer that handed it out, where there are several. open: times at which
    it was handed out here, for which nothing was told.
    """

    trial: Trial
    point: Point
    attempts: int
    outcome: Outcome | None = None
    text: str | None = None
    earlier: set[float] = field(default_factory=set)
    told: int | None = None
    owner: str | None = None
    open: set[float | None] = field(default_factory=set)


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
        self._can_share = store is not None and has_capability(store, SharedWriter)
        self.is_resumed = bool(stored.trials)  # nothing that this process made has been asked since
        self._made = stored.study
        self.changes = stored.changes
        self._domain = domain
        self.goals = read_goals(row, label)
        self._records: list[_Record] = []  # by number
        self._running: set[int] = set()
        self._held: dict[int, float] = {}  # trials that this object handed out and heard nothing of, with their times
        self._next_position = 0  # the place of the next trial told in the order told
        self._seen: set[Hashable] = set()
        self._is_lent = False  # a searcher looks at the set of keys, which must not change under it
        self._measurements = Measurements(self.goals)  # in the order told
        self._completed = GrowingBatch(domain)
        self._failed = GrowingBatch(domain)
        self._names = find_names(parse(row.domain))
        self._where = where = f"{label}: study {row.name!r}"
        self._initial = read_initial(row, domain, where) if is_over(row, domain) else []
        for one, found in zip(stored.trials, read_trials(stored, domain, where), strict=True):
            self._enter(found.trial, found.point, one, found.text)
        self._close_stored(stored.trials)

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

    @property
    def is_shared(self) -> bool:
        """Tell whether others may write the study, too."""
        return self._can_share and self.store is not None and self.store.is_open and self.store.lost is None

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Wait until no other writer decides on a trial, and keep them waiting for as long as a block lasts."""
        block = self._shared.deciding() if self.is_shared else nullcontext()
        block.__enter__()
        try:
            yield
        finally:
            defer_interrupt(block.__exit__)(None, None, None)  # or others would wait for as long as this process lives

    @defer_interrupt
    def sync(self) -> None:
        """Learn what other writers wrote; nothing where there can be none, and where the file was lost."""
        if self.is_shared:
            with suppress(StorageLost):  # as the next change says
                self._learn(self._shared.look())

    def take_over(self) -> None:
        """Let trials wait that a writer left running which is gone; fail those that were left so for the second time.

        With one writer, these are the trials that were running when the study was opened.
        """
        owners = {owner for number in self._running if (owner := self._records[number].owner) is not None}
        gone = self._shared.find_gone(owners - {self._shared.owner}) if owners and self.is_shared else owners
        for number in sorted(self._running):
            record = self._records[number]
            if number in self._held or not (record.owner is None or record.owner in gone):
                continue
            if record.owner is not None or record.attempts >= MAX_ATTEMPTS:
                self._take_from(record.owner, number)

    @defer_interrupt
    @repeat_undone
    def _take_from(self, owner: str | None, number: int) -> None:
        """Let a trial wait whose owner is gone, or fail it where that is the second time; nothing where others did.

        owner: who had it when that was found; None for nobody.
        number: of the trial.
        """
        record, failed = self._records[number], None
        with self._step() as writer:
            if number not in self._running or record.owner != owner:  # told after all, or in the hands of another
                return
            if record.attempts >= MAX_ATTEMPTS:
                times = record.attempts
                failed = Outcome(failed=f"the process ended {times} times while this trial was running")
                row, trial = self._write_outcome(record, failed, None, {}, None)
            else:
                row, trial = write_trial(record.trial, None, "", None, record.attempts), record.trial
            writer.update(row)
        record.owner = None
        if failed is not None:
            self._close(trial, failed, row.told)

    @contextmanager
    def requeue_on_error(self) -> Iterator[None]:
        """A trial that nobody received, as an interrupt came first, is given back."""
        out = set(self.out)
        try:
            yield
        except BaseException:
            for number in set(self.out).difference(out):
                self.requeue(number)
            raise

    @defer_interrupt
    @repeat_undone
    def ask_again(self) -> Trial | None:
        """The first trial that waits, handed out once more; None where there is none."""
        while (number := self._find_waiting()) is not None:
            record = self._records[number]
            with self._step() as writer:
                if not self._is_waiting(number):  # somebody told of it
                    continue
                attempts = record.attempts + 1
                trial = replace(record.trial, started=time.time())
                if attempts > 1:
                    trial = replace(trial, info=trial.info | {"attempts": attempts})
                writer.update(write_trial(trial, None, "", None, attempts, self.owner))
            record.earlier.add(record.trial.started)
            record.attempts, record.trial = attempts, trial
            self._hold(record)
            return trial
        return None

    @defer_interrupt
    @repeat_undone
    def begin(self, x: Point, info: Info, state: str, may_repeat: bool) -> Trial | None:
        """Enter a new trial, running, and return it; None where another writer added the point meanwhile.

        x: a point of the domain.
        info: for people, plain JSON.
        state: the searcher's after it, as JSON text.
        may_repeat: whether the point may have been asked for before.
        """
        with self._step() as writer:
            if not may_repeat and self.seen(x):
                return None
            trial = Trial(len(self), self._domain.present(x), "running", info=info, started=time.time())
            row = write_trial(trial, None, self._write_point(x), None, 1, self.owner)
            writer.insert(row, state)
        self._is_lent = False  # its searcher is done
        self._enter(trial, x, row)
        self._hold(self._records[trial.number])
        self.state, self.is_resumed = state, False
        return trial

    @defer_interrupt
    @repeat_undone
    def finish(
        self,
        number: int,
        outcome: Outcome,
        ended: float | None = None,
        noted: Info | None = None,
        begun: float | None = None,
    ) -> Trial:
        """Record what came of a running trial, and return the trial.

        number: of the trial.
        outcome: of its evaluation.
        ended: seconds since the epoch, None for now.
        noted: what the trial has on record besides, plain JSON.
        begun: when it was handed out to whoever tells; None for the last time.

        Where another told of it meanwhile, the outcome is another trial of its point, which names the first in
        ``info["double_of"]``. Where the file was lost the outcome is kept here, and StorageLost is raised then.
        """
        record, lost = self._records[number], None
        begun = self._held.get(number) if begun is None else begun
        told = (record, outcome, ended, noted or {}, begun)
        try:
            with self._step() as writer:
                row, trial = self._write_outcome(*told)
                if trial.number == number:
                    writer.update(row)
                else:
                    writer.insert(row)
        except StorageLost as error:
            lost, (row, trial) = error, self._write_outcome(*told)
        if self._held.get(number) == begun:
            self._held.pop(number, None)
        record.open.discard(begun)
        if trial.number == len(self):
            self._enter(trial, record.point, row)
        self._close(trial, outcome, row.told)
        if lost is not None:
            raise lost
        return self._records[trial.number].trial

    def _write_outcome(
        self, record: _Record, outcome: Outcome, ended: float | None, noted: Info, begun: float | None
    ) -> tuple[TrialRow, Trial]:
        """Return what came of a trial: its own row, or that of another trial of its point where it is over."""
        first, attempts, point = record.trial, record.attempts, ""
        if first.number in self._running:
            running = replace(first, info=first.info | noted)
        else:
            info: Info = {"origin": "added", "double_of": first.number, **noted}
            running = Trial(len(self), first.point, "running", info=info, started=begun or first.started)
            attempts, point = 1, self._encode(record)
        trial = _apply_outcome(running, outcome, ended)
        return write_trial(trial, outcome, point, self._next_position, attempts), trial

    def cancel(self, number: int) -> Trial:
        """Give a running trial up, and return it.

        number: of the trial, which may be over by what another writer was told.
        """
        self.sync()
        if number in self._running:
            self.finish(number, Outcome(failed="canceled"), None, {"canceled": True})
        self._held.pop(number, None)
        self._records[number].open.clear()
        return self._records[number].trial

    @defer_interrupt
    @repeat_undone
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
        with self._step() as writer:
            if (other := self._find_other_numbers(x, shown)) is not None:
                info["same_step_as"] = other
            running = Trial(len(self), shown, "running", info=info)
            trial = _apply_outcome(replace(running, started=time.time()), outcome)
            row = write_trial(trial, outcome, self._write_point(x), self._next_position, 1)
            writer.insert(row)
        self._enter(trial, x, row)
        self._close(trial, outcome, row.told)
        return self._records[trial.number].trial

    @defer_interrupt
    @repeat_undone
    def requeue(self, number: int) -> None:
        """Give a running trial back, or a failed one another chance.

        number: of a trial that is running or has failed.
        """
        record = self._records[number]
        with self._step() as writer:
            if self._is_waiting(number):
                return
            if record.trial.status == "failed":
                reopened = self._write_reopened(record)
                writer.reopen(reopened)
            elif number in self._running and (number not in self._held or self._is_out(number)):
                reopened = None
                writer.take_back(number)
            else:  # told meanwhile, or taken over by another writer, who evaluates it
                self._held.pop(number, None)
                return
        if reopened is not None:
            self._reopen(record)
            record.trial = replace(record.trial, info=parse(reopened.info))
        record.attempts -= 1
        self._let_go(record)

    @defer_interrupt
    @repeat_undone
    def retry(self, number: int, reason: str) -> Trial:
        """Give a running trial back whose evaluation failed, and return the trial; that and the reason are on record.

        number: of the trial.
        reason: why its evaluation failed.
        """
        record = self._records[number]
        with self._step() as writer:
            if number not in self._running or (number in self._held and not self._is_out(number)):
                self._held.pop(number, None)  # another was told a value, or has taken it over
                return record.trial
            attempts = record.attempts - (not self._is_waiting(number))
            info = _note_failure(record.trial.info, reason)
            trial = replace(record.trial, info=info | {"retries": count_retries(info) + 1})
            writer.update(write_trial(trial, None, "", None, attempts))
        record.trial, record.attempts = trial, attempts
        self._let_go(record)
        return trial

    @defer_interrupt
    @repeat_undone
    def let_all_go(self) -> None:
        """Give all trials back that this object handed out, and that nobody else has taken over."""
        if self.out:
            with self._step() as writer:
                writer.take_back(*self.out)

    def adopt_store(self, store: StudyWriter, label: str) -> None:
        """Go on in another storage, which has just been given the study; this object keeps the trials that it holds.

        store: the right to write it.
        label: of the storage, for messages.
        """
        out = self.out
        self.store, self.label, self._can_share = store, label, has_capability(store, SharedWriter)
        for number in out:
            record = self._records[number]
            store.update(write_trial(record.trial, None, "", None, record.attempts, self.owner))
            record.owner = self.owner

    @property
    def out(self) -> list[int]:
        """The numbers of the running trials that this object handed out, and nobody else since, ascending."""
        return sorted(number for number in self._running if self._is_out(number))

    @property
    def evaluated(self) -> list[int]:
        """The numbers of the running trials that were handed out, by whomever, ascending."""
        return sorted(number for number in self._running if not self._is_waiting(number))

    @property
    def n_elsewhere(self) -> int:
        """The number of running trials that other writers handed out."""
        return len(self.evaluated) - len(self.out)

    @property
    def owner(self) -> str | None:
        """The name of this writer in the rows of trials that it hands out; None where it is the only one."""
        return self._shared.owner if self._can_share else None

    @property
    def held(self) -> Mapping[int, float]:
        """When each trial was handed out that this object handed out, and was not told of since, by number."""
        return self._held

    @property
    def _shared(self) -> SharedWriter:
        return cast(SharedWriter, self.store)  # as `is_shared` says

    @contextmanager
    def _step(self) -> Iterator[StudyWriter]:
        """One step on disk, before which all is here that others wrote."""
        if not self.is_shared:
            yield self.writer
            return
        with self._shared.changing() as news:
            self._learn(news)
            yield self.writer

    def _is_out(self, number: int) -> bool:
        """Tell whether a running trial is in the hands of who was given it here."""
        return number in self._held and self._records[number].owner == self.owner

    def _is_waiting(self, number: int) -> bool:
        """Tell whether a trial runs, and waits to be handed out."""
        return number in self._running and number not in self._held and self._records[number].owner is None

    def _find_waiting(self) -> int | None:
        return min((number for number in self._running if self._is_waiting(number)), default=None)

    def _hold(self, record: _Record) -> None:
        record.owner = self.owner
        self._held[record.trial.number] = record.trial.started
        record.open.add(record.trial.started)

    def _let_go(self, record: _Record) -> None:
        record.owner = None
        self._held.pop(record.trial.number, None)

    def _learn(self, news: News) -> None:
        """Take in what other writers wrote, once or several times alike."""
        if news.n_changes != len(self.changes):
            raise StorageError(f"{self._where}: another process changed its space; open the study again")
        found = [read_trial(row, self._domain, self._names, self._where) for row in news.trials]
        for row, (trial, point) in zip(news.trials, found, strict=True):
            if row.number == len(self):
                self._enter(trial, point, row)
                continue
            record = self._records[row.number]
            if record.outcome is not None:
                if (record.told, record.outcome, record.trial.finished) == (row.told, row.outcome, row.finished):
                    continue  # known, and with what only this process works out
                self._reopen(record)
            if trial.started != record.trial.started:
                record.earlier.add(record.trial.started)
            record.trial, record.attempts, record.owner = trial, row.attempts, row.owner
            if trial.is_canceled:
                self._held.pop(row.number, None)
                record.open.clear()
        self._close_stored([row for row in news.trials if self._records[row.number].outcome is None])
        self.state = news.state

    def _close_stored(self, rows: list[TrialRow]) -> None:
        """Take in the outcomes of trials that are here already, in the order told."""
        for position, row in sorted((row.told, row) for row in rows if row.told is not None):
            self._check_stored(row, self._where)
            self._close(self._records[row.number].trial, row.outcome, position)

    def export(self) -> StoredStudy:
        """Return the study as a storage holds it, for another one to hold."""
        told = {number: place for place, number in enumerate(self.order)}
        rows = [  # nobody owns a trial there
            write_trial(one.trial, one.outcome, self._encode(one), told.get(number), one.attempts)
            for number, one in enumerate(self._records)
        ]
        return StoredStudy(self._made._replace(state=self.state), rows, self.changes)

    def _encode(self, record: _Record) -> str:
        return self._write_point(record.point) if record.text is None else record.text

    def _write_point(self, x: Point) -> str:
        return write_point_text(self._domain, x, self._names)

    def _write_reopened(self, record: _Record) -> TrialRow:
        trial = record.trial
        info = _note_failure(trial.info, None if trial.is_canceled else trial.reason)
        running = replace(trial, status="running", reason=None, finished=None, info=info)
        return write_trial(running, None, "", None, record.attempts - 1)

    def _reopen(self, record: _Record) -> None:
        """Back to running, as if it had never been told; what it failed of stays on record."""
        trial = record.trial
        record.trial = replace(trial, status="running", reason=None, finished=None)
        record.outcome = record.told = None
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
        begun = trial.started if isinstance(trial, Trial) else self._held.get(number)
        if number not in self._running and begun not in self._records[number].open:
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
        self._is_lent = True
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

    def _enter(self, trial: Trial, x: Point | None, row: TrialRow, text: str | None = None) -> None:
        self._records.append(_Record(trial, x, row.attempts, text=text, owner=row.owner))
        if trial.unread is not None:
            return
        if row.outcome is None:
            self._running.add(trial.number)
        if self._is_lent:
            self._seen, self._is_lent = set(self._seen), False
        self._seen.add(self._domain.key(x))

    def _close(self, trial: Trial, outcome: Outcome | None, told: int | None) -> None:
        record = self._records[trial.number]
        assert outcome is not None  # of a trial that was told
        assert told is not None
        if broken := self.goals.find_broken(outcome):
            trial = replace(trial, broken=broken)
        record.trial, record.outcome, record.told, record.owner = trial, outcome, told, None
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
