"""The ledger: the trials of a study as they are asked, told, added, given back and tried again."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from bostruct.checks import add_note
from bostruct.contracts import BostructError, Domain, Info, NotWanted, Point, Presented
from bostruct.execution.clock import clamp_end, now
from bostruct.execution.evaluation import EARLIER
from bostruct.execution.interrupts import defer_signals, defer_signals_once_begun
from bostruct.outcome import Outcome
from bostruct.storage.json_text import parse
from bostruct.storage.protocol import (
    RemoteChanges,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyWriter,
    TrialRow,
)
from bostruct.storage.reading import pause_collector
from bostruct.storage.writing import defer_signals_and_note, retry_rolled_back
from bostruct.study.history import ATTRIBUTES, CANCELED, DOUBLE, MACHINE, NO_DATA, Trial
from bostruct.study.point_forms import Kept, find_moved_numbers, find_names, restore_numbers, write_point_text
from bostruct.study.records import read_goals, read_initial, read_trial, show_outcome, write_trial
from bostruct.study.space_changes import current_row, is_over, reread_trials
from bostruct.study.trial_table import Record, TrialTable

RETRIES = 2  # of a failure that is no fault of the point, unless another number is asked for
MAX_ATTEMPTS = 2
OF_ONE_EVALUATION = ("reports", ATTRIBUTES, CANCELED, NO_DATA)  # in the info of a trial, until it is handed out again
log = logging.getLogger(__name__)


class NextPoint(NamedTuple):
    """The next point of a study.

    info: for people, plain JSON.
    state: the searcher's after it, as JSON text.
    may_repeat: whether the point may have been asked for before.
    """

    point: Point
    info: Info
    state: str
    may_repeat: bool = False


class Ledger(TrialTable):
    """The trials of a study as a storage holds them: asked, told, added, given back; each change is on disk first.

    It learns what other writers wrote, and takes over what they left.

    store: the right to write it, None if it is only read.

    Raises StorageError, naming the trial, if a point cannot be decoded.
    """

    def __init__(self, domain: Domain, stored: StoredStudy, store: StudyWriter | None, label: str) -> None:
        row = current_row(stored)
        super().__init__(domain, read_goals(row, label))
        self.name = row.name
        self.label = label
        self.state = row.state  # the searcher's, as JSON text
        self.store = store
        self.changes = stored.changes
        self.is_resumed = bool(stored.trials)  # nothing that this process made has been asked since
        self._wanted: Callable[[], bool] | None = None  # asked before a trial is handed out
        self._folder = _find_folder()  # in which the label is a path
        self._is_stepping = False
        self._contradiction: StorageLost | None = None  # between the storage and what is here
        self._made = stored.study
        self._names = find_names(parse(row.domain))
        self._where = where = f"{label}: study {row.name!r}"
        self._initial = read_initial(row, domain, where) if is_over(row, domain) else []
        with pause_collector():
            for one, found in zip(stored.trials, reread_trials(stored, self._form, where), strict=True):
                self._enter(found.trial, found.kept, one, found.text)
            self._close_stored(stored.trials)

    @property
    def file(self) -> Path | None:
        """The absolute path of the study's file; None for a database."""
        return None if "://" in self.label else self._folder / self.label

    @property
    def writer(self) -> StudyWriter:
        """The right to write the study; raises BostructError if it is only read."""
        if self.store is None:
            raise BostructError(f"study {self.name!r} was loaded with read_only=True; it cannot be asked or told")
        return self.store

    @property
    def first_space(self) -> str:
        """The description of the domain that the study was made with, as JSON text."""
        return self._made.domain

    @property
    def is_writable(self) -> bool:
        """Tell whether the study can be written: it is open for that, and its storage is there."""
        return self.store is not None and self.store.is_open and self.store.lost is None

    @property
    def owner(self) -> str | None:
        """The name of this writer in the rows of trials that it hands out; None if it is the only one."""
        return None if self.store is None else self.store.owner

    @property
    def out(self) -> list[int]:
        """The numbers of the running trials that this object handed out, and nobody else since, ascending."""
        return sorted(number for number in self._running if self._is_out(number))

    @property
    def n_remote(self) -> int:
        """The number of running trials that other writers handed out."""
        return len(self.evaluated) - len(self.out)

    @contextmanager
    def ask_lock(self, wanted: Callable[[], bool] | None = None) -> Iterator[None]:
        """Wait until no other writer decides on a trial, and keep them waiting for as long as a block lasts.

        wanted: tells whether a trial is to be handed out, by all that others wrote; it is asked in the same step, since
            others may decide, too, if a connection is lost. None for always.
        """
        block = self.writer.ask_lock() if self.is_writable else nullcontext()
        block.__enter__()
        before, self._wanted = self._wanted, wanted or self._wanted
        try:
            yield
        finally:
            self._wanted = before
            held = [block]  # which others would wait for as long as this process lives
            try:
                _leave(held)
            except BaseException:  # of a signal that came before it had begun
                _leave(held)
                raise

    def check_wanted(self) -> None:
        """Raise NotWanted if the block that decides wants no trial any more."""
        if self._wanted is not None and not self._wanted():
            raise NotWanted(f"{self._where}: no further trial is wanted")

    @defer_signals_once_begun
    def sync(self) -> None:
        """Learn what other writers wrote; do nothing within a step, and if nothing can be written."""
        if self.is_writable and not self._is_stepping:
            with suppress(StorageLost):  # as the next change says
                self._learn(self.writer.poll())

    def learn_of(self, trial: object) -> None:
        """Learn what other writers wrote if a trial that somebody means is not known to run."""
        number = getattr(trial, "number", trial)
        if isinstance(number, int) and number not in self._running:
            self.sync()

    def requeue_stale(self) -> None:
        """Let trials wait that a writer left running which is gone; fail those that were left so for the second time.

        With one writer, these are the trials that were running when the study was opened.
        """
        owners = {owner for number in self._running if (owner := self._records[number].owner) is not None}
        gone = self.writer.find_dead_writers(owners - {self.owner}) if owners and self.is_writable else owners
        for number in sorted(self._running):
            record = self._records[number]
            if number in self._held or not (record.owner is None or record.owner in gone):
                continue
            if record.owner is not None or record.attempts >= MAX_ATTEMPTS:
                self._take_from(record.owner, number)

    def note_writers(self, present: AbstractSet[str]) -> None:
        """Show the trials of a study that is only read as waiting if their writers are gone, and write nothing."""
        for number in self._running:
            if self._records[number].owner not in present:
                self._records[number].owner = None

    @defer_signals_once_begun
    @retry_rolled_back
    def _take_from(self, owner: str | None, number: int) -> None:
        """Let a trial wait whose owner is gone, or fail it if that is the second time; nothing if others did.

        owner: who had it when that was found; None for nobody.
        """
        record, failed = self._records[number], None
        with self._step() as writer:
            if number not in self._running or record.owner != owner:  # told after all, or in the hands of another
                return
            if record.attempts >= MAX_ATTEMPTS:
                times = record.attempts
                failed = Outcome(failed=f"{times} processes that ran this trial ended, or were cut off from the study")
                row, trial = self._write_outcome(record, failed, None, {}, None)
            else:
                row, trial = write_trial(record.trial, None, "", None, record.attempts), record.trial
            writer.update(row)
        record.owner = None
        if failed is not None:
            self._close(trial, failed, row.told)
        fate = "has failed" if failed is not None else "is handed out again"
        log.warning("study %r: trial %d %s, as the process that ran it gives no sign of life", self.name, number, fate)

    def adopt_store(self, store: StudyWriter, label: str, name: str) -> None:
        """Go on in another storage, which has just been given the study; this object keeps the trials that it holds."""
        out = self.out
        self.name, self._made, self._where = name, self._made._replace(name=name), f"{label}: study {name!r}"
        self.store, self.label = store, label
        self._folder = _find_folder()
        for number in out:
            record = self._records[number]
            store.update(write_trial(record.trial, None, "", None, record.attempts, self.owner))
            record.owner = self.owner

    def export(self, name: str | None = None) -> StoredStudy:
        """Return the study as a storage holds it, for another one to hold.

        name: of the study there; None for the name that it has.
        """
        told = {number: place for place, number in enumerate(self.order)}
        rows = [  # nobody owns a trial there
            write_trial(one.trial, one.outcome, self._encode(one), told.get(number), one.attempts)
            for number, one in enumerate(self._records)
        ]
        return StoredStudy(self._made._replace(name=name or self.name, state=self.state), rows, self.changes)

    @contextmanager
    def _step(self) -> Iterator[StudyWriter]:
        """One step on disk, before which all is here that others wrote."""
        if not self.is_writable:
            yield self.writer
            return
        with self.writer.changing() as news:
            self._is_stepping = True
            try:
                self._learn(news)
                yield self.writer
            finally:
                self._is_stepping = False

    def _is_out(self, number: int) -> bool:
        """Tell whether a running trial is in the hands of who was given it here."""
        return number in self._held and self._records[number].owner == self.owner

    def _learn(self, news: RemoteChanges | None) -> None:
        """Take in what other writers wrote, once or several times alike; None if there are no others."""
        if news is None:
            return
        if news.n_changes != len(self.changes):
            raise StorageError(f"{self._where}: another process changed its space; open the study again")
        found = [read_trial(row, self._form, self._names, self._where) for row in news.trials]
        self._check_agreement(news, found)
        for row, (trial, kept) in zip(news.trials, found, strict=True):
            if row.number == len(self):
                self._enter(trial, kept, row)
                continue
            record = self._records[row.number]
            if record.outcome is not None:
                if _is_known(record, row):
                    continue  # and with what only this process works out
                self._reopen(record)
            if trial.started != record.trial.started:
                record.earlier |= {record.trial.started}
            record.trial, record.attempts, record.owner = trial, row.attempts, row.owner
            if trial.is_canceled:
                self._held.pop(row.number, None)
                record.open = frozenset()
        self._close_stored([row for row in news.trials if self._records[row.number].outcome is None])
        self.state = news.state

    def _check_agreement(self, news: RemoteChanges, found: Sequence[tuple[Trial, Kept]]) -> None:
        """Raise StorageLost, from now on, if a trial has another point than here, or another value.

        Neither ever changes. A server that lost steps that this process knows may have made others in their place.
        """
        for row, (trial, kept) in zip(news.trials, found, strict=True):
            if row.number < len(self) and self._contradiction is None:
                self._contradiction = self._find_contradiction(self._records[row.number], row, trial, kept)
        if self._contradiction is not None:
            raise self._contradiction

    def _find_contradiction(self, record: Record, row: TrialRow, trial: Trial, kept: Kept) -> StorageLost | None:
        if record.trial.status == "completed" and not _is_known(record, row):
            what = "value"
        elif self._is_other_point(record, trial, kept):
            what = "point"
        else:
            return None
        return StorageLost(
            f"{self._where}: trial {row.number} has another {what} there than in this process, as where a server lost "
            "committed steps in a crash, and others were made instead"
        )

    def _is_other_point(self, record: Record, trial: Trial, kept: Kept) -> bool:
        is_readable = record.trial.unread is None and trial.unread is None
        return is_readable and self._form.key(kept) != self._form.key(record.kept)

    def _close_stored(self, rows: list[TrialRow]) -> None:
        """Take in the outcomes of trials that are here already, in the order told."""
        for position, row in sorted(((row.told, row) for row in rows if row.told is not None), key=itemgetter(0)):
            try:
                self.goals.check_stored(row.outcome or Outcome(failed="running"))
            except (TypeError, ValueError) as error:
                raise StorageError(f"{self._where}: trial {row.number} cannot be read: {error}") from error
            self._close(self._records[row.number].trial, row.outcome, position)

    def _write_outcome(
        self, record: Record, outcome: Outcome, ended: float | None, noted: Info, begun: float | None
    ) -> tuple[TrialRow, Trial]:
        """Return what came of a trial: its own row, or that of another trial of its point where it is over."""
        first, attempts, point = record.trial, record.attempts, ""
        if first.number in self._running:
            running = replace(first, info=first.info | noted)
        else:
            info: Info = {"origin": DOUBLE, "double_of": first.number, **noted}
            running = Trial(len(self), first.point, "running", info=info, started=begun or first.started)
            attempts, point = 1, self._encode(record)
        trial = apply_outcome(running, outcome, ended)
        return write_trial(trial, outcome, point, self._next_position, attempts), trial

    def _encode(self, record: Record) -> str:
        return self._write_point(self._form.restore(record.kept)) if record.text is None else record.text

    def _write_point(self, x: Point) -> str:
        return write_point_text(self._domain, x, self._names)

    @contextmanager
    def requeue_on_error(self, lock: AbstractContextManager[object]) -> Iterator[None]:
        """Give back the trials of a block that ends in an error, such as an interrupt, since nobody received them."""
        with lock:
            before = set(self._find_out())
        try:
            yield
        except BaseException as error:
            self._give_back_new(before, lock, error)
            raise

    @defer_signals_once_begun
    def _give_back_new(
        self, before: Container[tuple[int, float]], lock: AbstractContextManager[object], error: BaseException
    ) -> None:
        with lock:
            asked = [pair for pair in self._find_out() if pair not in before]
            try:
                self.give_back(asked)
            except BostructError as another:
                note_unreturned(error, [number for number, _ in asked], another)

    def next_initial(self) -> Point | None:
        """Return the first of the user's initial points that was neither asked nor added; None if none is left."""
        while self._initial and self.seen(self._initial[0]):
            self._initial.pop(0)
        return self._initial[0] if self._initial else None

    @defer_signals_once_begun
    @retry_rolled_back
    def ask_again(self, missing: Callable[[], int] | None = None) -> Trial | None:
        """Hand out the first trial that waits once more, and return it; None if there is none.

        missing: counts the trials that are wanted, if anybody knows: one that a failure of the machine defers is handed
            out if no more are. None leaves it to wait until another trial completes.
        """
        while (number := self._find_waiting(missing)) is not None:
            record = self._records[number]
            with self._step() as writer:
                if not self._is_waiting(number):  # somebody told of it
                    continue
                self.check_wanted()
                attempts = record.attempts + 1
                trial = replace(record.trial, started=_find_new_time(record))
                if attempts > 1:
                    trial = replace(trial, info=trial.info | {"attempts": attempts})
                writer.update(write_trial(trial, None, "", None, attempts, self.owner))
            record.earlier |= {record.trial.started}
            record.attempts, record.trial = attempts, trial
            self._hold(record)
            return trial
        return None

    @defer_signals_once_begun
    @retry_rolled_back
    def begin(self, found: NextPoint, waits: bool = False) -> Trial | None:
        """Enter a new trial, running, and return it; None if another writer added the point meanwhile.

        waits: whether it is to be handed out by a later `ask_again`, not now.
        """
        x, info = found.point, found.info
        with self._step() as writer:
            if not found.may_repeat and self.seen(x):
                return None
            if not waits:
                self.check_wanted()
            trial = Trial(len(self), self._domain.present(x), "running", info=info, started=now())
            handed_out = (0, None) if waits else (1, self.owner)
            row = write_trial(trial, None, self._write_point(x), None, *handed_out)
            writer.insert(row, found.state)
        self._is_lent = False  # its searcher is done
        self._enter(trial, self._form.keep(x), row)
        if not waits:
            self._hold(self._records[trial.number])
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
        """Record what came of a running trial, and return the trial.

        ended: seconds since the epoch, None for now.
        noted: what the trial has on record besides, plain JSON.
        begun: when it was handed out to whoever tells; None for the last time.

        Where another told of it meanwhile, the outcome is another trial of its point, which names the first in
        ``info["double_of"]``. Where the file was lost the outcome is kept here, and StorageLost is raised then.

        Raises ValueError if another told of it, and who tells now was not handed the trial here.
        """
        record, lost = self._records[number], None
        begun = self._held.get(number) if begun is None else begun
        told = (record, outcome, ended, noted or {}, begun)
        try:
            with self._step() as writer:
                if CANCELED not in told[3]:
                    self._check_tellable(number, begun)
                row, trial = self._write_outcome(*told)
                if trial.number != number and CANCELED in trial.info:  # nobody waits for it any more
                    return record.trial
                if trial.number == number:
                    writer.update(row)
                else:
                    writer.insert(row)
        except StorageLost as error:
            lost, (row, trial) = error, self._write_outcome(*told)
        if self._held.get(number) == begun:
            self._held.pop(number, None)
        record.open -= {begun}
        if trial.number == len(self):
            self._enter(trial, record.kept, row)
        self._close(trial, outcome, row.told)
        if lost is not None:
            raise lost
        return self._records[trial.number].trial

    def cancel(self, number: int) -> Trial:
        """Give a running trial up, and return it."""
        self.sync()
        if number in self._running:
            self.finish(number, Outcome(failed="canceled"), None, {CANCELED: True})
        self._held.pop(number, None)
        self._records[number].open = frozenset()
        return self._records[number].trial

    @defer_signals_and_note
    @retry_rolled_back
    def add(self, x: Point, outcome: Outcome, given: Presented, noted: Info | None = None) -> Trial:
        """Enter a trial that was never asked for, with its outcome, and return it.

        noted: what the trial has on record besides, plain JSON.
        """
        presented = self._domain.present(x)
        info: Info = {"origin": "added", **(noted or {})}
        if moved := find_moved_numbers(given, presented, self._domain):
            info["given"] = moved
        shown = restore_numbers(presented, moved)
        with self._step() as writer:
            if (other := self._find_other_numbers(x, shown)) is not None:
                info["same_step_as"] = other
            running = Trial(len(self), shown, "running", info=info)
            trial = apply_outcome(replace(running, started=now()), outcome)
            row = write_trial(trial, outcome, self._write_point(x), self._next_position, 1)
            writer.insert(row)
        self._enter(trial, self._form.keep(x), row)
        self._close(trial, outcome, row.told)
        return self._records[trial.number].trial

    @defer_signals_once_begun
    @retry_rolled_back
    def give_back(self, begun: Iterable[tuple[int, float]]) -> None:
        """Give running trials back, those alone that nobody told, gave up or took over since they were handed out here.

        begun: the number of each, and when it was handed out.
        """
        held = sorted({number for number, when in begun if self._held.get(number) == when})
        if not held:
            return
        with self._step() as writer:
            ours = [number for number in held if number in self._running and self._is_out(number)]
            if ours:
                writer.release(*ours)
        for number in held:
            self._held.pop(number, None)
        for number in ours:
            self._records[number].attempts -= 1
            self._records[number].owner = None

    @defer_signals_once_begun
    @retry_rolled_back
    def requeue(self, number: int) -> None:
        """Give a running trial back, or a failed one another chance."""
        record = self._records[number]
        with self._step() as writer:
            if self._is_waiting(number):
                return
            if record.trial.status == "failed":
                trial = record.trial
                info = _note_failure(trial.info, None if trial.is_canceled else trial.reason)
                running = replace(trial, status="running", reason=None, finished=None, info=info)
                reopened = write_trial(running, None, "", None, record.attempts - 1)
                writer.reopen(reopened)
            elif number in self._running and (number not in self._held or self._is_out(number)):
                reopened = None
                writer.release(number)
            else:  # told meanwhile, or taken over by another writer, who evaluates it
                self._held.pop(number, None)
                return
        if reopened is not None:
            self._reopen(record)
            record.trial = replace(record.trial, info=parse(reopened.info))
        record.attempts -= 1
        self._let_go(record)

    @defer_signals_once_begun
    @retry_rolled_back
    def retry(self, number: int, reason: str, begun: float | None = None, noted: Info | None = None) -> Trial:
        """Give a running trial back whose evaluation failed, and return the trial; that and the reason are on record.

        begun: when it was handed out to whoever tells; None for the last time.
        noted: on record besides, of `blame_machine`; None counts the retry as one of the point.
        """
        record = self._records[number]
        begun = self._held.get(number) if begun is None else begun
        with self._step() as writer:
            has_another = number in self._held and self._held[number] != begun
            if number not in self._running or has_another or (number in self._held and not self._is_out(number)):
                record.open -= {begun}
                if not has_another:
                    self._held.pop(number, None)  # another writer was told a value, or has taken it over
                return record.trial
            attempts = record.attempts - (not self._is_waiting(number))
            info = _note_failure(record.trial.info, reason)
            trial = replace(record.trial, info=info | (noted or {"retries": count_retries(info) + 1}))
            writer.update(write_trial(trial, None, "", None, attempts))
        record.trial, record.attempts, record.open = trial, attempts, record.open - {begun}
        self._let_go(record)
        return trial

    def blame_machine(self, number: int, cause: str) -> Info:
        """Return what to note of a running trial whose evaluation failed because of the machine.

        At first that is `MACHINE`, with which `retry` gives the trial back. If it failed in the same way before, and
        another trial has completed since, that is nothing: the point is at fault, unless the process had met the cause
        before. Otherwise it is `NO_DATA`.
        """
        before = self._records[number].trial.info.get(MACHINE)
        if before is None:
            return {MACHINE: {"cause": cause, "completed": self.n_completed}}
        is_same = before["cause"].removesuffix(EARLIER) == cause  # in a fresh process
        return {} if is_same and before["completed"] < self.n_completed else {NO_DATA: cause}

    def _find_out(self) -> list[tuple[int, float]]:
        """Return the number of each trial that is out, and when it was handed out."""
        return [(number, self._held[number]) for number in self.out]

    def _hold(self, record: Record) -> None:
        record.owner = self.owner
        self._held[record.trial.number] = record.trial.started
        record.open |= {record.trial.started}

    def _let_go(self, record: Record) -> None:
        record.owner = None
        self._held.pop(record.trial.number, None)


