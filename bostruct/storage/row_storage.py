"""The shared part of database storages and their writers, independent of the connection.

A crashed server may lose committed transactions, and an administrator may restore an earlier copy of a database or
create a study of the same name again. A writer that continued would assign values to the points of others. Each writer
therefore keeps the checksum of each trial, and verifies in each transaction that the database contains them.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import chain
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from bostruct.storage.locks import WriterLock
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import (
    RemoteChanges,
    SpaceChange,
    Storage,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    StudyWriter,
    TrialRow,
    check_new_name,
    explain_second,
    find_study,
)
from bostruct.storage.reading import StudyKey, WholeStudy, read_checksums, read_later, read_studies, read_study
from bostruct.storage.rows import Progress, add_checksums, seal, study_columns
from bostruct.storage.schema import SCHEMA_VERSION
from bostruct.storage.writing import Transaction, retry_rolled_back

T = TypeVar("T")
P = ParamSpec("P")


class RowStorage(Storage):
    """A database of studies, opened for each call: the base class of back ends that share the rows and their SQL."""

    def studies(self) -> list[StudyRow]:
        return self._read(lambda found, version: [one.study for one in read_studies(found, self.label, version)])

    def read(self, name: str | None) -> StoredStudy:
        return self._read(lambda found, version: read_study(found, name, self.label, version).stored)

    def begin(self, row: StudyRow) -> tuple[StoredStudy, StudyWriter]:
        return self._become_writer(StoredStudy(row, []), is_new=False)

    def save(self, stored: StoredStudy) -> StudyWriter:
        return self._become_writer(stored, is_new=True)[1]

    def delete(self, name: str) -> None:
        with self._opening_alone(name) as writer:
            writer.delete()

    def rename(self, name: str, new: str) -> None:
        studies = self.studies()
        find_study(studies, name, self.label)
        if new in {row.name for row in studies}:
            raise explain_second(self.label, new)
        with self._opening_alone(name) as writer:
            writer.rewrite(name=check_new_name(new))

    def change_goals(self, name: str, goals: str) -> None:
        with self._opening_alone(name) as writer:
            writer.rewrite(goals=goals)

    @contextmanager
    def _opening_alone(self, name: str) -> Iterator[RowWriter]:
        """Yield the exclusive writer of an existing study; raise StudyLocked if it has another writer, StorageError."""
        row = find_study(self.studies(), name, self.label)
        with closing(self._open_writer(StoredStudy(row, []), is_new=False)) as writer:
            writer.check_alone("cannot be deleted or renamed")
            yield writer

    def _become_writer(self, stored: StoredStudy, *, is_new: bool) -> tuple[StoredStudy, RowWriter]:
        writer = self._open_writer(stored, is_new=is_new)
        try:
            return writer.read(), writer
        except BaseException:
            writer.close()
            raise

    @abstractmethod
    def _read(self, work: Callable[[Connection, int], T]) -> T:
        """Return the result of a function on a consistent snapshot of the database; raise StorageError.

        work: called with a connection and the version of the rows, 0 if there are no tables.
        """

    @abstractmethod
    def _open_writer(self, stored: StoredStudy, *, is_new: bool) -> RowWriter:
        """Write a study if it does not exist, and return a writer of it.

        is_new: whether to raise StorageError if it exists.
        """


class RowWriter(StudyWriter):
    """A writer of a study in a database; a study may have several writers."""

    def __init__(self, key: StudyKey, name: str, label: str, lock: WriterLock) -> None:
        self._key, self._name, self._label, self._lock = key, name, label, lock
        self._snapshot = Snapshot(key)
        self._current: Transaction | None = None

    def read(self) -> StoredStudy:
        """Return the current study; later calls of `poll` return changes after it."""
        return self._snapshot.take_all(
            self._read(lambda connection: read_study(connection, self._name, self._label, SCHEMA_VERSION))
        )

    @property
    def owner(self) -> str:
        return self._lock.owner

    def ask_lock(self) -> AbstractContextManager[None]:
        return self._lock.ask_lock()

    def find_dead_writers(self, owners: AbstractSet[str]) -> set[str]:
        with self._noting_loss():
            return self._lock.find_dead_writers(owners)

    @contextmanager
    def changing(self) -> Iterator[RemoteChanges]:
        with self._open_transaction() as transaction:
            yield self._snapshot.read_news(transaction)

    def poll(self) -> RemoteChanges:
        with self._noting_loss():
            return self._snapshot.take(self._read(self._snapshot.read_update))

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        self._change(Transaction.insert, row, state)

    def change(self, row: TrialRow, status: str) -> None:
        self._change(Transaction.change, row, status)

    def release(self, *numbers: int) -> None:
        self._change(Transaction.release, numbers)

    def change_space(self, change: SpaceChange, state: str) -> None:
        self._change(Transaction.change_space, change, state)

    @retry_rolled_back
    def _change(self, change: Callable[Concatenate[Transaction, P], None], *given: P.args, **named: P.kwargs) -> None:
        """Apply a change in the current transaction, or in a separate one."""
        with self._open_transaction() as transaction:
            change(transaction, *given, **named)

    @contextmanager
    def _open_transaction(self) -> Iterator[Transaction]:
        """Yield the current transaction, or a new one for the block.

        Raises RolledBack if the connection was lost before the commit.
        """
        if self._current is not None:
            yield self._current
            return
        try:
            with self._noting_loss(), self._transaction() as (connection, before):
                self._current = transaction = Transaction(connection, before, self._key.where)
                self._snapshot.begin(transaction)
                yield transaction
                after, self._current = transaction.finish(), None  # nothing is added to it during the commit
                self._sign(transaction, after)
        finally:
            self._current = None
        self._snapshot.end(transaction, after)

    def delete(self) -> None:
        """Remove the study and all its trials; only `close` is possible afterward."""
        with self._transaction() as (connection, _):
            for table, column in (("trials", "study"), ("changes", "study"), ("progress", "study"), ("studies", "id")):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (self._key.study,))

    def rewrite(self, **changes: str) -> None:
        """Give the study another name or other goals; only `close` is possible afterward."""
        study = self._read(lambda connection: read_study(connection, self._name, self._label, SCHEMA_VERSION)).stored
        row = study.study._replace(**changes)
        *_, checksum = seal(study_columns(self._key.study, row))
        with self._transaction() as (connection, _):
            values = (row.name, row.goals, checksum, self._key.study)
            connection.execute("UPDATE studies SET name = ?, goals = ?, checksum = ? WHERE id = ?", values)

    def check_alone(self, refused: str = "its space cannot be changed") -> None:
        """Raise StudyLocked if there is another writer.

        refused: end of the message: the operation that is then impossible.
        """
        if (holder := self._lock.find_other()) is not None:
            raise StudyLocked(f"{self._key.where}: {refused} while it is open in {holder}")

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        """Stop writing once the study is lost, and release the locks for a new study in its place."""
        try:
            yield
        except StorageLost as error:
            self._lock.leave()
            raise self._lose(error) from error

    @abstractmethod
    def _read(self, work: Callable[[Connection], T]) -> T:
        """Return the result of a function on a consistent snapshot of the database; raise StorageError."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[tuple[Connection, Progress]]:
        """Lock out other writers of the study, and commit all changes of a block at its end, or none."""

    def _sign(self, transaction: Transaction, after: Progress) -> None:
        """Write, at the end of a transaction, the data that later prove its commit."""

    @abstractmethod
    def _lose(self, error: StorageLost) -> StorageLost:
        """Stop writing, and return the error to raise."""


