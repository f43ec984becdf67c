"""Read studies from the database, with types and checksums of all rows validated."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Literal, NamedTuple

from bostruct.execution.interrupts import defer_signals, hook_forks
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import StorageError, StorageLost, StoredStudy, StudyRow, TrialRow, find_study
from bostruct.storage.rows import (
    CHANGE_COLUMNS,
    GOALS_SINCE,
    HINT,
    PROGRESS_COLUMNS,
    SHARED_SINCE,
    STUDY_COLUMNS,
    TRIAL_COLUMNS,
    Columns,
    Progress,
    add_checksums,
    read_change_columns,
    read_progress_columns,
    read_study_columns,
    read_trial_columns,
    read_trial_rows,
)
from bostruct.storage.schema import SCHEMA_VERSION

# A study that was deleted and created again may have the id of the first.
SELECT_PROGRESS = f"""SELECT {", ".join((*PROGRESS_COLUMNS, "checksum"))} FROM progress WHERE study = ?
AND EXISTS (SELECT 1 FROM studies WHERE id = progress.study AND checksum = ?)"""
_READ_TRIAL = f"SELECT {', '.join((*TRIAL_COLUMNS, 'checksum'))} FROM trials WHERE study = ? AND number = ?"
BATCH_SIZE = 500  # trials that are fetched and checked together
_stopped_by: set[int] = set()  # threads that have stopped the collector and will start it again


class FoundStudy(NamedTuple):
    """A study in a database."""

    study: StudyRow
    progress: Progress


class FoundTrial(NamedTuple):
    """A trial in a database."""

    row: TrialRow
    checksum: int


class WholeStudy(NamedTuple):
    """A study in a database, with its trials.

    checksums: checksums of the trials, by number; empty for a file of schema version 1.
    """

    stored: StoredStudy
    progress: Progress
    checksums: list[int]


def read_studies(connection: Connection, where: str, version: int, name: str | None = None) -> list[FoundStudy]:
    """Return the studies of a database, oldest first; raise StorageError, with the name of an unreadable study.

    version: schema version, 0 if there are no tables.
    name: name of the only study to read; None for all studies.
    """
    if version == 0:
        return []
    has_checksums = version > 1
    names = ["direction" if name == "goals" and version < GOALS_SINCE else name for name in STUDY_COLUMNS]
    columns = ", ".join((*names, *(["checksum"] if has_checksums else [])))
    condition, parameters = ("", ()) if name is None else (" WHERE name = ?", (name,))
    rows = connection.execute(f"SELECT {columns} FROM studies{condition} ORDER BY id", parameters).fetchall()
    found = []
    for number, study in (read_study_columns(row, where, version) for row in rows):
        progress = read_progress(connection, number, f"{where}: study {study.name!r}", version)
        found.append(FoundStudy(study._replace(state=progress.state), progress))
    return found


def find_in(connection: Connection, name: str | None, where: str, version: int) -> FoundStudy:
    """Return a study of a database; raise StorageError if it does not exist.

    name: name of the study; None for the only study.
    version: schema version, 0 if there are no tables.
    """
    found = read_studies(connection, where, version, name) or read_studies(connection, where, version)
    wanted = find_study([one.study for one in found], name, where).name
    return next(one for one in found if one.study.name == wanted)


def read_progress(connection: Connection, study: int, where: str, version: int) -> Progress:
    """Return the progress of a study; raise StorageError if it cannot be read."""
    if version == 1:
        ((state,),) = connection.execute("SELECT state FROM studies WHERE id = ?", (study,)).fetchall()
        return Progress(study, state)
    names = [name for name in PROGRESS_COLUMNS if name != "revision" or version >= SHARED_SINCE]
    columns = ", ".join((*names, "checksum"))
    rows = connection.execute(f"SELECT {columns} FROM progress WHERE study = ?", (study,)).fetchall()
    if not rows:
        raise StorageError(f"{where} cannot be read: it has no row in the table progress{HINT}")
    return read_progress_columns(rows[0], where)


class StudyKey(NamedTuple):
    """A key that identifies a study in its database, even against a later one with the same name and id."""

    study: int
    checksum: int
    where: str

    @property
    def parameters(self) -> tuple[int, int]:
        """The parameters of SELECT_PROGRESS."""
        return self.study, self.checksum

    def check_there(self, row: Columns | None) -> Progress:
        """Return the progress of the study; raise StorageLost if it no longer exists.

        row: result of SELECT_PROGRESS; None if it is empty.
        """
        if row is None:
            raise StorageLost(f"{self.where} was removed while it was open")
        return read_progress_columns(row, self.where)

    def read_progress(self, connection: Connection) -> Progress:
        """Return the progress of the study; raise StorageLost if it no longer exists."""
        return self.check_there(connection.execute(SELECT_PROGRESS, self.parameters).fetchone())


def find_study_key(connection: Connection, name: str, where: str, version: int) -> StudyKey:
    """Return the key of a study of a database; raise StorageError if it does not exist.

    version: schema version, at least 2.
    """
    study = find_in(connection, name, where, version).progress.study
    ((checksum,),) = connection.execute("SELECT checksum FROM studies WHERE id = ?", (study,)).fetchall()
    return StudyKey(study, checksum, f"{where}: study {name!r}")


def read_study(connection: Connection, name: str | None, where: str, version: int) -> WholeStudy:
    """Return a study with its trials by number, and its progress; raise StorageError if it is incomplete.

    name: name of the study; None for the only study.
    version: schema version, 0 if there are no tables.
    """
    study, progress = find_in(connection, name, where, version)
    where = f"{where}: study {study.name!r}"
    has_checksums = version > 1
    with pause_collector():
        missing = () if has_checksums else ("outcome", "owner", "revision")
        renamed = {} if version >= SHARED_SINCE else {"revision": "lease"}  # column of earlier versions
        columns = ", ".join("NULL" if name in missing else renamed.get(name, name) for name in TRIAL_COLUMNS)
        select = f"SELECT {columns}{', checksum' if has_checksums else ''} FROM trials WHERE study = ? ORDER BY number"
        cursor, trials, checksums = connection.execute(select, (progress.study,)), list[TrialRow](), list[int]()
        with closing(cursor):  # an unfinished query of a kept exception would lock the file
            while rows := cursor.fetchmany(BATCH_SIZE):
                trials += read_trial_rows(rows, where, version)
                checksums += [row[-1] for row in rows if has_checksums]
    if has_checksums:
        _check_told(trials, progress.told, where)
    _check_numbering(trials, where)
    changes: list[Columns] = []
    if version > 2:
        columns = ", ".join((*CHANGE_COLUMNS, "checksum"))
        select = f"SELECT {columns} FROM changes WHERE study = ? ORDER BY number"
        changes = connection.execute(select, (progress.study,)).fetchall()
    found = tuple(read_change_columns(row, position, where) for position, row in enumerate(changes))
    if has_checksums and progress.digest != add_checksums(*checksums, *(row[-1] for row in changes)):
        raise StorageError(f"{where} is damaged: its trials differ from what was written last{HINT}")
    counts = [0, *(change.trials for change in found), len(trials)]
    if counts != sorted(counts):
        raise StorageError(f"{where}: its space changed after {counts[1:-1]} of {len(trials)} trials{HINT}")
    return WholeStudy(StoredStudy(study, trials, found), progress, checksums)


def read_later(connection: Connection, progress: Progress, revision: int, where: str) -> list[FoundTrial]:
    """Return the trials that were changed after a revision, by number; raise StorageError if a trial is invalid."""
    columns = ", ".join((*TRIAL_COLUMNS, "checksum"))
    later = f"SELECT {columns} FROM trials WHERE study = ? AND revision > ? ORDER BY number"
    rows = connection.execute(later, (progress.study, revision)).fetchall()
    return [FoundTrial(read_trial_columns(row, where, SCHEMA_VERSION), row[-1]) for row in rows]


def find_trial(connection: Connection, study: int, number: int, where: str) -> FoundTrial | None:
    """Return a trial in the database, None if it does not exist; raise StorageError if it cannot be read."""
    found = connection.execute(_READ_TRIAL, (study, number)).fetchone()
    return None if found is None else FoundTrial(read_trial_columns(found, where, SCHEMA_VERSION), found[-1])


def read_checksums(connection: Connection, table: Literal["trials", "changes"], study: int) -> list[int]:
    """Return the stored checksums of the trials of a study, or of the changes of its space."""
    rows = connection.execute(f"SELECT checksum FROM {table} WHERE study = ?", (study,)).fetchall()
    return [checksum for (checksum,) in rows]


def _check_told(trials: list[TrialRow], expected: int, where: str) -> None:
    found = sum(row.told is not None for row in trials)
    if found != expected:
        raise StorageError(
            f"{where}: expected {expected} finished trials, found {found}: rows were removed, or the file was copied "
            f"or its journal removed while it was written{HINT}"
        )


def _check_numbering(trials: list[TrialRow], where: str) -> None:
    for position, row in enumerate(trials):
        if row.number != position:
            raise StorageError(f"{where}: expected trial {position}, found trial {row.number}{HINT}")
    for position, count in Counter(row.told for row in trials if row.told is not None).items():
        if count > 1:
            raise StorageError(f"{where}: {count} trials have position {position} in the order of completion{HINT}")


@contextmanager
def pause_collector() -> Iterator[None]:
    """Stop the garbage collector during a block, unless other code has stopped it.

    It visits all objects whenever their number has grown by a quarter, which takes a third of the time to read a long
    study. Afterward, the new objects count as old and are not visited again, unless the user has frozen objects.
    """
    was_enabled, thread = gc.isenabled(), threading.get_ident()
    try:
        if was_enabled:
            _stopped_by.add(thread)
        gc.disable()
        yield
    finally:
        if was_enabled:
            try:
                _make_old()
            finally:  # after an interrupt too
                gc.enable()
                _stopped_by.discard(thread)


@defer_signals
def _make_old() -> None:
    """Move all objects into the oldest generation, unless the user has frozen some."""
    if gc.get_freeze_count() == 0:
        gc.freeze()  # moves all objects out of the young generations,
        gc.unfreeze()  # and into the oldest


def _start_in_child() -> None:
    """Start the collector in a forked child, if the thread that stopped it does not exist there."""
    if _stopped_by and threading.get_ident() not in _stopped_by:
        gc.enable()
        _stopped_by.clear()


hook_forks(after_in_child=_start_in_child)
