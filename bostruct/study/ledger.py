"""The ledger: the trials of a study as they are asked, told, added, given back and tried again."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import NamedTuple

from bostruct.checks import add_note
from bostruct.contracts import BostructError, Info, Point, Presented
from bostruct.execution.clock import now
from bostruct.execution.evaluation import EARLIER
from bostruct.execution.interrupts import defer_signals_once_begun
from bostruct.outcome import Outcome
from bostruct.storage.json_text import parse
from bostruct.storage.protocol import (
    StorageLost,
    TrialRow,
)
from bostruct.storage.writing import defer_signals_and_note, repeat_undone
from bostruct.study.given_numbers import find_moved_numbers, restore_numbers
from bostruct.study.history import CANCELED, MACHINE, NO_DATA, Trial
from bostruct.study.records import write_trial
from bostruct.study.shared_table import SharedTable, apply_outcome
from bostruct.study.trial_table import Record

RETRIES = 2  # of a failure that is no fault of the point, unless another number is asked for
OF_ONE_EVALUATION = ("reports", CANCELED, NO_DATA)  # in the info of a trial, until it is handed out again


class NextPoint(NamedTuple):
    """The next point of a study.

    point: as the domain holds it.
    info: for people, plain JSON.
    state: the searcher's after it, as JSON text.
    may_repeat: whether the point may have been asked for before.
    """

    point: Point
    info: Info
    state: str
    may_repeat: bool = False


class Ledger(SharedTable):
    """The trials of a study, which it asks, tells and adds; each change is on disk before it is here."""

    @contextmanager
    def requeue_on_error(self, lock: AbstractContextManager[object]) -> Iterator[None]:
        """Give back the trials of a block that ends in an error, such as an interrupt, since nobody received them.

        lock: of this object, which others may change during the block.
        """
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
        """The first of the user's own points that was never asked nor added; None where there is none left."""
        while self._initial and self.seen(self._initial[0]):
            self._initial.pop(0)
        return self._initial[0] if self._initial else None

    @defer_signals_once_begun
    @repeat_undone
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
    @repeat_undone
    def begin(self, found: NextPoint, waits: bool = False) -> Trial | None:
        """Enter a new trial, running, and return it; None where another writer added the point meanwhile.

        found: its point, and what its searcher says of it.
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

        Raises ValueError where another told of it, and who tells now was not handed the trial here.
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
        """Give a running trial up, and return it.

        number: of the trial, which may be over by what another writer was told.
        """
        self.sync()
        if number in self._running:
            self.finish(number, Outcome(failed="canceled"), None, {CANCELED: True})
        self._held.pop(number, None)
        self._records[number].open = frozenset()
        return self._records[number].trial

    @defer_signals_and_note
    @repeat_undone
    def add(self, x: Point, outcome: Outcome, given: Presented, noted: Info | None = None) -> Trial:
        """Enter a trial that was never asked for, with its outcome, and return it.

        x: a point of the domain.
        outcome: of its evaluation.
        given: the point as the user wrote it. Numbers that the domain holds as others are on record, and shown.
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
    @repeat_undone
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
                writer.take_back(*ours)
        for number in held:
            self._held.pop(number, None)
        for number in ours:
            self._records[number].attempts -= 1
            self._records[number].owner = None

    @defer_signals_once_begun
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

    @defer_signals_once_begun
    @repeat_undone
    def retry(self, number: int, reason: str, begun: float | None = None, noted: Info | None = None) -> Trial:
        """Give a running trial back whose evaluation failed, and return the trial; that and the reason are on record.

        number: of the trial.
        reason: why its evaluation failed.
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

        number: of the trial.
        cause: the name of the cause.

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

    def _write_reopened(self, record: Record) -> TrialRow:
        trial = record.trial
        info = _note_failure(trial.info, None if trial.is_canceled else trial.reason)
        running = replace(trial, status="running", reason=None, finished=None, info=info)
        return write_trial(running, None, "", None, record.attempts - 1)


def _find_new_time(record: Record) -> float:
    """Return the time of day, or the next float at which the trial was not begun before: it names who has the trial."""
    moment = now()
    while moment in {record.trial.started, *record.earlier, *record.open}:
        moment = math.nextafter(moment, math.inf)
    return moment


def note_unreturned(error: BaseException, numbers: Sequence[int], why: BostructError) -> None:
    """Add to an error that trials could not be given back, which does not take its place.

    error: that ended what was done, and that its caller raises.
    numbers: of the trials.
    why: they could not be given back.
    """
    which = f"Trials {', '.join(map(str, numbers))} are" if len(numbers) > 1 else f"Trial {numbers[0]} is"
    add_note(error, f"{which} handed out again once this process has ended: {why}")


def count_retries(info: Info) -> int:
    """Return how often a trial was handed out again by `Ledger.retry`.

    info: of the trial.
    """
    return info.get("retries", 0)


def _note_failure(info: Info, reason: str | None) -> Info:
    """Return the info of a trial that is handed out again after it failed, or, without a reason, was canceled."""
    kept = {key: part for key, part in info.items() if key not in OF_ONE_EVALUATION}
    return kept if reason is None else kept | {"failed_before": [*info.get("failed_before", ()), reason]}
