"""The trials of one study, in memory and on disk alike, where other processes may write, too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from bostruct.contracts import BostructError, Domain, Info, NotWanted, Point
from bostruct.execution.clock import clamp_end
from bostruct.execution.interrupts import defer_signals, defer_signals_once_begun
from bostruct.outcome import Outcome
from bostruct.storage.json_text import parse
from bostruct.storage.protocol import (
    News,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyWriter,
    TrialRow,
)
from bostruct.storage.reading import pause_collector
from bostruct.storage.writing import repeat_undone
from bostruct.study.history import DOUBLE, Trial
from bostruct.study.kept_points import Kept
from bostruct.study.point_texts import find_names, write_point_text
from bostruct.study.records import read_goals, read_initial, read_trial, show_outcome, write_trial
from bostruct.study.space_changes import current_row, is_over, read_trials
from bostruct.study.trial_table import Record, TrialTable

MAX_ATTEMPTS = 2

log = logging.getLogger(__name__)


class SharedTable(TrialTable):
    """Trials as a storage holds them: it learns what others wrote, and takes over what they left.

    domain: of the points.
    stored: the study as its storage holds it.
    store: the right to write it, None where it is only read.
    label: of the storage, for messages.

    Raises StorageError, naming the trial, where a point cannot be decoded.
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
            for one, found in zip(stored.trials, read_trials(stored, self._form, where), strict=True):
                self._enter(found.trial, found.kept, one, found.text)
            self._close_stored(stored.trials)

    @property
    def file(self) -> Path | None:
        """The absolute path of the study's file; None for a database."""
        return None if "://" in self.label else self._folder / self.label

    @property
    def writer(self) -> StudyWriter:
        """The right to write the study; raises BostructError where it is only read."""
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
        """The name of this writer in the rows of trials that it hands out; None where it is the only one."""
        return None if self.store is None else self.store.owner

    @property
    def out(self) -> list[int]:
        """The numbers of the running trials that this object handed out, and nobody else since, ascending."""
        return sorted(number for number in self._running if self._is_out(number))

    @property
    def n_elsewhere(self) -> int:
        """The number of running trials that other writers handed out."""
        return len(self.evaluated) - len(self.out)

    @contextmanager
    def deciding(self, wanted: Callable[[], bool] | None = None) -> Iterator[None]:
        """Wait until no other writer decides on a trial, and keep them waiting for as long as a block lasts.

        wanted: tells whether a trial is to be handed out, by all that others wrote; it is asked in the same step, since
            others may decide, too, where a connection is lost. None for always.
        """
        block = self.writer.deciding() if self.is_writable else nullcontext()
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
        """Raise NotWanted where the block that decides wants no trial any more."""
        if self._wanted is not None and not self._wanted():
            raise NotWanted(f"{self._where}: no further trial is wanted")

    @defer_signals_once_begun
    def sync(self) -> None:
        """Learn what other writers wrote; do nothing within a step, and if nothing can be written."""
        if self.is_writable and not self._is_stepping:
            with suppress(StorageLost):  # as the next change says
                self._learn(self.writer.look())

    def learn_of(self, trial: object) -> None:
        """Learn what other writers wrote where a trial that somebody means is not known to run.

        trial: or its number; anything else is left alone.
        """
        number = getattr(trial, "number", trial)
        if isinstance(number, int) and number not in self._running:
            self.sync()

    def take_over(self) -> None:
        """Let trials wait that a writer left running which is gone; fail those that were left so for the second time.

        With one writer, these are the trials that were running when the study was opened.
        """
        owners = {owner for number in self._running if (owner := self._records[number].owner) is not None}
        gone = self.writer.find_gone(owners - {self.owner}) if owners and self.is_writable else owners
        for number in sorted(self._running):
            record = self._records[number]
            if number in self._held or not (record.owner is None or record.owner in gone):
                continue
            if record.owner is not None or record.attempts >= MAX_ATTEMPTS:
                self._take_from(record.owner, number)

    def note_writers(self, present: AbstractSet[str]) -> None:
        """Show the trials of a study that is only read as waiting where their writers are gone, and write nothing.

        present: the writers that are there.
        """
        for number in self._running:
            if self._records[number].owner not in present:
                self._records[number].owner = None

    @defer_signals_once_begun
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
        """Go on in another storage, which has just been given the study; this object keeps the trials that it holds.

        store: the right to write it.
        label: of the storage, for messages.
        name: of the study there.
        """
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

    def _learn(self, news: News | None) -> None:
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

    def _check_agreement(self, news: News, found: Sequence[tuple[Trial, Kept]]) -> None:
        """Raise StorageLost, from now on, where a trial has another point than here, or another value.

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
        for position, row in sorted((row.told, row) for row in rows if row.told is not None):
            self._check_stored(row, self._where)
            self._close(self._records[row.number].trial, row.outcome, position)

    def _check_stored(self, row: TrialRow, where: str) -> None:
        """Raise StorageError for an outcome that the goals of the study do not allow."""
        try:
            self.goals.check_stored(row.outcome or Outcome(failed="running"))
        except (TypeError, ValueError) as error:
            raise StorageError(f"{where}: trial {row.number} cannot be read: {error}") from error

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

    trial: that ran.
    outcome: of its evaluation.
    ended: seconds since the epoch, None for now.
    """
    return replace(show_outcome(trial, outcome), finished=clamp_end(None, trial.started) if ended is None else ended)