@defer_signals
def _leave(blocks: list[AbstractContextManager[None]]) -> None:
    while blocks:
        blocks.pop().__exit__(None, None, None)


def _find_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # removed by others
        return Path()


def _is_known(record: Record, row: TrialRow) -> bool:
    """Tell whether what came of a trial is what a row says."""
    return (record.told, record.outcome, record.trial.finished) == (row.told, row.outcome, row.finished)


def apply_outcome(trial: Trial, outcome: Outcome, ended: float | None = None) -> Trial:
    """Return a running trial with what came of it.

    ended: seconds since the epoch, None for now.
    """
    return replace(show_outcome(trial, outcome), finished=clamp_end(None, trial.started) if ended is None else ended)


def _find_new_time(record: Record) -> float:
    """Return the time of day, or the next float at which the trial was not begun before: it names who has the trial."""
    moment = now()
    while moment in {record.trial.started, *record.earlier, *record.open}:
        moment = math.nextafter(moment, math.inf)
    return moment


def note_unreturned(error: BaseException, numbers: Sequence[int], why: BostructError) -> None:
    """Add to an error that trials could not be given back, which does not take its place."""
    which = f"Trials {', '.join(map(str, numbers))} are" if len(numbers) > 1 else f"Trial {numbers[0]} is"
    add_note(error, f"{which} handed out again once this process has ended: {why}")


def count_retries(info: Info) -> int:
    """Return how often a trial was handed out again by `Ledger.retry`."""
    return info.get("retries", 0)


def _note_failure(info: Info, reason: str | None) -> Info:
    """Return the info of a trial that is handed out again after it failed, or, without a reason, was canceled."""
    kept = {key: part for key, part in info.items() if key not in OF_ONE_EVALUATION}
    return kept if reason is None else kept | {"failed_before": [*info.get("failed_before", ()), reason]}
