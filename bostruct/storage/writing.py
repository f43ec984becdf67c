"""Transactions of a study: rows written with their checksums, and the proof that nothing that was written is lost.

A server that crashes may lose steps that it had committed, an administrator may put an earlier copy in the place of a
database, or make a study of the same name anew. Who went on there would write values to the points of others.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from functools import wraps
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from bostruct.checks import add_note
from bostruct.execution.interrupts import defer_signals
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import News, SpaceChange, StepUndone, StorageError, StorageLost, StoredStudy, TrialRow
from bostruct.storage.reading import (
    FoundTrial,
    StudyKey,
    WholeStudy,
    find_trial,
    read_change_checksums,
    read_later,
    read_trial_checksums,
)
from bostruct.storage.rows import (
    CHANGE_COLUMNS,
    PROGRESS_COLUMNS,
    STUDY_COLUMNS,
    TRIAL_COLUMNS,
    Progress,
    add_checksums,
    change_columns,
    seal,
    study_columns,
    trial_columns,
)

SECONDS = 120.0  # after the first loss, in which a connection is made again each time
_TRIALS = (*TRIAL_COLUMNS, "checksum")
_MARKS = ", ".join("?" * len(_TRIALS))
_INSERT_TRIAL = f"INSERT INTO trials ({', '.join(_TRIALS)}) VALUES ({_MARKS})"
_UPDATE_TRIAL = f"UPDATE trials SET ({', '.join(_TRIALS)}) = ({_MARKS}) WHERE study = ? AND number = ?"
Function = TypeVar("Function", bound=Callable[..., Any])


class Step:
    """A step that is being made, within a transaction of the caller, who keeps all others from writing meanwhile.

    connection: to the database.
    before: the progress of the study as it is there.
    where: database and study, for messages.

    connection, before: the arguments.
    checksums: of the trials that it has written, by number.
    n_changes: of the study's space, that it has written.
    """

    def __init__(self, connection: Connection, before: Progress, where: str) -> None:
        self.connection = connection
        self.before = before
        self.checksums: dict[int, int] = {}
        self.n_changes = 0
        self._begun = before._replace(revision=before.revision + 1)
        self._progress = self._begun
        self._where = where

    def insert(self, row: TrialRow, state: str | None) -> None:
        """Write a new trial and, with it or not at all, the searcher's new state.

        row: the trial.
        state: as JSON text; None leaves it as it is.
        """
        self._note(row.number, insert_trial(self.connection, self._progress, row))
        self._progress = self._progress.advance(0, 0, state)

    def change(self, row: TrialRow, status: str) -> None:
        """Change a trial, all but its point; raise StorageError where no such trial has this status.

        row: the trial as it is to be.
        status: that it must have.
        """
        before = find_trial(self.connection, self._progress.study, row.number, self._where)
        if before is None or before.row.status != status:
            raise StorageError(f"{self._where}: trial {row.number} is not {status} there any more; load it again")
        after = row._replace(point=before.row.point)
        self._note(row.number, change_trial(self.connection, self._progress, before, after))

    def take_back(self, numbers: tuple[int, ...]) -> None:
        """Count an attempt less for those trials that run; nobody owns them then.

        numbers: of the trials, each of which counts once.
        """
        for number in dict.fromkeys(numbers):
            before = find_trial(self.connection, self._progress.study, number, self._where)
            if before is not None and before.row.status == "running":
                after = before.row._replace(attempts=before.row.attempts - 1, owner=None)
                self._note(number, change_trial(self.connection, self._progress, before, after))

    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write that the study is over another space, and the searcher's new state.

        change: the next one.
        state: as JSON text.
        """
        number = len(read_change_checksums(self.connection, self._progress.study))
        self._progress = insert_change(self.connection, self._progress, number, change).advance(0, 0, state)
        self.n_changes += 1

    def finish(self) -> Progress:
        """Write the progress that goes with the changes, if there were any, and return it."""
        if self._progress is self._begun:
            return self.before
        write_progress(self.connection, self._progress)
        return self._progress

    def _note(self, number: int, written: Written) -> None:
        self._progress = written.progress
        self.checksums[number] = written.checksum