class Snapshot:
    """A writer's record of its study: the last known revision, and the checksum of each trial."""

    def __init__(self, key: StudyKey) -> None:
        self._key = key
        self._mark = Mark(0, 0, 0, 0)
        self._checksums = array("q")  # of the trials, by number
        self._pending: Update | None = None  # in the current transaction, which may be rolled back

    def take_all(self, found: WholeStudy) -> StoredStudy:
        """Record a study that was read, and return it."""
        self._checksums = array("q", found.checksums)
        revision, digest = found.progress.revision, found.progress.digest
        self._mark = Mark(revision, digest, len(found.stored.changes), add_checksums(*found.checksums))
        return found.stored

    def find_unchanged(self, progress: Progress) -> RemoteChanges | None:
        """Return empty changes if nothing was written, the common case; None if changes must be read.

        Raises StorageLost if the database lacks the known revision.
        """
        mark = self._mark
        if progress.revision > mark.revision:
            return None
        if (progress.revision, progress.digest) != (mark.revision, mark.digest):
            raise self._explain_loss()
        return RemoteChanges([], progress.state, mark.n_changes)

    def read_update(self, connection: Connection, progress: Progress | None = None) -> Update:
        """Return the later changes; raise StorageLost if the rest differs from the known data.

        progress: progress of the study in the database; None to read it.
        """
        progress = self._key.read_progress(connection) if progress is None else progress
        if (unchanged := self.find_unchanged(progress)) is not None:
            return Update(unchanged, progress, {})
        found = read_later(connection, progress, self._mark.revision, self._key.where)
        changes = read_checksums(connection, "changes", progress.study)
        checksums = {one.row.number: one.checksum for one in found}
        rest = add_checksums(progress.digest, *(-one for one in changes))
        if self._find_sum(self._mark.sum, checksums) != rest:
            # The mark lags behind the checksums if an exception from another thread interrupted `take`.
            known = add_checksums(*self._checksums)
            if self._find_sum(known, checksums) != rest:
                raise self._explain_loss()
        return Update(RemoteChanges([one.row for one in found], progress.state, len(changes)), progress, checksums)

    def check_rows(self, connection: Connection) -> None:
        """Raise StorageLost if trials that any writer wrote are missing from the database.

        It takes milliseconds, since it reads the checksum of each trial.
        """
        progress = self._key.read_progress(connection)
        self.find_unchanged(progress)
        found = [read_checksums(connection, table, progress.study) for table in ("trials", "changes")]
        if add_checksums(*chain(*found)) != progress.digest:
            raise self._explain_loss()

    def take(self, update: Update) -> RemoteChanges:
        """Record an update, and return its changes."""
        changes, progress, checksums = update
        known = self._find_sum(self._mark.sum, checksums)
        for number in sorted(checksums):
            self._checksums[number : number + 1] = array("q", [checksums[number]])
        self._mark = Mark(progress.revision, progress.digest, changes.n_changes, known)
        return changes

    def begin(self, transaction: Transaction) -> None:
        """Start to record a transaction; raise StorageLost if the database lacks the known revision."""
        changes = self.find_unchanged(transaction.before)
        self._pending = None if changes is None else Update(changes, transaction.before, {})

    def read_news(self, transaction: Transaction) -> RemoteChanges:
        """Return the changes of others before a transaction, recorded once it is committed; raise StorageLost."""
        self._pending = self.read_update(transaction.connection, transaction.before)
        return self._pending.changes

    def end(self, transaction: Transaction, after: Progress) -> None:
        """Record a committed transaction, unless earlier changes of others have not been read."""
        if (before := self._pending) is not None:
            changes = before.changes._replace(n_changes=before.changes.n_changes + transaction.n_changes)
            self.take(Update(changes, after, {**before.checksums, **transaction.checksums}))

    def _explain_loss(self) -> StorageLost:
        return StorageLost(
            f"{self._key.where} differs from what this process read or wrote at revision {self._mark.revision}: its "
            "server lost committed transactions in a crash, an earlier copy was restored, or trials were removed"
        )

    def _find_sum(self, known: int, checksums: Mapping[int, int]) -> int:
        """Return the sum of all checksums, computed incrementally from the known sum."""
        replaced = (-self._checksums[number] for number in checksums if number < len(self._checksums))
        return add_checksums(known, *replaced, *checksums.values())


class Update(NamedTuple):
    """All changes after the known revision."""

    changes: RemoteChanges
    progress: Progress
    checksums: Mapping[int, int]


class Mark(NamedTuple):
    """The known revision of a study.

    sum: sum of the checksums of the trials, modulo 2 to the 64, signed.
    """

    revision: int
    digest: int
    n_changes: int
    sum: int
