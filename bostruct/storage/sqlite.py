"""Studies on disk: one SQLite file for several of them, one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and survives kill -9 and power loss.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

from bostruct.storage.database import Database
from bostruct.storage.protocol import (
    News,
    SpaceChange,
    Storage,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    StudyWriter,
    TrialRow,
    explain_second,
)
from bostruct.storage.reading import find_in, find_study_key, read_studies, read_study
from bostruct.storage.replica import Replica
from bostruct.storage.schema import SCHEMA_VERSION, read_version
from bostruct.storage.seats import Seat, find_writers
from bostruct.storage.steps import Step, next_study
from bostruct.storage.writing import insert_study


class SqliteStorage(Storage):
    """A file of studies, which is opened for each call.

    path: of the file; `begin` and `save` make it where it is absent. It is the label, as it was given.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.label = self.where = str(path)

    def studies(self) -> list[StudyRow]:
        with self.open_to_read() as database, database.reading() as connection:
            return [one.study for one in read_studies(connection, self.label, read_version(connection))]

    def read(self, name: str | None) -> StoredStudy:
        with self.open_to_read() as database, database.reading() as connection:
            return read_study(connection, name, self.label, read_version(connection)).stored

    def begin(self, row: StudyRow) -> tuple[StoredStudy, SqliteWriter]:
        def make(database: Database) -> None:
            with database.writing() as connection:
                if all(
                    one.study.name != row.name for one in read_studies(connection, self.label, read_version(connection))
                ):
                    insert_study(connection, next_study(connection), StoredStudy(row, []))

        return self._become_writer(row.name, make)

    def save(self, stored: StoredStudy) -> SqliteWriter:
        name = stored.study.name

        def make(database: Database) -> None:
            with database.writing() as connection:
                if any(
                    one.study.name == name for one in read_studies(connection, self.label, read_version(connection))
                ):
                    raise explain_second(self.label, name)
                insert_study(connection, next_study(connection), stored)

        return self._become_writer(name, make)[1]

    def find_writers(self) -> frozenset[str] | None:
        return find_writers(self._path)

    def find_revisions(self) -> object:
        """Return when the file was written last, its size and its number; None if it is not there."""
        try:
            facts = os.stat(self._path)
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def count_finished(self) -> int:
        """Count the finished trials of the only study, without reading them; raise StorageError."""
        with self.open_to_read() as database, database.reading() as connection:
            study = find_in(connection, None, self.label, read_version(connection)).progress.study
            counted = "SELECT COUNT(*) FROM trials WHERE study = ? AND status != 'running'"
            return int(connection.execute(counted, (study,)).fetchone()[0])

    @contextmanager
    def open_to_read(self) -> Iterator[Database]:
        """Open the file for as long as a block lasts; raise StorageError."""
        database = Database(self._path, read_only=True)
        try:
            yield database
        finally:
            database.close()

    def _become_writer(self, name: str, make: Callable[[Database], None]) -> tuple[StoredStudy, SqliteWriter]:
        database = Database(self._path, read_only=False)
        try:
            make(database)
            writer = SqliteWriter(database, name)
        except BaseException:
            database.undo()
            raise
        try:
            return writer.read(), writer
        except BaseException:
            writer.close()
            raise


class SqliteWriter(StudyWriter):
    """A writer of a study in a file, one of any number; it is gone when its process ends, however that ends.

    database: open for writing; it is closed with the writer.
    name: of the study, which is there.

    Raises StudyLocked where the file is on a network file system and somebody else writes the study, StorageError.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        with database.reading() as connection:
            self._key = find_study_key(connection, name, str(database.path), SCHEMA_VERSION)
        self._seat = Seat(database.path, self._key.study, name)
        self._replica = Replica(self._key)
        self._step: Step | None = None  # that is being made

    def read(self) -> StoredStudy:
        """Return the study as it is now, from which on `look` tells what changed."""
        with self._database.reading() as connection:
            return self._replica.take_all(read_study(connection, self._name, str(self._database.path), SCHEMA_VERSION))

    @property
    def lost(self) -> StorageLost | None:
        return self._database.lost

    @property
    def is_open(self) -> bool:
        return self._database.is_open

    @property
    def owner(self) -> str:
        return self._seat.owner

    @contextmanager
    def deciding(self) -> Iterator[None]:
        with self._seat.deciding():
            yield

    def find_gone(self, owners: AbstractSet[str]) -> set[str]:
        return {owner for owner in owners if self._seat.is_gone(owner)}

    @contextmanager
    def changing(self) -> Iterator[News]:
        with self._stepping() as step:
            yield self._replica.read_news(step)

    def look(self) -> News:
        with self._noting_loss(), self._database.reading() as connection:
            return self._replica.take(self._replica.read_update(connection))

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        with self._stepping() as step:
            step.insert(row, state)

    def change(self, row: TrialRow, status: str) -> None:
        with self._stepping() as step:
            step.change(row, status)

    def take_back(self, *numbers: int) -> None:
        with self._stepping() as step:
            step.take_back(numbers)

    def change_space(self, change: SpaceChange, state: str) -> None:
        with self._stepping() as step:
            if (holder := self._seat.find_other()) is not None:
                raise StudyLocked(f"{self._key.where}: its space cannot be changed while it is open in {holder}")
            step.change_space(change, state)

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where file, study or trials are not there any more."""
        with self._noting_loss():
            self._database.check_place()
            if self.is_open:
                with self._database.reading() as connection:
                    self._replica.check_rows(connection)

    def close(self) -> None:
        if self.is_open:
            try:
                self._database.close()
            finally:
                self._seat.leave()

    @contextmanager
    def _stepping(self) -> Iterator[Step]:
        """Give the step that is being made, or make one of its own of the block."""
        if self._step is not None:
            yield self._step
            return
        try:
            with self._noting_loss(), self._database.writing() as connection:
                self._seat.check_there()
                progress = self._key.read_progress(connection)
                self._step = step = Step(connection, progress, self._key.where)
                self._replica.begin(step)
                yield step
                after, self._step = step.finish(), None  # nothing more belongs to it while it is committed
        finally:
            self._step = None
        self._replica.end(step, after)

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        """Write nothing any more once the file is lost, and leave the locks to whoever opens a new one in its place."""
        try:
            yield
        except StorageLost as error:
            self._seat.leave()
            raise self._database.lose(error) from error