def insert_study(connection: Connection, number: int, stored: StoredStudy) -> Progress:
    """Write a new study with its trials and changes, and return its progress.

    connection: to the database.
    number: id of the study.
    stored: the study, all its trials, and the changes of its space.
    """
    columns = ", ".join((*STUDY_COLUMNS, "checksum"))
    values = seal(study_columns(number, stored.study))
    connection.execute(f"INSERT INTO studies ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    progress = Progress(number, stored.study.state)
    for row in stored.trials:
        progress = insert_trial(connection, progress, row).progress
    for position, change in enumerate(stored.changes):
        progress = insert_change(connection, progress, position, change)
    write_progress(connection, progress)
    return progress


def next_study(connection: Connection) -> int:
    """Return the id of the next study that is made.

    connection: to the database, within a transaction that keeps all others from making one.
    """
    ((number,),) = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM studies").fetchall()
    return number


def insert_change(connection: Connection, progress: Progress, number: int, change: SpaceChange) -> Progress:
    """Write a change of a study's space, and return the progress of the study after it, which is not written.

    connection: to the database.
    progress: before it.
    number: of the change, from 0.
    change: the change.
    """
    columns = ", ".join((*CHANGE_COLUMNS, "checksum"))
    values = seal(change_columns(progress.study, number, change))
    connection.execute(f"INSERT INTO changes ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    return progress.advance(values[-1], 0)


def write_progress(connection: Connection, progress: Progress) -> None:
    """Write what changes of a study at each step.

    connection: to the database.
    progress: all of it.
    """
    columns = ", ".join((*PROGRESS_COLUMNS, "checksum"))
    new = ", ".join(f"excluded.{name}" for name in (*PROGRESS_COLUMNS, "checksum"))
    marks = ", ".join("?" * (len(PROGRESS_COLUMNS) + 1))
    replace = f"ON CONFLICT (study) DO UPDATE SET ({columns}) = ({new})"
    connection.execute(f"INSERT INTO progress ({columns}) VALUES ({marks}) {replace}", seal(progress))


class Written(NamedTuple):
    """A trial that was written.

    progress: of its study after it, which is not written.
    checksum: of its row.
    """

    progress: Progress
    checksum: int


def insert_trial(connection: Connection, progress: Progress, row: TrialRow) -> Written:
    """Write a new trial.

    connection: to the database.
    progress: before it.
    row: the trial.
    """
    values = seal(trial_columns(progress.study, row, progress.revision))
    connection.execute(_INSERT_TRIAL, values)
    return Written(progress.advance(values[-1], row.told is not None), values[-1])


def change_trial(connection: Connection, progress: Progress, before: FoundTrial, after: TrialRow) -> Written:
    """Change a trial.

    connection: to the database.
    progress: before it.
    before: the trial as it is there.
    after: as it is to be.
    """
    values = seal(trial_columns(progress.study, after, progress.revision))
    connection.execute(_UPDATE_TRIAL, (*values, progress.study, after.number))
    told = (after.told is not None) - (before.row.told is not None)
    return Written(progress.advance(values[-1] - before.checksum, told), values[-1])


class Replica:
    """The study as the holder of a writer knows it: up to which step, and the checksum of each trial.

    key: of the study.
    """

    def __init__(self, key: StudyKey) -> None:
        self._key = key
        self._mark = Mark(0, 0, 0, 0)
        self._checksums = array("q")  # of the trials, by number
        self._pending: Update | None = None  # in the step that is being made, which may never be done

    def take_all(self, found: WholeStudy) -> StoredStudy:
        """Know a study as it was read, and return it.

        found: the study.
        """
        self._checksums = array("q", found.checksums)
        self._mark_step(found.progress, add_checksums(*found.checksums), len(found.stored.changes))
        return found.stored

    def find_unchanged(self, progress: Progress) -> News | None:
        """Return the news where nothing was written, as it is most of the time; None where they are to be read.

        progress: of the study as it is in the database.

        Raises StorageLost where the database does not hold the step that the holder knows.
        """
        mark = self._mark
        if progress.revision > mark.revision:
            return None
        if (progress.revision, progress.digest) != (mark.revision, mark.digest):
            raise self._explain_loss()
        return News([], progress.state, mark.n_changes)

    def read_update(self, connection: Connection) -> Update:
        """Return what was written since; raise StorageLost where the rest is not what the holder knows.

        connection: to the database, within a transaction, so that all is of one moment.
        """
        return self._read_update(connection, self._key.read_progress(connection))

    def check_rows(self, connection: Connection) -> None:
        """Raise StorageLost where trials are not in the database that were written, by whomever.

        It takes milliseconds, as it reads the checksum of each trial.

        connection: to the database, within a transaction, so that all is of one moment.
        """
        progress = self._key.read_progress(connection)
        self.find_unchanged(progress)
        found = (*read_trial_checksums(connection, progress.study), *read_change_checksums(connection, progress.study))
        if add_checksums(*found) != progress.digest:
            raise self._explain_loss()

    def take(self, update: Update) -> News:
        """Know what was read, and return the news.

        update: as of `read_update`.
        """
        self._take(update.progress, update.checksums, update.news.n_changes)
        return update.news

    def begin(self, step: Step) -> None:
        """Begin to follow a step; raise StorageLost where the database does not hold the step that the holder knows.

        step: that is being made by the holder.
        """
        news = self.find_unchanged(step.before)
        self._pending = None if news is None else Update(news, step.before, {})

    def read_news(self, step: Step) -> News:
        """Return what others wrote before a step, which the holder knows once the step is done; raise StorageLost.

        step: that is being made.
        """
        self._pending = self._read_update(step.connection, step.before)
        return self._pending.news

    def end(self, step: Step, after: Progress) -> None:
        """Know what a step has written, which is done; where the holder has not read what others wrote before, not yet.

        step: that was made.
        after: the progress after it.
        """
        if (before := self._pending) is not None:
            self._take(after, {**before.checksums, **step.checksums}, before.news.n_changes + step.n_changes)

    def _read_update(self, connection: Connection, progress: Progress) -> Update:
        if (unchanged := self.find_unchanged(progress)) is not None:
            return Update(unchanged, progress, {})
        found = read_later(connection, progress, self._mark.revision, self._key.where)
        changes = read_change_checksums(connection, progress.study)
        checksums = {one.row.number: one.checksum for one in found}
        rest = add_checksums(progress.digest, *(-one for one in changes))
        if self._find_sum(self._mark.sum, checksums) != rest:
            # The mark lags behind the checksums where an exception of another thread's making cut `take` short.
            known = add_checksums(*self._checksums)
            if self._find_sum(known, checksums) != rest:
                raise self._explain_loss()
        return Update(News([one.row for one in found], progress.state, len(changes)), progress, checksums)

    def _explain_loss(self) -> StorageLost:
        return StorageLost(
            f"{self._key.where} is not as this process knew it at step {self._mark.revision}: its server lost "
            "committed steps in a crash, an earlier copy was put in its place, or trials were removed by hand"
        )

    def _take(self, progress: Progress, checksums: Mapping[int, int], n_changes: int) -> None:
        known = self._find_sum(self._mark.sum, checksums)
        for number in sorted(checksums):
            self._checksums[number : number + 1] = array("q", [checksums[number]])
        self._mark_step(progress, known, n_changes)

    def _find_sum(self, known: int, checksums: Mapping[int, int]) -> int:
        """Return the sum of all checksums where some are new.

        known: the sum of those that are kept.
        checksums: the new ones, by number.
        """
        replaced = (-self._checksums[number] for number in checksums if number < len(self._checksums))
        return add_checksums(known, *replaced, *checksums.values())

    def _mark_step(self, progress: Progress, known: int, n_changes: int) -> None:
        self._mark = Mark(progress.revision, progress.digest, n_changes, known)


class Update(NamedTuple):
    """All that was written after the step that the holder knows.

    news: for the holder.
    progress: of the study then.
    checksums: of the trials in the news, by number.
    """

    news: News
    progress: Progress
    checksums: Mapping[int, int]


class Mark(NamedTuple):
    """The step up to which a study is known.

    revision: of the step.
    digest: of the progress at that step.
    n_changes: of the space, until then.
    sum: of the checksums of the trials, modulo 2 to the 64, signed.
    """

    revision: int
    digest: int
    n_changes: int
    sum: int


def repeat_undone(step: Function) -> Function:
    """Make a function begin again where it raises StepUndone, for two minutes at most.

    step: function whose only effect, before the step that it makes, may be had twice; it is returned wrapped.
    """

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        last: float | None = None
        while True:
            try:
                return step(*args, **kwargs)
            except StepUndone:
                last = monotonic() + SECONDS if last is None else last
                if monotonic() > last:
                    raise

    return whole  # type: ignore[return-value]


def defer_signals_and_note(step: Function) -> Function:
    """Make signals wait for a function, and note its failure with what a signal raises then, which takes its place.

    step: function that writes a value of the user's, which is returned wrapped.
    """

    def note(failures: list[StorageError], *args: Any, **kwargs: Any) -> Any:
        try:
            return step(*args, **kwargs)
        except StorageError as error:
            failures.append(error)
            raise

    deferred = defer_signals(note)

    @wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        failures: list[StorageError] = []
        try:
            return deferred(failures, *args, **kwargs)
        except BaseException as error:
            if failures and error is not failures[0]:
                add_note(error, f"Earlier outcomes are not written: {failures[0]}")
            raise

    return whole  # type: ignore[return-value]
